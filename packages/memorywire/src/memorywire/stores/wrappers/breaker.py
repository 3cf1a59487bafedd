"""A store that is left alone for a while after it failed several times in a row."""

from typing import Any

from memorywire.model.clock import Clock
from memorywire.model.errors import StoreError, StoreUnavailable
from memorywire.stores.contract import Store
from memorywire.stores.wrappers.wrapper import Call, around

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
        left = self._closed_until - self._clock()
        if left > 0:
            left_alone = StoreUnavailable(
                f"not asked to {verb}: it failed {self._failed} times in a row",
                fix=f"it is asked again in {left / 1000:g} s",
            )
            left_alone.asked = False
            raise left_alone
        # Whoever comes while this one is on its way waits for the next turn.
        self._closed_until = self._clock() + self._rest_ms


def with_breaker(store: Store, *, clock: Clock, failures: int = FAILURES, rest_ms: int = REST_MS) -> Store:
    return around(store, Breaker(clock, failures=failures, rest_ms=rest_ms))
