"""Memories in a SQLite file with sqlite-vec: `sqlite-vec:///file.db`; `sqlite-vec://` in memory.

Vectors are in an ordinary table, and the extension's distance function compares those in the scope. Its
virtual table would allocate a chunk of vectors per agent, and leave erased vectors in the chunk.
"""

import json
from collections.abc import Mapping, Sequence

import apsw

from memorywire.model.query import Query
from memorywire.model.record import Json
from memorywire.model.space import Space
from memorywire.stores.sqlite import Location, connect
from memorywire_adapters.products import (
    Entry,
    OneThread,
    Place,
    Ref,
    Seen,
    VendorStore,
    agent_label,
    answered,
    locate,
    need,
    user_label,
)

NAME = "sqlite-vec"

_SCHEMA = """
CREATE TABLE IF NOT EXISTS entry (
    key TEXT PRIMARY KEY, agent TEXT NOT NULL, user TEXT NOT NULL, vector BLOB, payload TEXT NOT NULL
);
CREATE INDEX IF NOT EXISTS entry_of_agent ON entry (agent, user);
"""
_KEEP = """
INSERT INTO entry (key, agent, user, vector, payload) VALUES (:key, :agent, :user, :vector, :payload)
ON CONFLICT (key) DO UPDATE SET vector = excluded.vector, payload = excluded.payload
"""
_DROP = "DELETE FROM entry WHERE key IN (SELECT value FROM json_each(:keys))"
_FETCH = "SELECT key, payload FROM entry WHERE key IN (SELECT value FROM json_each(:keys))"
_NEAREST = """
SELECT key, payload FROM entry WHERE agent = :agent AND (:user IS NULL OR user = :user)
ORDER BY CASE WHEN vector IS NOT NULL THEN vec_distance_cosine(vector, :vector) END NULLS LAST, key
LIMIT :limit
"""


async def open_store(url: str, *, space: Space) -> VendorStore:
    """Open the store at this URL, creating it if it does not exist. Its vectors belong to `space`."""
    place = locate(url)
    need("sqlite_vec", store=NAME, extra=NAME)
    product = SqliteVec(place)
    await answered(product, product.open())
    return await VendorStore.opened(product, space, books=place.path)


class SqliteVec:
    """The entries, in the file of the sidecar or in memory."""

    name = NAME
    errors: tuple[type[Exception], ...] = (apsw.Error,)

    def __init__(self, place: Place) -> None:
        self._place = place
        self._thread = OneThread(NAME)
        self._db: apsw.Connection

    async def open(self) -> None:
        await self._thread.do(self._open)

    def _open(self) -> None:
        import sqlite_vec

        self._db = connect(Location(path=self._place.path))
        self._db.set_busy_timeout(30_000)
        self._db.enable_load_extension(True)
        self._db.load_extension(sqlite_vec.loadable_path())
        self._db.enable_load_extension(False)
        self._db.execute(_SCHEMA)

    async def keep(self, entries: Sequence[Entry]) -> Sequence[str]:
        rows = [
            {
                "key": entry.key,
                "agent": agent_label(entry.record.scope),
                "user": user_label(entry.record.scope),
                "vector": entry.vector,
                "payload": entry.payload,
            }
            for entry in entries
        ]
        await self._thread.do(lambda: self._write(_KEEP, rows))
        return [entry.key for entry in entries]

    def _write(self, statement: str, rows: Sequence[Mapping[str, Json]]) -> None:
        with self._db:
            self._db.executemany(statement, rows)

    async def drop(self, refs: Sequence[Ref]) -> None:
        await self._thread.do(lambda: self._write(_DROP, [_keys(refs)]))

    async def scrub(self) -> None:
        """Copy the log into the file and truncate it, because it still contains deleted data."""
        await self._thread.do(lambda: self._db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall())

    async def fetch(self, refs: Sequence[Ref]) -> Sequence[Seen]:
        return await self._read(_FETCH, _keys(refs))

    async def nearest(self, query: Query, limit: int) -> Sequence[Seen]:
        scope = query.where.scope
        user = None if scope.user is None else user_label(scope)
        asked = {"agent": agent_label(scope), "user": user, "vector": query.vector, "limit": limit}
        return await self._read(_NEAREST, asked)

    async def _read(self, statement: str, asked: Mapping[str, Json]) -> Sequence[Seen]:
        rows = await self._thread.do(lambda: self._db.execute(statement, asked).fetchall())
        return [Seen(key=str(key), payload=str(payload)) for key, payload in rows]

    async def health(self) -> Mapping[str, Json]:
        version = await self._thread.do(lambda: self._db.execute("SELECT vec_version()").get)
        return {"ok": True, "sqlite_vec": version}

    async def close(self) -> None:
        await self._thread.do(self._db.close)
        self._thread.end()


def _keys(refs: Sequence[Ref]) -> dict[str, str]:
    return {"keys": json.dumps([ref.key for ref in refs])}
