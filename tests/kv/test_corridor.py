"""A set is a write like any other: judged, held, refused and written down."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from memorywire import Memory
from memorywire.model.answers import Status
from memorywire.model.errors import Refused, SecretLeakage
from memorywire.model.review import Verb
from tests.engine.stage import HandClock
from tests.kv.stage import play

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
    policy = tmp_path / "policy.toml"
    policy.write_text(
        'profile = "open"\n[[rule]]\nname = "look"\nverdict = "hold"\noperation = ["remember"]\n',
        encoding="utf-8",
    )

    async def story(memory: Memory, clock: HandClock) -> None:
        kept = await memory.kv.set("k", {"a": 1}, embed=True)
        assert (kept.status, kept.proposal_id is None) == (Status.STAGED, False)
        assert await memory.kv.get("k") is None
        await memory.decide(kept.proposal_id or "", "approve")
        found = await memory.kv.get("k")
        assert found is not None
        assert (found.value, found.embedded) == ({"a": 1}, True)

    play(story, policy=str(policy))


def test_a_policy_that_refuses_refuses_keys_too(tmp_path: Path) -> None:
    policy = tmp_path / "policy.toml"
    policy.write_text(
        'profile = "open"\n[[rule]]\nname = "no"\nverdict = "refuse"\nagent = ["agent"]\n',
        encoding="utf-8",
    )

    async def story(memory: Memory, clock: HandClock) -> None:
        with pytest.raises(Refused):
            await memory.kv.set("k", 1)
        kept = await memory.kv.of("agent", "another").set("k", 1)
        assert kept.status is Status.COMMITTED

    play(story, policy=str(policy))


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
    policy = tmp_path / "policy.toml"
    policy.write_text(
        'profile = "open"\n[[rule]]\nname = "look"\nverdict = "hold"\noperation = ["remember"]\n',
        encoding="utf-8",
    )

    async def story(memory: Memory, clock: HandClock) -> None:
        kept = await memory.kv.set("k", {"a": 1})
        await memory.decide(kept.proposal_id or "", Verb.EDIT.value, edit={"content": "just words"})
        found = await memory.kv.get("k")
        assert found is not None
        assert found.value == "just words"

    play(story, policy=str(policy))


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
