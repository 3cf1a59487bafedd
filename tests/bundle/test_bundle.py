"""A bundle carries everything that happened, byte for byte the same, and tells when it was touched."""

import asyncio
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator
from referencing import Registry, Resource

from memorywire import Memory
from memorywire.migrate.bundle import validate_bundle
from memorywire.migrate.bundle_lines import parse_line
from memorywire.migrate.history import find_history_store
from memorywire.model.change import Version
from memorywire.model.errors import InvalidRequest
from memorywire.pipeline.context import Context
from memorywire.stores.memory import MemoryStore
from memorywire.stores.router.router import Mount, Router
from memorywire.stores.wrappers import with_timeout
from memorywire.wire import spec
from memorywire_testing.samples import SPACE
from tests.bundle.story import bundle_of, export_to, imported, lived, on
from tests.engine.quick import Quick

STORES = ("memory://", "sqlite://")


def _carried(tmp_path: Path, url: str, facts: int, **wanted: bool) -> tuple[bytes, bytes]:
    one, other = tmp_path / "one.jsonl", tmp_path / "other.jsonl"
    bundle_of(one, url, facts, **wanted)

    async def story(memory: Memory, context: Context) -> None:
        answer = await imported(one, context)
        assert answer["problems"] == []
        await export_to(other, context, **wanted)

    on(url, story)
    return one.read_bytes(), other.read_bytes()


@pytest.mark.parametrize("url", STORES)
@pytest.mark.parametrize("vectors", [False, True])
def test_what_was_imported_is_exported_as_the_same_bytes(tmp_path: Path, url: str, vectors: bool) -> None:
    before, after = _carried(tmp_path, url, 12, vectors=vectors)
    assert before == after
    assert (b'"vector"' in before) is vectors


def test_thousands_of_memories_are_the_same_bytes_too(tmp_path: Path) -> None:
    before, after = _carried(tmp_path, "sqlite://", 3000)
    assert before == after
    assert before.count(b'"kind":"change"') > 3000


def test_what_several_stores_keep_is_exported_with_its_past(tmp_path: Path) -> None:
    one, other = tmp_path / "one.jsonl", tmp_path / "other.jsonl"

    async def several() -> None:
        stores = ["memory://#here", "memory://#there"]
        async with Memory("agent", stores, policy="open", embedder=Quick()) as memory:
            await lived(memory)
            bundle = await export_to(one, (await memory._open()).context, vectors=True)
            assert bundle.manifest["history"] is True

    async def story(memory: Memory, context: Context) -> None:
        await imported(one, context)
        await export_to(other, context, vectors=True)

    asyncio.run(several())
    on("sqlite://", story)
    assert one.read_bytes() == other.read_bytes()


def test_a_store_that_misses_changes_is_not_the_one_that_tells() -> None:
    stores = {name: with_timeout(MemoryStore(SPACE), 1) for name in ("first", "second")}
    mounts = [Mount(name=name, store=store, backend=name) for name, store in stores.items()]
    router = Router(mounts)
    assert find_history_store(router) is stores["first"]
    assert find_history_store(router, {"first"}) is stores["second"]


def test_the_store_does_not_show_in_the_bytes(tmp_path: Path) -> None:
    one, other = tmp_path / "one.jsonl", tmp_path / "other.jsonl"
    bundle_of(one, "sqlite://")

    async def story(memory: Memory, context: Context) -> None:
        await imported(one, context)
        await export_to(other, context)

    on("memory://", story)
    assert one.read_bytes() == other.read_bytes()


@pytest.mark.parametrize("url", STORES)
def test_history_comes_along(tmp_path: Path, url: str) -> None:
    path = tmp_path / "one.jsonl"

    async def before(memory: Memory, context: Context) -> tuple[list[str], list[tuple[Version, ...]]]:
        ids = await lived(memory)
        await export_to(path, context)
        return ids, [await memory.history(id) for id in ids if id != ids[5]]

    ids, histories = on(url, before)

    async def after(memory: Memory, context: Context) -> list[tuple[Version, ...]]:
        await imported(path, context)
        return [await memory.history(id) for id in ids if id != ids[5]]

    assert [_told(one) for one in on(url, after)] == [_told(one) for one in histories]


def _told(versions: tuple[Version, ...]) -> list[object]:
    """Everything but the commit sequence, which is each store's own."""
    return [(v.number, v.record, v.began_at, v.began_by, v.ended_at, v.ended_by, v.reason) for v in versions]


def test_an_undo_reaches_a_change_of_the_time_before(tmp_path: Path) -> None:
    path = tmp_path / "one.jsonl"
    ids = bundle_of(path, "sqlite://")

    async def story(memory: Memory, context: Context) -> None:
        await imported(path, context)
        forgot = (await memory.history(ids[3]))[-1].ended_by
        assert ids[3] in (await memory.undo(str(forgot))).restored_ids

    on("sqlite://", story)


def test_what_was_erased_is_not_in_it(tmp_path: Path) -> None:
    path = tmp_path / "one.jsonl"
    ids = bundle_of(path, "sqlite://")
    assert ids[5].encode() not in path.read_bytes()
    assert ids[4].encode() in path.read_bytes()


def test_every_line_is_what_the_schema_says(tmp_path: Path) -> None:
    path = tmp_path / "one.jsonl"
    bundle_of(path, "sqlite://", vectors=True)
    known = [(f"{spec.BASE}{name}.json", Resource.from_contents(one)) for name, one in spec.schemas().items()]
    validator = Draft202012Validator(spec.bundle_line(), registry=Registry().with_resources(known))
    lines = path.read_bytes().splitlines()
    for number, line in enumerate(lines, start=1):
        validator.validate(parse_line(line, number) | {"digest": line[-66:-2].decode()})
    assert not validator.is_valid({"kind": "change", "digest": "0" * 64})


def test_a_bundle_that_is_whole_is_believed(tmp_path: Path) -> None:
    path = tmp_path / "one.jsonl"
    bundle_of(path, "sqlite://")
    assert validate_bundle(path).counts["change"] == path.read_bytes().count(b'"kind":"change"')


def test_a_changed_letter_is_noticed_and_its_line_is_named(tmp_path: Path) -> None:
    path = tmp_path / "one.jsonl"
    bundle_of(path, "sqlite://")
    path.write_bytes(path.read_bytes().replace(b"fact 2 about tea", b"fact 2 about rum", 1))
    with pytest.raises(InvalidRequest, match="line 4 was altered"):
        validate_bundle(path)


@pytest.mark.parametrize("kept", [slice(0, -1), slice(0, -2)], ids=["the end is missing", "two are missing"])
def test_a_bundle_that_was_cut_off_is_noticed(tmp_path: Path, kept: slice) -> None:
    path = tmp_path / "one.jsonl"
    bundle_of(path, "sqlite://")
    path.write_bytes(b"".join(path.read_bytes().splitlines(keepends=True)[kept]))
    with pytest.raises(InvalidRequest, match="incomplete"):
        validate_bundle(path)


def test_a_line_that_was_taken_out_is_noticed(tmp_path: Path) -> None:
    path = tmp_path / "one.jsonl"
    bundle_of(path, "sqlite://")
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join((*lines[:3], *lines[4:])))
    with pytest.raises(InvalidRequest, match="missing or were moved"):
        validate_bundle(path)
