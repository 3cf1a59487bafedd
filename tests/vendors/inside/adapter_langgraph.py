"""Our store for LangGraph beside LangGraph's own: the same calls, the same answers."""

import asyncio
import random
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from memorywire.model.errors import SecretLeakage
from memorywire.sync import Memory
from tests.vendors.inside.played import example

SPACES = [("a",), ("a", "b"), ("ab",), ("a", "b", "c"), ("x=/%y",)]
KEYS = ["one", "two", "a/b=c%2F", "schlüssel"]
FILTERS: list[dict[str, Any] | None] = [
    None,
    {"n": 1},
    {"n": {"$gt": 1}},
    {"n": {"$lte": 2, "$ne": 0}},
    {"deep": {"n": 1}},
]


@contextmanager
def _ours(url: str = "memory://") -> Iterator[Any]:
    from memorywire.integrations.langgraph import MemorywireStore

    with Memory("graph", [url]) as memory:
        yield MemorywireStore(memory)


def _seen(items: Any) -> Any:
    return sorted((item.namespace, item.key, str(item.value)) for item in items)


async def a_long_random_life_is_the_same_as_in_their_store(folder: Path) -> None:
    await asyncio.to_thread(_live)


def _live() -> None:
    from langgraph.store.memory import InMemoryStore

    dice, theirs = random.Random(7), InMemoryStore()
    with _ours() as ours:
        for _ in range(150):
            space, key, n = dice.choice(SPACES), dice.choice(KEYS), dice.randrange(4)
            if dice.random() < 0.25:
                for store in (ours, theirs):
                    store.delete(space, key)
            else:
                for store in (ours, theirs):
                    store.put(space, key, {"n": n, "deep": {"n": n}}, index=False)
        for space in SPACES:
            for key in KEYS:
                one, other = ours.get(space, key), theirs.get(space, key)
                assert (one and one.value) == (other and other.value)
            for wanted in FILTERS:
                found = [store.search(space, filter=wanted, limit=100) for store in (ours, theirs)]
                assert _seen(found[0]) == _seen(found[1])
        # Theirs goes on listing a namespace whose last item was deleted, so all have one.
        for store in (ours, theirs):
            for space in SPACES:
                store.put(space, "one", {"n": 0}, index=False)
        for asked in ({}, {"prefix": ("a",)}, {"suffix": ("b",)}, {"prefix": ("a", "*")}, {"max_depth": 1}):
            assert ours.list_namespaces(**asked) == theirs.list_namespaces(**asked)


async def items_are_found_by_meaning_inside_their_namespace(folder: Path) -> None:
    with _ours() as store:
        await store.aput(("ana",), "drink", {"text": "Ana prefers green tea to coffee"})
        await store.aput(("ana",), "home", {"text": "Ana lives in Lisbon"})
        await store.aput(("bob",), "drink", {"text": "Bob drinks only coffee and tea"})
        found = await store.asearch(("ana",), query="what does she like to drink?", limit=1)
        assert [(item.namespace, item.key) for item in found] == [(("ana",), "drink")]
        assert found[0].score is not None


async def what_was_put_is_there_after_opening_again(folder: Path) -> None:
    url = f"sqlite://{folder}/memory.db"
    for value in ({"n": 1}, {"n": 2}):
        with _ours(url) as store:
            await store.aput(("a",), "k", value)
    with _ours(url) as store:
        item = await store.aget(("a",), "k")
        assert item.value == {"n": 2}
        assert item.created_at < item.updated_at


async def an_item_put_without_an_end_has_none(folder: Path) -> None:
    with _ours() as store:
        await store.aput(("a",), "k", {"n": 1}, ttl=10)
        assert store._memory.kv.list().entries[0].expires_at is not None
        await store.aput(("a",), "k", {"n": 2})
        assert store._memory.kv.list().entries[0].expires_at is None


async def a_secret_is_refused_and_nothing_is_changed(folder: Path) -> None:
    with _ours() as store:
        await store.aput(("a",), "k", {"text": "the usual"})
        token = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"[:36]
        try:
            await store.aput(("a",), "k", {"text": token})
        except SecretLeakage:
            assert (await store.aget(("a",), "k")).value == {"text": "the usual"}
        else:
            raise AssertionError("the secret was kept")


async def the_example_runs(folder: Path) -> None:
    assert "What does Ana drink? -> Ana prefers green tea to coffee." in await example("langgraph_store")
