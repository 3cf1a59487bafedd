"""The keys of one owner at hand: where their records are, how much they hold, whose turn it is."""

import asyncio
from collections.abc import AsyncIterator, Iterable, Iterator
from typing import TypeAlias

from memorywire.engine.tools import Tools
from memorywire.model.change import Base
from memorywire.model.errors import Conflict, MemorywireError, QuotaExceeded
from memorywire.model.kv import MARK, Limits, Owner, is_entry
from memorywire.model.record import Record, Scope, Standing
from memorywire.model.values import dataclass
from memorywire.model.where import And, Compare, Filter, Operator, Where
from memorywire.stores.contract import Historian, Store

Answer: TypeAlias = "asyncio.Future[Record | None]"


class _Turn:
    """One at a time; who is the last to go takes it off the list of turns."""

    def __init__(self, turns: "dict[str, _Turn]", id: str) -> None:
        self._turns = turns
        self._id = id
        self._lock = asyncio.Lock()
        self._waiting = 0

    async def __aenter__(self) -> None:
        self._waiting += 1
        try:
            await self._lock.acquire()
        except BaseException:
            self._gone()
            raise

    async def __aexit__(self, *_: object) -> None:
        self._lock.release()
        self._gone()

    def _gone(self) -> None:
        self._waiting -= 1
        if not self._waiting:
            del self._turns[self._id]


class Usage:
    """How much each owner holds, as far as this process knows, and who is writing which key.

    Every write of this process is counted at once; what others write is seen when a quota seems to be
    reached, before anything is refused.
    """

    def __init__(self) -> None:
        self._held: dict[Owner, int] = {}
        self._counting = asyncio.Lock()
        self._asked: dict[Scope, dict[str, list[Answer]]] = {}
        self._asking: set[asyncio.Task[None]] = set()
        self._turns: dict[str, _Turn] = {}

    def turn(self, id: str) -> _Turn:
        """Writers of one key in this process take turns, so that they need not find out by conflicts."""
        if id not in self._turns:
            self._turns[id] = _Turn(self._turns, id)
        return self._turns[id]

    async def get(self, store: Store, scope: Scope, id: str) -> Record | None:
        """The record of a key; what is asked for in the same moment is read together."""
        loop = asyncio.get_running_loop()
        asked = self._asked.get(scope)
        if asked is None:
            asked = self._asked[scope] = {}
            task = loop.create_task(self._read(store, scope))
            self._asking.add(task)
            task.add_done_callback(self._asking.discard)
        answer: Answer = loop.create_future()
        asked.setdefault(id, []).append(answer)
        return await answer

    async def _read(self, store: Store, scope: Scope) -> None:
        asked = self._asked.pop(scope)
        try:
            found = {record.id: record for record in await store.get(scope, list(asked))}
        except MemorywireError as problem:
            for answer in _waited_for(asked.values()):
                answer.set_exception(problem)
            return
        for id, answers in asked.items():
            for answer in _waited_for([answers]):
                answer.set_result(found.get(id))

    async def reserve(self, keys: "Keys", growth: int) -> None:
        """Count so many bytes more, or raise QuotaExceeded."""
        owner, most = keys.owner, keys.limits.quota_bytes
        if owner not in self._held:
            async with self._counting:
                if owner not in self._held:  # else whoever was before us has counted
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


def _waited_for(answers: Iterable[list[Answer]]) -> Iterator[Answer]:
    """Those that nobody gave up meanwhile."""
    return (answer for some in answers for answer in some if not answer.done())


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

    async def every(self, prefix: str = "") -> AsyncIterator[Record]:
        """The owner's entries whose keys begin so; anybody may have metadata that only looks like a key's."""
        async for record in self.tools.all_matching(self.where(prefix)):
            if is_entry(record):
                yield record

    async def held(self) -> int:
        """The bytes of all values that are alive."""
        return sum([record.metadata[MARK]["bytes"] async for record in self.every()])

    async def find(self, key: str) -> Place:
        """Where the key stands, by a single look: what is not there is taken never to have been."""
        return await self.look(self.owner.address(key))

    async def look(self, id: str) -> Place:
        """The same, of the key whose usual id this is."""
        found = await self.usage.get(self.tools.store, self.owner.scope, id)
        return Place(id=id, base=Base.NOTHING) if found is None else _live(found)

    async def trace(self, key: str) -> Place:
        """Where the key stands, when its past matters: deleted ones go on, erased ones begin anew."""
        store, generation = self.tools.store, 0
        if not isinstance(store, Historian):
            return await self._without_a_past(key)
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

    async def _without_a_past(self, key: str) -> Place:
        """The same where nobody keeps one: what says that it is this key's, else an id that nobody had.

        The usual id may have ended. Writers of one process take turns; two processes that begin such a key
        anew at the same moment would begin it twice.
        """
        place = await self.find(key)
        if place.current is not None:
            return place
        async for record in self.every(key):
            if record.metadata[MARK]["key"] == key:
                return _live(record)
        return Place(id=self.owner.address(key, self.tools.mint()), base=Base.NOTHING)


def _live(record: Record) -> Place:
    if not is_entry(record):
        raise Conflict(
            f"the memory {record.id} stands where this key belongs, and is no value of it",
            field="key",
            fix="forget that memory, or use another key",
        )
    return Place(id=record.id, base=Base.LIVE, number=record.version + 1, current=record)
