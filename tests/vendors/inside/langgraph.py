"""What a real LangGraph store does with names and vectors of ours."""

from pathlib import Path

from memorywire.model.errors import InvalidRequest
from memorywire.model.record import Scope
from memorywire.stores.registry import open_store
from memorywire_testing.expect import refused
from memorywire_testing.samples import (
    SPACE,
    a_query,
    a_record,
    a_vector,
    compare,
    everything,
    ids,
    keep,
    user_of,
)


async def names_that_no_namespace_takes_are_kept_apart(folder: Path) -> None:
    store = await open_store("langgraph://", space=SPACE)
    names = ("langgraph", "a.b", "a", "b", "", "nobody", "memorywire")
    scopes = [Scope(agent=agent or "-", user=user) for agent in names for user in (*names, None)]
    kept = [a_record(scope, f"said to {number}") for number, scope in enumerate(scopes)]
    for record in kept:
        await keep(store, record, vector=a_vector(1))
    for record in kept:
        if record.scope.user is not None:
            assert await store.find(everything(record.scope)) == [record]
            assert ids(await store.search(a_query(record.scope, "said", a_vector(1)), 9)) == [record.id]
    assert await store.count(everything(user_of(scopes[0], None))) == len(names) + 1
    await store.close()


async def a_filter_finds_nothing_where_a_value_is_missing(folder: Path) -> None:
    """LangGraph's own filter raises there; ours is asked instead."""
    store = await open_store("langgraph://", space=SPACE)
    with_value = a_record(Scope(agent="a"), "one", metadata={"n": 3})
    without = a_record(Scope(agent="a"), "two")
    await keep(store, with_value, without, vector=a_vector(1))
    query = a_query(Scope(agent="a"), "one", a_vector(1), filter=compare("metadata.n", "gte", 2))
    assert ids(await store.search(query, 9)) == [with_value.id]
    await store.close()


async def books_without_a_database_are_refused(folder: Path) -> None:
    for url in (f"langgraph://{folder}/books.db", "langgraph://?postgres=postgresql%3A%2F%2Flocalhost"):
        with refused(InvalidRequest, field="store") as refusals:
            await open_store(url, space=SPACE)
        assert "given together" in refusals[0].detail
