"""A memory moves from store to store and loses nothing that was not announced."""

import os
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from memorywire import Memory
from memorywire.migrate.conflicts import OnConflict
from memorywire.migrate.export_files import export_files
from memorywire.migrate.move import Move, move
from memorywire.model.clock import SECONDS
from memorywire.model.record import DEFAULT_TENANT, Json, MemoryType, Record
from memorywire.pipeline.context import Context
from memorywire.stores.registry import open_store
from memorywire_testing.samples import SPACE
from tests.bundle.story import bundle_of, export_to, imported, lived, on, unsigned
from tests.postgres.conftest import schema_of
from tests.postgres.desk import Server


async def _moved(source: str, context: Context, *, dry_run: bool = False) -> dict[str, Json]:
    origin = await open_store(source, space=SPACE)
    try:
        asked = Move(
            source=origin,
            tenant=DEFAULT_TENANT,
            name=source,
            agents=("agent",),
            on_conflict=OnConflict.SKIP,
            dry_run=dry_run,
        )
        return await move(asked, context, lambda done: None)
    finally:
        await origin.close()


async def _records(memory: Memory, context: Context) -> list[Record]:
    return list(await memory.list(limit=1000))


def _sqlite(folder: Path, name: str) -> str:
    return f"sqlite:///{folder / name}.db"


def _live(folder: Path) -> str:
    async def story(memory: Memory, context: Context) -> None:
        await lived(memory)

    url = _sqlite(folder, "source")
    on(url, story)
    return url


def test_sqlite_to_postgres_and_back_is_the_same_bundle(tmp_path: Path, schema: str) -> None:
    source = _live(tmp_path)

    async def there(memory: Memory, context: Context) -> None:
        answer = await _moved(source, context)
        assert answer["verified"] == {
            "ok": True,
            "missing": 0,
            "differing": 0,
            "named": [],
            "asked": answer["verified"]["asked"],
            "agreed": answer["verified"]["asked"],
        }
        await export_to(tmp_path / "postgres.jsonl", context)

    async def back(memory: Memory, context: Context) -> None:
        await _moved(schema, context)
        await export_to(tmp_path / "back.jsonl", context)

    async def origin(memory: Memory, context: Context) -> None:
        await export_to(tmp_path / "origin.jsonl", context)

    on(schema, there)
    on(_sqlite(tmp_path, "back"), back)
    on(source, origin)
    first = unsigned(tmp_path / "origin.jsonl")
    assert unsigned(tmp_path / "postgres.jsonl") == first == unsigned(tmp_path / "back.jsonl")


def test_vectors_leave_postgres_as_they_came(tmp_path: Path, schema: str) -> None:
    one, other = tmp_path / "one.jsonl", tmp_path / "other.jsonl"
    bundle_of(one, "sqlite://", vectors=True)

    async def story(memory: Memory, context: Context) -> None:
        await imported(one, context)
        await export_to(other, context, vectors=True)

    on(schema, story)
    assert unsigned(one) == unsigned(other)


def test_a_dry_run_announces_and_writes_nothing(tmp_path: Path) -> None:
    source = _live(tmp_path)

    async def recalled(memory: Memory, context: Context) -> None:
        await memory.recall("fact 7 about tea", scope="all", min_relevance="off")

    on(source, recalled)

    async def story(memory: Memory, context: Context) -> None:
        answer = await _moved(source, context, dry_run=True)
        assert [loss["field"] for loss in answer["losses"]] == ["recalled_at"]
        assert answer["changes"] > 0
        assert await _records(memory, context) == []

    on(_sqlite(tmp_path, "target"), story)


def test_moving_again_brings_what_was_added_since(tmp_path: Path) -> None:
    source, target = _live(tmp_path), _sqlite(tmp_path, "target")

    async def first(memory: Memory, context: Context) -> None:
        await _moved(source, context)

    async def more(memory: Memory, context: Context) -> None:
        await memory.remember("one more")

    async def again(memory: Memory, context: Context) -> dict[str, Json]:
        return await _moved(source, context)

    on(target, first)
    on(source, more)
    answer = on(target, again)
    assert (answer["changes"], answer["verified"]["ok"]) == (1, True)


def test_a_difference_between_both_sides_is_named(tmp_path: Path) -> None:
    source, target = _live(tmp_path), _sqlite(tmp_path, "target")

    async def story(memory: Memory, context: Context) -> None:
        await _moved(source, context)
        victim = (await _records(memory, context))[0].id
        await memory.forget(victim)
        found = (await _moved(source, context))["verified"]
        assert (found["ok"], found["missing"], found["named"]) == (False, 1, [victim])

    on(target, story)


_TEXT = st.text(st.characters(codec="utf-8", exclude_characters="\x00"), min_size=1, max_size=60).filter(
    lambda text: bool(text.strip())
)
_FACTS = st.fixed_dictionaries(
    {
        "content": _TEXT,
        "metadata": st.dictionaries(st.text("abc", min_size=1, max_size=3), _TEXT | st.integers(0, 9)),
    },
    optional={
        "tags": st.lists(st.text("xyz", min_size=1, max_size=4), max_size=3, unique=True),
        "confidence": st.floats(0, 1),
        "occurred_at": st.integers(SECONDS.stop, 2_000_000_000_000),
        "source": st.text("abc/", min_size=1, max_size=9),
        "type": st.sampled_from([kind.value for kind in MemoryType if kind is not MemoryType.PROCEDURAL]),
    },
)


@pytest.mark.parametrize("format_", ["markdown", "csv", "okf"])
@settings(max_examples=15, deadline=None)
@given(facts=st.lists(_FACTS, min_size=1, max_size=4))
def test_files_that_people_read_lose_nothing_but_what_they_announce(
    tmp_path_factory: pytest.TempPathFactory, format_: str, facts: list[dict[str, Json]]
) -> None:
    folder = tmp_path_factory.mktemp("files")
    path = folder / ("memories.csv" if format_ == "csv" else "memories")

    async def out(memory: Memory, context: Context) -> list[Record]:
        await memory.remember_many(facts)
        await export_files(path, format_, context.store, DEFAULT_TENANT, ("agent",))
        return await _records(memory, context)

    async def back(memory: Memory, context: Context) -> list[Record]:
        await imported(path, context)
        return await _records(memory, context)

    before = on("memory://", out)
    assert on("memory://", back) == before


def test_sqlite_to_markdown_to_sqlite_keeps_every_memory(tmp_path: Path, home: Path) -> None:
    source, sheets = _live(tmp_path), f"markdown://{tmp_path}/sheets"

    async def across(memory: Memory, context: Context) -> None:
        await _moved(source, context)

    async def back(memory: Memory, context: Context) -> list[str]:
        answer = await _moved(sheets, context)
        assert answer["verified"]["ok"]
        return [str(record.content) for record in await _records(memory, context)]

    async def first(memory: Memory, context: Context) -> list[str]:
        return [str(record.content) for record in await _records(memory, context)]

    on(sheets, across)
    assert on(_sqlite(tmp_path, "back"), back) == on(source, first)


@settings(max_examples=4, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(facts=st.lists(_FACTS, min_size=2, max_size=5, unique_by=lambda fact: fact["content"]))
def test_sqlite_to_postgres_to_markdown_to_sqlite_loses_only_what_was_announced(
    tmp_path_factory: pytest.TempPathFactory, server: Server, home: Path, facts: list[dict[str, Json]]
) -> None:
    folder = tmp_path_factory.mktemp("chain")

    async def told(memory: Memory, context: Context) -> list[Record]:
        kept = await memory.remember_many(facts)
        await memory.remember("said anew", id=kept[0].id, if_version=1)
        await memory.forget(kept[1].id)
        return await _records(memory, context)

    with contextmanager(schema_of)(server, f"m{os.urandom(6).hex()}") as schema:
        stations = (_sqlite(folder, "a"), schema, f"markdown://{folder}/sheets", _sqlite(folder, "b"))
        before = on(stations[0], told)
        announced: set[str] = set()
        for source, target in pairwise(stations):

            async def across(memory: Memory, context: Context, source: str = source) -> dict[str, Json]:
                return await _moved(source, context)

            answer = on(target, across)
            assert (answer["verified"]["ok"], answer["problems"]) == (True, [])
            announced |= {str(loss["field"]) for loss in answer["losses"]}
    after = on(stations[-1], _records)
    assert {"history", "ended", "version"} == announced
    assert after == [replace(record, version=1) for record in before]
