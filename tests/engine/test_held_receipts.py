"""The receipt of a held change names nothing as done, and a repeated request waits in one proposal."""

import asyncio

import pytest

from memorywire import Memory
from memorywire.model.answers import Status
from memorywire.model.errors import ApprovalPending
from memorywire.model.requests import Action
from tests.engine.quick import Quick
from tests.engine.stage import STORES, HandClock

HOLD_ALL = [{"name": "all", "verdict": "hold", "everything": True}]
LISBON = "Ana lives in Lisbon"


def with_memory(url, work):
    """Runs the work on a memory with two facts in which every further change is held."""

    async def run():
        clock = HandClock()
        async with Memory("agent", [url], policy="open", embedder=Quick(), clock=clock) as memory:
            first = await memory.remember(LISBON, id="a")
            await memory.remember("Ana moved to Porto", id="b")
            await memory.kv.set("colour", "green")
            await memory.set_rules(HOLD_ALL)
            await work(memory, clock, first.change_id)

    asyncio.run(run())


@pytest.mark.parametrize("url", STORES)
def test_a_held_receipt_names_what_would_happen_and_nothing_as_done(url):
    """Proves GV-4."""

    async def work(memory, clock, change):
        erased = await memory.forget(filter={"content": {"prefix": "Ana"}}, hard_delete=True)
        assert (erased.forgotten_ids, erased.would_forget_ids) == ((), ("a", "b"))
        ended = await memory.forget("a")
        assert (ended.forgotten_ids, ended.would_forget_ids) == ((), ("a",))
        expired = await memory.expire({"type": "semantic"}, action="archive")
        assert (expired.action_taken, expired.action_requested) == (None, Action.ARCHIVE)
        merged = await memory.merge("a", ["b"])
        assert (merged.merged_count, merged.merged_ids, merged.would_merge_ids) == (0, (), ("b",))
        undone = await memory.undo(change)
        assert (undone.restored_ids, undone.ended_ids, undone.would_end_ids) == ((), (), ("a",))
        for receipt in (erased, ended, expired, merged, undone):
            assert (receipt.status, receipt.change_id) == (Status.STAGED, None)
        assert (await memory.get("a")).content == LISBON

    with_memory(url, work)


@pytest.mark.parametrize("url", STORES)
def test_a_committed_receipt_has_no_field_of_a_held_one(url):
    async def work(memory, clock, change):
        await memory.set_rules([])
        merged = await memory.merge("a", ["b"])
        undone = await memory.undo(merged.change_id)
        done = await memory.forget("a")
        assert (merged.would_merge_ids, undone.would_restore_ids, done.would_forget_ids) == (None, None, None)
        assert done.forgotten_ids == ("a",)

    with_memory(url, work)


REQUESTS = {
    "forget": {"ids": ["a"]},
    "erase": {"filter": {"content": {"prefix": "Ana"}}, "hard_delete": True},
    "merge": {"canonical": "a", "duplicates": ["b"]},
    "expire": {"policy": {"type": "semantic"}},
    "remember": {"content": "Ana likes tea", "type": "semantic"},
    "correct": {"content": "Ana lives in Faro", "type": "semantic", "id": "a", "if_version": 1},
    "replace": {"content": "Ana likes rice", "type": "semantic", "supersedes": ["a"]},
}
VERBS = {"erase": "forget", "correct": "remember", "replace": "remember"}


@pytest.mark.parametrize("url", STORES)
@pytest.mark.parametrize("name", REQUESTS)
def test_a_repeated_held_request_waits_in_the_same_proposal(url, name):
    """Proves GV-5."""

    async def work(memory, clock, change):
        receipts = []
        for _ in range(3):
            clock.now += 86_400_000
            receipts.append(await memory.call(VERBS.get(name, name), {"agent_id": "agent", **REQUESTS[name]}))
        assert {receipt["status"] for receipt in receipts} == {"staged"}
        assert len({receipt["proposal_id"] for receipt in receipts}) == 1
        assert len({receipt.get("id") for receipt in receipts}) == 1
        assert (await memory.proposals(states=["pending"])).total == 1

    with_memory(url, work)


@pytest.mark.parametrize("url", STORES)
@pytest.mark.parametrize("name", REQUESTS)
def test_the_same_request_held_many_times_at_once_waits_in_one_proposal(url, name):
    async def work(memory, clock, change):
        payload = {"agent_id": "agent", **REQUESTS[name]}
        receipts = await asyncio.gather(*(memory.call(VERBS.get(name, name), payload) for _ in range(8)))
        assert len({receipt["proposal_id"] for receipt in receipts}) == 1
        assert (await memory.proposals(states=["pending"])).total == 1

    with_memory(url, work)


def test_a_repeated_held_write_names_the_id_that_will_exist():
    async def work(memory, clock, change):
        first = await memory.remember("Ana likes tea")
        many = await memory.remember_many(["Ana likes tea", "Ben likes rice"])
        again = await memory.remember_many(["Ben likes rice"])
        assert many[0].id == first.id
        assert again[0].id == many[1].id
        await memory.decide([first.proposal_id, many[1].proposal_id], "approve")
        assert (await memory.get(first.id)).content == "Ana likes tea"
        assert (await memory.get(again[0].id)).content == "Ben likes rice"

    with_memory("memory://", work)


def test_keys_that_are_held_wait_once():
    async def work(memory, clock, change):
        for _ in range(2):
            await memory.kv.set("colour", "blue")
            await memory.kv.delete("colour")
        assert (await memory.proposals(states=["pending"])).total == 2
        assert (await memory.kv.get("colour")).value == "green"

    with_memory("memory://", work)


def test_a_repeated_filter_that_matches_more_brings_its_proposal_up_to_date():
    async def work(memory, clock, change):
        first = await memory.forget(filter={"content": {"prefix": "Ana"}}, hard_delete=True)
        await memory.set_rules([])
        await memory.remember("Ana likes tea", id="c")
        await memory.set_rules(HOLD_ALL)
        seen = (await memory.proposal(first.proposal_id)).seen
        again = await memory.forget(filter={"content": {"prefix": "Ana"}}, hard_delete=True)
        assert again.proposal_id == first.proposal_id
        assert again.would_forget_ids == ("a", "b", "c")
        assert (await memory.proposal(first.proposal_id)).seen != seen
        await memory.decide([first.proposal_id], "approve", confirm="erase")
        assert (await memory.list(include=["archived"])).total == 1  # the value of the key

    with_memory("memory://", work)


def test_another_request_and_one_after_a_decision_wait_anew():
    async def work(memory, clock, change):
        first = await memory.forget("a")
        await memory.decide([first.proposal_id], "reject")
        second = await memory.forget("a")
        assert second.proposal_id != first.proposal_id
        other = await memory.forget("a", reason="another reason")
        assert other.proposal_id != second.proposal_id

    with_memory("memory://", work)


def test_a_held_deletion_of_an_item_does_not_return_as_if_it_were_done():
    async def work(memory, clock, change):
        with pytest.raises(ApprovalPending) as caught:
            await memory.harness.delete("a")
        assert caught.value.proposal_id == (await memory.forget("a")).proposal_id
        assert await memory.harness.get("a") is not None

    with_memory("memory://", work)
