"""The stores that every other contract must be the same on; a real Postgres server is one of them."""

import asyncio
import os
from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import pytest

from memorywire import Memory
from tests.engine.stage import HandClock
from tests.postgres.conftest import running, schema_of
from tests.postgres.desk import Server

A = TypeVar("A")
Story = Callable[[Memory, HandClock], Awaitable[A]]


@dataclass(frozen=True)
class Place:
    """Stores that are empty, and a folder for what cannot be kept in them."""

    urls: Sequence[str]
    folder: Path

    def play(self, story: Story[A], **options: Any) -> A:
        """Run a story on a memory of these stores; a second one finds what the first has left."""

        async def run() -> A:
            clock = HandClock()
            given = {"policy": "open", "journal": self._journal(), **options}
            async with Memory("agent", self.urls, clock=clock, **given) as memory:
                return await story(memory, clock)

        return asyncio.run(run())

    @property
    def keeps_its_past(self) -> bool:
        return not self.urls[0].startswith("markdown")

    def _journal(self) -> str | None:
        embedded = any(url.startswith("sqlite") for url in self.urls)
        return None if embedded else f"sqlite://{self.folder}/journal.db"


@pytest.fixture(scope="session")
def server() -> Iterator[Server]:
    yield from running("contracts")


@pytest.fixture(params=["memory", "sqlite", "postgresql", "markdown", "two stores"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Place]:
    beside = f"sqlite://{tmp_path}/memory.db"
    if request.param == "postgresql":
        for url in schema_of(request.getfixturevalue("server"), f"c{os.urandom(6).hex()}"):
            yield Place([url], tmp_path)
        return
    notes = f"markdown://{tmp_path}/notes"
    known = {"memory": ["memory://"], "sqlite": [beside], "markdown": [notes], "two stores": [beside, notes]}
    yield Place(known[request.param], tmp_path)
