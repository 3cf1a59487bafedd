"""Concurrent calls of several stores with a deadline, and wrappers for timeouts, hedging and breakers."""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from typing import Any, Generic, TypeVar

from msgspec import Struct

from memorywire.model.clock import Clock
from memorywire.model.errors import MemorywireError, StoreCorrupt, StoreError, StoreUnavailable
from memorywire.stores.contract import Store
from memorywire.stores.wrappers.wrapper import READS, Call, wrap

T = TypeVar("T")


class CallResult(Struct, Generic[T], frozen=True, kw_only=True):
    """The answer or the error of one call, and the seconds it took."""

    store: str
    answer: T | None
    error: MemorywireError | None
    elapsed: float


async def ask_each(calls: Mapping[str, Coroutine[Any, Any, T]], seconds: float) -> list[CallResult[T]]:
    """Return the answer or error of each call, in order; calls that miss the deadline are cancelled."""
    loop = asyncio.get_running_loop()
    start, durations = loop.time(), dict.fromkeys(calls, seconds)

    def record_end(task: "asyncio.Task[T]") -> None:
        durations[task.get_name()] = loop.time() - start
        if not task.cancelled():
            task.exception()  # marks a late error as retrieved, because nobody awaits it

    tasks = {name: loop.create_task(call, name=name) for name, call in calls.items()}
    for task in tasks.values():
        task.add_done_callback(record_end)
    try:
        await asyncio.wait(tasks.values(), timeout=seconds)
    finally:
        for task in tasks.values():
            task.cancel()
    return [_read_result(name, task, durations[name], seconds) for name, task in tasks.items()]


def _read_result(name: str, task: "asyncio.Task[T]", elapsed: float, seconds: float) -> CallResult[T]:
    """Return the answer of a call, or its error; unexpected exceptions become StoreCorrupt."""
    late = not task.done() or task.cancelled()
    error = StoreUnavailable(f"no answer in {seconds:g} s") if late else task.exception()
    if error is None:
        return CallResult(store=name, answer=task.result(), error=None, elapsed=elapsed)
    if not isinstance(error, MemorywireError):
        error = StoreCorrupt(f"the store failed with {type(error).__name__}")
    return CallResult(store=name, answer=None, error=error, elapsed=elapsed)


def with_timeout(store: Store, seconds: float, *, writes: float | None = None) -> Store:
    """Return a store that raises StoreUnavailable when a call takes longer; the call may still succeed.

    Writes time out after `writes` seconds, if given. Unexpected exceptions become StoreCorrupt.
    """

    async def intercept(verb: str, call: Call[Any]) -> Any:
        limit = seconds if writes is None or verb in READS else writes

        async def run() -> Any:
            return await call()

        (result,) = await ask_each({store.name: run()}, limit)
        if result.error is not None:
            raise result.error
        return result.answer

    return wrap(store, intercept)


def with_hedge(store: Store, after: float) -> Store:
    """Return a store that repeats reads that take longer than `after` seconds; never writes."""

    async def intercept(verb: str, call: Call[Any]) -> Any:
        if verb not in READS:
            return await call()
        attempts: set[asyncio.Future[Any]] = {asyncio.ensure_future(call())}
        try:
            finished, waiting = await asyncio.wait(attempts, timeout=after)
            if not finished:
                attempts |= {asyncio.ensure_future(call())}
                waiting = set(attempts)
            while True:  # until one succeeds or all have failed
                good = [one for one in finished if one.exception() is None]
                if good or not waiting:
                    return (good or list(finished))[0].result()
                finished, waiting = await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for one in attempts:
                one.cancel()

    return wrap(store, intercept)


FAILURES = 3
PAUSE_MS = 5_000


class Breaker:
    """A circuit breaker: after `failures` errors in a row it refuses calls; after a pause it tries one.

    If that call fails, the pause begins again; if it succeeds, the count is reset. Only a StoreError
    counts as a failure.
    """

    def __init__(self, clock: Clock, *, failures: int = FAILURES, pause_ms: int = PAUSE_MS) -> None:
        self._clock = clock
        self._max_failures = failures
        self._pause_ms = pause_ms
        self._failures = 0
        self._closed_until = 0

    async def __call__(self, verb: str, call: Call[Any]) -> Any:
        if self._failures >= self._max_failures:
            remaining = self._closed_until - self._clock()
            if remaining > 0:
                refusal = StoreUnavailable(
                    f"not asked to {verb}: it failed {self._failures} times in a row",
                    fix=f"it is asked again in {remaining / 1000:g} s",
                )
                refusal.asked = False
                raise refusal
            # Other calls during this one are refused until the next pause is over.
            self._closed_until = self._clock() + self._pause_ms
        try:
            answer = await call()
        except StoreError:
            self._failures += 1
            if self._failures >= self._max_failures:
                self._closed_until = self._clock() + self._pause_ms
            raise
        self._failures = 0
        return answer


def with_breaker(store: Store, *, clock: Clock, failures: int = FAILURES, pause_ms: int = PAUSE_MS) -> Store:
    return wrap(store, Breaker(clock, failures=failures, pause_ms=pause_ms))


class _Unopened:
    """A placeholder until the store is open."""

    features: frozenset[Any] = frozenset()

    def __init__(self, name: str) -> None:
        self.name = name

    async def close(self) -> None:
        """Do nothing."""


def open_on_demand(name: str, opener: Callable[[], Awaitable[Store]]) -> Store:
    """Return a store that `opener` opens at the first call; until that succeeds, calls raise its error.

    It has no optional protocols, because they are not known before it is open.
    """
    nobody: Any = _Unopened(name)

    async def intercept(verb: str, call: Call[Any]) -> Any:
        if waiting.inner is nobody:
            waiting.inner = await opener()
        return await call()

    waiting: Any = wrap(nobody, intercept)
    store: Store = waiting
    return store
