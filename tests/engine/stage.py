"""A memory on a chosen store, with a clock that a test moves by hand."""

import asyncio
import json
from collections.abc import Awaitable, Callable
from pathlib import Path
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


def one_rule(folder: Path, verdict: str, **condition: list[str]) -> str:
    """The path of a policy that lets everything pass, but for one rule."""
    policy = folder / "policy.toml"
    [(name, texts)] = condition.items()
    rule = f'[[rule]]\nname = "one"\nverdict = "{verdict}"\n{name} = {json.dumps(texts)}\n'
    policy.write_text(f'profile = "open"\n{rule}', encoding="utf-8")
    return str(policy)


def play(url: str, story: Callable[[Memory, HandClock], Awaitable[A]], policy: str | None = "open") -> A:
    """Run a story on a fresh memory."""

    async def run() -> A:
        clock = HandClock()
        async with Memory("agent", [url], policy=policy, clock=clock) as memory:
            return await story(memory, clock)

    return asyncio.run(run())
