"""What was acknowledged is there, whoever else writes and whatever happens to the server."""

import asyncio
import random

import psycopg
import pytest

from memorywire.model.capabilities import Feature
from memorywire.model.errors import MemorywireError
from memorywire_postgres.store import PostgresStore
from memorywire_testing.samples import (
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
from tests.postgres.crash import CARELESS, WRITERS, careless_crashes, crashes, serving
from tests.postgres.desk import Server, opened, rows, run


def test_a_server_that_dies_at_once_loses_no_acknowledged_write() -> None:
    with serving("crash") as (folder, server):
        acknowledged, lost, torn = run(crashes(folder, server, trials=1, dice=random.Random(1)))
        missed = careless_crashes(folder, server, trials=6)
    assert acknowledged >= 2 * WRITERS
    assert (lost, torn) == (0, 0)
    assert missed > 0  # the same deaths, and nothing waits for the disk


def test_a_store_whose_server_does_not_wait_for_the_disk_is_not_called_durable(server: Server) -> None:
    async def features(url: str) -> frozenset[Feature]:
        async with opened(url) as store:
            return store.features

    assert Feature.DURABLE in run(features(server.url("careful")))
    assert run(features(server.url("careful", **CARELESS))) == frozenset(Feature) - {
        Feature.DURABLE,
        Feature.GRAPH,
    }


def test_a_caller_who_gives_up_while_the_connection_breaks_is_not_served_again(shared: str) -> None:
    tries = []

    async def break_off(_: psycopg.AsyncConnection[tuple[object, ...]]) -> None:
        tries.append(asyncio.current_task())
        if len(tries) == 1:
            tries[0].cancel()
        try:  # as psycopg does: it cancels the query, and the error of the connection comes first
            await asyncio.sleep(0)
        except asyncio.CancelledError:
            raise psycopg.OperationalError("the server closed the connection") from None

    async def main() -> None:
        async with opened(shared) as store:
            writing = asyncio.create_task(store.database.write("default", break_off))
            [outcome] = await asyncio.gather(writing, return_exceptions=True)
            assert isinstance(outcome, asyncio.CancelledError)

    run(main())
    assert len(tries) == 1


def test_a_writer_that_is_cancelled_as_it_gets_a_connection_ends(shared: str) -> None:
    async def main() -> None:
        async with opened(f"{shared}&pool=1") as store:
            for turns in range(120):
                release, is_held = asyncio.Event(), asyncio.Event()

                async def hold(
                    _: object, held: asyncio.Event = is_held, free: asyncio.Event = release
                ) -> None:
                    held.set()
                    await free.wait()

                async def write_on() -> None:
                    while True:
                        await store.database.write("default", lambda db: db.execute("SELECT 1"))

                holding = asyncio.create_task(store.database.write("default", hold))
                await is_held.wait()
                waiting = asyncio.create_task(write_on())
                await asyncio.sleep(0.01)  # it waits for the only connection
                release.set()
                for _ in range(turns):
                    await asyncio.sleep(0)
                waiting.cancel()
                await holding
                ended, _ = await asyncio.wait([waiting], timeout=5)
                assert ended, f"{turns} turns of the loop after the release"

    run(main())


def test_a_caller_who_gives_up_leaves_whole_changes_and_free_connections(shared: str) -> None:
    scope, dice = a_scope(), random.Random(2)

    async def main() -> None:
        async with opened(f"{shared}&pool=2") as store:
            for _ in range(40):
                writing = asyncio.create_task(keep(store, *records(scope, 2)))
                await asyncio.wait([writing], timeout=dice.uniform(0, 0.02))
                writing.cancel()
                await asyncio.gather(writing, return_exceptions=True)
            assert await store.count(everything(scope)) % 2 == 0
            await asyncio.gather(*(keep(store, *records(scope, 2)) for _ in range(8)))
            assert await store.count(everything(scope)) >= 16

    run(main())


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


def test_another_process_can_hear_of_commits_but_not_whose_they_are(shared: str) -> None:
    async def main() -> None:
        async with (
            opened(f"{shared}&notify=on") as speaker,
            opened(shared) as listener,
        ):
            heard = listener.listen()
            waiting = asyncio.create_task(anext(heard))
            sequence = 0
            while not waiting.done():  # listening begins at some moment after the task did
                await keep(listener, a_record(a_scope()))  # which does not announce its own
                sequence = await speaker.write(a_change(scope := a_scope(), beginning(a_record(scope))))
                await asyncio.wait([waiting], timeout=0.05)
            first = await waiting
            assert first <= sequence
            following = await speaker.write(a_change(scope := a_scope(), beginning(a_record(scope))))
            while (number := await anext(heard)) != following:
                assert first < number < following
            await heard.aclose()

    run(main())
