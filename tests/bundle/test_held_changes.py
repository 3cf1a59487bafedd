"""What an import holds for a person and ends later itself: nobody is asked about it any more."""

from pathlib import Path

import pytest

from memorywire import Memory
from memorywire.journal.acts import Wanted
from memorywire.model.proposal import Proposal, State
from memorywire.model.record import DEFAULT_TENANT
from memorywire.pipeline.context import Context
from tests.bundle.story import export_to, imported, on

WEB = "web:forum"  # what policy holds


async def _approved(memory: Memory, *ids: str, words: str = "said on the web by") -> None:
    held = [await memory.remember(f"{words} {id}", id=id, source=WEB) for id in ids]
    await memory.decide([str(one.proposal_id) for one in held], "approve")


async def _proposals(context: Context) -> list[Proposal]:
    return await context.require_governance().journal.list_proposals(Wanted(tenant=DEFAULT_TENANT))


@pytest.mark.parametrize("url", ["memory://", "sqlite://"])
def test_what_the_import_itself_ends_waits_for_nobody(tmp_path: Path, url: str) -> None:
    path = tmp_path / "one.jsonl"

    async def before(memory: Memory, context: Context) -> None:
        await _approved(memory, "forgotten")
        await _approved(memory, "replaced")
        await memory.forget("forgotten")
        await memory.remember("from a person", id="newer", source="user", supersedes=["replaced"])
        await export_to(path, context)

    async def after(memory: Memory, context: Context) -> None:
        for _ in range(2):  # what is started again comes to the same
            answer = await imported(path, context)
            assert (answer["held"], answer["ended"], answer["problems"]) == (0, 2, [])
            assert (await memory.proposals()).total == 0
        closed = await _proposals(context)
        assert {one.state for one in closed} == {State.REJECTED}
        reasons = {next(iter(one.touched)): one.decision and one.decision.reason for one in closed}
        assert reasons["forgotten"] == "forgotten where it comes from"
        assert reasons["replaced"] == "superseded where it comes from"
        assert [record.id for record in await memory.list()] == ["newer"]

    on(url, before, policy="balanced")
    on(url, after, policy="balanced")


def test_what_lives_again_at_the_end_of_the_file_still_waits(tmp_path: Path) -> None:
    path = tmp_path / "one.jsonl"

    async def before(memory: Memory, context: Context) -> None:
        await _approved(memory, "back")
        gone = await memory.forget("back")
        await memory.undo(str(gone.change_id))
        await export_to(path, context)

    async def after(memory: Memory, context: Context) -> None:
        answer = await imported(path, context)
        assert (answer["held"], answer["ended"]) == (1, 0)
        assert (await memory.proposals()).total == 1

    on("sqlite://", before, policy="balanced")
    on("sqlite://", after, policy="balanced")


def test_of_several_that_were_approved_as_one_only_those_alive_still_wait(tmp_path: Path) -> None:
    path = tmp_path / "one.jsonl"

    async def before(memory: Memory, context: Context) -> None:
        await _approved(memory, "gone", "stays")
        await memory.forget("gone")
        await export_to(path, context)

    async def after(memory: Memory, context: Context) -> None:
        await imported(path, context)
        [waiting] = (await memory.proposals()).items
        await memory.decide(waiting.id, "approve")
        assert [record.id for record in await memory.list()] == ["stays"]

    on("sqlite://", before, policy="balanced")
    on("sqlite://", after, policy="balanced")


def test_the_same_words_said_again_later_are_still_asked_about(tmp_path: Path) -> None:
    path = tmp_path / "one.jsonl"

    async def before(memory: Memory, context: Context) -> None:
        for id in ("first", "again"):
            held = await memory.remember("the same words", id=id, source=WEB)
            await memory.decide(str(held.proposal_id), "approve")
            if id == "first":
                await memory.forget(id)
        await export_to(path, context)

    async def after(memory: Memory, context: Context) -> None:
        await imported(path, context)
        [waiting] = (await memory.proposals()).items
        await memory.decide(waiting.id, "approve")
        assert [record.content for record in await memory.list()] == ["the same words"]

    on("sqlite://", before, policy="balanced")
    on("sqlite://", after, policy="balanced")


def test_what_replaced_it_waits_too_and_so_both_do(tmp_path: Path) -> None:
    path = tmp_path / "one.jsonl"

    async def before(memory: Memory, context: Context) -> None:
        await _approved(memory, "old")
        held = await memory.remember("newer on the web", id="new", source=WEB, supersedes=["old"])
        await memory.decide(str(held.proposal_id), "approve")
        await export_to(path, context)

    async def after(memory: Memory, context: Context) -> None:
        answer = await imported(path, context)
        assert (answer["held"], answer["ended"]) == (2, 0)
        assert (await memory.proposals()).total == 2

    on("sqlite://", before, policy="balanced")
    on("sqlite://", after, policy="balanced")


def test_what_is_here_already_in_the_same_words_stops_no_import(tmp_path: Path) -> None:
    path = tmp_path / "one.jsonl"

    async def before(memory: Memory, context: Context) -> None:
        await _approved(memory, "theirs", words="the same words of")
        await memory.remember("something else", id="else", source="user")
        await export_to(path, context)

    async def after(memory: Memory, context: Context) -> None:
        held = await memory.remember("the same words of theirs", id="ours", source=WEB)
        await memory.decide(str(held.proposal_id), "approve")
        answer = await imported(path, context)
        assert (answer["held"], answer["already"], answer["memories"]) == (0, 1, 1)

    on("sqlite://", before, policy="balanced")
    on("sqlite://", after, policy="balanced")
