"""Remember keeps each thing once, in the version the caller meant, with a receipt."""

import asyncio

import pytest

from memorywire.model.answers import Status
from memorywire.model.errors import (
    CapabilityUnsupported,
    Conflict,
    IdempotencyConflict,
    InvalidRequest,
    NotFound,
)
from tests.engine.stage import STORES, play

pytestmark = pytest.mark.parametrize("url", STORES)


def test_a_receipt_names_the_memory_the_change_and_the_store(url):
    async def story(memory, clock):
        receipt = await memory.remember("The build runs on Tuesdays")
        record = await memory.get(receipt.id)
        log = await memory.changes()
        assert (receipt.status, receipt.version, receipt.stored_at) == (Status.COMMITTED, 1, clock.now)
        assert receipt.stores == (log[0].operation and receipt.outcomes[0].store,)
        assert log[0].id == receipt.change_id
        assert record.content == "The build runs on Tuesdays"

    play(url, story)


def test_the_same_content_is_kept_once_in_a_scope(url):
    async def story(memory, clock):
        first = await memory.remember("Ana  drinks tea\n")
        again = await memory.remember("Ana drinks tea")
        other_user = await memory.remember("Ana drinks tea", user_id="ben")
        other_type = await memory.remember("Ana drinks tea", type="episodic")
        assert (again.status, again.id, again.change_id) == (Status.DUPLICATE, first.id, None)
        assert other_user.status is other_type.status is Status.COMMITTED
        assert (await memory.list()).total == 3

    play(url, story)


def test_the_same_words_about_another_moment_are_another_episode(url):
    async def story(memory, clock):
        await memory.remember("Went for a run", type="episodic", occurred_at=clock.now - 1)
        second = await memory.remember("Went for a run", type="episodic", occurred_at=clock.now - 2)
        assert second.status is Status.COMMITTED

    play(url, story)


def test_content_that_expired_can_be_remembered_again(url):
    async def story(memory, clock):
        await memory.remember("The demo is on", expires_at=clock.now + 1000)
        clock.now += 1000
        assert (await memory.remember("The demo is on")).status is Status.COMMITTED

    play(url, story)


def test_a_hundred_simultaneous_copies_become_one_memory(url):
    async def story(memory, clock):
        receipts = await asyncio.gather(*(memory.remember("one fact") for _ in range(100)))
        assert sum(receipt.status is Status.COMMITTED for receipt in receipts) == 1
        assert len({receipt.id for receipt in receipts}) == 1

    play(url, story)


def test_a_retry_with_the_same_key_gives_the_same_receipt(url):
    async def story(memory, clock):
        first = await memory.remember("Paid invoice 7", idempotency_key="k1")
        clock.now += 5
        again = await memory.remember("Paid invoice 7", idempotency_key="k1")
        assert again == first
        with pytest.raises(IdempotencyConflict):
            await memory.remember("Paid invoice 8", idempotency_key="k1")
        assert (await memory.list()).total == 1

    play(url, story)


def test_a_retry_of_a_duplicate_gives_the_same_receipt_whatever_became_of_its_twin(url):
    async def story(memory, clock):
        twin = await memory.remember("Paid invoice 7", id="seven")
        first = await memory.remember("Paid invoice 7", idempotency_key="k1")
        await memory.remember("Paid invoice 7 late", id="seven", if_version=1)
        clock.now += 5
        assert await memory.remember("Paid invoice 7", idempotency_key="k1") == first
        assert (first.status, first.id, first.version) == (Status.DUPLICATE, twin.id, 1)
        with pytest.raises(IdempotencyConflict, match="another request"):
            await memory.remember("Paid invoice 8", idempotency_key="k1")
        await memory.forget(twin.id, hard_delete=True)
        with pytest.raises(IdempotencyConflict, match="erased"):
            await memory.remember("Paid invoice 7", idempotency_key="k1")
        assert (await memory.list()).total == 0

    play(url, story)


def test_simultaneous_duplicates_with_one_key_are_recorded_once(url):
    async def story(memory, clock):
        await memory.remember("Paid invoice 9")
        sent = (memory.remember("Paid invoice 9", idempotency_key="k2") for _ in range(30))
        receipts = await asyncio.gather(*sent)
        assert {receipt.status for receipt in receipts} == {Status.DUPLICATE}
        assert len(await memory.changes()) == 2

    play(url, story)


def test_simultaneous_retries_with_one_key_write_once(url):
    async def story(memory, clock):
        sent = (memory.remember("Paid invoice 9", idempotency_key="k2") for _ in range(30))
        receipts = await asyncio.gather(*sent)
        assert len({receipt.change_id for receipt in receipts}) == 1
        assert len(await memory.changes()) == 1

    play(url, story)


def test_a_client_may_name_the_id_and_retry_it(url):
    async def story(memory, clock):
        first = await memory.remember("Bo likes jazz", id="bo-jazz")
        again = await memory.remember("Bo likes jazz", id="bo-jazz")
        assert (first.id, again.id, again.status) == ("bo-jazz", "bo-jazz", Status.DUPLICATE)
        with pytest.raises(Conflict) as caught:
            await memory.remember("Bo likes blues", id="bo-jazz")
        assert caught.value.field == "id"
        assert "if_version: 1" in caught.value.fix

    play(url, story)


def test_a_new_version_needs_the_current_one(url):
    async def story(memory, clock):
        await memory.remember("Bo likes jazz", id="bo")
        second = await memory.remember("Bo likes blues", id="bo", if_version=1)
        with pytest.raises(Conflict) as caught:
            await memory.remember("Bo likes rock", id="bo", if_version=1)
        assert second.version == 2
        assert caught.value.field == "if_version"
        assert (await memory.get("bo")).content == "Bo likes blues"

    play(url, story)


def test_a_new_version_that_another_memory_already_says_is_refused_by_its_name(url):
    async def story(memory, clock):
        await memory.remember("Bo likes jazz", id="bo")
        await memory.remember("Bo likes blues", id="rumour")
        with pytest.raises(Conflict) as caught:
            await memory.remember("Bo likes blues", id="bo", if_version=1)
        assert caught.value.field == "content"
        assert "rumour" in caught.value.detail

    play(url, story)


def test_a_key_whose_memory_was_erased_says_so(url):
    async def story(memory, clock):
        kept = await memory.remember("Paid invoice 7", idempotency_key="k1")
        await memory.forget(kept.id, hard_delete=True)
        with pytest.raises(IdempotencyConflict) as caught:
            await memory.remember("Paid invoice 7", idempotency_key="k1")
        assert "erased" in caught.value.detail

    play(url, story)


def test_of_many_rival_versions_exactly_one_wins(url):
    async def story(memory, clock):
        await memory.remember("count 0", id="c")
        rivals = (memory.remember(f"count {n}", id="c", if_version=1) for n in range(1, 21))
        results = await asyncio.gather(*rivals, return_exceptions=True)
        assert sum(not isinstance(result, Exception) for result in results) == 1
        assert all(isinstance(r, Conflict) for r in results if isinstance(r, Exception))

    play(url, story)


def test_metadata_alone_can_be_revised(url):
    async def story(memory, clock):
        await memory.remember("Bo likes jazz", id="bo", metadata={"seen": 1})
        revised = await memory.remember("Bo likes jazz", id="bo", metadata={"seen": 2}, if_version=1)
        assert (revised.status, revised.version) == (Status.COMMITTED, 2)
        assert (await memory.get("bo")).metadata["seen"] == 2

    play(url, story)


def test_what_is_superseded_ends_and_says_by_what(url):
    async def story(memory, clock):
        old = await memory.remember("Ana lives in Porto")
        new = await memory.remember("Ana lives in Lisbon", supersedes=old.id)
        last = (await memory.history(old.id))[-1]
        assert (last.reason.value, last.into) == ("superseded", new.id)
        assert [record.id for record in (await memory.list()).items] == [new.id]

    play(url, story)


def test_superseding_with_what_is_already_known_still_ends_the_old(url):
    async def story(memory, clock):
        old = await memory.remember("Ana lives in Porto")
        known = await memory.remember("Ana lives in Lisbon")
        receipt = await memory.remember("Ana lives in Lisbon", supersedes=[old.id])
        assert (receipt.status, receipt.id) == (Status.DUPLICATE, known.id)
        assert receipt.change_id is not None
        assert [record.id for record in (await memory.list()).items] == [known.id]

    play(url, story)


def test_superseding_a_stranger_is_refused_and_keeps_nothing(url):
    async def story(memory, clock):
        theirs = await memory.remember("a secret of ben", user_id="ben")
        with pytest.raises(NotFound) as caught:
            await memory.remember("mine", user_id="ana", supersedes=theirs.id)
        assert caught.value.field == "supersedes"
        assert (await memory.list()).total == 1

    play(url, story)


@pytest.mark.parametrize("late", [0, -1, -1000])
def test_a_memory_cannot_be_born_expired(url, late):
    async def story(memory, clock):
        with pytest.raises(InvalidRequest) as caught:
            await memory.remember("too late", expires_at=clock.now + late)
        assert caught.value.field == "expires_at"

    play(url, story)


@pytest.mark.parametrize(
    "option",
    [{"approval_required": True}, {"privacy_intent": {"verdict": "hold"}}],
    ids=lambda o: next(iter(o)),
)
def test_what_nobody_here_can_honour_fails_closed(url, option):
    async def story(memory, clock):
        with pytest.raises(CapabilityUnsupported) as caught:
            await memory.remember("review me", **option)
        assert caught.value.field in option
        assert (await memory.list()).total == 0

    play(url, story, policy=None)


def test_a_bulk_write_gives_each_item_a_receipt_or_a_problem(url):
    async def story(memory, clock):
        seen = []
        items = ["first", {"content": ""}, "first", {"content": "second", "type": "episodic"}]
        results = await memory.remember_many(items, on_progress=seen.append)
        assert [getattr(r, "status", None) for r in results] == [
            Status.COMMITTED,
            None,
            Status.DUPLICATE,
            Status.COMMITTED,
        ]
        assert results[1].field == "content"
        assert seen == [4]

    play(url, story)


def test_a_bulk_write_of_thousands_keeps_them_all(url):
    async def story(memory, clock):
        results = await memory.remember_many(f"fact number {n}" for n in range(1000))
        assert all(result.status is Status.COMMITTED for result in results)
        assert (await memory.list(limit=1)).total == 1000

    play(url, story)
