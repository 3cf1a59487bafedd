"""A memory whose embedder costs nothing and whose clock is moved by hand."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

from memorywire import Memory
from tests.engine.quick import Quick
from tests.engine.stage import HandClock

A = TypeVar("A")
STORES = ("memory://", "sqlite://")


def play(story: Callable[[Memory, HandClock], Awaitable[A]], url: str = "sqlite://", **options: Any) -> A:
    """Run a story on a fresh memory."""

    async def run() -> A:
        clock = HandClock()
        given = {"embedder": Quick(), "policy": "open", **options}
        async with Memory("agent", [url], clock=clock, **given) as memory:
            return await story(memory, clock)

    return asyncio.run(run())
