"""A procedure moves in memory, is saved as a version, and loses no step of anybody."""

import asyncio
import doctest
import json

import pytest

from memorywire import Memory
from memorywire.client import procedures
from memorywire.client.procedures import STEPS, Procedure
from memorywire.model.answers import Status
from memorywire.model.errors import Conflict, InvalidRequest, NotFound
from memorywire.sync import Memory as BlockingMemory
from tests.engine.stage import STORES, HandClock, play
from tests.procedures.samples import refund

PAYABLE = {"approved": True, "blocked": False}


def test_the_example_in_the_docstring_runs():
    failed, tried = doctest.testmod(procedures)
    assert (failed, tried > 0) == (0, True)


@pytest.mark.parametrize("url", STORES)
def test_a_saved_step_is_the_next_version_and_history_tells_how_it_came(url):
    async def story(memory: Memory, clock: HandClock) -> None:
        kept = await memory.remember(refund(), type="procedural")
        procedure = await memory.procedure(kept.id)
        assert procedure.allowed(**PAYABLE) == ["pay", "close", "note"]
        assert procedure.trigger("pay", **PAYABLE) == "paid"
        procedure.trigger("retry")
        clock.pass_days(1)
        receipt = await procedure.save()
        assert (receipt.version, procedure.version) == (2, 2)
        procedure.trigger("close")
        await procedure.save()
        assert (await memory.get(kept.id)).content == refund(current="closed")
        steps = [(step.version, step.state, step.triggers) for step in await procedure.history()]
        assert steps == [(1, "asked", ()), (2, "paid", ("pay", "retry")), (3, "closed", ("close",))]

    play(url, story)


def test_nothing_is_written_before_it_is_saved():
    async def story(memory: Memory, clock: HandClock) -> None:
        kept = await memory.remember(refund(), type="procedural")
        procedure = await Procedure.load(memory, kept.id)
        procedure.trigger("close")
        assert (await memory.procedure(kept.id)).state == "asked"
        await procedure.save()
        assert (await memory.procedure(kept.id)).state == "closed"
        with pytest.raises(InvalidRequest, match="nothing to save"):
            await procedure.save()

    play("memory://", story)


@pytest.mark.parametrize("url", STORES)
def test_of_two_who_step_at_once_one_is_told_and_no_step_is_lost(url):
    async def story(memory: Memory, clock: HandClock) -> None:
        kept = await memory.remember(refund(), type="procedural")
        one, other = await memory.procedure(kept.id), await memory.procedure(kept.id)
        one.trigger("pay", **PAYABLE)
        other.trigger("close")
        await one.save()
        with pytest.raises(Conflict) as caught:
            await other.save()
        assert caught.value.field == "if_version"
        again = await memory.procedure(kept.id)
        assert again.state == "paid"
        again.trigger("close")
        await again.save()
        assert [step.triggers for step in await again.history()] == [(), ("pay",), ("close",)]

    play(url, story)


def test_of_many_who_step_at_once_every_step_is_kept_once():
    ring = {"name": "ring", "initial": "0", "states": [str(n) for n in range(7)]}
    ring["transitions"] = [["next", str(n), str((n + 1) % 7)] for n in range(7)]

    async def walk(memory: Memory, id: str, steps: int) -> None:
        for _ in range(steps):
            while True:
                procedure = await memory.procedure(id)
                procedure.trigger("next")
                try:
                    await procedure.save()
                    break
                except Conflict:
                    continue

    async def story(memory: Memory, clock: HandClock) -> None:
        kept = await memory.remember(ring, type="procedural")
        await asyncio.gather(*(walk(memory, kept.id, 5) for _ in range(4)))
        steps = await (await memory.procedure(kept.id)).history()
        assert [step.state for step in steps] == [str(n % 7) for n in range(21)]

    play("sqlite://", story)


def test_what_the_memory_says_of_itself_stays_with_it():
    async def story(memory: Memory, clock: HandClock) -> None:
        said = {
            "tags": ["money"],
            "source": "handbook",
            "confidence": 0.5,
            "session_id": "s1",
            "occurred_at": 1_700_000_000_000,
            "expires_at": clock() + 1_000_000,
            "metadata": {"owner": "ana"},
            "user_id": "ben",
        }
        kept = await memory.remember(refund(), type="procedural", **said)
        before = await memory.get(kept.id)
        procedure = await memory.procedure(kept.id)
        procedure.trigger("close")
        await procedure.save()
        after = await memory.get(kept.id, user_id="ben")
        for name in (
            "tags",
            "source",
            "confidence",
            "session_id",
            "occurred_at",
            "expires_at",
            "trust",
            "scope",
        ):
            assert getattr(after, name) == getattr(before, name), name
        assert after.metadata == {"owner": "ana", STEPS: ["close"]}

    play("memory://", story)


def test_a_definition_that_was_a_text_stays_a_text():
    async def story(memory: Memory, clock: HandClock) -> None:
        kept = await memory.remember(json.dumps(refund(metadata={"who": "Zoë"})), type="procedural")
        procedure = await memory.procedure(kept.id)
        procedure.trigger("close")
        await procedure.save()
        content = (await memory.get(kept.id)).content
        assert isinstance(content, str)
        assert json.loads(content) == refund(current="closed", metadata={"who": "Zoë"})

    play("memory://", story)


def test_two_runs_that_would_say_the_same_are_told_apart_by_their_metadata():
    async def story(memory: Memory, clock: HandClock) -> None:
        first = await memory.remember(refund(current="closed"), type="procedural")
        second = await memory.remember(refund(), type="procedural")
        procedure = await memory.procedure(second.id)
        procedure.trigger("close")
        with pytest.raises(Conflict, match=first.id) as caught:
            await procedure.save()
        assert "metadata" in (caught.value.fix or "")
        third = await memory.remember(refund(metadata={"ticket": 8}), type="procedural")
        apart = await memory.procedure(third.id)
        apart.trigger("close")
        await apart.save()

    play("memory://", story)


def test_only_a_procedure_can_be_loaded():
    async def story(memory: Memory, clock: HandClock) -> None:
        words = await memory.remember("To deploy, run make ship", type="procedural")
        fact = await memory.remember(json.dumps(refund()))
        for id, problem in ((words.id, "words"), (fact.id, "semantic")):
            with pytest.raises(InvalidRequest, match=problem):
                await memory.procedure(id)
        with pytest.raises(NotFound):
            await memory.procedure("nobody")
        with pytest.raises(NotFound):
            await memory.procedure(words.id, user_id="a stranger")

    play("memory://", story)


def test_a_refused_step_changes_nothing():
    async def story(memory: Memory, clock: HandClock) -> None:
        kept = await memory.remember(refund(), type="procedural")
        procedure = await memory.procedure(kept.id)
        with pytest.raises(Conflict):
            procedure.trigger("pay", approved=False, blocked=False)
        assert procedure.state == "asked"
        with pytest.raises(InvalidRequest):
            await procedure.save()

    play("memory://", story)


def test_facts_may_have_any_name_that_a_condition_may_have():
    names = ["self", "trigger_", "name", "facts"]
    document = refund(transitions=[["go", "asked", "paid", names]])

    async def story(memory: Memory, clock: HandClock) -> None:
        kept = await memory.remember(document, type="procedural")
        procedure = await memory.procedure(kept.id)
        assert procedure.trigger("go", **dict.fromkeys(names, True)) == "paid"

    play("memory://", story)


def test_a_step_that_waits_for_approval_is_not_taken_yet(tmp_path):
    url = f"sqlite:///{tmp_path}/memory.db"

    async def story() -> None:
        async with Memory("agent", [url]) as memory:
            kept = await memory.remember(refund(), type="procedural")
        async with Memory("agent", [url], policy="strict") as memory:
            procedure = await memory.procedure(kept.id)
            procedure.trigger("close")
            receipt = await procedure.save()
            assert (receipt.status, procedure.version) == (Status.STAGED, 1)
            assert (await memory.procedure(kept.id)).state == "asked"

    asyncio.run(story())


def test_the_blocking_client_walks_the_same_way():
    with BlockingMemory("agent", ["memory://"]) as memory:
        kept = memory.remember(refund(), type="procedural")
        procedure = memory.procedure(kept.id)
        procedure.trigger("pay", **PAYABLE)
        assert procedure.save().version == 2
        assert [step.state for step in procedure.history()] == ["asked", "paid"]
        assert memory.procedure(kept.id).state == "paid"
