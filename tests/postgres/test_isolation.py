"""A tenant is a wall that the server keeps, whatever a query forgets."""

from collections.abc import Iterator
from urllib.parse import urlsplit

import psycopg
import pytest
from msgspec.structs import replace

from memorywire.model.change import EndReason
from memorywire.model.errors import InvalidRequest, StoreUnavailable
from memorywire.stores.memory import MemoryStore
from memorywire_postgres.location import Location, locate
from memorywire_testing.samples import (
    NOW,
    SPACE,
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
    revising,
)
from tests.postgres.desk import Server, opened, rows, run

GUEST = "memorywire_guest"

WITH_TENANT = """
SELECT c.relname, c.relrowsecurity AND c.relforcerowsecurity,
  (SELECT count(*) FROM pg_policy AS p
   WHERE p.polrelid = c.oid AND p.polqual IS NOT NULL AND p.polwithcheck IS NOT NULL AND p.polcmd = '*')
FROM pg_class AS c JOIN pg_attribute AS a ON a.attrelid = c.oid
WHERE c.relnamespace = %s::regnamespace AND c.relkind IN ('r', 'p', 'm') AND a.attname = 'tenant'
"""


@pytest.fixture
def guest(server: Server, schema: str) -> Iterator[str]:
    """The URL of a role that owns nothing, in a schema that its owner has prepared and filled."""

    async def prepare() -> None:
        async with opened(schema) as store:
            for tenant in ("red", "blue"):
                await keep(store, *records(a_scope(tenant=tenant), 3), vector=a_vector(1))

    run(prepare())
    name = locate(schema).schema
    with psycopg.connect(server.dsn, autocommit=True) as db:
        db.execute(f"DROP ROLE IF EXISTS {GUEST}")
        db.execute(f"CREATE ROLE {GUEST} LOGIN PASSWORD 'guest'")
        db.execute(f"GRANT USAGE ON SCHEMA {name} TO {GUEST}")
        db.execute(f"GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA {name} TO {GUEST}")
        db.execute(f"GRANT USAGE ON ALL SEQUENCES IN SCHEMA {name} TO {GUEST}")
        address = urlsplit(schema)
        yield address._replace(netloc=f"{GUEST}:guest@{address.netloc.rpartition('@')[2]}").geturl()
        db.execute(f"DROP OWNED BY {GUEST}")
        db.execute(f"DROP ROLE {GUEST}")


def test_every_table_with_a_tenant_is_walled_even_for_its_owner(schema: str) -> None:
    async def create() -> None:
        async with opened(schema):
            pass

    run(create())
    found = rows(schema, WITH_TENANT, locate(schema).schema)
    assert {name for name, *_ in found} == {"agent", "change", "version", "posting", "recall"}
    assert [walls for walls in found if walls[1:] != (True, 1)] == []


@pytest.mark.parametrize("table", ["agent", "change", "version", "posting"])
def test_who_named_no_tenant_sees_nothing(guest: str, table: str) -> None:
    location = locate(guest)
    with psycopg.connect(location.dsn, autocommit=True) as db:
        db.execute(f"SET search_path = {location.schema}, public")
        count = f"SELECT count(*) FROM {table}"
        assert db.execute(count).fetchone() == (0,)
        with db.transaction():
            db.execute("SET LOCAL memorywire.tenant = 'red'")
            assert db.execute(count).fetchone()[0] > 0
            assert db.execute(f"SELECT DISTINCT tenant FROM {table}").fetchall() == [("red",)]
        assert db.execute(count).fetchone() == (0,)


def test_nothing_can_be_written_into_another_tenant(guest: str) -> None:
    location = locate(guest)
    insert = "INSERT INTO recall (tenant, id, at, count) VALUES (%s, 'x', 1, 1)"
    with psycopg.connect(location.dsn, autocommit=True) as db:
        db.execute(f"SET search_path = {location.schema}, public")
        with db.transaction(force_rollback=True):
            db.execute("SET LOCAL memorywire.tenant = 'red'")
            assert db.execute(insert, ("red",)).rowcount == 1
        db.execute("SET memorywire.tenant = 'red'")
        for statement in (insert, "UPDATE version SET tenant = %s"):
            with pytest.raises(psycopg.errors.InsufficientPrivilege):
                db.execute(statement, ("blue",))
        assert db.execute("DELETE FROM version WHERE tenant = 'blue'").rowcount == 0


def test_a_role_that_owns_nothing_can_do_everything_a_store_does(guest: str) -> None:
    async def live() -> None:
        async with opened(guest) as store:
            first, second = records(scope := a_scope(), 2)
            await keep(store, first, second, vector=a_vector(1))
            put = revising(first, content="a zebra")
            await store.write(a_change(scope, put, key="k"))
            await store.touch(scope, [first.id], NOW)
            assert ids(await store.search(a_query(scope, "zebra"), 1)) == [first.id]
            await store.write(a_change(scope, erase=(second.id,)))
            assert ids(await store.find(everything(scope))) == [first.id]
            [version] = await store.history(scope, second.id)
            assert version.reason is EndReason.ERASED
            health = await store.health()
            assert (health["ok"], health["row_security"]) == (True, "enforced")

    run(live())


def test_a_superuser_is_told_that_no_wall_holds_it(schema: str) -> None:
    async def ask() -> object:
        async with opened(schema) as store:
            return (await store.health())["row_security"]

    assert run(ask()) == "bypassed by this role"


def test_a_role_without_grants_is_told_what_it_lacks(guest: str, server: Server) -> None:
    location = locate(guest)
    with psycopg.connect(server.dsn, autocommit=True) as db:
        db.execute(f"REVOKE ALL ON ALL TABLES IN SCHEMA {location.schema} FROM {GUEST}")

    async def enter() -> None:
        async with opened(guest):
            pass

    with pytest.raises(StoreUnavailable, match="permission denied") as caught:
        run(enter())
    assert "docs/how-to/postgres.md" in str(caught.value.fix)


def test_a_role_that_may_not_create_is_told_so(guest: str) -> None:
    location = locate(guest)

    async def enter() -> None:
        async with opened(guest.replace(location.schema, "of_nobody")):
            pass

    with pytest.raises(StoreUnavailable, match="permission denied"):
        run(enter())


@pytest.mark.parametrize("exact", [20_000, 0])
def test_a_tenant_with_one_percent_of_the_rows_gets_exactly_its_own(schema: str, exact: int) -> None:
    """`exact=0` would search by index alone, were there enough rows in the scope to do so."""
    mine = a_scope(tenant="small")
    alone = MemoryStore(SPACE)

    async def compare() -> None:
        async with opened(schema, exact=exact) as store:
            await keep(store, *records(a_scope(tenant="large"), 2000, "the kettle"), vector=a_vector(1))
            await keep(store, *records(replace(mine, tenant="large"), 950, "the kettle"), vector=a_vector(1))
            puts = [
                beginning(a_record(mine, f"kettle number {number}"), a_vector(1, number / 10))
                for number in range(30)
            ]
            change = a_change(mine, *puts)
            for one in (store, alone):
                await one.write(change)
            for number in range(20):
                query = a_query(mine, f"the kettle number {number}", a_vector(1, number / 7))
                found = await store.search(query, 5)
                assert ids(found) == ids(await alone.search(query, 5))
                assert len(found) == 5

    run(compare())


def test_no_name_of_a_location_holds_a_password() -> None:
    location = locate("postgresql://ana:hunter2@db.example/memories?schema=mine")
    assert isinstance(location, Location)
    assert "hunter2" not in f"{location} {location!r}"
    assert "db.example/memories" in str(location)


@pytest.mark.parametrize("tenant", ["o'brien", 'a"b\\c', "ключ 👩‍👧", "nul\x00\x01", "x" * 300, "$1 %s ; --"])
def test_a_tenant_of_any_spelling_has_its_own_wall(shared: str, tenant: str) -> None:
    mine, theirs = a_scope(tenant=tenant), a_scope(tenant=f"{tenant}'")

    async def live() -> None:
        async with opened(shared) as store:
            kept = a_record(mine)
            await keep(store, kept, vector=a_vector(1))
            assert await store.find(everything(mine)) == [kept]
            assert await store.find(everything(replace(theirs, agent=mine.agent))) == []

    run(live())


def test_a_tenant_without_a_name_is_refused(shared: str) -> None:
    async def live() -> None:
        async with opened(shared) as store:
            await store.count(everything(a_scope(tenant="")))

    with pytest.raises(InvalidRequest, match="tenant"):
        run(live())
