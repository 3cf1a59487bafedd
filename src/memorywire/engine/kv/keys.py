"""The keys of one owner at hand: where their records are, how much they hold, whose turn it is."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from memorywire.engine.tools import Tools
from memorywire.model.change import Base
from memorywire.model.errors import MemorywireError, QuotaExceeded
from memorywire.model.kv import MARK, Limits, Owner
from memorywire.model.record import Record, Scope, Standing
from memorywire.model.where import And, Compare, Filter, Operator, Where
from memorywire.stores.contract import Historian, Store


@dataclass(slots=True)
class _Turn:
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    waiting: int = 0


class Usage:
    """How much each owner holds, as far as this process knows, and who is writing which key.

    Every write of this process is counted at once; what others write is seen when a quota seems to be
    reached, before anything is refused.
    """

    def __init__(self) -> None:
        self._held: dict[Owner, int] = {}
        self._asked: dict[Scope, dict[str, asyncio.Future[Record | None]]] = {}
        self._asking: set[asyncio.Task[None]] = set()
        self._turns: dict[str, _Turn] = {}

    @asynccontextmanager
    async def turn(self, id: str) -> AsyncIterator[None]:
        """Writers of one key in this process take turns, so that they need not find out by conflicts."""
        turn = self._turns.setdefault(id, _Turn())
        turn.waiting += 1
        try:
            async with turn.lock:
                yield
        finally:
            turn.waiting -= 1
            if not turn.waiting:
                del self._turns[id]

    async def get(self, store: Store, scope: Scope, id: str) -> Record | None:
        """The record of a key; what is asked for in the same moment is read together."""
        loop = asyncio.get_running_loop()
        if scope not in self._asked:
            self._asked[scope] = {}
            task = loop.create_task(self._read(store, scope))
            self._asking.add(task)
            task.add_done_callback(self._asking.discard)
        return await asyncio.shield(self._asked[scope].setdefault(id, loop.create_future()))

    async def _read(self, store: Store, scope: Scope) -> None:
        asked = self._asked.pop(scope)
        try:
            found = {record.id: record for record in await store.get(scope, list(asked))}
        except MemorywireError as problem:
            for answer in asked.values():
                answer.set_exception(problem)
            return
        for id, answer in asked.items():
            answer.set_result(found.get(id))

    async def reserve(self, keys: "Keys", growth: int) -> None:
        """Count so many bytes more, or raise QuotaExceeded."""
        owner, most = keys.owner, keys.limits.quota_bytes
        if owner not in self._held:
            self._held[owner] = await keys.held()
        if growth > 0 and self._held[owner] + growth > most:
            self._held[owner] = await keys.held()
            if self._held[owner] + growth > most:
                raise QuotaExceeded(
                    f"these keys would hold {self._held[owner] + growth} bytes, {most} are allowed",
                    field="value",
                    fix="delete keys that are not needed, or give them a ttl",
                )
        self._held[owner] += growth

    def give_back(self, owner: Owner, growth: int) -> None:
        """What was counted did not come about, or is gone."""
        if owner in self._held:
            self._held[owner] -= growth


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where the record of a key stands: what is there, and what a next version has to say of it."""

    id: str
    base: Base
    number: int = 1
    current: Record | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Keys:
    """The keys of an owner, and what it takes to work with them."""

    owner: Owner
    tools: Tools
    limits: Limits
    usage: Usage

    def where(self, prefix: str = "", *, at: int | None = None) -> Where:
        """All of the owner's entries whose keys begin so; also those that recalls are not shown."""
        return Where(
            scope=self.owner.scope,
            alive_at=self.tools.clock() if at is None else at,
            standings=frozenset(Standing),
            filter=self.entries(prefix),
        )

    def entries(self, prefix: str = "") -> Filter:
        """What tells the entries of this owner from all other memories of the scope."""
        mine = Compare(("metadata", MARK, "of"), Operator.EQ, self.owner.kind.value)
        if not prefix:
            return mine
        return And((mine, Compare(("metadata", MARK, "key"), Operator.PREFIX, prefix)))

    async def held(self) -> int:
        """The bytes of all values that are alive."""
        found = self.tools.all_matching(self.where())
        return sum([record.metadata[MARK]["bytes"] async for record in found])

    async def find(self, key: str) -> Place:
        """Where the key stands, by a single look: what is not there is taken never to have been."""
        id = self.owner.address(key)
        found = await self.usage.get(self.tools.store, self.owner.scope, id)
        return Place(id=id, base=Base.NOTHING) if found is None else _live(found)

    async def trace(self, key: str) -> Place:
        """Where the key stands, when its past matters: deleted ones go on, erased ones begin anew."""
        store, generation = self.tools.store, 0
        if not isinstance(store, Historian):
            return await self.find(key)
        while True:
            id = self.owner.address(key, generation)
            chain = await store.history(self.owner.scope, id)
            if not chain:
                return Place(id=id, base=Base.NOTHING)
            last = chain[-1]
            if last.record is not None:
                if last.ended is None:
                    return _live(last.record)
                return Place(id=id, base=Base.ENDED, number=last.number + 1)
            generation += 1


def _live(record: Record) -> Place:
    return Place(id=record.id, base=Base.LIVE, number=record.version + 1, current=record)
