"""A set is a write like any other: judged, held, refused and written down."""

import asyncio
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from memorywire import Memory
from memorywire.model.answers import Status
from memorywire.model.errors import Conflict, Refused, SecretLeakage
from memorywire.model.kv import Reembedded
from memorywire.model.proposal import Verb
from tests.engine.stage import HandClock, one_rule
from tests.kv.stage import STORES, play

_TOKEN = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"


@pytest.mark.parametrize(
    ("key", "value", "options"),
    [
        ("k", _TOKEN, {}),
        ("k", {"deep": ["x", {"y": f"token {_TOKEN}"}]}, {}),
        (_TOKEN, "x", {}),
        ("k", "x", {"embed": True, "embed_text": _TOKEN}),
        ("db_password", "hunter2-Xy77", {}),
    ],
    ids=["value", "deep", "key", "text", "named"],
)
def test_a_secret_is_refused_and_leaves_no_trace(
    key: str, value: Any, options: dict[str, Any], tmp_path: Path
) -> None:
    path = tmp_path / "memory.db"

    async def story(memory: Memory, clock: HandClock) -> None:
        await memory.kv.set("fine", "kept")
        with pytest.raises(SecretLeakage):
            await memory.kv.set(key, value, **options)
        assert [entry.key for entry in await memory.kv.list()] == ["fine"]

    play(story, f"sqlite://{path}")
    said = b"".join(file.read_bytes() for file in tmp_path.rglob("*") if file.is_file())
    assert b"kept" in said
    assert _TOKEN.encode() not in said
    assert b"hunter2-Xy77" not in said


def test_a_held_value_is_not_there_until_a_person_agreed(tmp_path: Path) -> None:
    policy = one_rule(tmp_path, "hold", operation=["remember"])

    async def story(memory: Memory, clock: HandClock) -> None:
        kept = await memory.kv.set("k", {"a": 1}, embed=True)
        assert (kept.status, kept.proposal_id is None) == (Status.STAGED, False)
        assert await memory.kv.get("k") is None
        await memory.decide(kept.proposal_id or "", "approve")
        found = await memory.kv.get("k")
        assert found is not None
        assert (found.value, found.embedded) == ({"a": 1}, True)

    play(story, policy=policy)


def test_a_policy_that_refuses_refuses_keys_too(tmp_path: Path) -> None:
    policy = one_rule(tmp_path, "refuse", agent=["agent"])

    async def story(memory: Memory, clock: HandClock) -> None:
        with pytest.raises(Refused):
            await memory.kv.set("k", 1)
        kept = await memory.kv.of("agent", "another").set("k", 1)
        assert kept.status is Status.COMMITTED

    play(story, policy=policy)


def test_every_set_and_delete_stands_in_the_ledger_without_its_value() -> None:
    async def story(memory: Memory, clock: HandClock) -> None:
        kept = await memory.kv.set("k", "a value that nobody should find")
        await memory.kv.delete("k")
        entries = await memory.audit_log()
        assert [(entry["operation"], entry["kind"]) for entry in entries] == [
            ("forget", "committed"),
            ("remember", "committed"),
        ]
        assert "nobody should find" not in repr(entries)
        assert kept.id in repr(entries)
        assert (await memory.audit_verify()).report.ok

    play(story)


def test_a_set_can_be_undone() -> None:
    async def story(memory: Memory, clock: HandClock) -> None:
        await memory.kv.set("k", 1)
        second = await memory.kv.set("k", 2)
        await memory.undo(second.change_id or "")
        found = await memory.kv.get("k")
        assert found is not None
        assert found.value == 1

    play(story)


def test_a_reviewer_may_turn_a_held_value_into_plain_words(tmp_path: Path) -> None:
    policy = one_rule(tmp_path, "hold", operation=["remember"])

    async def story(memory: Memory, clock: HandClock) -> None:
        kept = await memory.kv.set("k", {"a": 1})
        await memory.decide(kept.proposal_id or "", Verb.EDIT.value, edit={"content": "just words"})
        found = await memory.kv.get("k")
        assert found is not None
        assert found.value == "just words"

    play(story, policy=policy)


def test_a_reviewer_may_do_so_over_a_value_that_stands(tmp_path: Path) -> None:
    policy = one_rule(tmp_path, "hold", content_contains=["held"])

    async def story(memory: Memory, clock: HandClock) -> None:
        await memory.kv.set("k", 1)
        kept = await memory.kv.set("k", "held back")
        await memory.decide(kept.proposal_id or "", Verb.EDIT.value, edit={"content": "just words"})
        found = await memory.kv.get("k")
        assert found is not None
        assert (found.value, found.version) == ("just words", 2)

    play(story, policy=policy)


def test_a_value_changes_by_its_key_and_by_no_other_door() -> None:
    async def story(memory: Memory, clock: HandClock) -> None:
        kept = await memory.kv.set("k", {"a": 1}, ttl=60)
        before = await memory.kv.get("k")
        item = await memory.harness.get(kept.id)
        assert item is not None
        for rewriting in (
            memory.remember("something else", id=kept.id, if_version=1),
            memory.harness.write(replace(item, content="something else")),
            memory.harness.write(replace(item, relevancy=0.1)),
        ):
            with pytest.raises(Conflict) as caught:
                await rewriting
            assert "by its key" in (caught.value.fix or "")
        assert await memory.kv.get("k") == before
        assert (await memory.kv.set("k", 2)).version == 2

    play(story)


_FORGED: list[Any] = [
    3,
    [1],
    {"of": "agent"},
    {"of": ["agent"], "key": "k", "bytes": 1, "embedded": True},
    {"of": "agent", "key": 5, "bytes": 1, "embedded": True},
    {"of": "agent", "key": "k", "bytes": "1", "embedded": True},
    {"of": "agent", "key": "k", "bytes": 1, "embedded": 3},
    {"of": "agent", "key": "k", "bytes": 1, "embedded": [True]},
]


@pytest.mark.parametrize("url", STORES)
def test_metadata_that_looks_like_a_key_is_none_and_disturbs_none(url: str) -> None:
    async def story(memory: Memory, clock: HandClock) -> None:
        await memory.kv.set("k", "tea", embed=True)
        for number, forged in enumerate(_FORGED):
            told = await memory.remember(f"tea number {number}", metadata={"kv": forged})
            await memory.remember(f"tea, number {number}", id=told.id, if_version=1, metadata={"kv": forged})
        assert [entry.key for entry in await memory.kv.list()] == ["k"]
        assert [match.entry.key for match in await memory.kv.search("tea")] == ["k"]
        assert (await memory.kv.stats()).entries == 1
        assert await memory.kv.reembed() == Reembedded(entries=0)

    play(story, url)


def test_a_memory_that_took_the_place_of_a_key_is_named_and_can_be_forgotten() -> None:
    async def story(memory: Memory, clock: HandClock) -> None:
        place = memory.kv.owner.address("k")
        await memory.remember("here first", id=place)
        for asking in (memory.kv.get("k"), memory.kv.set("k", 1), memory.kv.delete("k")):
            with pytest.raises(Conflict, match=place):
                await asking
        await memory.forget(place)
        assert await memory.kv.get("k") is None
        await memory.kv.set("k", 1)
        found = await memory.kv.get("k")
        assert found is not None
        assert found.value == 1

    play(story)


def test_what_is_set_survives_the_end_of_the_process(tmp_path: Path) -> None:
    url = f"sqlite://{tmp_path}/memory.db"

    async def setting() -> None:
        async with Memory("a", [url]) as memory:
            await memory.kv.set("k", [1, None])

    async def getting() -> object:
        async with Memory("a", [url]) as memory:
            found = await memory.kv.get("k")
            return None if found is None else found.value

    asyncio.run(setting())
    assert asyncio.run(getting()) == [1, None]
