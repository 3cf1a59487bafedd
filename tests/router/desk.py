"""Several stores as one memory, some of them sick on purpose, with a clock that a test moves by hand."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from memorywire import Memory
from memorywire.app import Several
from memorywire.model.record import Record
from memorywire.pipeline.context import Routing
from memorywire.search.embed import open_embedder
from memorywire.stores.contract import Store
from memorywire.stores.memory import MemoryStore
from memorywire.stores.wrappers import with_name
from memorywire_testing.faults import Faults, with_faults
from tests.engine.stage import HandClock

A = TypeVar("A")
SPACE = open_embedder("minilm").space
LONG = 60.0
SHORT = 2.0
"""Of a store that hangs; the others must have answered by then, on a machine that is busy, too."""
FACTS = (
    "Ana prefers green tea to coffee",
    "Ben keeps the spare key under the blue pot",
    "The deploy runs every Tuesday at noon",
    "Chloe is allergic to peanuts",
    "The office moved to Lisbon in March",
    "Dario plays the cello on Sundays",
)


@dataclass
class Ward:
    """Stores in memory that outlive the memory they are mounted in, each with a fault to set."""

    names: Sequence[str] = ("left", "right")
    faults: dict[str, Faults] = field(default_factory=dict)
    stores: dict[str, Store] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.faults = {name: Faults() for name in self.names}
        self.stores = {name: MemoryStore(SPACE) for name in self.names}

    def mounts(self) -> list[Store]:
        return [with_name(with_faults(self.stores[name], self.faults[name]), name) for name in self.names]


@dataclass(frozen=True)
class Scene:
    memory: Memory
    clock: HandClock
    ward: Ward


def play(
    story: Callable[[Scene], Awaitable[A]],
    *,
    ward: Ward | None = None,
    file: Path | None = None,
    clock: HandClock | None = None,
    deadline: float = LONG,
    writing: float = LONG,
    journal: Path | None = None,
    **routing: Any,
) -> A:
    """Run a story on the stores of a ward, behind an embedded store in `file` if one is given."""
    ward = ward or Ward()
    clock = clock or HandClock()
    first = [] if file is None else [f"sqlite://{file}"]
    several = Several(routing=Routing(**routing), deadline=deadline, writing=writing)

    async def run() -> A:
        async with Memory(
            "agent",
            [*first, *ward.mounts()],
            policy="open",
            several=several,
            clock=clock,
            journal=None if journal is None else f"sqlite://{journal}",
        ) as memory:
            return await story(Scene(memory, clock, ward))

    return asyncio.run(run())


async def kept(store: Store) -> list[tuple[str, int, object]]:
    """Everything alive in a store, in words that every store shares."""
    from memorywire.model.query import Where
    from memorywire.model.record import Scope

    found: list[Record] = await store.find(Where(scope=Scope(agent="agent"), alive_at=0), None, 1000)
    return [(record.id, record.version, record.content) for record in found]
