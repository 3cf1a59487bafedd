"""Agents over several databases: each is whole in one of them, and moves while it is being written."""

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from itertools import count
from pathlib import Path

import psycopg
import pytest

from memorywire.model.errors import Conflict, NotFound, StoreUnavailable
from memorywire.model.query import Where
from memorywire.model.record import Scope
from memorywire.stores.registry import open_store
from memorywire_postgres.database import AgentElsewhere
from memorywire_postgres.shards.directory import BUCKETS, Directory, bucket_of, in_bucket
from memorywire_postgres.shards.move import add, move
from memorywire_postgres.shards.store import ShardedStore
from memorywire_testing.samples import (
    NOW,
    SPACE,
    a_change,
    a_query,
    a_record,
    a_vector,
    beginning,
    ids,
)
from tests.cli.shell import Shell
from tests.postgres.desk import Server, opened, rows, run

ANA, BEN = Scope(agent="ana"), Scope(agent="ben")
NOWHERE = "postgresql://nobody@127.0.0.1:1/none?connect_timeout=1&schema=none"


async def until(claim: Callable[[], bool]) -> None:
    while True:
        if claim():
            return
        await asyncio.sleep(0.01)


@asynccontextmanager
async def sharded(urls: tuple[str, str, str]) -> AsyncIterator[ShardedStore]:
    """A store whose first shard keeps every bucket, beside a second that keeps none."""
    directory = await Directory.opened(urls[0])
    await add(directory, "one", urls[1], SPACE)
    await add(directory, "two", urls[2], SPACE)
    await directory.close()
    store = await open_store(f"shards+{urls[0]}", space=SPACE)
    assert isinstance(store, ShardedStore)
    try:
        yield store
    finally:
        await store.close()


def test_an_agent_has_the_same_bucket_here_and_in_sql(servers: tuple[Server, Server]) -> None:
    agents = ["ana", "ben", "", "Zoë", "a" * 256, "\N{CAT FACE}"]
    assert len({bucket_of(agent) for agent in agents}) > 1
    with psycopg.connect(servers[0].dsn) as db:
        for agent in agents:
            bucket = bucket_of(agent)
            assert 0 <= bucket < BUCKETS
            both = f"{in_bucket(bucket)}, {in_bucket((bucket + 1) % BUCKETS)}"
            query = f"SELECT {both} FROM (VALUES (%s)) AS one (agent)"
            assert db.execute(query, (agent,)).fetchone() == (True, False)


def test_a_bucket_moves_while_its_agents_are_written(urls: tuple[str, str, str]) -> None:
    async def main() -> None:
        acknowledged: dict[Scope, list[str]] = {ANA: [], BEN: []}

        async def write(scope: Scope) -> None:
            for number in count():
                record = a_record(scope, f"fact {number} of {scope.agent}")
                await store.write(a_change(scope, beginning(record, a_vector(1, number))))
                acknowledged[scope].append(record.id)
                await asyncio.sleep(0.01)

        async with sharded(urls) as store:
            kept = a_record(ANA, "she plays the cello")
            await store.write(a_change(ANA, beginning(kept, a_vector(0, 1))))
            await store.touch(ANA, [kept.id], NOW)
            writers = [asyncio.create_task(write(scope)) for scope in (ANA, BEN)]
            await until(lambda: len(acknowledged[ANA]) > 1)
            moved = await move(store.directory, bucket_of("ana"), "two", time.monotonic)
            seen = len(acknowledged[ANA])
            await until(lambda: len(acknowledged[ANA]) > seen)
            for writer in writers:
                writer.cancel()
            await asyncio.gather(*writers, return_exceptions=True)
            assert moved.versions > 1
            for scope, written in acknowledged.items():
                assert len(await store.get(scope, written)) == len(written)
            assert await store.count(Where(scope=ANA, alive_at=NOW)) >= len(acknowledged[ANA]) + 1
            assert ids(await store.search(a_query(ANA, "cello"), 1)) == [kept.id]
            assert await store.recalls([kept]) == [1]
            assert len(await store.history(ANA, kept.id)) == 1
            with pytest.raises(Conflict):
                await move(store.directory, bucket_of("ana"), "two", time.monotonic)
            back = await move(store.directory, bucket_of("ana"), "one", time.monotonic)
            assert back.versions >= len(acknowledged[ANA])
            assert ids(await store.search(a_query(ANA, "cello"), 1)) == [kept.id]

    run(main())
    agents = "SELECT DISTINCT agent FROM version ORDER BY agent"
    assert rows(urls[1], agents) == [("ana",), ("ben",)]
    assert rows(urls[2], agents) == []
    assert rows(urls[2], "SELECT count(*) FROM posting") == [(0,)]


def test_a_writer_with_an_old_map_is_refused_by_the_shard(urls: tuple[str, str, str]) -> None:
    async def main() -> None:
        async with sharded(urls) as store, opened(urls[1]) as one, opened(urls[2]) as two:
            await store.write(a_change(ANA, beginning(a_record(ANA, "before"))))
            with pytest.raises(AgentElsewhere):
                await two.write(a_change(ANA, beginning(a_record(ANA, "not there yet"))))
            await move(store.directory, bucket_of("ana"), "two", time.monotonic)
            with pytest.raises(AgentElsewhere):
                await one.write(a_change(ANA, beginning(a_record(ANA, "gone"))))
            await one.write(a_change(BEN, beginning(a_record(BEN, "still here"))))
            await two.write(a_change(ANA, beginning(a_record(ANA, "here now"))))

    run(main())


def test_a_shard_that_is_down_fails_for_its_own_agents_alone(urls: tuple[str, str, str]) -> None:
    async def main() -> None:
        async with sharded(urls) as store:
            await move(store.directory, bucket_of("ana"), "two", time.monotonic)
            async with store.directory._pool.connection() as db:
                await db.execute(
                    f"UPDATE {store.directory.location.schema}.shard SET url = %s WHERE name = 'two'",
                    (NOWHERE,),
                )
            again = await open_store(f"shards+{urls[0]}", space=SPACE)
            await again.write(a_change(BEN, beginning(a_record(BEN, "works"))))
            with pytest.raises(StoreUnavailable):
                await again.write(a_change(ANA, beginning(a_record(ANA, "cannot"))))
            health = await again.health()
            assert not health["ok"]
            assert (health["shards"]["one"]["ok"], health["shards"]["two"]["ok"]) == (True, False)
            await again.close()

    run(main())


def test_names_that_nobody_has(urls: tuple[str, str, str]) -> None:
    async def main() -> None:
        async with sharded(urls) as store:
            with pytest.raises(NotFound):
                await move(store.directory, 1, "three", time.monotonic)
            with pytest.raises(Conflict):
                await add(store.directory, "one", urls[1], SPACE)

    run(main())


def test_the_command_line_adds_shows_and_moves(urls: tuple[str, str, str], tmp_path: Path) -> None:
    shell, store = Shell(tmp_path), ("--store", f"shards+{urls[0]}")
    for name, url in (("one", urls[1]), ("two", urls[2])):
        assert shell("shards", "add", name, url, *store).out == f"added shard {name}\n"
    number = str(bucket_of("ana"))
    shell.remember("the kettle is blue", "--agent", "ana", *store)
    assert (
        f"bucket {number} is in two: 1 version" in shell("shards", "move", number, "--to", "two", *store).out
    )
    shown = shell("shards", "status", "--json", *store)
    assert [(one["name"], one["buckets"]) for one in shown.json["shards"]] == [("one", 1023), ("two", 1)]
    assert "shard two" in shell("shards", "bucket", "ana", *store).out
    assert "blue" in shell("recall", "kettle", "--agent", "ana", *store).out


def test_a_bucket_that_its_new_shard_cannot_take_stays_where_it_is(urls: tuple[str, str, str]) -> None:
    """An id that a client chose may be taken in both."""

    async def main() -> None:
        async with sharded(urls) as store:
            mine = a_record(ANA, "mine")
            await store.write(a_change(ANA, beginning(mine)))
            await move(store.directory, bucket_of("ana"), "two", time.monotonic)
            await store.write(a_change(BEN, beginning(a_record(BEN, "theirs", id=mine.id))))
            with pytest.raises(Conflict, match="cannot take"):
                await move(store.directory, bucket_of("ana"), "one", time.monotonic)
            await store.write(a_change(ANA, beginning(a_record(ANA, "still written"))))
            assert await store.count(Where(scope=ANA, alive_at=NOW)) == 2
            assert (await store.health())["moving"] == {}

    run(main())
