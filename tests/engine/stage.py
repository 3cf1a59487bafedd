"""A memory on a chosen store, with a clock that a test moves by hand."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeVar

from memorywire import Memory
from memorywire.model.clock import DAY_MS

A = TypeVar("A")
STORES = ("memory://", "sqlite://")
NOON = 1_800_000_000_000


class HandClock:
    """A clock that stands still until it is moved."""

    def __init__(self, now: int = NOON) -> None:
        self.now = now

    def __call__(self) -> int:
        return self.now

    def pass_days(self, days: float) -> None:
        self.now += int(days * DAY_MS)


def play(url: str, story: Callable[[Memory, HandClock], Awaitable[A]], policy: str | None = "open") -> A:
    """Run a story on a fresh memory."""

    async def run() -> A:
        clock = HandClock()
        async with Memory("agent", [url], policy=policy, clock=clock) as memory:
            return await story(memory, clock)

    return asyncio.run(run())
