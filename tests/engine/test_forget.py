"""Forget, merge, expire and undo change exactly what was asked, and can be looked at before and after."""

import pytest

from memorywire.model.answers import Status
from memorywire.model.errors import Conflict, InvalidRequest, NotFound, TooManyAffected
from memorywire.model.record import Standing
from tests.engine.stage import STORES, play

pytestmark = pytest.mark.parametrize("url", STORES)


async def contents(memory, **options):
    return [record.content for record in (await memory.list(**options)).items]


def test_forgetting_by_id_reports_what_was_not_there(url):
    async def story(memory, clock):
        kept = await memory.remember("keep me")
        gone = await memory.remember("forget me")
        receipt = await memory.forget([gone.id, "nobody"], reason="asked")
        assert (receipt.forgotten_ids, receipt.missing_ids) == ((gone.id,), ("nobody",))
        assert [record.id for record in (await memory.list()).items] == [kept.id]
        assert (await memory.changes())[0].reason == "asked"

    play(url, story)


def test_forgetting_nothing_changes_nothing(url):
    async def story(memory, clock):
        receipt = await memory.forget("nobody")
        assert (receipt.status, receipt.change_id, receipt.missing_ids) == (None, None, ("nobody",))
        assert await memory.changes() == ()

    play(url, story)


def test_a_user_can_only_forget_their_own(url):
    async def story(memory, clock):
        hers = await memory.remember("tea", user_id="ana")
        his = await memory.remember("coffee", user_id="ben")
        await memory.forget(filter={"type": "semantic"}, user_id="ana")
        await memory.forget(his.id, user_id="ana")
        assert await contents(memory) == ["coffee"]
        assert hers.id not in [record.id for record in (await memory.list()).items]

    play(url, story)


def test_a_dry_run_and_a_limit_stop_before_anything_happens(url):
    async def story(memory, clock):
        for n in range(5):
            await memory.remember(f"note {n}", source="import")
        look = await memory.forget(filter={"source": "import"}, dry_run=True)
        assert (len(look.forgotten_ids), look.status, look.dry_run) == (5, None, True)
        with pytest.raises(TooManyAffected) as caught:
            await memory.forget(filter={"source": "import"}, max_affected=4)
        assert caught.value.field == "max_affected"
        assert (await memory.list()).total == 5
        done = await memory.forget(filter={"source": "import"}, max_affected=5)
        assert (done.status, (await memory.list()).total) == (Status.COMMITTED, 0)

    play(url, story)


def test_ids_with_a_filter_mean_both(url):
    async def story(memory, clock):
        a = await memory.remember("a", source="x")
        b = await memory.remember("b", source="y")
        receipt = await memory.forget([a.id, b.id], filter={"source": "x"})
        assert receipt.forgotten_ids == (a.id,)

    play(url, story)


def test_erasing_leaves_the_receipt_and_nothing_to_bring_back(url):
    async def story(memory, clock):
        written = await memory.remember("the vault code is 1234", id="v")
        soft = await memory.forget("v")
        hard = await memory.forget("v", hard_delete=True)
        assert hard.forgotten_ids == ("v",)
        assert [version.record for version in await memory.history("v")] == [None]
        for change in (written, soft, hard):
            with pytest.raises(Conflict):
                await memory.undo(change.change_id)
        with pytest.raises(Conflict):
            await memory.remember("another", id="v")

    play(url, story)


def test_undo_takes_back_and_undoing_that_does_it_again(url):
    async def story(memory, clock):
        receipt = await memory.remember("Ana drinks tea")
        forgotten = await memory.forget(receipt.id)
        back = await memory.undo(forgotten.change_id)
        assert await contents(memory) == ["Ana drinks tea"]
        again = await memory.undo(back.change_id)
        assert await contents(memory) == []
        await memory.undo(again.change_id)
        assert await contents(memory) == ["Ana drinks tea"]
        assert [hit.content for hit in await memory.recall("what does Ana drink?")] == ["Ana drinks tea"]

    play(url, story)


def test_undoing_a_new_version_restores_the_old_words(url):
    async def story(memory, clock):
        await memory.remember("port 80", id="p")
        change = await memory.remember("port 8080", id="p", if_version=1)
        await memory.undo(change.change_id)
        record = await memory.get("p")
        assert (record.content, record.version) == ("port 80", 3)
        assert (await memory.recall("port 80")).hits[0].id == "p"

    play(url, story)


def test_undo_refuses_when_the_world_has_moved_on(url):
    async def story(memory, clock):
        first = await memory.remember("port 80", id="p")
        await memory.remember("port 8080", id="p", if_version=1)
        with pytest.raises(Conflict):
            await memory.undo(first.change_id)
        with pytest.raises(NotFound):
            await memory.undo("no-such-change")

    play(url, story)


def test_a_refused_undo_names_the_later_change_or_that_it_was_taken_back(url):
    async def story(memory, clock):
        first = await memory.remember("port 80", id="p")
        second = await memory.remember("port 8080", id="p", if_version=1)
        with pytest.raises(Conflict, match=f"p has changed since, by {second.change_id}") as refused:
            await memory.undo(first.change_id)
        assert refused.value.fix == f"undo {second.change_id} first"
        back = await memory.undo(second.change_id)
        with pytest.raises(Conflict, match=f"taken back already, by {back.change_id}"):
            await memory.undo(second.change_id)

    play(url, story)


def test_undoing_a_forget_after_the_words_came_back_is_refused(url):
    async def story(memory, clock):
        first = await memory.remember("Ana drinks tea")
        forgotten = await memory.forget(first.id)
        await memory.remember("Ana drinks tea")
        with pytest.raises(Conflict):
            await memory.undo(forgotten.change_id)
        assert (await memory.list()).total == 1

    play(url, story)


def test_merge_keeps_the_canonical_and_says_where_the_others_went(url):
    async def story(memory, clock):
        a = await memory.remember("Ana likes tea")
        b = await memory.remember("Ana is fond of tea")
        receipt = await memory.merge(a.id, [b.id])
        assert (receipt.canonical, receipt.merged_ids, receipt.version) == (a.id, (b.id,), 2)
        assert (await memory.history(b.id))[-1].into == a.id
        assert (await memory.get(a.id)).merged_from == (b.id,)
        await memory.undo(receipt.change_id)
        assert sorted(await contents(memory)) == ["Ana is fond of tea", "Ana likes tea"]

    play(url, story)


def test_merging_content_joins_words_and_metadata(url):
    async def story(memory, clock):
        a = await memory.remember("tea", metadata={"x": 1, "y": 1}, confidence=0.5, tags=["p"])
        clock.now += 1
        b = await memory.remember("milk", metadata={"y": 2}, confidence=0.9, tags=["q"])
        await memory.merge(a.id, [b.id], strategy="merge_content")
        merged = await memory.get(a.id)
        assert merged.content == "tea\nmilk"
        assert (merged.metadata, merged.confidence, merged.tags) == ({"x": 1, "y": 2}, 0.9, ("p", "q"))
        assert (await memory.recall("milk")).hits[0].id == a.id

    play(url, story)


def test_the_most_confident_survives_and_is_named(url):
    async def story(memory, clock):
        a = await memory.remember("Ana is 40", confidence=0.5)
        b = await memory.remember("Ana is 41", confidence=0.9)
        receipt = await memory.merge(a.id, [b.id], strategy="keep_highest_confidence")
        assert (receipt.canonical, receipt.merged_ids) == (b.id, (a.id,))
        assert await contents(memory) == ["Ana is 41"]

    play(url, story)


def test_a_merge_that_cannot_be_whole_changes_nothing(url):
    async def story(memory, clock):
        a = await memory.remember("a")
        b = await memory.remember("b")
        for canonical, duplicates, problem, field in [
            ("nobody", [b.id], NotFound, "canonical"),
            (a.id, ["nobody", b.id], NotFound, "duplicates"),
            (a.id, [a.id], InvalidRequest, "duplicates"),
        ]:
            with pytest.raises(problem) as caught:
                await memory.merge(canonical, duplicates)
            assert caught.value.field == field
        with pytest.raises(Conflict):
            await memory.merge(a.id, [b.id], if_version=7)
        assert await contents(memory) == ["a", "b"]

    play(url, story)


def test_expiring_needs_a_policy(url):
    async def story(memory, clock):
        for policy in ({}, {"older_than_dayz": 1}, {"older_than_days": 0}):
            with pytest.raises(InvalidRequest) as caught:
                await memory.expire(policy)
            assert caught.value.field.startswith("policy")

    play(url, story)


def test_all_conditions_of_a_policy_must_hold(url):
    async def story(memory, clock):
        await memory.remember("old and doubtful", confidence=0.2)
        await memory.remember("old and sure")
        clock.pass_days(40)
        await memory.remember("new and doubtful", confidence=0.2)
        receipt = await memory.expire({"older_than_days": 30, "confidence_below": 0.5})
        assert receipt.matched_count == 1
        assert sorted(await contents(memory)) == ["new and doubtful", "old and sure"]

    play(url, story)


def test_being_recalled_keeps_a_memory_alive(url):
    async def story(memory, clock):
        await memory.remember("the printer is on floor two")
        await memory.remember("an unrelated zebra")
        clock.pass_days(20)
        await memory.recall("where is the printer?", k=1)
        clock.pass_days(20)
        receipt = await memory.expire({"no_recall_in_days": 30})
        assert receipt.matched_count == 1
        assert await contents(memory) == ["the printer is on floor two"]

    play(url, story)


def test_archived_memories_come_only_when_asked_for(url):
    async def story(memory, clock):
        await memory.remember("the old office was in Braga")
        clock.pass_days(2)
        receipt = await memory.expire({"older_than_days": 1}, action="archive")
        again = await memory.expire({"older_than_days": 1}, action="archive")
        asked = await memory.recall("where was the old office?", include=["archived"])
        assert (receipt.matched_count, again.matched_count) == (1, 0)
        assert len(await memory.recall("where was the old office?")) == 0
        assert asked.hits[0].record.standing is Standing.ARCHIVED
        await memory.undo(receipt.change_id)
        assert len(await memory.recall("where was the old office?")) == 1

    play(url, story)


def test_a_demoted_memory_scores_a_quarter_and_still_answers(url):
    async def story(memory, clock):
        await memory.remember("the office cat is called Miso")
        before = (await memory.recall("what is the office cat called?")).hits[0].score
        clock.pass_days(2)
        await memory.expire({"older_than_days": 1}, action="demote")
        after = await memory.recall("what is the office cat called?")
        assert after.hits[0].score == pytest.approx(before / 4, rel=1e-3)
        assert after.hits[0].record.confidence == 1.0

    play(url, story)
