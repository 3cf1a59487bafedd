"""A search that is answered by what is held in memory never misses what somebody else wrote meanwhile."""

import pytest
from msgspec.structs import replace

from memorywire.model.query import Query
from memorywire_postgres.store import PostgresStore
from memorywire_testing.samples import a_query, a_record, a_scope, compare, end, ids, keep
from tests.postgres.desk import opened, run


async def _at_a_glance(store: PostgresStore, query: Query) -> list[str] | None:
    found = await store._searcher.search_cached(store.database, query, 9, {})
    return None if found is None else ids(found)


@pytest.mark.parametrize("filtered", [False, True], ids=["all", "filtered"])
def test_a_glance_answers_until_another_process_writes(shared: str, filtered: bool) -> None:
    async def main() -> None:
        async with opened(shared) as store, opened(shared) as other:
            scope = a_scope()
            condition = {"filter": compare("source", "eq", "mail")} if filtered else {}
            query = a_query(scope, "kettle", **condition)
            first, second = (
                a_record(scope, f"the kettle is {hue}", source="mail") for hue in ("blue", "red")
            )
            await keep(store, first)
            assert await _at_a_glance(store, query) is None  # nothing is held yet
            assert ids(await store.search(query, 9)) == [first.id]
            assert await _at_a_glance(store, query) == [first.id]
            await keep(other, second)
            assert await _at_a_glance(store, query) is None
            assert sorted(ids(await store.search(query, 9))) == sorted([first.id, second.id])
            assert sorted(await _at_a_glance(store, query) or []) == sorted([first.id, second.id])
            await end(other, first)
            assert ids(await store.search(query, 9)) == [second.id]

    run(main())


def test_a_glance_keeps_to_its_tenant(shared: str) -> None:
    async def main() -> None:
        async with opened(shared) as store:
            mine, theirs = a_record(scope := a_scope()), a_record(replace(scope, tenant="another"))
            for record in (mine, theirs):
                await keep(store, record)
                await store.search(a_query(record.scope, "kettle"), 9)
            for record in (mine, theirs):
                assert await _at_a_glance(store, a_query(record.scope, "kettle")) == [record.id]

    run(main())
