"""Deciding: what a reviewer may do, what they may not, and that a no changes nothing."""

import asyncio

import pytest

from memorywire import Memory
from memorywire.model.errors import (
    ApprovalPending,
    Conflict,
    InvalidRequest,
    MemorywireError,
    NotFound,
    Refused,
    SecretLeakage,
)
from memorywire.model.proposal import State
from tests.engine.stage import STORES, play

KEY = "AKIAIOSFODNN7EXAMPLZ"

on_every_store = pytest.mark.parametrize("url", STORES)


async def held(memory, content, **options):
    """A memory that waits: its proposal."""
    receipt = await memory.remember(content, approval_required=True, **options)
    assert receipt.status == "staged"
    return receipt.proposal_id


async def everything(memory):
    """All that a reader or a reviewer can see, the counters of recalls aside."""
    page = await memory.list()
    queue = await memory.proposals(states=[state.value for state in State])
    return list(page), [(one.id, one.state, one.revision) for one in queue.items]


async def refused(memory, problem, *arguments, **options):
    """The decision fails so, and nothing changes."""
    before = await everything(memory)
    with pytest.raises(problem) as caught:
        await memory.decide(*arguments, **options)
    assert await everything(memory) == before
    return caught.value


@on_every_store
def test_a_proposal_is_decided_once(url):
    async def story(memory, clock):
        yes, no = await held(memory, "Ana likes tea"), await held(memory, "Ana likes mud")
        await memory.decide(yes, "approve")
        await memory.decide(no, "reject", reason="hardly")
        for settled in (yes, no):
            for verb in ("approve", "reject"):
                problem = await refused(memory, Conflict, settled, verb)
                assert problem.field == "proposal_id"
        assert [record.content for record in await memory.list()] == ["Ana likes tea"]

    play(url, story)


@on_every_store
def test_whoever_does_not_hold_the_scope_hears_that_there_is_no_such_proposal(url):
    async def story(memory, clock):
        proposal = await held(memory, "Ana likes tea", user_id="ana")
        problems = [
            await refused(memory, NotFound, proposal, "approve", user_id="ben"),
            await refused(memory, NotFound, "never-made", "approve"),
        ]
        memory.agent_id = "another"
        problems.append(await refused(memory, NotFound, proposal, "approve"))
        memory.tenant, memory.agent_id = "other", "agent"
        problems.append(await refused(memory, NotFound, proposal, "approve", all_agents=True))
        assert len({str(problem.problem()) for problem in problems}) == 1
        memory.tenant = "default"
        assert (await memory.decide(proposal, "approve", user_id="ana")).state is State.APPROVED

    play(url, story)


@on_every_store
def test_what_moved_since_is_planned_again_for_another_look(url):
    async def story(memory, clock):
        first = (await memory.remember("Ana lives in Graz")).id
        await memory.set_rules([{"name": "ends", "verdict": "hold", "destructive": True}])
        proposal = (await memory.forget(first)).proposal_id
        look = await memory.proposal(proposal)
        await memory.remember("Ana lives in Linz", id=first, if_version=1)
        with pytest.raises(Conflict, match="has changed since this was planned") as caught:
            await memory.decide(proposal, "approve", seen=look.seen)
        assert "decide again" in caught.value.fix
        assert (await memory.get(first)).content == "Ana lives in Linz"
        again = await memory.proposal(proposal)
        assert again.proposal.state is State.PENDING
        assert again.diff["removed"][0]["fields"]["content"] == "Ana lives in Linz"
        await refused(memory, Conflict, proposal, "approve", seen=look.seen)
        await memory.decide(proposal, "approve", seen=again.seen)
        with pytest.raises(NotFound):
            await memory.get(first)

    play(url, story)


@on_every_store
def test_what_cannot_be_planned_again_is_stale_and_can_only_be_rejected(url):
    async def story(memory, clock):
        first = (await memory.remember("Ana lives in Graz")).id
        proposal = await held(memory, "Ana lives in Linz", id=first, if_version=1)
        await memory.remember("Ana lives in Wien", id=first, if_version=1)
        with pytest.raises(Conflict, match="has changed since this was planned") as caught:
            await memory.decide(proposal, "approve")
        assert caught.value.fix == f"reject {proposal}, and ask for the write again"
        assert (await memory.proposal(proposal)).proposal.state is State.STALE
        await refused(memory, Conflict, proposal, "approve")
        assert (await memory.decide(proposal, "reject")).state is State.REJECTED
        assert (await memory.get(first)).content == "Ana lives in Wien"

    play(url, story)


BAD_EDITS = {
    "nothing": ({}, "edit"),
    "a blank": ({"content": " "}, "edit.content"),
    "an object": ({"content": {"not": "a procedure"}}, "edit.content"),
    "a source": ({"source": "user"}, "edit.source"),
    "a long text": ({"content": "x" * 65_537}, "edit.content"),
    "a wrong type": ({"confidence": "sure"}, "edit.confidence"),
    "too much metadata": ({"metadata": {"a": "x" * 70_000}}, "metadata"),
    "the past": ({"expires_at": 1}, "expires_at"),
    "a procedure nobody can run": ({"type": "procedural", "content": {"states": ["a"]}}, None),
}


@on_every_store
def test_an_edit_that_a_remember_would_not_take_is_refused(url):
    async def story(memory, clock):
        proposal = await held(memory, "Ana likes tea")
        for edit, field in BAD_EDITS.values():
            problem = await refused(memory, InvalidRequest, proposal, "edit", edit=edit)
            assert field in (None, problem.field)
        await memory.decide(proposal, "edit", edit={"content": "Ana likes green tea"})
        assert [record.content for record in await memory.list()] == ["Ana likes green tea"]

    play(url, story)


@on_every_store
def test_a_verb_needs_what_it_is_about_and_nothing_else(url):
    async def story(memory, clock):
        tea = (await memory.remember("Ana likes tea")).id
        proposal, other = await held(memory, "Ana likes green tea"), await held(memory, "Ben likes mud")
        for verb in ("merge", "supersede", "forget_similar"):
            assert (await refused(memory, InvalidRequest, proposal, verb)).field == "target"
            assert (await refused(memory, NotFound, proposal, verb, target="nothing")).field in (
                "target",
                "supersedes",
            )
            assert (await refused(memory, InvalidRequest, [proposal, other], verb, target=tea)).field
        assert (await refused(memory, InvalidRequest, proposal, "approve", target=tea)).field == "target"
        assert (await refused(memory, InvalidRequest, [proposal, other], "approve", seen="x")).field == "seen"
        await memory.decide(proposal, "merge", target=tea)
        assert (await memory.get(tea)).content == "Ana likes tea\nAna likes green tea"

    play(url, story)


@on_every_store
def test_what_waits_too_long_expires_and_the_receipt_of_a_retry_says_so(url):
    async def story(memory, clock):
        proposal = await held(memory, "Ana likes tea", idempotency_key="k")
        clock.pass_days(29)
        assert (await memory.proposals()).total == 1
        clock.pass_days(2)
        assert (await memory.proposals()).total == 0
        found = (await memory.proposal(proposal)).proposal
        assert (found.state, found.decision.automatic) == (State.EXPIRED, True)
        await refused(memory, Conflict, proposal, "approve")

    play(url, story)


BAD_RULES = {
    "matches everything": {"name": "all", "verdict": "hold", "agent": ["*"]},
    "says nothing": {"name": "all", "verdict": "hold"},
    "can never match": {"name": "never", "verdict": "hold", "operation": ["merge"], "erases": True},
    "rules itself out": {"name": "never", "verdict": "hold", "tags": ["a"], "not": {"tags": ["a"]}},
    "has a name that is taken": {"name": "untrusted-source", "verdict": "allow", "tags": ["a"]},
    "has a name that judgements use": {"name": "default", "verdict": "allow", "tags": ["a"]},
}


@on_every_store
@pytest.mark.parametrize("rule", BAD_RULES.values(), ids=BAD_RULES)
def test_a_rule_that_cannot_be_meant_is_refused_and_the_old_ones_stay(url, rule):
    async def story(memory, clock):
        fine = {"name": "salaries", "verdict": "hold", "content_contains": ["salary"]}
        await memory.set_rules([fine])
        with pytest.raises(InvalidRequest):
            await memory.set_rules([fine, rule])
        book = await memory.rules()
        assert (book.edition, book.given) == (1, (fine,))
        assert (await memory.remember("Ana's salary is due")).rule == "salaries"

    play(url, story, policy="balanced")


@on_every_store
def test_another_tenant_changes_only_rules_about_itself(url):
    async def story(memory, clock):
        container = {"name": "salaries", "verdict": "hold", "content_contains": ["salary"]}
        own = {"name": "own", "verdict": "hold", "tenant": ["other"], "tags": ["secret"]}
        await memory.set_rules([container])
        memory.tenant = "other"
        assert (await memory.rules()).given == ()
        with pytest.raises(InvalidRequest, match="more than this tenant"):
            await memory.set_rules(
                [container | {"name": "for-all", "verdict": "allow", "tenant": ["default"]}]
            )
        assert (await memory.set_rules([own])).given == (own,)
        memory.tenant = "default"
        assert (await memory.rules()).given == (container,)

    play(url, story)


@on_every_store
def test_only_a_plain_yes_or_no_of_a_person_teaches(url):
    async def story(memory, clock):
        for number in range(8):
            proposal = await held(memory, f"Customer {number} is in town {number * 7}", source="crm")
            changed = {"edit": {"tags": ["seen"]}} if number % 2 else {}
            await memory.decide(proposal, "edit" if changed else "approve", **changed)
        assert (await memory.rules()).suggestions == ()
        proposal = await held(memory, "Customer 9 is in town 99", source="crm")
        await memory.decide(proposal, "approve")
        (suggested,) = (await memory.rules()).suggestions
        assert len(suggested.evidence) == 5

    play(url, story)


@on_every_store
def test_a_refused_secret_is_a_leak_and_a_redacted_one_is_in_the_receipt(url, tmp_path):
    strict = tmp_path / "policy.toml"
    strict.write_text('profile = "open"\n[secrets]\n"agent" = "refuse"\n')

    async def leak(memory, clock):
        with pytest.raises(SecretLeakage) as caught:
            await memory.remember(f"the key is {KEY}")
        assert KEY not in str(caught.value.problem())
        assert (await memory.list()).total == 0

    async def redact(memory, clock):
        receipt = await memory.remember(f"the key is {KEY}")
        assert [(one.kind, one.place) for one in receipt.redacted] == [("aws-access-key", "content")]
        assert (await memory.remember("the key is blue")).redacted is None

    play(url, leak, policy=str(strict))
    play(url, redact)


def test_without_a_journal_there_is_nothing_to_review_and_nothing_says_so():
    async def story(policy):
        async with Memory("agent", ["memory://"], policy=policy) as memory:
            listed = (await memory.call("capabilities", {}))["operations"]
            try:
                await memory.proposals()
            except MemorywireError as problem:
                return "proposals" in listed, problem.code
            return "proposals" in listed, None

    assert asyncio.run(story("open")) == (True, None)
    assert asyncio.run(story(None)) == (False, "capability_unsupported")


@on_every_store
def test_what_a_learned_rule_let_pass_is_taken_back_unless_somebody_touched_it_since(url):
    async def story(memory, clock):
        for number in range(5):
            proposal = await held(memory, f"Customer {number} is in town {number * 7}", source="crm")
            await memory.decide(proposal, "approve")
        name = (await memory.rules()).suggestions[0].rule["name"]
        await memory.activate_rule(name)
        passed = [await memory.remember(f"Shop {n} opens at {n}", source="crm") for n in range(3)]
        await memory.remember("Shop 0 is closed", id=passed[0].id, if_version=1)
        back = await memory.revert_rule(name)
        assert set(back.reverted_ids) == {passed[1].change_id, passed[2].change_id}
        assert back.kept_ids == (passed[0].change_id,)
        assert (await memory.list()).total == 6
        await memory.undo(back.change_id)
        assert (await memory.list()).total == 8
        later = await memory.remember("Shop 9 opens at 9", source="crm")
        assert (await memory.revert_rule(name)).reverted_ids == ()
        assert (await memory.get(later.id)).version == 1

    play(url, story)


@pytest.mark.parametrize("url", STORES)
def test_a_secret_in_a_reason_or_a_rule_is_not_kept(url):
    token = "ghp_" + "4f7KqLz0WmXy81bNvRtSd2HgJc5PaE6uTo9I"

    async def story(memory, clock):
        kept = await memory.remember("Ana likes tea")
        held = await memory.remember("Ana likes cake", approval_required=True)
        await memory.forget(kept.id, reason=f"because {token}")
        assert token not in str(await memory.changes())
        await memory.decide([held.proposal_id], "reject", reason=f"it has {token}")
        assert token not in str(await memory.proposal(held.proposal_id))
        with pytest.raises(SecretLeakage):
            await memory.set_rules([{"name": "r", "verdict": "hold", "content_contains": [token]}])
        await memory.set_rules([{"name": "r", "verdict": "hold", "content_contains": ["cake"]}])  # control

    play(url, story)


def test_an_agent_decides_nothing():
    async def story():
        async with Memory("a", ["memory://"], caller="agent:bot") as memory:
            held = await memory.remember("Ana likes cake", approval_required=True)
            with pytest.raises(Refused):
                await memory.decide([held.proposal_id], "approve")
            assert (await memory.list()).total == 0

    asyncio.run(story())


def test_a_journal_that_was_named_is_used_whatever_the_store(tmp_path):
    async def story():
        url = f"sqlite://{tmp_path}/journal.db"
        async with Memory("a", ["memory://"], journal=url) as memory:
            await memory.remember("Ana likes cake", approval_required=True)
        async with Memory("a", ["memory://"], journal=url) as memory:
            assert (await memory.proposals()).total == 1

    asyncio.run(story())


async def asked(memory, query):
    """A recall that waits: its proposal."""
    with pytest.raises(ApprovalPending) as caught:
        await memory.recall(query)
    return caught.value.proposal_id


HELD_READING = {"name": "reading", "verdict": "hold", "operation": ["recall"]}


@on_every_store
@pytest.mark.parametrize("verb", ["edit", "merge", "supersede", "forget_similar"])
def test_a_held_recall_cannot_be_changed_only_let_go_ahead(url, verb):
    async def story(memory, clock):
        tea = (await memory.remember("Ana likes tea")).id
        await memory.set_rules([HELD_READING])
        recall = await asked(memory, "tea?")
        meant = {"edit": {"content": "Ana likes mud"}} if verb == "edit" else {"target": tea}
        problem = await refused(memory, InvalidRequest, recall, verb, **meant)
        assert problem.field == "verb"
        assert await asked(memory, "tea?") == recall
        assert (await memory.decide(recall, "approve")).state is State.APPROVED
        assert [hit.id for hit in await memory.recall("tea?")] == [tea]

    play(url, story)


@on_every_store
def test_recalls_and_changes_are_rejected_together_and_approved_apart(url):
    async def story(memory, clock):
        tea, mud = await held(memory, "Ana likes tea"), await held(memory, "Ana likes mud")
        await memory.set_rules([HELD_READING])
        first, second, third = [await asked(memory, query) for query in ("tea?", "mud?", "ink?")]
        for mixed in ([tea, first], [first, tea]):
            problem = await refused(memory, InvalidRequest, mixed, "approve")
            assert problem.field == "proposal_ids"
        assert (await memory.decide([first, second], "approve")).change_id is None
        assert (await memory.decide([mud, third], "reject")).state is State.REJECTED
        assert (await memory.decide(tea, "approve")).change_id is not None
        assert [record.content for record in await memory.list()] == ["Ana likes tea"]

    play(url, story)
