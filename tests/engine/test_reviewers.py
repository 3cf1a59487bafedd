"""A host wires in its own reviewer: it is asked about each held change, and its word is carried out."""

import asyncio
import threading

import pytest

from memorywire import GovernanceClient, Memory, ReviewRequest, ReviewResponse
from memorywire.model.answers import Status
from memorywire.model.errors import Forbidden, InvalidRequest, Refused
from memorywire.model.proposal import Risk, State
from memorywire.sync import Memory as BlockingMemory
from tests.engine.quick import Quick
from tests.engine.stage import NOON, STORES, HandClock

TEA = "Ana likes tea"


class Desk:
    """A reviewer that gives the answers it was made with, one for each question."""

    def __init__(self, *answers):
        self.answers = list(answers)
        self.asked: list[ReviewRequest] = []

    async def review(self, request):
        self.asked.append(request)
        answer = self.answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer


def says(approved=True, reviewer="ana", **more):
    return ReviewResponse(approved=approved, reviewer=reviewer, reviewed_at=NOON - 5, **more)


def with_reviewers(url, desks, work, rules=(), policy="open", **options):
    async def run():
        async with Memory(
            "agent", [url], policy=policy, embedder=Quick(), clock=HandClock(), reviewers=desks, **options
        ) as memory:
            if rules:
                await memory.set_rules(rules)
            await work(memory)

    asyncio.run(run())


async def contents(memory):
    return [one.content for one in (await memory.list()).items]


@pytest.mark.parametrize("url", STORES)
def test_an_approved_change_is_committed_before_its_caller_hears_of_it(url):
    """Proves GV-8."""
    desk: GovernanceClient = Desk(says(reason="fine"))

    async def work(memory):
        receipt = await memory.remember(TEA, approval_required=True, reasoning="she said so", user_id="u")
        assert (receipt.status, receipt.pending_approval) == (Status.COMMITTED, False)
        assert await contents(memory) == [TEA]
        asked = desk.asked[0]
        assert (asked.operation, asked.agent_id, asked.user_id) == ("remember", "agent", "u")
        assert (asked.reasoning, asked.request.content, asked.risk) == ("she said so", TEA, Risk.LOW)
        assert asked.diff["added"][0]["fields"]["content"] == TEA
        decision = (await memory.proposal(receipt.proposal_id)).proposal.decision
        assert (decision.by, decision.via, decision.reason) == ("ana", "reviewer:host", "fine")
        assert decision.reviewed_at == NOON - 5
        await memory.undo(receipt.change_id)
        assert await contents(memory) == []

    with_reviewers(url, desk, work)


@pytest.mark.parametrize("url", STORES)
def test_every_kind_of_held_request_is_reviewed(url):
    desk = Desk(*[says() for _ in range(6)])

    async def work(memory):
        await memory.remember(TEA, id="tea")
        await memory.remember("Ana drinks green tea", id="green")
        assert (await memory.recall("tea", approval_required=True)).hits
        merged = await memory.merge("tea", ["green"], approval_required=True)
        assert (merged.status, merged.merged_ids) == (Status.COMMITTED, ("green",))
        undone = await memory.undo(merged.change_id, approval_required=True)
        assert (undone.status, undone.restored_ids) == (Status.COMMITTED, ("green", "tea"))
        forgotten = await memory.forget("green", approval_required=True)
        assert (forgotten.status, forgotten.forgotten_ids) == (Status.COMMITTED, ("green",))
        await memory.expire({"type": "semantic"}, approval_required=True)
        assert await contents(memory) == []
        asked = [one.operation for one in desk.asked]
        assert asked == ["recall", "merge", "undo", "forget", "expire"]

    with_reviewers(url, desk, work)


@pytest.mark.parametrize("url", STORES)
def test_a_rejection_refuses_the_request_and_changes_nothing(url):
    """Proves GV-8."""

    desk = Desk(says(approved=False, reason="hearsay"), says(approved=False))

    async def work(memory):
        with pytest.raises(Refused, match=r"ana rejected proposal .*: hearsay"):
            await memory.remember(TEA, approval_required=True)
        with pytest.raises(Refused):
            await memory.recall("tea", approval_required=True)
        assert await contents(memory) == []
        states = [one.state for one in (await memory.proposals(states=["rejected"])).items]
        assert states == [State.REJECTED] * 2

    with_reviewers(url, desk, work)


@pytest.mark.parametrize("answer", [None, TimeoutError(), ConnectionRefusedError()])
def test_a_reviewer_that_does_not_answer_leaves_the_change_to_others(answer):
    async def work(memory):
        receipt = await memory.remember(TEA, approval_required=True)
        assert receipt.status is Status.STAGED
        again = await memory.remember(TEA, approval_required=True)  # the second question is answered
        assert (again.status, again.proposal_id) == (Status.COMMITTED, receipt.proposal_id)

    with_reviewers(STORES[1], Desk(answer, says()), work)


@pytest.mark.parametrize("url", STORES)
def test_two_reviewers_of_the_host_make_a_quorum(url):
    first, second = Desk(says(), says()), Desk(says(reviewer="ben"), says(reviewer="ana"))
    rule = {"name": "two", "verdict": "hold", "reviewers": 2, "content_contains": ["Ana"]}

    async def work(memory):
        receipt = await memory.remember(TEA)
        assert receipt.status is Status.COMMITTED
        assert [one.by for one in second.asked[0].approvals] == ["ana"]
        held = await memory.remember("Ana likes rain")  # the same person, twice
        assert held.status is Status.STAGED
        assert len((await memory.proposal(held.proposal_id)).proposal.approvals) == 1
        assert await contents(memory) == [TEA]

    with_reviewers(url, [first, second], work, [rule])


def test_what_no_rule_holds_is_not_reviewed():
    desk = Desk()

    async def work(memory):
        await memory.remember(TEA)
        assert desk.asked == []

    with_reviewers(STORES[0], desk, work)


@pytest.mark.parametrize("url", STORES)
def test_an_erase_needs_the_word_of_the_reviewer(url):
    async def work(memory):
        await memory.remember(TEA, id="tea")
        with pytest.raises(InvalidRequest) as refusal:
            await memory.forget("tea", hard_delete=True, approval_required=True)
        assert refusal.value.field == "confirm"
        assert await contents(memory) == [TEA]
        await memory.forget("tea", hard_delete=True, approval_required=True)
        assert await contents(memory) == []

    with_reviewers(url, Desk(says(), says(confirm="erase")), work)


@pytest.mark.parametrize(
    ("answer", "field"),
    [
        (says(reviewer=""), "reviewer"),
        (says(reviewer="a\nb"), "reviewer"),
        (says(reviewer="x" * 257), "reviewer"),
        (says(approved="yes"), "approved"),
        (says(reason="r" * 1025), "reason"),
        (ReviewResponse(approved=True, reviewer="ana", reviewed_at=-1), "reviewed_at"),
        (ReviewResponse(approved=True, reviewer="ana", reviewed_at="now"), "reviewed_at"),
        ({"approved": True}, "reviewers"),
    ],
)
def test_a_response_that_says_nothing_certain_is_named_and_changes_nothing(answer, field):
    """Proves GV-10."""

    async def work(memory):
        with pytest.raises(InvalidRequest) as refusal:
            await memory.remember(TEA, approval_required=True)
        assert refusal.value.field == field
        assert await contents(memory) == []
        assert (await memory.proposals()).total == 1

    with_reviewers(STORES[0], Desk(answer), work)


def test_an_agent_is_no_reviewer():
    """Proves GV-10."""

    async def work(memory):
        with pytest.raises(Refused):
            await memory.remember(TEA, approval_required=True)
        assert (await memory.proposals()).total == 1

    with_reviewers(STORES[0], Desk(says(reviewer="agent:helper")), work)


def test_with_four_eyes_the_proposer_is_no_reviewer():
    async def work(memory):
        with pytest.raises(Forbidden):
            await memory.remember(TEA)
        assert await contents(memory) == []

    with_reviewers(STORES[0], Desk(says(reviewer="person:eve")), work, policy="strict", caller="person:eve")


def test_a_decision_of_somebody_else_meanwhile_stands():
    """Proves GV-10."""

    class Slow(Desk):
        async def review(self, request):
            await self.memory.decide(request.proposal_id, "approve")
            return await super().review(request)

    desk = Slow(says(approved=False))

    async def work(memory):
        desk.memory = memory
        receipt = await memory.remember(TEA, approval_required=True)
        assert receipt.status is Status.STAGED
        assert await contents(memory) == [TEA]

    with_reviewers(STORES[1], desk, work)


def test_a_plain_function_reviews_in_a_thread_of_its_own():
    threads = []

    class Plain:
        def review(self, request):
            threads.append(threading.current_thread())
            return says()

    with BlockingMemory("agent", ["sqlite://"], policy="open", embedder=Quick(), reviewers=Plain()) as memory:
        assert memory.remember(TEA, approval_required=True).status is Status.COMMITTED
        assert threads[0] is not threading.current_thread()
        assert [hit.content for hit in memory.recall("tea", approval_required=True)] == [TEA]


def test_what_cannot_review_is_refused():
    with pytest.raises(InvalidRequest) as refusal:
        Memory("agent", ["memory://"], reviewers=[object()])
    assert refusal.value.field == "reviewers"
