"""The store: verbs for the event loop, work for threads."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import TypeVar

import apsw

from memorywire.model.capabilities import Feature
from memorywire.model.change import Change, Footprint, Version
from memorywire.model.errors import StoreUnavailable
from memorywire.model.query import Query, Scored
from memorywire.model.record import Json, Record, Scope
from memorywire.model.space import Space
from memorywire.model.where import Where
from memorywire.stores.sqlite import history, reading
from memorywire.stores.sqlite.connection import Connect, Patience, Pool, connect, fence, snapshot
from memorywire.stores.sqlite.examining import examine
from memorywire.stores.sqlite.location import Location
from memorywire.stores.sqlite.migrate import migrate
from memorywire.stores.sqlite.searching import search
from memorywire.stores.sqlite.shelves import MEMORY, Shelves
from memorywire.stores.sqlite.touches import Touch, Touches
from memorywire.stores.sqlite.writer import Writer

T = TypeVar("T")

_READERS = 2


class SqliteStore:
    """Memories in one SQLite file, or in memory; satisfies Store, Historian and Tracker.

    Safe for many threads of this process and many processes on one file. What was written is on the
    disk before the write is answered. `connect` is how connections are made, `patience` how long other
    processes are waited for, `memory` how many bytes of search index are kept.
    """

    name = "sqlite"

    def __init__(
        self,
        location: Location,
        space: Space,
        *,
        connect: Connect = connect,
        patience: Patience | None = None,
        memory: int = MEMORY,
    ) -> None:
        """Open the file, bring it up to date and start the writer; blocks while it does."""
        self._location = location
        self._space = space
        self._patience = patience or Patience()
        with fence(location):
            writing, self._readers = self._open(connect)
        self._writing = writing
        self._touches = Touches()
        self._shelves = Shelves(space.dimension, memory)
        self._threads = ThreadPoolExecutor(_READERS, thread_name_prefix=f"memorywire {location}")
        self._closed = False
        self._writer = Writer(
            writing, location=location, space=space, touches=self._touches, patience=self._patience
        )

    def _open(self, connect: Connect) -> tuple[Pool, Pool]:
        first = self._ready(connect, self._migrate)
        if self._location.path is None:
            both = Pool([first])
            return both, both
        return Pool([first]), Pool([self._ready(connect, _read_only) for _ in range(_READERS)])

    def _ready(self, connect: Connect, setup: Callable[[apsw.Connection], None]) -> apsw.Connection:
        """A connection with its setup done; another process may hold the file while it is being created."""

        def attempt() -> apsw.Connection:
            db = connect(self._location)
            try:
                setup(db)
            except BaseException:
                db.close()
                raise
            return db

        return self._patience.try_for("open the store", attempt)

    def _migrate(self, db: apsw.Connection) -> None:
        migrate(db, self._location, self._space, self._patience)

    @property
    def features(self) -> frozenset[Feature]:
        features = frozenset(Feature)
        return features if self._location.path is not None else features - {Feature.DURABLE}

    async def write(self, change: Change) -> int:
        # Shielded: a caller that gives up must not take back what is on its way to the disk.
        return await asyncio.shield(asyncio.wrap_future(self._writer.submit(change)))

    async def get(self, scope: Scope, ids: Sequence[str]) -> list[Record]:
        return self._touched(await self._read(lambda db: reading.get(db, scope, ids)))

    async def find(self, where: Where, after: str | None = None, limit: int = 100) -> list[Record]:
        await self._settle_touches(where)
        return self._touched(await self._read(lambda db: reading.find(db, where, after, limit)))

    async def count(self, where: Where) -> int:
        await self._settle_touches(where)
        return await self._read(lambda db: reading.count(db, where))

    async def search(self, query: Query, limit: int) -> list[Scored]:
        await self._settle_touches(query.where)
        found = await self._run(lambda db: search(db, self._shelves, self._space, query, limit))
        return [replace(hit, record=self._touches.seen_on(hit.record)) for hit in found]

    async def duplicate(self, record: Record, at: int) -> Record | None:
        found = await self._read(lambda db: reading.duplicate(db, record, at))
        return None if found is None else self._touches.seen_on(found)

    async def health(self) -> Mapping[str, Json]:
        return await self._read(lambda db: examine(db, self._location))

    async def history(self, scope: Scope, id: str) -> list[Version]:
        return await self._read(lambda db: history.history(db, scope, id))

    async def footprint(self, scope: Scope, change_id: str) -> Footprint | None:
        return await self._read(lambda db: history.footprint(db, scope, change_id))

    async def committed(self, scope: Scope, key: str) -> Footprint | None:
        return await self._read(lambda db: history.committed(db, scope, key))

    async def changes(self, scope: Scope, limit: int) -> list[Change]:
        return await self._read(lambda db: history.changes(db, scope, limit))

    async def touch(self, scope: Scope, ids: Sequence[str], at: int) -> None:
        """Written with the next change, or after a moment, or at close: a recall waits for no disk."""
        self._writer.touch([Touch(scope, id, at) for id in ids])

    async def close(self) -> None:
        """Write what is pending and let go of the file; closing twice is fine."""
        if not self._closed:
            self._closed = True
            await asyncio.to_thread(self._shut)

    def _shut(self) -> None:
        self._writer.close()
        self._threads.shutdown()
        with fence(self._location):
            self._readers.close()
            self._writing.close()

    async def _read(self, work: Callable[[apsw.Connection], T]) -> T:
        """The answer of `work`, on a thread, inside one snapshot."""

        def in_snapshot(db: apsw.Connection) -> T:
            with snapshot(db):
                return work(db)

        return await self._run(in_snapshot)

    async def _run(self, work: Callable[[apsw.Connection], T]) -> T:
        def on_thread() -> T:
            with fence(self._location), self._readers.borrow() as db:
                return self._patience.try_for("read", lambda: work(db))

        if self._closed:
            raise StoreUnavailable(f"{self._location} is closed")
        return await asyncio.get_running_loop().run_in_executor(self._threads, on_thread)

    async def _settle_touches(self, where: Where) -> None:
        """Idleness is decided in the file, so what is pending must be there first."""
        if where.idle_since is not None and self._touches:
            await asyncio.shield(asyncio.wrap_future(self._writer.submit(None)))

    def _touched(self, records: list[Record]) -> list[Record]:
        return [self._touches.seen_on(record) for record in records]


def _read_only(db: apsw.Connection) -> None:
    db.execute("PRAGMA query_only = ON").fetchall()
