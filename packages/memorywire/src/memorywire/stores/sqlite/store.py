"""The SQLite store: its async methods run SQL on threads, or on the event loop when that is fast."""

import asyncio
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from itertools import chain, repeat
from threading import Lock
from typing import TYPE_CHECKING, TypeAlias

import apsw
from msgspec import Struct
from msgspec.structs import replace

from memorywire.index.cache import MEMORY, IndexCache, needs_rows
from memorywire.model.capabilities import Feature
from memorywire.model.change import Change, Footprint, Version
from memorywire.model.query import Enough, Query, Scored, Where
from memorywire.model.record import Json, Record, Scope
from memorywire.model.space import Space
from memorywire.stores.contract import Glimpse
from memorywire.stores.sqlite import reads
from memorywire.stores.sqlite.apply import (
    GroupResult,
    apply,
    apply_group,
    is_brief,
    prepare_group,
    run_in_savepoint,
)
from memorywire.stores.sqlite.connection import Connect, RetryPolicy, connect, refuse_if_reembedded
from memorywire.stores.sqlite.file import SqliteFile, request_scrub
from memorywire.stores.sqlite.health import examine
from memorywire.stores.sqlite.location import Location
from memorywire.stores.sqlite.migrate import migrate
from memorywire.stores.sqlite.rows import (
    CHANGE_ROW,
    VERSION,
    LastRecalled,
    bind_scope,
    build_change_row,
    build_version_row,
    check_row,
    use_stored,
)
from memorywire.stores.sqlite.segments import Compactor
from memorywire.stores.sqlite.sql import QUERIES
from memorywire.stores.sqlite.writer import Work

if TYPE_CHECKING:
    from memorywire.stores.sqlite.search import SqliteIndex


_Pending: TypeAlias = dict[str, tuple["Recall", ...]]
"""Recalls by id, one per scope; a tuple is replaced and never changed, so that readers need no lock."""


class Recall(Struct, frozen=True):
    """Recalls of one id in one scope: the time of the last one, and their number."""

    scope: Scope
    id: str
    at: int
    count: int = 1

    def __add__(self, other: "Recall") -> "Recall":
        return Recall(self.scope, self.id, max(self.at, other.at), self.count + other.count)


class RecallBuffer:
    """Recalls that are not in the file yet: readers add and read them, the writer writes them."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._new: _Pending = {}
        self._taken: _Pending = {}

    def __bool__(self) -> bool:
        return bool(self._new)

    @property
    def has_pending(self) -> bool:
        """Whether there are recalls that are not on disk yet."""
        return bool(self._new or self._taken)

    def add(self, touches: Iterable[Recall]) -> None:
        with self._lock:
            _merge(self._new, touches)

    def write(self, db: apsw.Connection) -> None:
        with self._lock:
            self._taken, self._new = self._new, {}
        rows = [
            bind_scope(touch.scope) | {"id": touch.id, "at": touch.at, "count": touch.count}
            for touch in chain.from_iterable(self._taken.values())
        ]
        db.executemany(QUERIES["touch"], rows)

    def settle(self) -> None:
        with self._lock:
            self._taken = {}

    def give_back(self) -> None:
        with self._lock:
            _merge(self._new, chain.from_iterable(self._taken.values()))
            self._taken = {}

    def count_pending(self, record: Record) -> int:
        """Return how many recalls of the record wait to be written."""
        with self._lock:
            return sum(
                touch.count for touch in _find_recalls((self._new, self._taken), record.scope, record.id)
            )

    def last_recalled(self) -> LastRecalled:
        """Return a function that returns when a record was last recalled, pending recalls included.

        Call this before the snapshot of the read begins: a recall that is written in between would be neither
        in the snapshot nor among the pending ones.
        """
        with self._lock:
            pending = (self._new, self._taken)  # dicts that are replaced on a write, never emptied
        return partial(_find_last_recall, pending) if any(pending) else use_stored


def with_last_recalled(record: Record, last_recalled: LastRecalled) -> Record:
    """Return the record with the time it was last recalled."""
    at = last_recalled(record.scope, record.id, record.recalled_at)
    return record if at == record.recalled_at else replace(record, recalled_at=at)


def _find_last_recall(pending: Sequence[_Pending], scope: Scope, id: str, latest: int | None) -> int | None:
    for touches in pending:
        if id in touches:
            for touch in touches[id]:
                if (latest is None or latest < touch.at) and touch.scope.covers(scope):
                    latest = touch.at
    return latest


def _find_recalls(pending: Sequence[_Pending], own: Scope, id: str) -> list[Recall]:
    """Return the recalls that count for a record: those for its user, and those for all users."""
    return [touch for touches in pending for touch in touches.get(id, ()) if touch.scope.covers(own)]


def _merge(pending: _Pending, touches: Iterable[Recall]) -> None:
    for touch in touches:
        others = []
        for other in pending.get(touch.id, ()):
            if other.scope == touch.scope:
                touch = other + touch
            else:
                others.append(other)
        pending[touch.id] = (*others, touch)


# A change with more characters than this is prepared on a thread, as it would block the event loop.
_MAX_CHARACTERS = 20_000

# Up to this many records are read on the event loop's thread: that is faster than a switch of threads.
_MAX_IDS = 8

_TURN_SECONDS = 0.002

_ON_DISK = frozenset(Feature) - {Feature.GRAPH}
_IN_MEMORY = _ON_DISK - {Feature.DURABLE}


class SqliteStore:
    """Memories in one SQLite file, or in memory; implements Store, SupportsHistory, SupportsChangeLog,
    SupportsDeferredQuery, Tracker, RecallCounter, SupportsListing, SupportsBulkWrite and SupportsPeek.

    A write returns when its change is on disk. Other components may have tables in the same `file`.
    `connect` creates connections, `retry_policy` is how long to wait for other processes, `memory` is
    the maximum size of the search indexes in bytes.
    """

    name = "sqlite"

    def __init__(
        self,
        location: Location,
        space: Space,
        *,
        connect: Connect = connect,
        retry_policy: RetryPolicy | None = None,
        memory: int = MEMORY,
    ) -> None:
        """Open the file, apply migrations and start the writer; blocks."""
        waiting = retry_policy or RetryPolicy()
        self._space = space
        self._recalls = RecallBuffer()
        self._indexes: IndexCache[SqliteIndex] = IndexCache(self._make_index, memory)
        self.file = SqliteFile(
            location, lambda db: migrate(db, location, space, waiting), connect=connect, retry_policy=waiting
        )
        self.file.defer(self._recalls, self._recalls.write)
        self._compactor = Compactor(self.file, self._indexes, space)
        self._last_turn = 0.0

    @property
    def features(self) -> frozenset[Feature]:
        return _ON_DISK if self.file.location.path is not None else _IN_MEMORY

    def applying(self, change: Change) -> Work[int]:
        """Return the work that commits a change; it returns the commit sequence or raises like `write`.

        All slow preparation is done here, so that the transaction only writes. Raises InvalidRequest for
        values that a row cannot hold.
        """
        row, versions = build_change_row(change), [*map(build_version_row, change.put, repeat(self._space))]
        check_row(CHANGE_ROW, row)
        for version in versions:
            check_row(VERSION, version)

        def work(db: apsw.Connection) -> int:
            refuse_if_reembedded(db, self._space)
            return apply(db, change, row, versions)

        return work

    async def write(self, change: Change) -> int:
        many = sum(len(put.record.text) for put in change.put) > _MAX_CHARACTERS
        work = await asyncio.to_thread(self.applying, change) if many else self.applying(change)
        return await self.file.write(work, brief=not many and is_brief(change))

    def applying_each(self, changes: Sequence[Change]) -> Work[GroupResult] | None:
        """Return the work of many changes in few statements; None unless each only begins a version.

        It returns their commit sequences, or raises GroupRefused when the changes must be tried one by one.
        """
        group = prepare_group(changes, self._space)
        if group is None:
            return None
        self._compactor.on_write(changes)

        def work(db: apsw.Connection) -> GroupResult:
            refuse_if_reembedded(db, self._space)
            return apply_group(db, group)

        return work

    async def remove_user(self, tenant: str, user: str, mark: str) -> None:
        bindings = {"tenant": tenant, "user": user, "mark": mark}

        def work(db: apsw.Connection) -> None:
            for statement in ("remove_user_from_versions", "remove_user_from_changes"):
                db.execute(QUERIES[statement], bindings)
            request_scrub(db)

        await self.file.write(work)

    async def write_many(self, changes: Sequence[Change]) -> list[int | Exception]:
        def apart(db: apsw.Connection) -> GroupResult:
            return [run_in_savepoint(db, partial(self._apply, change=change)) for change in changes]

        return await self.file.write(self.applying_each(changes) or apart, len(changes), alone=apart)

    def _apply(self, db: apsw.Connection, change: Change) -> int:
        return self.applying(change)(db)

    async def get(self, scope: Scope, ids: Sequence[str]) -> list[Record]:
        def work(db: apsw.Connection) -> list[Record]:  # one statement, so it needs no explicit snapshot
            return reads.get(db, scope, ids)

        last_recalled, records = self._recalls.last_recalled(), None
        if len(ids) <= _MAX_IDS:
            records = self.file.run_here(work)
            await self._yield_to_others()
        if records is None:
            records = await self.file.run(work)
        return [with_last_recalled(record, last_recalled) for record in records]

    async def glance(self, scope: Scope, ids: Sequence[str], name: str) -> list[Glimpse]:
        return await self.file.run(partial(reads.glance, scope=scope, ids=ids, name=name))

    async def find(self, where: Where, after: str | None = None, limit: int = 100) -> list[Record]:
        await self._flush_recalls(where)
        return await self._records(lambda db: reads.find(db, where, after, limit))

    async def newest(self, where: Where, before: str | None, limit: int) -> list[Record]:
        await self._flush_recalls(where)
        work = partial(reads.find, where=where, after=before, limit=limit, backwards=True)
        return await self._records(work)

    async def owners(self, tenant: str) -> list[tuple[str, int]]:
        return await self.file.read(lambda db: reads.owners(db, tenant))

    async def tally(self, where: Where) -> Mapping[str, Mapping[str, int]] | None:
        await self._flush_recalls(where)
        return await self.file.read(lambda db: reads.tally(db, where))

    async def count(self, where: Where) -> int:
        await self._flush_recalls(where)
        return await self.file.read(lambda db: reads.count(db, where))

    async def search(self, query: Query, limit: int) -> list[Scored]:
        return await self.search_late(query, lambda: query, limit, brief=True)

    async def search_late(
        self,
        question: Query,
        ask: Callable[[], Query],
        limit: int,
        *,
        brief: bool = False,
        enough: Enough | None = None,
    ) -> list[Scored]:
        where, hits = question.where, None
        await self._flush_recalls(where)
        if brief:  # before the search, as a task may be computing the vectors
            await self._yield_to_others()
        last_recalled = self._recalls.last_recalled()
        if brief and where.as_of is None and self._is_at_hand(where):
            from memorywire.stores.sqlite.search import search_here  # imported here because it loads numpy

            here = partial(
                search_here,
                indexes=self._indexes,
                space=self._space,
                question=question,
                ask=ask,
                bounds=(limit, enough),
                last_recalled=last_recalled,
            )
            hits = self.file.run_here(here)
        if hits is None:
            hits = await self.file.run(
                partial(self._search, ask=ask, limit=limit, last_recalled=last_recalled)
            )
        self._compactor.on_search(where.scope.tenant, where.scope.agent)
        return hits

    async def duplicate(self, record: Record, at: int) -> Record | None:
        records = await self._records(lambda db: reads.duplicate(db, record, at))
        return records[0] if records else None

    async def health(self) -> Mapping[str, Json]:
        # Without a snapshot: a check that fails halfway could not end it.
        return await self.file.run(lambda db: examine(db, self.file.location))

    async def history(self, scope: Scope, id: str) -> list[Version]:
        return await self.file.read(lambda db: reads.history(db, scope, id))

    async def footprint(self, scope: Scope, change_id: str) -> Footprint | None:
        return await self.file.read(lambda db: reads.footprint(db, scope, change_id))

    async def committed(self, scope: Scope, key: str) -> Footprint | None:
        return await self.file.read(lambda db: reads.committed(db, scope, key))

    async def changes(self, scope: Scope, limit: int) -> list[Change]:
        return await self.file.read(lambda db: reads.changes(db, scope, limit))

    async def agents(self, tenant: str) -> list[str]:
        return await self.file.read(lambda db: reads.agents(db, tenant))

    async def log(self, scope: Scope, after: int, limit: int) -> list[Footprint]:
        return await self.file.read(lambda db: reads.log(db, scope, after, limit))

    async def origins(self, tenant: str, ids: Sequence[str]) -> Mapping[str, str]:
        return await self.file.read(lambda db: reads.origins(db, tenant, ids))

    async def known(self, tenant: str, change_ids: Sequence[str]) -> Mapping[str, str]:
        return await self.file.read(lambda db: reads.known(db, tenant, change_ids))

    async def vectors(self, tenant: str, versions: Sequence[tuple[str, int]]) -> list[bytes | None]:
        return await self.file.read(lambda db: reads.vectors(db, tenant, versions))

    async def touch(self, scope: Scope, ids: Sequence[str], at: int) -> None:
        """Record a recall in memory; it is written with the next change, after a short delay, or at close.

        Does nothing for a read-only file.
        """
        if self.file.read_only:
            return
        self.file.later(lambda: self._recalls.add([Recall(scope, id, at) for id in ids]))

    async def recalls(self, records: Sequence[Record]) -> Sequence[int]:
        pending = [self._recalls.count_pending(record) for record in records]
        stored = await self.file.read(lambda db: reads.recalls(db, records))
        return [sum(counts) for counts in zip(stored, pending, strict=True)]

    async def close(self) -> None:
        """Write what is pending and close the file; can be called twice."""
        await self._compactor.close()
        await self.file.close()

    async def at_rest(self) -> None:
        """Wait for background work to finish."""
        await self._compactor.wait()

    def _make_index(self, tenant: str, agent: str, users: frozenset[str | None] | None) -> "SqliteIndex":
        from memorywire.stores.sqlite.search import make_index

        return make_index(tenant, agent, users, self._space.dimension)

    def _search(
        self, db: apsw.Connection, ask: Callable[[], Query], limit: int, last_recalled: LastRecalled
    ) -> list[Scored]:
        from memorywire.stores.sqlite.search import search

        return search(db, self._indexes, self._space, ask(), limit, last_recalled)

    def _is_at_hand(self, where: Where) -> bool:
        """Return whether the index in memory can answer, so that the file need not be read."""
        return self._indexes.is_ready(where) and not needs_rows(where)

    async def _yield_to_others(self) -> None:
        """Yield to the event loop from time to time, because searches on its thread never wait."""
        now = asyncio.get_running_loop().time()
        if not 0 <= now - self._last_turn < _TURN_SECONDS:
            self._last_turn = now
            await asyncio.sleep(0)

    async def _flush_recalls(self, where: Where) -> None:
        """Write pending recalls if the query filters by idle time, which is evaluated in the file."""
        if where.idle_since is not None and self._recalls.has_pending:
            await self.file.write(_do_nothing)

    async def _records(self, work: Work[list[Record]]) -> list[Record]:
        """Return the records that `work` reads, with the times of recalls that are not written yet."""
        last_recalled = self._recalls.last_recalled()
        return [with_last_recalled(record, last_recalled) for record in await self.file.read(work)]


def _do_nothing(_: apsw.Connection) -> None:
    """An empty work: its transaction writes the deferred buffers."""
