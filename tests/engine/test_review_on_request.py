"""A caller can demand a review of any request and say why; the reasoning lives as long as the content."""

import asyncio

import pytest

from memorywire import Memory
from memorywire.model.answers import Status
from memorywire.model.errors import ApprovalPending, CapabilityUnsupported, InvalidRequest
from memorywire.model.proposal import State
from tests.engine.quick import Quick
from tests.engine.stage import STORES, HandClock

TEA = "Ana likes green tea"
WHY = "she said so at breakfast"
TOKEN = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"


def with_memory(url, work, policy="open"):
    """Run the work on a memory with two facts."""

    async def run():
        async with Memory("agent", [url], policy=policy, embedder=Quick(), clock=HandClock()) as memory:
            await memory.remember(TEA, id="tea", reasoning=WHY)
            await memory.remember("Ana drinks green tea", id="drink")
            await work(memory)

    asyncio.run(run())


async def write_each(memory, **options):
    """The receipt of each kind of write but a remember."""
    first = (await memory.changes())[-1].id
    return [
        await memory.forget("tea", **options),
        await memory.merge("tea", ["drink"], **options),
        await memory.expire({"type": "semantic"}, **options),
        await memory.undo(first, **options),
    ]


@pytest.mark.parametrize("url", STORES)
def test_each_write_waits_when_its_caller_demands_it(url):
    async def work(memory):
        for receipt in await write_each(memory, approval_required=True, reasoning="why not"):
            assert (receipt.status, receipt.rule) == (Status.STAGED, "approval_required")
            shown = await memory.proposal(receipt.proposal_id)
            assert shown.proposal.request.reasoning == "why not"
        assert (await memory.list()).total == 2
        assert (await memory.forget("tea")).status is Status.COMMITTED  # control: it was the demand

    with_memory(url, work)


@pytest.mark.parametrize("url", STORES)
def test_a_recall_waits_when_its_caller_demands_it(url):
    async def work(memory):
        with pytest.raises(ApprovalPending) as held:
            await memory.recall("green tea", approval_required=True)
        assert (await memory.recall("green tea")).hits  # control: it was the demand
        await memory.decide(held.value.proposal_id, "approve")
        assert (await memory.recall("green tea", approval_required=True)).hits

    with_memory(url, work)


@pytest.mark.parametrize("url", STORES)
def test_without_a_journal_a_demand_for_review_is_refused(url):
    """Proves GV-6."""

    async def work(memory):
        first = (await memory.changes())[-1].id
        for ask in (
            lambda: memory.remember("x", approval_required=True),
            lambda: memory.forget("tea", approval_required=True),
            lambda: memory.merge("tea", ["drink"], approval_required=True),
            lambda: memory.expire({"type": "semantic"}, approval_required=True),
            lambda: memory.undo(first, approval_required=True),
            lambda: memory.recall("tea", approval_required=True),
        ):
            with pytest.raises(CapabilityUnsupported) as refusal:
                await ask()
            assert refusal.value.field == "approval_required"
        assert (await memory.list()).total == 2

    with_memory(url, work, policy=None)


@pytest.mark.parametrize("url", STORES)
def test_a_change_keeps_the_reasoning_as_its_reason(url):
    async def work(memory):
        await memory.forget("drink", reason="outdated", reasoning="she moved on to coffee")
        reasons = [change.reason for change in await memory.changes()]
        assert reasons == ["outdated\nshe moved on to coffee", None, WHY]

    with_memory(url, work)


@pytest.mark.parametrize("url", STORES)
def test_an_erase_takes_the_reasoning_with_it(url):
    """Proves GV-7."""

    async def work(memory):
        await memory.merge("tea", ["drink"], reasoning="both are about green tea")
        held = await memory.forget("tea", approval_required=True, reasoning="she no longer likes green tea")
        await memory.remember("Ben likes rain", id="rain", reasoning="Ben told me")
        await memory.forget("drink", hard_delete=True)
        reasons = {change.operation: change.reason for change in await memory.changes()}
        assert reasons["merge"] is None
        assert [one.reason for one in await memory.changes()][-1] == WHY  # control: of another memory
        await memory.forget("tea", hard_delete=True, reason="by request", reasoning="green tea is private")
        assert [one.reason for one in await memory.changes()] == [
            "by request",
            None,
            "Ben told me",
            None,
            None,
            None,
        ]
        assert (await memory.proposal(held.proposal_id)).proposal.request is None

    with_memory(url, work)


@pytest.mark.parametrize("url", STORES)
def test_a_secret_in_reasoning_or_in_a_held_query_is_not_kept(url):
    async def work(memory):
        says = f"the login is {TOKEN}"
        receipt = await memory.remember("Ana has a login", reasoning=says)
        assert [one.place for one in receipt.redacted] == ["reasoning"]
        for one in await write_each(memory, approval_required=True, reasoning=says):
            request = (await memory.proposal(one.proposal_id)).proposal.request
            assert TOKEN not in request.reasoning
            assert "[REDACTED:" in request.reasoning
        with pytest.raises(ApprovalPending) as held:
            await memory.recall(says, approval_required=True)
        assert TOKEN not in (await memory.proposal(held.value.proposal_id)).proposal.request.query
        assert all(TOKEN not in (change.reason or "") for change in await memory.changes())
        await memory.decide(held.value.proposal_id, "approve")
        await memory.recall(says, approval_required=True)  # the same words, approved

    with_memory(url, work)


@pytest.mark.parametrize("url", STORES)
def test_too_long_a_reasoning_is_refused_and_changes_nothing(url):
    async def work(memory):
        with pytest.raises(InvalidRequest) as refusal:
            await memory.forget("tea", reasoning="r" * 4097)
        assert refusal.value.field == "reasoning"
        assert (await memory.get("tea")).content == TEA
        await memory.forget("tea", reasoning="r" * 4096)

    with_memory(url, work)


@pytest.mark.parametrize("url", STORES)
def test_other_words_of_reasoning_wait_in_the_same_proposal(url):
    async def work(memory):
        first = await memory.forget("tea", approval_required=True, reasoning="one")
        second = await memory.forget("tea", approval_required=True, reasoning="two")
        other = await memory.forget("drink", approval_required=True, reasoning="one")
        assert first.proposal_id == second.proposal_id != other.proposal_id
        waiting = await memory.proposals()
        assert [one.state for one in waiting.items] == [State.PENDING] * 2

    with_memory(url, work)
