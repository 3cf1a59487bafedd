"""The reference design: float32 vectors in a SQLite table, and a recall that reads all of an agent's.

It runs on the same engine, with the same promises of durability, as our own store, so that only the design
differs. It blocks: the caller's thread does the work, which spares it every hand-over that ours pays for.
"""

from collections.abc import Iterable
from pathlib import Path
from typing import Any, Self, TypeAlias

import apsw
import numpy as np
from numpy.typing import NDArray

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
