"""What was acknowledged is there, whoever else writes and whatever happens to the server."""

import asyncio
import os
import random
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from memorywire.conformance.samples import (
    NOW,
    a_change,
    a_query,
    a_record,
    a_scope,
    a_vector,
    beginning,
    everything,
    ids,
    keep,
    records,
)
from memorywire.model.errors import MemorywireError
from memorywire.stores.postgres.store import PostgresStore
from tests.postgres.conftest import started, stopped
from tests.postgres.desk import Server, opened, rows, run

WRITERS = 8


@pytest.fixture
def own_server(monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[Path, Server]]:
    """A server of this test alone, because it will be stopped in the middle of its work."""
    monkeypatch.delenv("MEMORYWIRE_TEST_PG", raising=False)
    folder = Path(f"/tmp/memorywire-crash-{os.getpid()}")
    yield folder, Server(started(folder))
    stopped(folder, "immediate")
    subprocess.run(["rm", "-rf", str(folder)], check=True)


def test_a_server_that_dies_at_once_loses_no_acknowledged_write(own_server: tuple[Path, Server]) -> None:
    folder, server = own_server
    url = server.url("crash", pool=WRITERS)
    scope = a_scope()
    acknowledged: set[str] = set()
    heard: asyncio.Queue[None] = asyncio.Queue()

    async def write_on(store: PostgresStore, writer: int) -> None:
        """Until the server is gone; every change has two parts, so that half of one could be told."""
        for number in range(100_000):
            parts = [a_record(scope, f"{writer} {number} {part}") for part in range(2)]
            try:
                await store.write(a_change(scope, *(beginning(part, a_vector(1)) for part in parts)))
            except MemorywireError:
                return
            acknowledged.update(part.id for part in parts)
            heard.put_nowait(None)

    async def trial(store: PostgresStore, delay: float) -> None:
        writing = [asyncio.create_task(write_on(store, writer)) for writer in range(WRITERS)]
        for _ in range(4 * WRITERS):
            await heard.get()
        await asyncio.sleep(delay)
        await asyncio.to_thread(stopped, folder, "immediate")
        await asyncio.to_thread(started, folder)
        for task in writing:
            task.cancel()
        await asyncio.gather(*writing, return_exceptions=True)

    async def main() -> int:
        dice = random.Random(1)
        async with opened(url) as store:
            for _ in range(2):
                await trial(store, dice.uniform(0, 0.2))
            found = await store.search(a_query(scope, "", a_vector(1)), 100_000)
            assert acknowledged <= set(ids(found))
            return await store.count(everything(scope))

    kept = run(main())
    assert kept % 2 == 0
    assert len(acknowledged) >= 8 * WRITERS
    torn = "SELECT began FROM version GROUP BY began HAVING count(*) <> 2"
    assert rows(url, torn) == []


def test_a_crowd_of_writers_sees_no_error(shared: str) -> None:
    """Many tasks, more than there are connections, on few agents, with recalls in between."""
    agents = [a_scope() for _ in range(4)]

    async def write(store: PostgresStore, writer: int) -> None:
        scope = agents[writer % len(agents)]
        for number in range(6):
            kept = records(scope, 2, f"{writer} {number}")
            await keep(store, *kept, vector=a_vector(1, writer))
            await store.touch(scope, ids(await store.find(everything(scope), limit=5)), NOW + number)
            found = await store.search(a_query(scope, f"{writer} {number}", a_vector(1, writer)), 3)
            assert len(found) >= 2

    async def main() -> None:
        async with opened(f"{shared}&pool=4") as one, opened(f"{shared}&pool=4") as other:
            await asyncio.gather(*(write((one, other)[writer % 2], writer) for writer in range(24)))
            for scope in agents:
                assert await one.count(everything(scope)) == 72

    run(main())


def test_commits_of_an_agent_are_numbered_in_the_order_they_happen(shared: str) -> None:
    """Looking back to a moment depends on it: a smaller number may not appear after a larger one."""
    scope = a_scope()
    numbers = "SELECT began FROM version WHERE agent = %s ORDER BY began"

    async def main() -> None:
        async with opened(f"{shared}&pool=6") as store:

            async def watch(done: asyncio.Event) -> None:
                seen: list[tuple[int]] = []
                while not done.is_set():
                    now = await asyncio.to_thread(rows, shared, numbers, scope.agent)
                    assert now[: len(seen)] == seen
                    seen = now

            done = asyncio.Event()
            watching = asyncio.create_task(watch(done))
            await asyncio.gather(*(keep(store, a_record(scope)) for _ in range(60)))
            done.set()
            await watching
            assert await store.count(everything(scope)) == 60

    run(main())


def test_a_refused_change_leaves_nothing_behind(shared: str) -> None:
    scope = a_scope()
    record = a_record(scope)

    async def main() -> None:
        async with opened(shared) as store:
            await keep(store, record)
            before = await store.changes(scope, 10)
            broken = a_change(scope, beginning(a_record(scope, "new")), beginning(record))
            with pytest.raises(MemorywireError, match="taken"):
                await store.write(broken)
            assert await store.changes(scope, 10) == before
            assert await store.count(everything(scope)) == 1

    run(main())
