"""An embedder that embeds each text once, however many haystacks hold it, and caches it between runs."""

import asyncio
import hashlib
import sqlite3
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from threading import Lock

from memorywire.model.errors import InvalidRequest
from memorywire.model.space import Space
from memorywire.search.embed import Embedder

_SCHEMA = "CREATE TABLE IF NOT EXISTS vector (key BLOB PRIMARY KEY, value BLOB NOT NULL) WITHOUT ROWID"

_AT_ONCE = 512
"""So many texts are embedded and written down together: what is cut short keeps the rest."""


class CachedEmbedder:
    """Wraps an embedder; vectors are kept under a hash of space and text, in a file when one is named.

    It outlives the memories it is lent to: `close` is for them and does nothing, `release` ends it.
    """

    def __init__(self, inner: Embedder, path: Path | None = None) -> None:
        self._inner = inner
        self._lock = Lock()
        if path is not None:
            path.parent.mkdir(parents=True, exist_ok=True)
        # An empty name is a temporary file: large sets do not fit in memory.
        self._db = sqlite3.connect(str(path or ""), timeout=60, check_same_thread=False, isolation_level=None)
        try:
            self._db.execute("PRAGMA journal_mode = WAL")  # two runs share a file: one reads while one writes
            self._db.execute("PRAGMA synchronous = OFF")  # what a crash loses is embedded again
            self._db.execute(_SCHEMA)
        except sqlite3.DatabaseError as error:
            self._db.close()
            busy = isinstance(error, sqlite3.OperationalError) and "locked" in str(error)
            cause = "another run writes to it" if busy else "a damaged one may be deleted"
            raise InvalidRequest(
                f"{path} cannot be used for embedded texts: {error}",
                field="cache",
                fix=f"name another file with --cache; {cause}",
            ) from error
        self.hits = 0
        self.misses = 0

    @property
    def space(self) -> Space:
        return self._inner.space

    async def embed(self, texts: Sequence[str]) -> list[bytes]:
        vectors: list[bytes] = []
        for start in range(0, len(texts), _AT_ONCE):
            vectors += await self._embed(texts[start : start + _AT_ONCE])
        return vectors

    async def _embed(self, texts: Sequence[str]) -> list[bytes]:
        keys = [self._key(text) for text in texts]
        known = await asyncio.to_thread(self._read, keys)
        missing = {key: text for key, text in zip(keys, texts, strict=True) if key not in known}
        self.hits += len(texts) - len(missing)
        self.misses += len(missing)
        if missing:
            vectors = await self._inner.embed(list(missing.values()))
            fresh = dict(zip(missing, vectors, strict=True))
            await asyncio.to_thread(self._write, fresh)
            known |= fresh
        return [known[key] for key in keys]

    async def close(self) -> None:
        """Leaves everything as it is."""

    async def release(self) -> None:
        """Closes the file and the embedder inside."""
        self._db.close()
        await self._inner.close()

    def _key(self, text: str) -> bytes:
        return hashlib.blake2b(f"{self.space}\0{text}".encode(), digest_size=16).digest()

    def _read(self, keys: Sequence[bytes]) -> dict[bytes, bytes]:
        with self._lock:
            asked = (
                (key, self._db.execute("SELECT value FROM vector WHERE key = ?", (key,))) for key in keys
            )
            rows = [(key, row) for key, cursor in asked if (row := cursor.fetchone())]
        return {key: row[0] for key, row in rows}

    def _write(self, fresh: dict[bytes, bytes]) -> None:
        with self._lock, closing(self._db.cursor()) as cursor:
            cursor.execute("BEGIN IMMEDIATE")
            cursor.executemany("INSERT OR REPLACE INTO vector VALUES (?, ?)", fresh.items())
            cursor.execute("COMMIT")
