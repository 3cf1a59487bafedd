"""A store that goes away and comes back, and clients whose journal lives in a file beside no store's."""

import asyncio
import os
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, TypeVar

import apsw

from memorywire import Memory
from memorywire.journal.ledger import read_entries
from memorywire.journal.sqlite import SqliteSession
from memorywire.model.capabilities import Feature
from memorywire.model.change import Change
from memorywire.model.errors import StoreUnavailable
from memorywire.model.record import Json
from memorywire.model.space import Space
from memorywire.stores.memory import MemoryStore
from memorywire.stores.registry import GROUP
from memorywire_testing.samples import SPACE
from tests.cli.shell import SRC
from tests.engine.stage import HandClock
from tests.sqlite.governed import Signature

A = TypeVar("A")


class Fickle(MemoryStore):
    """Keeps memories in memory, and takes none while it is away; it says that it lasts, so a journal must."""

    name = "fickle"
    features = frozenset(Feature)

    def __init__(self, space: Space = SPACE) -> None:
        super().__init__(space)
        self.away = False
        self.written: list[str] = []

    async def write(self, change: Change) -> int:
        if self.away:
            raise StoreUnavailable("nobody answers")
        sequence = await super().write(change)
        self.written.append(change.id)
        return sequence


@asynccontextmanager
async def client(
    store: Any, folder: Path, clock: Callable[[], int] | None = None, **options: Any
) -> AsyncIterator[Memory]:
    """A memory on this store, with its journal in this folder."""
    journal = f"sqlite://{folder}/journal.db"
    given = {"embedder": Signature(), "journal": journal, "clock": clock or HandClock(), **options}
    async with Memory("agent", [store], **given) as memory:
        yield memory


async def open_store(url: str, *, space: Space) -> Fickle:
    """`fickle://here` is there, every other one is away."""
    store = Fickle(space)
    store.away = url != "fickle://here"
    return store


def installed(folder: Path) -> dict[str, str]:
    """The environment in which the command knows this store, as a package of somebody else's."""
    described = folder / "fickle-1.dist-info"
    described.mkdir()
    (described / "METADATA").write_text("Metadata-Version: 2.1\nName: fickle\nVersion: 1\n")
    (described / "entry_points.txt").write_text(f"[{GROUP}]\nfickle = {__name__}:open_store\n")
    return {"PYTHONPATH": os.pathsep.join([str(SRC), str(SRC.parent), str(folder)])}


def entries(folder: Path, *names: str) -> list[tuple[Json, ...]]:
    """What the ledger in this folder says, oldest first: these fields of each entry."""
    db = apsw.Connection(str(folder / "journal.db"))
    try:
        return [
            tuple(row.said.get(name) for name in names or ("kind",))
            for row in read_entries(SqliteSession(db))
        ]
    finally:
        db.close()


def kinds(folder: Path) -> list[Json]:
    return [kind for (kind,) in entries(folder, "kind")]


def run(story: Awaitable[A]) -> A:
    async def main() -> A:
        return await story

    return asyncio.run(main())


def contents(found: Sequence[Any]) -> list[str]:
    return sorted(item.content for item in found)
