"""A bulk write gives what the same items give when they are sent one after the other."""

import pytest

from memorywire.model.answers import Status
from memorywire.model.errors import Conflict, InvalidRequest, SecretLeakage
from tests.engine.stage import STORES, play

pytestmark = pytest.mark.parametrize("url", STORES)


def test_an_item_may_build_on_any_item_before_it(url):
    async def story(memory, clock):
        results = await memory.remember_many(
            [
                {"content": "Ana lives in Porto", "id": "home"},
                {"content": "Ana lives in Faro", "id": "home", "if_version": 1},
                {"content": "Ana lives in Lisbon", "id": "home", "if_version": 2},
                {"content": "Ana moved to Braga", "id": "new", "supersedes": "home"},
                {"content": "Ana lives in Lisbon"},
            ]
        )
        assert [result.status for result in results] == [Status.COMMITTED] * 5
        assert [version.number for version in await memory.history("home")] == [1, 2, 3]
        assert {record.content for record in (await memory.list()).items} == {
            "Ana moved to Braga",
            "Ana lives in Lisbon",
        }

    play(url, story)


def test_of_items_that_share_an_id_a_key_or_their_words_the_first_is_kept(url):
    async def story(memory, clock):
        items = []
        for n in range(20):
            items += [
                {"content": f"by id {n}", "id": f"i{n}"},
                {"content": f"by id {n}, rewritten", "id": f"i{n}"},
                {"content": f"by key {n}", "idempotency_key": f"k{n}"},
                {"content": f"by key {n}", "idempotency_key": f"k{n}"},
                {"content": f"by words {n}", "metadata": {"nth": 1}},
                {"content": f"by words {n}", "metadata": {"nth": 2}},
            ]
        results = await memory.remember_many(items)
        for n in range(20):
            first, taken, sent, again, said, repeated = results[6 * n : 6 * n + 6]
            assert (first.status, first.id) == (Status.COMMITTED, f"i{n}")
            assert isinstance(taken, Conflict)
            assert again == sent
            assert (repeated.status, repeated.id) == (Status.DUPLICATE, said.id)
            assert (await memory.get(said.id)).metadata == {"nth": 1}

    play(url, story)


@pytest.mark.parametrize("bad", [3, None, ["a"], ("a",), b"a", {"content": 3}, {1: 2}], ids=repr)
def test_an_item_that_is_none_gets_its_problem_in_its_place(url, bad):
    async def story(memory, clock):
        before, problem, after = await memory.remember_many(["one", bad, "two"])
        assert before.status is after.status is Status.COMMITTED
        assert isinstance(problem, InvalidRequest)
        assert problem.field is not None

    play(url, story)


@pytest.mark.parametrize("items", ["abc", b"abc", {"content": "abc"}], ids=repr)
def test_one_item_instead_of_many_is_refused_whole(url, items):
    async def story(memory, clock):
        with pytest.raises(InvalidRequest):
            await memory.remember_many(items)
        assert (await memory.list()).total == 0

    play(url, story)


def test_a_secret_where_nothing_can_be_redacted_concerns_its_item_alone(url):
    async def story(memory, clock):
        secret = f"ghp_{'aB3dE6gH9k' * 4}"
        kept, problem, blanked = await memory.remember_many(
            ["one", {"content": "two", "id": secret}, f"three has {secret}"]
        )
        assert kept.status is blanked.status is Status.COMMITTED
        assert isinstance(problem, SecretLeakage)
        assert secret not in str(problem)
        assert [found.kind for found in blanked.redacted] == ["github-token"]
        assert secret not in str((await memory.get(blanked.id)).content)
        assert (await memory.list()).total == 2

    play(url, story)


def test_what_is_held_of_many_is_held_as_one_batch(url):
    async def story(memory, clock):
        await memory.remember_many([{"content": f"fact {n}", "approval_required": True} for n in range(3)])
        await memory.remember("alone", approval_required=True)
        waiting = (await memory.proposals()).items
        batches = [proposal.batch for proposal in waiting]
        assert len(set(batches[:3])) == 1
        assert batches[0] is not None
        assert batches[3] is None
        assert len((await memory.proposals(batch=batches[0])).items) == 3

    play(url, story)
