"""The keys of one owner: finds their records, and counts the bytes of their values."""

import asyncio
import random
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from functools import cached_property
from typing import TypeVar

from msgspec import Struct

from memorywire.model.change import Base
from memorywire.model.codec import read_json
from memorywire.model.errors import Conflict
from memorywire.model.kv import AREA, MARK, Limits, Owner, is_entry, is_mark
from memorywire.model.query import And, Compare, Filter, Operator, Where
from memorywire.model.record import Json, Record, Scope, Standing
from memorywire.pipeline.context import Context
from memorywire.pipeline.kv.usage import Seen, Usage
from memorywire.stores.contract import Glimpse, SupportsHistory

T = TypeVar("T")

_RIVAL_SECONDS = 30.0  # another process may change the same key between two reads
_FIRST_PAUSE, _LONGEST_PAUSE = 0.002, 0.25
_jitter = random.uniform

_OUTSIDE = Compare(("metadata", MARK, AREA), Operator.EXISTS, False)


class Place(Struct, frozen=True, kw_only=True):
    """The position of a key's record: its id, and what the next version needs from the current one."""

    id: str
    base: Base
    number: int = 1
    created_at: int = 0
    expires_at: int | None = None
    size: int = 0
    current: Record | None = None

    def alive(self, at: int) -> bool:
        """Whether the key has a value that has not expired at that time."""
        return self.base is Base.LIVE and (self.expires_at is None or at < self.expires_at)

    def version(self, at: int) -> int:
        """Return the version that is live at that time; 0 if there is none."""
        return self.number - 1 if self.alive(at) else 0


class Keys(Struct, frozen=True, kw_only=True, dict=True):
    """The keys of an owner, with the context and limits for operations on them.

    `area` is a key prefix with a separate quota; "" means the keys outside all areas.
    """

    owner: Owner
    context: Context
    limits: Limits
    usage: Usage
    area: str = ""

    @cached_property
    def scope(self) -> Scope:
        return self.owner.scope

    def where(self, prefix: str = "", *, counted: bool = False) -> Where:
        """Select the owner's entries whose keys have this prefix, including those hidden from recalls.

        `counted` leaves out other areas, which may hold many more entries than the keys outside of them.
        """
        mine = self.entries(prefix)
        return Where(
            scope=self.scope,
            alive_at=self.context.clock(),
            standings=frozenset(Standing),
            filter=And((mine, _OUTSIDE)) if counted and not self.area else mine,
        )

    def entries(self, prefix: str = "") -> Filter:
        """Return the filter that selects this owner's entries among all memories of the scope."""
        mine = Compare(("metadata", MARK, "of"), Operator.EQ, self.owner.kind.value)
        if not prefix:
            return mine
        return And((mine, Compare(("metadata", MARK, "key"), Operator.PREFIX, prefix)))

    async def every(self, prefix: str = "", *, counted: bool = False) -> AsyncIterator[Record]:
        """Yield the owner's entries whose keys have this prefix, one per key; `counted` as in `where`."""
        if isinstance(self.context.store, SupportsHistory):
            async for record in self._find_marked(prefix, counted=counted):
                yield record
            return
        records = {record.metadata[MARK]["key"]: record for record in await self._by_age(prefix)}
        for record in records.values():
            yield record

    async def _find_marked(self, prefix: str, *, counted: bool = False) -> AsyncIterator[Record]:
        """Yield the matching records that really are entries: metadata of other memories may look alike."""
        async for record in self.context.all_matching(self.where(prefix, counted=counted)):
            if is_entry(record):
                yield record

    async def _by_age(self, prefix: str) -> list[Record]:
        """Sort the entries so that, of two records with one key, every process takes the last.

        The last is the record at the key's usual id, which is read first, else the one that was set last.
        """
        records = [record async for record in self._find_marked(prefix)]
        return sorted(records, key=lambda record: (self._is_usual(record), record.updated_at, record.id))

    def _is_usual(self, record: Record) -> bool:
        return record.id == self.owner.address(record.metadata[MARK]["key"])

    async def counting(self, records: Sequence[Record]) -> frozenset[str]:
        """Return the ids of the valid records: of several with one key, only the one `get` returns."""
        if isinstance(self.context.store, SupportsHistory) or all(map(self._is_usual, records)):
            return frozenset(record.id for record in records)
        return frozenset([record.id async for record in self.every()])

    async def all_of(self, current: Record) -> list[Record]:
        """Return all records of a key: more than one only if two processes created it at the same time."""
        if isinstance(self.context.store, SupportsHistory):
            return [current]
        key = current.metadata[MARK]["key"]
        others = [one for one in await self._by_age(key) if one.metadata[MARK]["key"] == key]
        return [current, *(one for one in others if one.id != current.id)]

    async def sum_bytes(self) -> int:
        """Sum the bytes of all live values of the area."""
        marks = [record.metadata[MARK] async for record in self.every(self.area, counted=True)]
        return sum(mark["bytes"] for mark in marks if mark.get(AREA, "") == self.area)

    async def find(self, key: str) -> Place:
        """Find the place of a key by one read of its usual id; without a record, the key counts as new."""
        return await self.look(self.owner.address(key))

    async def look(self, id: str) -> Place:
        """Like `find`, for a known usual id."""
        record = await self.usage.get(self.context.store, self.scope, id)
        return Place(id=id, base=Base.NOTHING) if record is None else place_of_record(record)

    async def trace(self, key: str) -> Place:
        """Find the place of a key by its history: versions continue after a deletion, not an erasure."""
        store, generation = self.context.store, 0
        if not isinstance(store, SupportsHistory):
            return await self._without_a_past(key)
        while True:
            id = self.owner.address(key, generation)
            chain = await store.history(self.scope, id)
            if not chain:
                return Place(id=id, base=Base.NOTHING)
            last = chain[-1]
            if last.record is not None:
                if last.ended is None:
                    return place_of_record(last.record)
                return Place(id=id, base=Base.ENDED, number=last.number + 1)
            generation += 1

    async def _without_a_past(self, key: str) -> Place:
        """Like `trace`, on a store without history: returns the record with this key, or else a fresh id.

        A fresh id is needed because the memory at the usual one may have ended. Writers of one process take
        turns. If two processes create such a key at the same time, there are two records, and the one set
        last is valid.
        """
        place = await self.find(key)
        if place.current is not None:
            return place
        async for record in self.every(key):
            if record.metadata[MARK]["key"] == key:
                return place_of_record(record)
        return Place(id=self.owner.address(key, self.context.mint()), base=Base.NOTHING)

    async def take_turn(
        self, key: str, attempt: Callable[[Place], Awaitable[T]], if_version: int | None = None
    ) -> T:
        """Call `attempt` with the key's place, in the turn of the key; retry if another process changed it.

        Raises Conflict if the stored version is not `if_version`, or after `_RIVAL_SECONDS` of conflicts.
        """
        id = self.owner.address(key)
        async with self.usage.turns.turn(id):
            place = await self.look(id)
            if if_version is not None and if_version != place.version(self.context.clock()):
                place = await self.trace(key)  # its record may be at another id than the usual one
            clock, pause = asyncio.get_running_loop().time, _FIRST_PAUSE
            deadline = clock() + _RIVAL_SECONDS
            while True:
                self._refuse_another(key, if_version, place)
                try:
                    return await attempt(place)
                except Conflict:
                    if clock() >= deadline:
                        raise
                await asyncio.sleep(_jitter(0, pause))  # writers with equal pauses would collide again
                pause = min(2 * pause, _LONGEST_PAUSE)
                place = await self.trace(key)

    def _refuse_another(self, key: str, expected_version: int | None, place: Place) -> None:
        if expected_version is not None and expected_version != (
            version := place.version(self.context.clock())
        ):
            raise Conflict(
                f"{key} is at version {version}, not {expected_version}",
                field="if_version",
                fix="read it again and decide on the current version",
            )


def place_of_glimpse(glimpse: Glimpse | Seen) -> Place:
    """Return the place of a key from a glimpse of its record, or from this process's last write to it."""
    id, version, created_at, expires_at, mark = glimpse
    size = mark if isinstance(mark, int) else _read_size(id, mark)
    return Place(
        id=id, base=Base.LIVE, number=version + 1, created_at=created_at, expires_at=expires_at, size=size
    )


def _read_size(id: str, text: str | None) -> int:
    mark: Json = None if text is None else read_json(text)
    if not is_mark(mark):
        raise _no_value(id)
    size: int = mark["bytes"]
    return size


def place_of_record(record: Record) -> Place:
    """Return the place of a key from its record; raises Conflict if the record is not an entry."""
    if not is_entry(record):
        raise _no_value(record.id)
    return Place(
        id=record.id,
        base=Base.LIVE,
        number=record.version + 1,
        created_at=record.created_at,
        expires_at=record.expires_at,
        size=record.metadata[MARK]["bytes"],
        current=record,
    )


def _no_value(id: str) -> Conflict:
    return Conflict(
        f"memory {id} has the id of this key but is not its value",
        field="key",
        fix="forget that memory, or use another key",
    )
