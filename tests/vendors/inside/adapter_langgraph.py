"""Our store for LangGraph beside LangGraph's own: the same calls, the same answers."""

import asyncio
import random
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from memorywire.model.clock import system_clock
from memorywire.model.errors import InvalidRequest, SecretLeakage
from memorywire.sync import Memory
from tests.vendors.inside.played import example

MINUTE_MS = 60_000
TEA = "Ana prefers green tea to coffee"
SPACES = [("a",), ("a", "b"), ("ab",), ("a", "b", "c"), ("x=/%y",), ("two\nlines", "tab\t", "\u2028")]
KEYS = ["one", "two", "a/b=c%2F", "schlüssel", "new\nline\r\x7f"]
FILTERS: list[dict[str, Any] | None] = [
    None,
    {"n": 1},
    {"n": {"$gt": 1}},
    {"n": {"$lte": 2, "$ne": 0}},
    {"deep": {"n": 1}},
]


@contextmanager
def _ours(url: str = "memory://", clock: Any = system_clock, **options: Any) -> Iterator[Any]:
    from memorywire_frameworks.langgraph import MemorywireStore

    with Memory("graph", [url], clock=clock) as memory:
        yield MemorywireStore(memory, **options)


def _scores(store: Any, query: str, **options: Any) -> dict[str, float]:
    return {item.key: item.score for item in store.search(("a",), query=query, **options)}


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


async def what_is_kept_out_of_the_index_is_found_by_no_query(folder: Path) -> None:
    for url in ("memory://", f"sqlite://{folder}/memory.db"):
        with _ours(url) as store:
            store.put(("a",), "hidden", {"text": TEA, "n": 1}, index=False)
            store.put(("a",), "open", {"text": "The staging database runs Postgres"})
            for query in (TEA, "hidden", "langgraph a hidden"):
                assert "hidden" not in _scores(store, query)
                assert "hidden" not in _scores(store, query, filter={"n": 1})
            assert store._memory.recall(TEA).hits == ()
            assert store.get(("a",), "hidden").value["text"] == TEA
            assert {item.key for item in store.search(("a",))} == {"hidden", "open"}
            assert [item.key for item in store.search(("a",), filter={"n": 1})] == ["hidden"]
            store.put(("a",), "hidden", {"text": TEA})
            assert _scores(store, TEA)["hidden"] > 0.9


async def an_item_is_found_by_the_fields_that_are_indexed_alone(folder: Path) -> None:
    value = {"title": "a note on drinks", "text": TEA, "parts": [{"t": "oolong"}, {"t": "sencha"}]}
    with _ours() as store:
        store.put(("a",), "k", value, index=["title", "parts[*].t"])
        assert _scores(store, "a note on drinks")["k"] > 0.5
        assert _scores(store, "sencha oolong")["k"] > 0.5
        assert _scores(store, "Ana prefers coffee")["k"] < 0.1
        store.put(("a",), "k", value, index=["missing"])
        assert _scores(store, TEA) == {}


async def the_store_says_which_fields_are_indexed(folder: Path) -> None:
    value = {"title": "a note on drinks", "text": TEA}
    with _ours(index={"fields": ["title"]}) as store:
        store.put(("a",), "k", value)
        assert _scores(store, "a note on drinks")["k"] > 0.9
        assert _scores(store, "Ana prefers coffee")["k"] < 0.1
        store.put(("a",), "k", value, index=["text"])
        assert _scores(store, TEA)["k"] > 0.9
    with _ours(index=False) as store:
        store.put(("a",), "k", value)
        assert _scores(store, TEA) == {}
    with _ours(index={"fields": ["$"]}) as store:
        store.put(("a",), "k", value)
        assert _scores(store, TEA)["k"] > 0.9
    field = None
    try:
        with _ours(index={"dims": 3, "embed": len}):
            pass
    except InvalidRequest as problem:
        field = problem.field
    assert field == "index.embed"


async def a_read_prolongs_the_time_to_live_unless_told_otherwise(folder: Path) -> None:
    for url in ("memory://", f"sqlite://{folder}/memory.db"):
        now = [1_800_000_000_000]
        with _ours(url, clock=lambda now=now: now[0], ttl={"default_ttl": 10}) as store:
            for key in ("got", "searched", "left", "found"):
                store.put(("a", key), key, {"text": TEA})
            store.put(("a", "lasting"), "lasting", {"text": TEA}, ttl=None)
            for _ in range(3):
                now[0] += 6 * MINUTE_MS
                assert store.get(("a", "got"), "got").value == {"text": TEA}
                assert len(store.search(("a", "searched"))) == 1
                assert len(store.search(("a", "found"), query=TEA)) == 1
                store.get(("a", "left"), "left", refresh_ttl=False)
                store.search(("a", "left"), refresh_ttl=False)
            names = {space[1] for space in store.list_namespaces()}
            assert names == {"got", "searched", "found", "lasting"}
    with _ours(ttl={"default_ttl": 10, "refresh_on_read": False}, clock=lambda: now[0]) as store:
        store.put(("a",), "k", {"n": 1})
        now[0] += 6 * MINUTE_MS
        assert store.get(("a",), "k") is not None
        now[0] += 6 * MINUTE_MS
        assert store.get(("a",), "k") is None


async def a_large_item_is_kept_and_does_not_use_up_the_agents_keys(folder: Path) -> None:
    with _ours() as store:
        large = {"text": "word " * 60_000}
        for number in range(8):
            store.put(("a",), f"k{number}", large, index=False)
        assert store.get(("a",), "k7").value == large
        store._memory.kv.set("mine", "x" * 60_000)


async def a_filter_looks_beyond_the_nearest_fifty(folder: Path) -> None:
    with _ours() as store:
        for number in range(60):
            store.put(("a",), f"near{number}", {"text": TEA, "n": 0})
        store.put(("a",), "far", {"text": "The staging database runs Postgres", "n": 1})
        assert list(_scores(store, TEA, filter={"n": 1})) == ["far"]
        assert len(_scores(store, TEA, limit=61)) == 61


async def a_query_that_is_long_or_blank_does_not_end_the_run(folder: Path) -> None:
    with _ours() as store:
        store.put(("a",), "k", {"text": TEA, "pair": ("x", 1)})
        assert store.get(("a",), "k").value["pair"] == ["x", 1]
        assert list(_scores(store, "green tea " * 5_000)) == ["k"]
        assert list(_scores(store, " \n")) == ["k"]


async def the_items_of_a_user_are_the_users(folder: Path) -> None:
    from memorywire_frameworks.langgraph import MemorywireStore

    url = f"sqlite://{folder}/memory.db"
    for user in ("ana", "ben"):
        with Memory("graph", [url], user_id=user) as memory:
            store = MemorywireStore(memory)
            assert store.search(("a",)) == []
            store.put(("a",), "k", {"who": user})
            assert store.get(("a",), "k").value == {"who": user}


async def a_secret_is_replaced_if_the_store_is_told_so(folder: Path) -> None:
    token = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"[:36]
    with _ours(redact=True) as store:
        store.put(("a",), "k", {"text": f"mine is {token}", "n": 1})
        value = store.get(("a",), "k").value
        assert token not in str(value)
        assert value["n"] == 1


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
