"""Which edges follow from what is written."""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TypeVar

from memorywire import Memory
from memorywire.model.record import Scope
from memorywire.search.embed import open_embedder
from memorywire.stores import sqlite
from memorywire.stores.graph import Edge, GraphStore, Kind, open_store
from memorywire.stores.graph.edges import MAX_NAME_SHARE
from memorywire_testing.samples import (
    SPACE,
    a_change,
    a_query,
    a_record,
    a_scope,
    a_vector,
    beginning,
    ids,
    keep,
    records,
    revising,
    user_of,
)

A = TypeVar("A")
SCOPE = Scope(agent="agent")
MINILM = open_embedder("minilm").space


def on_a_graph(story: Callable[[GraphStore], Awaitable[A]], url: str = "graph://") -> A:
    async def run() -> A:
        store = await open_store(url, space=SPACE)
        try:
            return await story(store)
        finally:
            await store.close()

    return asyncio.run(run())


def edges_in(file: Path, *ids: str) -> list[Edge]:
    """What a graph says of a file that a memory has written and closed."""

    async def run() -> list[Edge]:
        store = await open_store(f"graph://{file}", space=MINILM)
        try:
            return await store.edges(SCOPE, ids)
        finally:
            await store.close()

    return asyncio.run(run())


def remembered(file: Path, story: Callable[[Memory], Awaitable[A]], scheme: str = "graph") -> A:
    async def run() -> A:
        async with Memory("agent", [f"{scheme}://{file}"], policy="open") as memory:
            return await story(memory)

    return asyncio.run(run())


async def _a_life(memory: Memory) -> dict[str, str]:
    old = (await memory.remember("the office is in porto")).id
    new = (await memory.remember("the office is in lisbon", supersedes=old)).id
    made = (await memory.remember("people commute to lisbon", derived_from=[new])).id
    twin = (await memory.remember("they commute to lisbon daily")).id
    await memory.merge(made, [twin])
    against = (await memory.remember("nobody commutes", metadata={"links": {"contradicts": [made]}})).id
    return {"old": old, "new": new, "made": made, "twin": twin, "against": against}


def test_edges_follow_from_supersedes_merges_origins_and_links(tmp_path: Path) -> None:
    file = tmp_path / "memory.db"
    known = remembered(file, _a_life)
    expected = {
        Edge(known["new"], Kind.SUPERSEDES, known["old"]),
        Edge(known["made"], Kind.DERIVED_FROM, known["new"]),
        Edge(known["made"], Kind.DERIVED_FROM, known["twin"]),
        Edge(known["against"], Kind.CONTRADICTS, known["made"]),
    }
    assert set(edges_in(file, *known.values())) == expected


def test_an_undo_takes_the_edges_along(tmp_path: Path) -> None:
    async def story(memory: Memory) -> tuple[str, str]:
        old = await memory.remember("the office is in porto")
        new = await memory.remember("the office is in lisbon", supersedes=old.id)
        assert new.change_id is not None
        await memory.undo(new.change_id)
        return old.id, new.id

    file = tmp_path / "memory.db"
    assert edges_in(file, *remembered(file, story)) == []


def test_a_file_written_as_plain_sqlite_has_the_same_edges(tmp_path: Path) -> None:
    file = tmp_path / "memory.db"
    known = remembered(file, _a_life, scheme="sqlite")
    assert len(edges_in(file, *known.values())) == 4


def test_what_another_process_writes_as_plain_sqlite_is_linked_too(tmp_path: Path) -> None:
    file = tmp_path / "memory.db"
    first = a_record(a_scope(), "the kettle is blue")
    second = a_record(first.scope, "the pot is red", derived_from=(first.id,))

    async def story(store: GraphStore) -> list[Edge]:
        await keep(store, first)
        plain = await sqlite.open_store(f"sqlite://{file}", space=SPACE)
        await keep(plain, second)
        await plain.close()
        return await store.edges(first.scope, [first.id])

    expected = [Edge(second.id, Kind.DERIVED_FROM, first.id)]
    assert on_a_graph(story, f"graph://{file}") == expected


def test_memories_that_name_the_same_relate_unless_it_is_a_crowd() -> None:
    scope = a_scope()
    few = [a_record(scope, "we met Dario"), a_record(scope, "Dario plays the cello")]
    many = [a_record(scope, f"Lisbon day {n}") for n in range(MAX_NAME_SHARE + 1)]

    async def story(store: GraphStore) -> tuple[list[Edge], list[Edge]]:
        await keep(store, *few, *many)
        return await store.edges(scope, ids(few)), await store.edges(scope, ids(many))

    first, second = sorted(ids(few))
    assert on_a_graph(story) == ([Edge(first, Kind.RELATES_TO, second, by_name=True)], [])


def test_a_new_version_takes_its_own_links_and_drops_the_old_ones() -> None:
    scope = a_scope()
    one, other = records(scope, 2)
    linked = a_record(scope, "linked", metadata={"links": {"relates_to": [one.id]}})

    async def story(store: GraphStore) -> list[Edge]:
        await keep(store, one, other, linked)
        put = revising(linked, metadata={"links": {"relates_to": [other.id, 7]}})
        await store.write(a_change(scope, put))
        return await store.edges(scope, [linked.id])

    assert on_a_graph(story) == [Edge(linked.id, Kind.RELATES_TO, other.id)]


def test_nothing_tells_of_what_was_erased() -> None:
    scope = a_scope()
    gone = a_record(scope, "Dario plays the cello")
    rest = a_record(scope, "Dario sings", derived_from=(gone.id,))

    async def story(store: GraphStore) -> tuple[int, int]:
        await keep(store, gone, rest)
        before = len(await store.edges(scope, [rest.id]))
        await store.write(a_change(scope, erase=(gone.id,)))
        return before, len(await store.edges(scope, [rest.id]))

    assert on_a_graph(story) == (2, 0)


def test_names_besides_which_edges_are_wanted_link_nothing() -> None:
    scope = a_scope()
    pair = [a_record(scope, "we met Dario"), a_record(scope, "Dario plays the cello")]

    async def story(store: GraphStore) -> list[Edge]:
        await keep(store, *pair)
        return await store.edges(scope, ids(pair), ["dario"])

    assert on_a_graph(story) == []


def test_no_edge_leaves_the_scope() -> None:
    agent = a_scope()
    ana, ben = user_of(agent, "ana"), user_of(agent, "ben")
    mine = a_record(ana, "stripes")
    his = a_record(ben, "his stripes", derived_from=(mine.id,))

    async def story(store: GraphStore) -> tuple[list[Edge], list[Edge]]:
        await keep(store, mine, his)
        return await store.edges(ana, [mine.id]), await store.edges(agent, [mine.id])

    assert on_a_graph(story) == ([], [Edge(his.id, Kind.DERIVED_FROM, mine.id)])


def test_links_add_nothing_to_a_search() -> None:
    scope = a_scope()
    hit = a_record(scope, "a zebra")
    near = a_record(scope, "stripes", derived_from=(hit.id,))

    async def story(store: GraphStore) -> dict[str, float]:
        await store.write(a_change(scope, beginning(hit, a_vector(1))))
        await keep(store, near, vector=a_vector(-1))
        found = await store.search(a_query(scope, "zebra", a_vector(1)), 10)
        return {scored.record.id: scored.score for scored in found}

    plain = asyncio.run(_on_sqlite(story))
    assert on_a_graph(story) == plain


async def _on_sqlite(story: Callable[[sqlite.SqliteStore], Awaitable[A]]) -> A:
    store = await sqlite.open_store("sqlite://", space=SPACE)
    try:
        return await story(store)
    finally:
        await store.close()
