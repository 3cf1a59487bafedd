"""Erase and export of a person: everything of a user goes or comes along, and nothing of anybody else."""

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest

from memorywire import Memory
from memorywire.model.errors import InvalidRequest, Refused
from memorywire.sync import Memory as Blocking
from tests.engine.stage import STORES, HandClock, play

ANA, BEN = "ana@example.com", "ben@example.com"


async def live(memory: Memory, user: str) -> None:
    """Name the user wherever a user can be named."""
    await memory.remember("likes green tea", user_id=user, id=f"tea-{user[:3]}", idempotency_key=f"{user}:1")
    await memory.remember("lived in Graz", user_id=user, id=f"home-{user[:3]}")
    await memory.remember("lives in Linz", user_id=user, id=f"home-{user[:3]}", if_version=1)
    await memory.remember("was wrong", user_id=user, id=f"gone-{user[:3]}")
    await memory.forget(f"gone-{user[:3]}", user_id=user, reason=f"{user} asked")
    await memory.remember("waits for a person", user_id=user, approval_required=True)
    await memory.kv.of("user", user).set("colour", "green")
    await memory.recall("what tea?", user_id=user)
    await memory.recall(f"what does {user} drink?")


@pytest.mark.parametrize("url", STORES)
def test_an_erase_removes_everything_of_one_user_alone(url: str):
    """Proves ER-1."""

    async def story(memory: Memory, clock: HandClock) -> None:
        for user in (ANA, BEN):
            await live(memory, user)
        before = await memory.erase(ANA, dry_run=True)
        assert (before.erased, before.id_removed) == (5, False)
        assert (await memory.get("tea-ana")).content == "likes green tea"
        receipt = await memory.erase(ANA, reason="a request for erasure")
        assert (receipt.erased, receipt.waiting, receipt.id_removed) == (5, 0, True)
        assert {one.agent_id: len(one.erased_ids) for one in receipt.agents} == {"agent": 4, "kv:user": 1}
        assert (await memory.list(user_id=ANA)).total == 0
        assert (await memory.list(user_id=BEN)).total == 2
        assert (await memory.kv.of("user", ANA).get("colour")) is None
        assert (await memory.kv.of("user", BEN).get("colour")) is not None
        assert [one.scope.user for one in (await memory.proposals()).items] == [BEN]
        assert (await memory.erase(ANA)).erased == 0

    play(url, story)


def _files_with(folder: Path, word: str) -> Iterator[str]:
    return (
        path.name
        for path in sorted(folder.rglob("*"))
        if path.is_file() and word.encode() in path.read_bytes()
    )


@pytest.mark.parametrize("several", [False, True], ids=["one store", "two stores"])
def test_no_byte_of_the_id_is_in_the_files(tmp_path: Path, several: bool):
    """In the database, its log, the journal and the outbox; Ben, who stays, is the control. Proves ER-2."""
    stores = [f"sqlite://{tmp_path}/memory.db", *([f"sqlite://{tmp_path}/second.db"] if several else [])]

    async def story() -> None:
        async with Memory("agent", stores, policy="open", write="primary" if several else None) as memory:
            for user in (ANA, BEN):
                await live(memory, user)
            assert (await memory.erase(ANA)).id_removed
            assert list(_files_with(tmp_path, ANA)) == []  # also while the files are in use
            assert list(_files_with(tmp_path, BEN)) != []
            assert (await memory.audit_verify(state=True)).ok

    asyncio.run(story())
    assert list(_files_with(tmp_path, ANA)) == []
    assert list(_files_with(tmp_path, BEN)) != []


def test_the_ledger_keeps_its_entries_and_names_nobody(tmp_path: Path):
    with Blocking("agent", f"sqlite://{tmp_path}/memory.db", policy="open") as memory:
        memory.remember("likes green tea", user_id=ANA)
        before = memory.audit_log(user_id=ANA, all_agents=True)
        assert [one["user"] for one in before] == [ANA]
        memory.erase(ANA)
        entries = memory.audit_log(all_agents=True)
        assert {one["seq"] for one in before} <= {one["seq"] for one in entries}
        assert {one.get("user") for one in entries} == {None}


def test_an_erase_of_one_agent_leaves_the_others(tmp_path: Path):
    url = f"sqlite://{tmp_path}/memory.db"
    for agent in ("a", "b"):
        with Blocking(agent, url, policy="open") as memory:
            memory.remember(f"{agent} knows this", user_id=ANA)
    with Blocking("c", url, policy="open") as memory:
        receipt = memory.erase(ANA, agent_id="a")
        assert ([one.agent_id for one in receipt.agents], receipt.id_removed) == (["a"], False)
        receipt = memory.erase(ANA)
        assert ([one.agent_id for one in receipt.agents], receipt.id_removed) == (["b"], True)


@pytest.mark.parametrize("url", STORES)
def test_an_export_has_everything_of_one_user_alone(url: str):
    async def story(memory: Memory, clock: HandClock) -> None:
        for user in (ANA, BEN):
            await live(memory, user)
        bundle = await memory.export(ANA)
        assert (ANA in bundle.text, BEN in bundle.text) == (True, False)
        for words in ("likes green tea", "lived in Graz", "lives in Linz", "waits for a person", "green"):
            assert words in bundle.text
        assert bundle.counts["put"] == 5
        assert await memory.export(ANA) == bundle
        assert (await memory.export(ANA, agent_id="nobody")).counts.get("put", 0) == 0

    play(url, story)


def test_what_was_exported_can_be_imported(tmp_path: Path):
    from memorywire.migrate.bundle import validate_bundle

    with Blocking("agent", f"sqlite://{tmp_path}/memory.db", policy="open") as memory:
        memory.remember("likes green tea\u2028and milk", user_id=ANA)
        bundle = memory.export(ANA)
    file = tmp_path / "ana.jsonl"
    file.write_text(bundle.text, encoding="utf-8")
    assert validate_bundle(file).digest == bundle.digest


def test_an_agent_neither_erases_nor_exports_a_person(tmp_path: Path):
    """Proves ER-3."""
    url = f"sqlite://{tmp_path}/memory.db"
    with Blocking("agent", url, policy="open") as memory:
        memory.remember("likes green tea", user_id=ANA, id="tea")
    with Blocking("agent", url, policy="open", caller="agent:agent") as memory:
        for verb in (memory.erase, memory.export):
            with pytest.raises(Refused):
                verb(ANA)
        assert memory.get("tea").content == "likes green tea"


@pytest.mark.parametrize("verb", ["erase", "export"])
def test_a_user_that_is_no_name_is_refused_with_its_field(verb: str):
    async def story(memory: Memory, clock: HandClock) -> None:
        with pytest.raises(InvalidRequest) as refusal:
            await getattr(memory, verb)(7)
        assert refusal.value.field == "user_id"

    play("memory://", story)
