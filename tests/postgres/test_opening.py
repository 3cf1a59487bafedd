"""A URL leads to a prepared schema, or to an error that helps and keeps secrets."""

import asyncio
import subprocess
import sys
from pathlib import Path

import psycopg
import pytest
from msgspec.structs import replace

from memorywire import Memory
from memorywire.model.errors import (
    InvalidRequest,
    MemorywireError,
    SpaceMismatch,
    StoreCorrupt,
    StoreNewer,
    StoreUnavailable,
)
from memorywire.stores.contract import Store
from memorywire.stores.registry import open_store
from memorywire_postgres.location import locate
from memorywire_testing.samples import SPACE, everything, keep, records
from memorywire_testing.samples import a_scope as somebody
from tests.postgres.desk import Server, opened, rows, run


def _open(url: str) -> None:
    async def enter() -> None:
        store: Store = await open_store(url, space=SPACE)
        await store.close()

    run(enter())


def test_many_may_open_a_schema_that_is_not_there_yet(schema: str) -> None:
    async def enter(number: int) -> None:
        async with opened(schema) as store:
            await keep(store, *records(somebody(), 2))

    async def main() -> None:
        await asyncio.gather(*map(enter, range(8)))

    run(main())
    assert rows(schema, "SELECT count(*) FROM change") == [(8,)]


def test_pgvector_is_another_name_of_the_scheme(schema: str) -> None:
    async def story() -> tuple[int, tuple[str, ...]]:
        url = schema.replace("postgresql://", "pgvector://")
        async with Memory("agent", [url]) as memory:
            await memory.remember("tea is green")
            entries = await memory.audit_log()
            return len(entries), (await memory.remember("tea is hot")).stores

    entries, stores = run(story())
    assert (entries, stores) == (1, ("postgres",))


def test_what_was_kept_is_there_when_it_is_opened_again(schema: str) -> None:
    kept = records(scope := somebody(), 3)

    async def write() -> None:
        async with opened(schema) as store:
            await keep(store, *kept)

    async def read() -> int:
        async with opened(schema.replace("postgresql://", "postgres://")) as store:
            return await store.count(everything(scope))

    run(write())
    assert run(read()) == 3


def test_vectors_of_another_space_are_refused(schema: str) -> None:
    _open(schema)

    async def enter() -> None:
        async with opened(schema, space=replace(SPACE, revision="2")):
            pass

    with pytest.raises(SpaceMismatch, match="holds vectors of test@1/8/unit") as caught:
        run(enter())
    assert "schema" in str(caught.value.fix)


def test_tables_of_a_newer_release_are_refused(schema: str) -> None:
    _open(schema)
    location = locate(schema)
    with psycopg.connect(location.dsn, autocommit=True) as db:
        db.execute(f"UPDATE {location.schema}.meta SET value = '999' WHERE key = 'schema'")
    with pytest.raises(StoreNewer, match="999"):
        _open(schema)


def test_tables_of_another_application_are_left_alone(schema: str) -> None:
    location = locate(schema)
    with psycopg.connect(location.dsn, autocommit=True) as db:
        db.execute(f"CREATE SCHEMA {location.schema}")
        db.execute(f"CREATE TABLE {location.schema}.theirs (x integer)")
    with pytest.raises(StoreCorrupt, match="another application"):
        _open(schema)
    names = "SELECT relname FROM pg_class WHERE relnamespace = %s::regnamespace"
    assert rows(schema, names, location.schema) == [("theirs",)]


def test_an_empty_schema_that_somebody_made_is_taken(schema: str) -> None:
    location = locate(schema)
    with psycopg.connect(location.dsn, autocommit=True) as db:
        db.execute(f"CREATE SCHEMA {location.schema}")
    _open(schema)
    assert rows(schema, "SELECT count(*) FROM change") == [(0,)]


def test_a_server_that_is_not_there_is_named_without_the_password(tmp_path: Path) -> None:
    with pytest.raises(StoreUnavailable) as caught:
        _open(f"postgresql://ana:hunter2@/memories?host={tmp_path}")
    assert str(tmp_path) in caught.value.detail
    assert "hunter2" not in str(caught.value.problem())


def test_a_closed_store_says_so(schema: str) -> None:
    async def ask() -> None:
        async with opened(schema) as store:
            await store.close()
            await store.close()
            await store.count(everything(somebody()))

    with pytest.raises(MemorywireError) as caught:
        run(ask())
    assert caught.value.code == "store_unavailable"


@pytest.mark.parametrize(
    "url",
    [
        "postgresql://ana:hunter2@host/db?schema=Robert'); DROP TABLE",
        "postgresql://ana:hunter2@host/db?schema=pg_catalog",
        "postgresql://ana:hunter2@host/db?schema=",
        "postgresql://ana:hunter2@host/db?pool=0",
        "postgresql://ana:hunter2@host/db?pool=many",
        "postgresql://ana:hunter2@host/db?prepare=maybe",
        "postgresql://ana:hunter2@host/db#part",
    ],
)
def test_an_option_that_cannot_be_meant_is_refused(url: str) -> None:
    with pytest.raises(InvalidRequest) as caught:
        locate(url)
    assert caught.value.field == "store"
    assert "hunter2" not in str(caught.value.problem())


def test_options_of_libpq_are_passed_on() -> None:
    location = locate("postgres://ana@a,b/db?target_session_attrs=read-write&pool=3&schema=mine&prepare=off")
    assert location.dsn == "postgresql://ana@a,b/db?target_session_attrs=read-write"
    assert (location.schema, location.pool, location.prepare) == ("mine", 3, False)


def test_without_its_library_the_store_names_what_to_install() -> None:
    code = (
        "import asyncio, sys\n"
        "sys.modules['psycopg'] = None\n"
        "from memorywire_testing.samples import SPACE\n"
        "from memorywire.stores.registry import open_store\n"
        "from memorywire.model.errors import StoreUnavailable\n"
        "try:\n"
        "    asyncio.run(open_store('postgresql://ana:hunter2@host/db', space=SPACE))\n"
        "except StoreUnavailable as error:\n"
        "    print(error.problem())\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "packages/memorywire-postgres" in done.stdout
    assert "hunter2" not in done.stdout


def test_the_script_starts_a_server_that_runs_already(server: Server) -> None:
    with psycopg.connect(server.dsn) as db:
        [(version,)] = db.execute("SELECT extversion FROM pg_extension WHERE extname = 'vector'").fetchall()
    assert tuple(map(int, version.split(".")[:2])) >= (0, 8)
