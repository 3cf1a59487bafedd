"""A rule can ask for several reviewers: only so many different people together let a change in."""

import asyncio

import pytest
from msgspec.structs import replace

from memorywire import Memory
from memorywire.app.dispatch import dispatch
from memorywire.model.answers import Status
from memorywire.model.errors import ApprovalPending, Conflict, Forbidden, InvalidRequest
from memorywire.model.proposal import UNVERIFIED, State
from memorywire.model.record import LOCAL, PERSON
from tests.engine.quick import Quick
from tests.engine.stage import STORES, HandClock

RULE = {"name": "money", "verdict": "hold", "reviewers": 2, "content_contains": ["invoice"]}
MAY = "The invoice of May is paid"


def with_memory(url, work, rule=RULE):
    """Run the work on a memory under one rule."""

    async def run():
        async with Memory("agent", [url], policy="open", embedder=Quick(), clock=HandClock()) as memory:
            await memory.set_rules([rule])
            await work(memory)

    asyncio.run(run())


async def decide(memory, by, *ids, verb="approve", **options):
    """The receipt of a decision that somebody makes."""
    container = await memory._open()
    payload = {"proposal_ids": list(ids), "verb": verb, **options}
    return await dispatch(
        "decide", payload, replace(container, context=container.as_caller(by)), tenant="default"
    )


async def hold(memory, content=MAY, **options):
    receipt = await memory.remember(content, **options)
    assert receipt.status is Status.STAGED
    return receipt.proposal_id


async def approvals_of(memory, id):
    return [one.by for one in (await memory.proposal(id)).proposal.approvals]


async def contents(memory):
    return [one.content for one in (await memory.list()).items]


@pytest.mark.parametrize("url", STORES)
def test_a_change_is_applied_once_so_many_different_people_approved(url):
    """Proves DC-11."""

    async def work(memory):
        id = await hold(memory)
        first = await decide(memory, "operator:ana", id, reason="I saw it")
        assert (first.state, first.change_id, first.waiting[0].approvals) == (State.PENDING, None, 1)
        assert await contents(memory) == []
        second = await decide(memory, "operator:ben", id)
        assert (second.state, second.status, second.waiting) == (State.APPROVED, Status.COMMITTED, None)
        assert await contents(memory) == [MAY]
        assert await approvals_of(memory, id) == ["operator:ana", "operator:ben"]
        entries = [(one["kind"], one["actor"]) for one in await memory.audit_log(subject=id)]
        assert ("endorsed", "operator:ana") in entries
        assert ("approved", "operator:ben") in entries

    with_memory(url, work)


@pytest.mark.parametrize("url", STORES)
def test_one_rejection_rejects(url):
    async def work(memory):
        id = await hold(memory)
        await decide(memory, "operator:ana", id)
        assert (await decide(memory, "operator:ben", id, verb="reject")).state is State.REJECTED
        with pytest.raises(Conflict):
            await decide(memory, "operator:eve", id)
        assert await contents(memory) == []

    with_memory(url, work)


@pytest.mark.parametrize("names", [("operator:ana", "operator:ana"), (LOCAL, PERSON)])
def test_nobody_counts_twice(names):
    async def work(memory):
        id = await hold(memory)
        await decide(memory, names[0], id)
        with pytest.raises(Conflict) as refusal:
            await decide(memory, names[1], id)
        assert refusal.value.field == "proposal_ids"
        assert await approvals_of(memory, id) == [names[0]]
        await decide(memory, "operator:ben", id)  # control: somebody else does count
        assert await contents(memory) == [MAY]

    with_memory(STORES[0], work)


def test_a_person_whom_nobody_checked_does_not_count():
    async def work(memory):
        id = await hold(memory)
        with pytest.raises(Forbidden):
            await decide(memory, f"{UNVERIFIED}-somebody", id)
        assert await approvals_of(memory, id) == []

    with_memory(STORES[0], work)


@pytest.mark.parametrize("url", STORES)
def test_an_approval_counts_only_for_what_was_approved(url):
    june = "The invoice of June"

    async def work(memory):
        id = await hold(memory)
        await decide(memory, "operator:ana", id)
        edited = await decide(memory, "operator:ben", id, verb="edit", edit={"content": june})
        assert (edited.state, edited.waiting[0].approvals) == (State.PENDING, 1)
        assert await approvals_of(memory, id) == ["operator:ben"]
        assert (await decide(memory, "operator:ana", id)).state is State.APPROVED
        assert await contents(memory) == [june]

    with_memory(url, work)


@pytest.mark.parametrize("verb", ["merge", "supersede", "forget_similar"])
def test_what_a_reviewer_makes_of_it_waits_for_the_others(verb):
    async def work(memory):
        old = await memory.remember("Ana pays late")
        id = await hold(memory)
        receipt = await decide(memory, "operator:ana", id, verb=verb, target=old.id)
        assert receipt.state is State.PENDING
        assert await contents(memory) == ["Ana pays late"]
        await decide(memory, "operator:ben", id)
        expected = [f"Ana pays late\n{MAY}"] if verb == "merge" else [MAY]
        assert await contents(memory) == expected

    with_memory(STORES[1], work)


@pytest.mark.parametrize("url", STORES)
def test_approvals_end_when_memory_has_moved_since(url):
    async def work(memory):
        await memory.remember("Ana pays late", id="ana")
        id = (await memory.forget("ana")).proposal_id
        await decide(memory, "operator:ana", id)
        await memory.remember("Ana pays in time", id="ana", if_version=1)
        with pytest.raises(Conflict):
            await decide(memory, "operator:ben", id)
        assert await approvals_of(memory, id) == []
        assert await contents(memory) == ["Ana pays in time"]

    with_memory(url, work, {"name": "two", "verdict": "hold", "reviewers": 2, "operation": ["forget"]})


@pytest.mark.parametrize("url", STORES)
def test_a_batch_commits_what_has_its_reviewers_and_counts_the_rest(url):
    async def work(memory):
        money = await hold(memory)
        tea = await hold(memory, "Ana likes tea", approval_required=True)
        receipt = await decide(memory, "operator:ana", money, tea)
        assert [one.proposal_id for one in receipt.waiting] == [money]
        assert await contents(memory) == ["Ana likes tea"]
        await memory.undo(receipt.change_id)
        assert await contents(memory) == []

    with_memory(url, work)


def test_a_demand_of_the_caller_does_not_lower_the_number_of_reviewers():
    async def work(memory):
        id = await hold(memory, approval_required=True)
        assert (await memory.proposal(id)).proposal.reviewers == 2
        other = await hold(memory, "Ana likes tea", approval_required=True)
        assert (await memory.proposal(other)).proposal.reviewers == 1  # control: no rule speaks of it

    with_memory(STORES[0], work)


@pytest.mark.parametrize("url", STORES)
def test_a_recall_waits_for_all_its_reviewers(url):
    async def work(memory):
        with pytest.raises(ApprovalPending) as held:
            await memory.recall("tea")
        await decide(memory, "operator:ana", held.value.proposal_id)
        with pytest.raises(ApprovalPending):
            await memory.recall("tea")
        await decide(memory, "operator:ben", held.value.proposal_id)
        await memory.recall("tea")

    with_memory(url, work, {"name": "two", "verdict": "hold", "reviewers": 2, "operation": ["recall"]})


@pytest.mark.parametrize("number", [0, 17, -1, "2", 1.5, True])
def test_a_wrong_number_of_reviewers_is_refused_and_changes_nothing(number):
    async def work(memory):
        with pytest.raises(InvalidRequest) as refusal:
            await memory.set_rules([{**RULE, "reviewers": number}])
        assert refusal.value.field.endswith("reviewers")
        assert (await memory.rules()).editions[0].rules[0]["reviewers"] == 2

    with_memory(STORES[0], work)
