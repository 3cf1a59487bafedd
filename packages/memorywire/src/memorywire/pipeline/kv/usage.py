"""State of this process for keys in use: bytes held, writes in progress, and the groups they share."""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Self, TypeAlias, TypeVar

from memorywire.model.answers import Status
from memorywire.model.change import Change
from memorywire.model.errors import Conflict, MemorywireError, QuotaExceeded
from memorywire.model.kv import MARK, Kept, Owner, Setting
from memorywire.model.record import Record, Scope
from memorywire.pipeline.plan import CommitResult
from memorywire.stores.contract import Store, SupportsBulkWrite

if TYPE_CHECKING:
    from memorywire.pipeline.kv.keys import Keys


Seen: TypeAlias = tuple[str, int, int, int | None, int]
"""A record's id, version, created_at and expires_at, and the bytes of its value; a plain tuple, which the
garbage collector can untrack."""

_MOST = 32_768


class Known:
    """Cache of the last version this process committed under each key; entries may be stale.

    A write names the version it expects, so a stale guess is refused, and the caller reads the store. A stale
    guess also shows that others write this owner's keys; from then on the cache is off for that owner.
    """

    def __init__(self) -> None:
        self._seen: dict[str, Seen] = {}
        self._store: object = None
        self._shared: set[Owner] = set()

    def guesses(self, owner: Owner, store: object, ids: Iterable[str]) -> Mapping[str, Seen]:
        """Return the cached versions of these ids; empty if others write the owner's keys too."""
        if store is not self._store or owner in self._shared:
            return {}
        return {id: self._seen[id] for id in ids if id in self._seen}

    def set(self, store: object, change: Change) -> None:
        """Cache the version that a committed change of a key has written."""
        if store is not self._store or len(self._seen) >= _MOST:
            self._seen.clear()
            self._store = store
        record = change.put[0].record
        size = record.metadata[MARK]["bytes"]
        self._seen[record.id] = (record.id, record.version, record.created_at, record.expires_at, size)

    def forget(self, id: str) -> bool:
        """Drop the cached version of this id; True if there was one."""
        return self._seen.pop(id, None) is not None

    def wrong(self, owner: Owner, id: str) -> None:
        """Record a conflict: if a version was cached, stop caching for this owner."""
        if self.forget(id):
            self._shared.add(owner)


class Turn:
    """The queue for one key: one writer at a time. The last one to leave removes the queue."""

    def __init__(self, turns: "Turns", id: str, before: "Held | None") -> None:
        self._turns = turns
        self._id = id
        self._before = before
        self._lock = asyncio.Lock()
        self._waiting = 0

    async def __aenter__(self) -> None:
        self._waiting += 1
        try:
            await self._lock.acquire()
            await self._after_those_before()
        except BaseException:
            self._leave()
            raise

    async def __aexit__(self, *_: object) -> None:
        self._lock.release()
        self._leave()

    async def _after_those_before(self) -> None:
        if self._before is None:
            return
        try:
            await self._before.over.wait()
        except BaseException:
            self._lock.release()
            raise
        self._before = None

    def _leave(self) -> None:
        self._waiting -= 1
        if not self._waiting:
            self._turns.leave(self._id, self, self._before)


class Held:
    """The turns of many keys, taken without waiting; `missed` has the indexes of keys that were not free."""

    def __init__(self, turns: "Turns", ids: Sequence[str]) -> None:
        self._turns = turns
        self._ids: list[str] = []
        self.missed: list[int] = []
        self.over = asyncio.Event()
        for at, id in enumerate(ids):
            if turns.take(id, self):
                self._ids.append(id)
            else:
                self.missed.append(at)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.over.set()
        for id in self._ids:
            self._turns.leave(id, self)


class Turns:
    """All turns taken in this process, by the id of the key's record."""

    def __init__(self) -> None:
        self._taken: dict[str, Turn | Held] = {}

    def turn(self, id: str) -> Turn:
        """Return the queue for one key; entering it waits for all earlier writers."""
        turn = self._taken.get(id)
        if not isinstance(turn, Turn):
            turn = self._taken[id] = Turn(self, id, turn)
        return turn

    def hold(self, ids: Sequence[str]) -> Held:
        """Take the turns of many keys at once, without waiting for any of them."""
        return Held(self, ids)

    def take(self, id: str, holder: Held) -> bool:
        """Take the turn of a key for this group; False if it is not free."""
        if id in self._taken:
            return False
        self._taken[id] = holder
        return True

    def leave(self, id: str, holder: Turn | Held, before: Held | None = None) -> None:
        """Free the turn of a key, or return it to the group that held it `before`, if that is still busy."""
        if self._taken.get(id) is not holder:
            return
        if before is None or before.over.is_set():
            del self._taken[id]
        else:
            self._taken[id] = before


T = TypeVar("T")
Answer: TypeAlias = "asyncio.Future[Record | None]"
Write: TypeAlias = "Callable[[Keys, Sequence[Setting]], Awaitable[Sequence[Kept | Exception]]]"

MOST_TOGETHER = 1_024
"""The most settings in one commit; in larger commits, each setting writes fewer pages of the file."""


class _Joined:
    """Settings that will be written in one commit, and a future for each caller that waits."""

    def __init__(self, keys: "Keys") -> None:
        self.keys = keys
        self.settings: list[Setting] = []
        self.answers: list[asyncio.Future[Kept]] = []

    def takes(self, keys: "Keys") -> bool:
        """Whether settings of these keys may join: equal context, limits and area, and room in the group."""
        mine = self.keys
        same = keys is mine or (
            keys.context == mine.context and keys.limits == mine.limits and keys.area == mine.area
        )
        return same and len(self.settings) < MOST_TOGETHER

    def answer(self, task: "asyncio.Task[Sequence[Kept | Exception]]") -> None:
        """Set the receipt or the error for every caller that still waits; called when the write has ended."""
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
    """The bytes each owner holds, as far as this process knows, and the writes in progress.

    Writes of this process are counted at once. To include other processes, the bytes are recounted when a
    quota seems to be reached, before anything is refused.
    """

    def __init__(self) -> None:
        self._held: dict[tuple[Owner, str], int] = {}
        self._counting = asyncio.Lock()
        self._asked: dict[Scope, dict[str, list[Answer]]] = {}
        self._tasks: set[asyncio.Task[Any]] = set()
        self._joined: dict[Owner, _Joined] = {}
        self._writing: dict[Owner, asyncio.Task[Any]] = {}
        self.turns = Turns()
        self.known = Known()

    def join(self, keys: "Keys", setting: Setting, write: Write) -> "asyncio.Future[Kept]":
        """Return a future for the receipt of a setting, which is written together with concurrent settings.

        If the store supports bulk writes, a setting also waits for the write in progress, and shares the next
        commit with all settings that arrive meanwhile. So the cost per setting falls under load.
        """
        loop = asyncio.get_running_loop()
        group = self._joined.get(keys.owner)
        if group is None or not group.takes(keys):
            group = self._joined[keys.owner] = _Joined(keys)
            before = (
                self._writing.get(keys.owner) if isinstance(keys.context.store, SupportsBulkWrite) else None
            )
            task = self._writing[keys.owner] = self._begin(self._write(group, write, before))
            task.add_done_callback(group.answer)
            task.add_done_callback(partial(self._end_group, group))
        answer: asyncio.Future[Kept] = loop.create_future()
        group.settings.append(setting)
        group.answers.append(answer)
        return answer

    async def _write(
        self, group: _Joined, write: Write, before: "asyncio.Task[Any] | None"
    ) -> Sequence[Kept | Exception]:
        if before is not None:
            await asyncio.wait([before])
        if self._joined.get(group.keys.owner) is group:
            del self._joined[group.keys.owner]
        return await write(group.keys, group.settings)

    def _end_group(self, group: _Joined, task: "asyncio.Task[Any]") -> None:
        owner = group.keys.owner
        if self._writing.get(owner) is task:
            del self._writing[owner]
        if self._joined.get(owner) is group:  # cancelled before it began: no caller may join it now
            del self._joined[owner]

    def _begin(self, work: Coroutine[None, None, T]) -> "asyncio.Task[T]":
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    async def get(self, store: Store, scope: Scope, id: str) -> Record | None:
        """Return the record of a key; keys requested at the same time are read together."""
        loop = asyncio.get_running_loop()
        waiting = self._asked.get(scope)
        if waiting is None:
            waiting = self._asked[scope] = {}
            self._begin(self._read(store, scope))
        answer: Answer = loop.create_future()
        waiting.setdefault(id, []).append(answer)
        return await answer

    async def _read(self, store: Store, scope: Scope) -> None:
        waiting = self._asked.pop(scope)
        try:
            records = {record.id: record for record in await store.get(scope, list(waiting))}
        except MemorywireError as problem:
            for answer in _list_waiting(waiting.values()):
                answer.set_exception(problem)
            return
        for id, answers in waiting.items():
            for answer in _list_waiting([answers]):
                answer.set_result(records.get(id))

    async def reserve(self, keys: "Keys", growth: int) -> None:
        """Count this many more bytes for the owner, or raise QuotaExceeded."""
        (problem,) = await self.reserve_each(keys, [growth])
        if problem is not None:
            raise problem

    async def reserve_each(self, keys: "Keys", growths: Sequence[int]) -> list[QuotaExceeded | None]:
        """Like `reserve`, for many values in order; returns a refusal for each value that does not fit."""
        account, most = (keys.owner, keys.area), keys.limits.quota_bytes
        if account not in self._held:
            async with self._counting:
                if account not in self._held:  # else an earlier caller has counted
                    self._held[account] = await keys.sum_bytes()
        if self._held[account] + sum(growth for growth in growths if growth > 0) > most:
            self._held[account] = await keys.sum_bytes()
        refusals: list[QuotaExceeded | None] = []
        usage = self._held[account]
        for growth in growths:
            total = usage + growth
            fits = growth <= 0 or total <= most
            refusals.append(None if fits else _build_refusal(total, most))
            usage = total if fits else usage
        self._held[account] = usage
        return refusals

    def settle(self, keys: "Keys", change: Change, growth: int, result: CommitResult | Exception) -> None:
        """Record the outcome of a change whose bytes were reserved; releases them if it was not committed."""
        id = change.put[0].record.id
        if isinstance(result, Exception) or result.is_staged:
            self.give_back(keys.owner, keys.area, growth)
        if isinstance(result, Conflict):
            self.known.wrong(keys.owner, id)
        elif isinstance(result, Exception) or result.status is not Status.COMMITTED:
            self.known.forget(id)
        else:
            self.known.set(keys.context.store, change)

    def give_back(self, owner: Owner, area: str, growth: int) -> None:
        """Release these bytes: they were not written, or their value was deleted."""
        if (owner, area) in self._held:
            self._held[owner, area] -= growth


def _build_refusal(total: int, most: int) -> QuotaExceeded:
    return QuotaExceeded(
        f"these keys would hold {total} bytes, {most} are allowed",
        field="value",
        fix="delete keys that are not needed, or give them a ttl",
    )


def _list_waiting(answers: Iterable[list[Answer]]) -> Iterator[Answer]:
    """Return the futures whose callers still wait."""
    return (answer for some in answers for answer in some if not answer.done())
