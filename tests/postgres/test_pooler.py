"""Behind PgBouncer in transaction mode everything works, and errors say what to do."""

import asyncio
from collections.abc import Iterator

import psycopg
import pytest

from memorywire import Memory
from memorywire.model.errors import StoreUnavailable
from tests.engine.quick import Quick
from tests.postgres.desk import Server, opened, run
from tests.postgres.pooler import pooled

WRITERS = 8


@pytest.fixture(scope="module")
def pooler(server: Server) -> Iterator[Server]:
    with pooled(server) as found:
        yield found


def through(pooler: Server, schema: str, **options: object) -> str:
    """The URL of the schema, as the pooler serves it."""
    return pooler.url(schema.rpartition("schema=")[2], **options)


def test_a_memory_behind_a_transaction_pooler_keeps_and_finds_everything(pooler: Server, schema: str):
    url = through(pooler, schema)

    async def story() -> None:
        async with Memory("agent", url, embedder=Quick()) as memory:

            async def write(writer: int) -> None:
                for number in range(8):
                    await memory.remember(f"writer {writer} kept {number}", id=f"{writer}-{number}")
                    await memory.get(f"{writer}-{number}")

            await asyncio.gather(*map(write, range(WRITERS)))
            assert (await memory.list()).total == WRITERS * 8
            assert (await memory.health())["stores"][0]["pooler"].endswith("unprepared")

    run(story())


def test_a_pooler_that_keeps_prepared_statements_can_be_trusted_with_them(pooler: Server, schema: str):
    """With `prepare=on` nothing is detected; where the pooler forgets them after all, the error says so."""

    async def story() -> None:
        async with Memory("agent", through(pooler, schema, prepare="on"), embedder=Quick()) as memory:

            async def write(writer: int) -> None:
                for number in range(8):
                    await memory.remember(f"writer {writer} kept {number}", id=f"{writer}-{number}")

            await asyncio.gather(*map(write, range(WRITERS)))

    with pytest.raises(StoreUnavailable) as caught:
        run(story())
    assert "prepare=off" in (caught.value.fix or "")


def test_events_are_looked_for_where_a_pooler_announces_nothing(pooler: Server, schema: str):
    async def story() -> None:
        async with opened(through(pooler, schema)) as store:
            with pytest.raises(StoreUnavailable, match="leads to a pooler"):
                await anext(store.database.listen("memorywire"))

    run(story())


def test_a_direct_connection_is_no_pooler(schema: str):
    async def story() -> None:
        async with opened(schema) as store:
            assert "pooler" not in await store.health()

    run(story())


@pytest.fixture
def database(server: Server) -> Iterator[Server]:
    """A database of its own, whose extensions are nobody else's."""
    with psycopg.connect(server.dsn, autocommit=True) as db:
        db.execute("CREATE DATABASE elderly")
        yield Server(server.dsn.replace("/postgres?", "/elderly?"))
        db.execute("DROP DATABASE elderly WITH (FORCE)")


def test_an_old_pgvector_is_to_be_upgraded(database: Server):
    with psycopg.connect(database.dsn, autocommit=True) as db:
        db.execute("CREATE EXTENSION vector")
        db.execute("UPDATE pg_extension SET extversion = '0.7.4' WHERE extname = 'vector'")

    async def story() -> None:
        async with opened(database.url("memorywire")):
            pass

    with pytest.raises(StoreUnavailable) as caught:
        run(story())
    assert "0.7.4" in caught.value.detail
    assert "ALTER EXTENSION vector UPDATE" in (caught.value.fix or "")


def test_a_server_that_takes_no_writes_says_so_at_once(server: Server, schema: str):
    async def story(url: str) -> None:
        async with opened(url):
            pass

    run(story(schema))
    with pytest.raises(StoreUnavailable, match="read-only") as caught:
        run(story(f"{schema}&options=-c%20default_transaction_read_only%3Don"))
    assert "primary" in (caught.value.fix or "")
