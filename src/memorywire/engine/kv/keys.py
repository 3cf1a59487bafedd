"""The keys of one owner at hand: where their records are, how much they hold, whose turn it is."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Iterable, Iterator, Sequence
from dataclasses import field
from functools import partial
from typing import Any, TypeAlias, TypeVar

from memorywire.engine.commit import Submitted
from memorywire.engine.kv.known import Known, Seen
from memorywire.engine.kv.turns import Turns
from memorywire.engine.tools import Tools
from memorywire.model.answers import Status
from memorywire.model.change import Base, Change
from memorywire.model.errors import Conflict, MemorywireError, QuotaExceeded
from memorywire.model.jsontext import decoded
from memorywire.model.kv import MARK, Kept, Limits, Owner, Setting, is_entry, is_mark
from memorywire.model.record import Json, Record, Scope, Standing
from memorywire.model.values import dataclass, maker
from memorywire.model.where import And, Compare, Filter, Operator, Where
from memorywire.stores.contract import Gatherer, Glimpse, Historian, Store

T = TypeVar("T")
Answer: TypeAlias = "asyncio.Future[Record | None]"
Write: TypeAlias = "Callable[[Keys, Sequence[Setting]], Awaitable[Sequence[Kept | Exception]]]"

MOST_TOGETHER = 1_024
"""So many are written together at most: the more, the fewer pages of the file each of them touches."""


class _Joined:
    """Settings of one moment, and who waits for each."""

    def __init__(self, keys: "Keys") -> None:
        self.keys = keys
        self.settings: list[Setting] = []
        self.answers: list[asyncio.Future[Kept]] = []

    def takes(self, keys: "Keys") -> bool:
        """Whether these are set by the same caller under the same limits, and there is room."""
        same = keys is self.keys or (keys.tools == self.keys.tools and keys.limits == self.keys.limits)
        return same and len(self.settings) < MOST_TOGETHER

    def answer(self, task: "asyncio.Task[Sequence[Kept | Exception]]") -> None:
        """Tell everybody who still waits what became of theirs, once it is written."""
        if task.cancelled():
            for answer in self.answers:
                answer.cancel()
            return
        problem = task.exception()
        results = task.result() if problem is None else [problem] * len(self.answers)
        for answer, result in zip(self.answers, results, strict=True):
            if answer.done():
                continue
            if isinstance(result, BaseException):
                answer.set_exception(result)
            else:
                answer.set_result(result)


class Usage:
    """How much each owner holds, as far as this process knows, and who is writing which key.

    Every write of this process is counted at once; what others write is seen when a quota seems to be
    reached, before anything is refused.
    """

    def __init__(self) -> None:
        self._held: dict[Owner, int] = {}
        self._counting = asyncio.Lock()
        self._asked: dict[Scope, dict[str, list[Answer]]] = {}
        self._tasks: set[asyncio.Task[Any]] = set()
        self._joined: dict[Owner, _Joined] = {}
        self._writing: dict[Owner, asyncio.Task[Any]] = {}
        self.turns = Turns()
        self.known = Known()

    def join(self, keys: "Keys", setting: Setting, write: Write) -> "asyncio.Future[Kept]":
        """The answer to come to a setting; what is set in the same moment is written together.

        Where many share a commit, so is what is set while those before are written: the more there is to
        do, the less each takes.
        """
        loop = asyncio.get_running_loop()
        joined = self._joined.get(keys.owner)
        if joined is None or not joined.takes(keys):
            joined = self._joined[keys.owner] = _Joined(keys)
            before = self._writing.get(keys.owner) if isinstance(keys.tools.store, Gatherer) else None
            task = self._writing[keys.owner] = self._begin(self._write(joined, write, before))
            task.add_done_callback(joined.answer)
            task.add_done_callback(partial(self._written, keys.owner))
        answer: asyncio.Future[Kept] = loop.create_future()
        joined.settings.append(setting)
        joined.answers.append(answer)
        return answer

    async def _write(
        self, joined: _Joined, write: Write, before: "asyncio.Task[Any] | None"
    ) -> Sequence[Kept | Exception]:
        if before is not None:
            await asyncio.wait([before])
        if self._joined.get(joined.keys.owner) is joined:
            del self._joined[joined.keys.owner]
        return await write(joined.keys, joined.settings)

    def _written(self, owner: Owner, task: "asyncio.Task[Any]") -> None:
        if self._writing.get(owner) is task:
            del self._writing[owner]

    def _begin(self, work: Coroutine[None, None, T]) -> "asyncio.Task[T]":
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    async def get(self, store: Store, scope: Scope, id: str) -> Record | None:
        """The record of a key; what is asked for in the same moment is read together."""
        loop = asyncio.get_running_loop()
        asked = self._asked.get(scope)
        if asked is None:
            asked = self._asked[scope] = {}
            self._begin(self._read(store, scope))
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
        (problem,) = await self.reserve_each(keys, [growth])
        if problem is not None:
            raise problem

    async def reserve_each(self, keys: "Keys", growths: Sequence[int]) -> list[QuotaExceeded | None]:
        """The same for many, in their order: what is too much for one concerns it alone."""
        owner, most = keys.owner, keys.limits.quota_bytes
        if owner not in self._held:
            async with self._counting:
                if owner not in self._held:  # else whoever was before us has counted
                    self._held[owner] = await keys.held()
        if self._held[owner] + sum(growth for growth in growths if growth > 0) > most:
            self._held[owner] = await keys.held()
        refused: list[QuotaExceeded | None] = []
        held = self._held[owner]
        for growth in growths:
            total = held + growth
            fits = growth <= 0 or total <= most
            refused.append(None if fits else _exceeded(total, most))
            held = total if fits else held
        self._held[owner] = held
        return refused

    def settle(self, keys: "Keys", change: Change, growth: int, done: Submitted | Exception) -> None:
        """What became of the change of a key for which so many bytes were counted."""
        id = change.put[0].record.id
        if isinstance(done, Exception) or done.staged:
            self.give_back(keys.owner, growth)
        if isinstance(done, Conflict):
            self.known.wrong(keys.owner, id)
        elif isinstance(done, Exception) or done.status is not Status.COMMITTED:
            self.known.forget(id)
        else:
            self.known.set(keys.tools.store, change)

    def give_back(self, owner: Owner, growth: int) -> None:
        """What was counted did not come about, or is gone."""
        if owner in self._held:
            self._held[owner] -= growth


def _exceeded(total: int, most: int) -> QuotaExceeded:
    return QuotaExceeded(
        f"these keys would hold {total} bytes, {most} are allowed",
        field="value",
        fix="delete keys that are not needed, or give them a ttl",
    )


def _waited_for(answers: Iterable[list[Answer]]) -> Iterator[Answer]:
    """Those that nobody gave up meanwhile."""
    return (answer for some in answers for answer in some if not answer.done())


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where the record of a key stands, and what a next version has to know of the one that is there."""

    id: str
    base: Base
    number: int = 1
    created_at: int = 0
    expires_at: int | None = None
    held: int = 0
    current: Record | None = None

    def alive(self, at: int) -> bool:
        """Whether something stands there whose time has not passed."""
        return self.base is Base.LIVE and (self.expires_at is None or at < self.expires_at)

    def version(self, at: int) -> int:
        """The version that is alive, 0 for none."""
        return self.number - 1 if self.alive(at) else 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Keys:
    """The keys of an owner, and what it takes to work with them."""

    owner: Owner
    tools: Tools
    limits: Limits
    usage: Usage
    scope: Scope = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "scope", self.owner.scope)

    def where(self, prefix: str = "") -> Where:
        """All of the owner's entries whose keys begin so; also those that recalls are not shown."""
        return Where(
            scope=self.scope,
            alive_at=self.tools.clock(),
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
        """The owner's entries whose keys begin so, one of each key."""
        if isinstance(self.tools.store, Historian):
            async for record in self._marked(prefix):
                yield record
            return
        found = {record.metadata[MARK]["key"]: record for record in await self._by_age(prefix)}
        for record in found.values():
            yield record

    async def _marked(self, prefix: str) -> AsyncIterator[Record]:
        """Anybody may have metadata that only looks like a key's."""
        async for record in self.tools.all_matching(self.where(prefix)):
            if is_entry(record):
                yield record

    async def _by_age(self, prefix: str) -> list[Record]:
        """The oldest first, so that of several of one key all processes take the same: the last.

        That is the one at the usual id, which is looked at first, else the one that was set last.
        """
        found = [record async for record in self._marked(prefix)]
        return sorted(found, key=lambda record: (self._is_usual(record), record.updated_at, record.id))

    def _is_usual(self, record: Record) -> bool:
        return record.id == self.owner.address(record.metadata[MARK]["key"])

    async def counting(self, records: Sequence[Record]) -> frozenset[str]:
        """The ids of those that count: of several records of one key only the one that a get gives."""
        if isinstance(self.tools.store, Historian) or all(map(self._is_usual, records)):
            return frozenset(record.id for record in records)
        return frozenset([record.id async for record in self.every()])

    async def all_of(self, current: Record) -> list[Record]:
        """The records of a key: more than the current one only where two processes began it at once."""
        if isinstance(self.tools.store, Historian):
            return [current]
        key = current.metadata[MARK]["key"]
        others = [one for one in await self._by_age(key) if one.metadata[MARK]["key"] == key]
        return [current, *(one for one in others if one.id != current.id)]

    async def held(self) -> int:
        """The bytes of all values that are alive."""
        return sum([record.metadata[MARK]["bytes"] async for record in self.every()])

    async def find(self, key: str) -> Place:
        """Where the key stands, by a single look: what is not there is taken never to have been."""
        return await self.look(self.owner.address(key))

    async def look(self, id: str) -> Place:
        """The same, of the key whose usual id this is."""
        found = await self.usage.get(self.tools.store, self.scope, id)
        return Place(id=id, base=Base.NOTHING) if found is None else live(found)

    async def trace(self, key: str) -> Place:
        """Where the key stands, when its past matters: deleted ones go on, erased ones begin anew."""
        store, generation = self.tools.store, 0
        if not isinstance(store, Historian):
            return await self._without_a_past(key)
        while True:
            id = self.owner.address(key, generation)
            chain = await store.history(self.scope, id)
            if not chain:
                return Place(id=id, base=Base.NOTHING)
            last = chain[-1]
            if last.record is not None:
                if last.ended is None:
                    return live(last.record)
                return Place(id=id, base=Base.ENDED, number=last.number + 1)
            generation += 1

    async def _without_a_past(self, key: str) -> Place:
        """The same where nobody keeps one: what says that it is this key's, else an id that nobody had.

        The usual id may have ended. Writers of one process take turns; where two processes begin such a key
        anew at the same moment, there are two records, of which the one counts that was set last.
        """
        place = await self.find(key)
        if place.current is not None:
            return place
        async for record in self.every(key):
            if record.metadata[MARK]["key"] == key:
                return live(record)
        return Place(id=self.owner.address(key, self.tools.mint()), base=Base.NOTHING)


def glimpsed(glimpse: Glimpse | Seen) -> Place:
    """Where a key stands at whose usual id this was seen, or is known, without its record."""
    id, version, created_at, expires_at, told = glimpse
    held = told if isinstance(told, int) else _held(id, told)
    place: Callable[..., Place] = maker(Place)
    return place(id, Base.LIVE, version + 1, created_at, expires_at, held)


def _held(id: str, text: str | None) -> int:
    mark: Json = None if text is None else decoded(text)
    if not is_mark(mark):
        raise _no_value(id)
    held: int = mark["bytes"]
    return held


def live(record: Record) -> Place:
    """Where a key stands whose record this is; raises Conflict when it is no key's."""
    if not is_entry(record):
        raise _no_value(record.id)
    return maker(Place)(
        id=record.id,
        base=Base.LIVE,
        number=record.version + 1,
        created_at=record.created_at,
        expires_at=record.expires_at,
        held=record.metadata[MARK]["bytes"],
        current=record,
    )


def _no_value(id: str) -> Conflict:
    return Conflict(
        f"the memory {id} stands where this key belongs, and is no value of it",
        field="key",
        fix="forget that memory, or use another key",
    )
