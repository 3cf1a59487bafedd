"""Asking several stores at once: an answer or a problem from each, by the deadline at the latest."""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from functools import partial
from typing import Any, Generic, TypeVar

from msgspec import Struct

from memorywire.model.clock import Clock
from memorywire.model.errors import MemorywireError, StoreCorrupt, StoreError, StoreUnavailable
from memorywire.stores.contract import Store
from memorywire.stores.wrappers.wrapper import READS, Call, around

T = TypeVar("T")


class Told(Struct, Generic[T], frozen=True, kw_only=True):
    """The answer of one call, or its problem, and the seconds it took."""

    store: str
    answer: T | None
    error: MemorywireError | None
    elapsed: float


async def ask_each(calls: Mapping[str, Coroutine[Any, Any, T]], seconds: float) -> list[Told[T]]:
    """The answer or problem of each call, in order; a call that is not done in time is given up."""
    loop = asyncio.get_running_loop()
    start, durations = loop.time(), dict.fromkeys(calls, seconds)
    tasks = {name: loop.create_task(call) for name, call in calls.items()}
    for name, task in tasks.items():
        task.add_done_callback(partial(_note_end, durations, name, start))
    try:
        await asyncio.wait(tasks.values(), timeout=seconds)
    finally:
        for task in tasks.values():
            task.cancel()
    return [_told(name, task, durations[name], seconds) for name, task in tasks.items()]


def _note_end(durations: dict[str, float], name: str, start: float, task: "asyncio.Task[Any]") -> None:
    durations[name] = task.get_loop().time() - start
    if not task.cancelled():
        task.exception()  # said to have been seen: whoever came too late has nobody to tell


def _told(name: str, task: "asyncio.Task[T]", elapsed: float, seconds: float) -> Told[T]:
    if not task.done() or task.cancelled():
        late = StoreUnavailable(f"no answer in {seconds:g} s")
        return Told(store=name, answer=None, error=late, elapsed=elapsed)
    error = task.exception()
    if error is not None:
        return Told(store=name, answer=None, error=_problem(error), elapsed=elapsed)
    return Told(store=name, answer=task.result(), error=None, elapsed=elapsed)


def _problem(error: BaseException) -> MemorywireError:
    """The error as one of ours; whatever else foreign code raises means that its answer makes no sense."""
    if isinstance(error, MemorywireError):
        return error
    return StoreCorrupt(f"the store failed with {type(error).__name__}")


def with_patience(store: Store, seconds: float, *, writes: float | None = None) -> Store:
    """Raises StoreUnavailable when a verb takes longer; what it does then may still happen.

    Whatever is no read may take `writes` seconds, if given. What a store should never raise is StoreCorrupt.
    """

    async def door(verb: str, call: Call[Any]) -> Any:
        limit = seconds if writes is None or verb in READS else writes
        (result,) = await ask_each({store.name: _awaited(call)}, limit)
        if result.error is not None:
            raise result.error
        return result.answer

    return around(store, door)


async def _awaited(call: Call[Any]) -> Any:
    return await call()


def with_hedge(store: Store, after: float) -> Store:
    """Reads that take longer than `after` seconds are asked once more; writes never are."""

    async def door(verb: str, call: Call[Any]) -> Any:
        return await _hedged(call, after) if verb in READS else await call()

    return around(store, door)


async def _hedged(call: Call[Any], after: float) -> Any:
    first: asyncio.Future[Any] = asyncio.ensure_future(call())
    attempts = {first}
    try:
        finished, _ = await asyncio.wait(attempts, timeout=after)
        if not finished:
            attempts = {first, asyncio.ensure_future(call())}
        return await _first_good(attempts)
    finally:
        for one in attempts:
            one.cancel()


async def _first_good(attempts: set["asyncio.Future[Any]"]) -> Any:
    """The first answer that is no failure; when all fail, the last failure."""
    waiting = set(attempts)
    while True:
        finished, waiting = await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
        good = [one for one in finished if one.exception() is None]
        if good or not waiting:
            return (good or list(finished))[0].result()


FAILURES = 3
REST_MS = 5_000


class Breaker:
    """Counts failures in a row. Once there are too many nobody is let through, and after the rest one is.

    That one decides: when it fails the rest begins again, when it succeeds all is forgotten. A refusal is
    an answer, not a failure.
    """

    def __init__(self, clock: Clock, *, failures: int = FAILURES, rest_ms: int = REST_MS) -> None:
        self._clock = clock
        self._most = failures
        self._rest_ms = rest_ms
        self._failed = 0
        self._closed_until = 0

    async def __call__(self, verb: str, call: Call[Any]) -> Any:
        self._let_in(verb)
        try:
            answer = await call()
        except StoreError:
            self._failed += 1
            if self._failed >= self._most:
                self._closed_until = self._clock() + self._rest_ms
            raise
        self._failed = 0
        return answer

    def _let_in(self, verb: str) -> None:
        if self._failed < self._most:
            return
        remaining = self._closed_until - self._clock()
        if remaining > 0:
            refusal = StoreUnavailable(
                f"not asked to {verb}: it failed {self._failed} times in a row",
                fix=f"it is asked again in {remaining / 1000:g} s",
            )
            refusal.asked = False
            raise refusal
        # Whoever comes while this one is on its way waits for the next turn.
        self._closed_until = self._clock() + self._rest_ms


def with_breaker(store: Store, *, clock: Clock, failures: int = FAILURES, rest_ms: int = REST_MS) -> Store:
    return around(store, Breaker(clock, failures=failures, rest_ms=rest_ms))


class _Nobody:
    """Stands where the store will be."""

    features: frozenset[Any] = frozenset()

    def __init__(self, name: str) -> None:
        self.name = name

    async def close(self) -> None:
        """There is nothing to close."""


def absent(name: str, opener: Callable[[], Awaitable[Store]]) -> Store:
    """The store that `opener` opens, once it can; until then every call raises what is in the way.

    Abilities beyond those of every store are not offered, because nobody knows them yet.
    """
    nobody: Any = _Nobody(name)

    async def door(verb: str, call: Call[Any]) -> Any:
        if waiting.inner is nobody:
            waiting.inner = await opener()
        return await call()

    waiting: Any = around(nobody, door)
    store: Store = waiting
    return store
