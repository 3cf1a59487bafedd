"""Options of a recall: what ranks, what repeats, what fits, and what the floor is."""

import asyncio

import pytest

from memorywire import Memory
from memorywire.model.answers import Verdict
from memorywire.model.errors import InvalidRequest
from memorywire.model.space import Space
from memorywire.search.embed import open_embedder
from memorywire.stores.memory import MemoryStore
from tests.engine.stage import STORES, HandClock, play

every_store = pytest.mark.parametrize("url", STORES)


def contents(found):
    return [hit.content for hit in found]


@every_store
def test_recency_lifts_the_fresh_over_the_slightly_closer(url):
    async def story(memory, clock):
        await memory.remember("Ana's favourite drink is green tea")
        clock.pass_days(90)
        await memory.remember("Ana mentioned that a drink she likes is cocoa")
        asked = "what is Ana's favourite drink?"
        plain = await memory.recall(asked, min_relevance="off")
        fresh = await memory.recall(asked, min_relevance="off", rank={"recency": 4, "half_life_days": 7})
        assert plain.hits[0].content == "Ana's favourite drink is green tea"
        assert fresh.hits[0].content == "Ana mentioned that a drink she likes is cocoa"
        assert fresh.hits[0].score > fresh.hits[1].score

    play(url, story)


@every_store
def test_ranking_reorders_what_is_admitted_and_admits_nothing_else(url):
    async def story(memory, clock):
        await memory.remember("Ana prefers green tea")
        clock.pass_days(90)
        await memory.remember("The quarterly report is due on Friday")
        found = await memory.recall("does Ana prefer tea?", rank={"semantic": 0, "recency": 1})
        assert contents(found) == ["Ana prefers green tea"]
        assert found.verdict is Verdict.MATCH

    play(url, story)


@every_store
def test_every_signal_of_the_ranker_is_explained(url):
    async def story(memory, clock):
        await memory.remember("Ana prefers green tea", source="user")
        found = await memory.recall("does Ana prefer tea?", rank={"source": 1}, explain=True)
        signals = found.hits[0].signals
        assert {"vector", "text", "relevance", "recency", "source", "frequency"} <= set(signals)
        assert found.hits[0].score == pytest.approx((signals["relevance"] + 1) / 2)

    play(url, story)


@every_store
def test_use_is_explained_as_it_is_even_where_it_weighs_nothing(url):
    async def story(memory, clock):
        await memory.remember("Ana prefers green tea")
        for _ in range(3):
            await memory.recall("does Ana prefer tea?")
        found = await memory.recall("does Ana prefer tea?", rank={"recency": 1}, explain=True)
        signals = found.hits[0].signals
        assert signals["frequency"] > 0
        assert found.hits[0].score == pytest.approx((signals["relevance"] + signals["recency"]) / 2)

    play(url, story)


@every_store
def test_a_ranking_by_nothing_is_refused(url):
    async def story(memory, clock):
        with pytest.raises(InvalidRequest) as caught:
            await memory.recall("tea", rank={"semantic": 0})
        assert caught.value.field == "rank"

    play(url, story)


@every_store
def test_a_candidate_far_down_can_be_ranked_into_the_answer(url):
    async def story(memory, clock):
        for n in range(30):
            await memory.remember(f"a note about tea, number {n}")
        said = await memory.remember("a long and rather winding note about tea and weather", source="user")
        found = await memory.recall("a note about tea", k=1, min_relevance="off", rank={"source": 9})
        assert [hit.id for hit in found] == [said.id]

    play(url, story)


async def tell_twice(memory):
    first = await memory.remember("Ana prefers green tea to coffee")
    again = await memory.remember("ana prefers green tea to  coffee.")
    other = await memory.remember("Ana prefers black tea to coffee")
    return {first.id, again.id}, other.id


@every_store
@pytest.mark.parametrize(("mode", "shown", "supported"), [("drop", 2, 0), ("merge", 2, 1), ("keep", 3, 1)])
def test_repetitions_are_dropped_merged_or_kept_and_look_alikes_stay(url, mode, shown, supported):
    async def story(memory, clock):
        twins, other = await tell_twice(memory)
        found = await memory.recall("what does Ana prefer?", dedup={"mode": mode}, min_relevance="off")
        assert len(found) == shown
        assert other in {hit.id for hit in found}
        support = {hit.id: hit.supporting for hit in found if hit.supporting}
        assert len(support) == supported
        assert all({id, *ids} == twins for id, ids in support.items())

    play(url, story)


@every_store
def test_a_dropped_repetition_makes_room_and_is_a_near_miss(url):
    async def story(memory, clock):
        twins, other = await tell_twice(memory)
        asked = {"k": 2, "min_relevance": "off", "explain": True}
        found = await memory.recall("Ana prefers green tea to coffee", dedup={"mode": "drop"}, **asked)
        kept = [hit.id for hit in found if hit.id in twins]
        assert len(kept) == 1
        assert other in {hit.id for hit in found}
        misses = {miss.id: miss.reason for miss in found.near_misses}
        assert misses == {(twins - set(kept)).pop(): f"says the same as {kept[0]}"}

    play(url, story)


@every_store
def test_a_threshold_of_one_keeps_what_is_not_word_for_word(url):
    async def story(memory, clock):
        await memory.remember("On Friday we ship the release")
        await memory.remember("We ship the release on Friday")
        for threshold, shown in ((0.9, 1), (1.0, 2)):
            dedup = {"mode": "drop", "threshold": threshold}
            assert len(await memory.recall("when do we ship?", dedup=dedup, min_relevance="off")) == shown

    play(url, story)


@every_store
def test_the_users_of_an_agent_do_not_repeat_each_other(url):
    async def story(memory, clock):
        for user in ("ana", "ben"):
            await memory.remember("I live in Porto", user_id=user)
        assert len(await memory.recall("who lives in Porto?", scope="all", dedup={"mode": "drop"})) == 2

    play(url, story)


@every_store
def test_a_budget_skips_the_long_and_takes_the_short_behind_it(url):
    async def story(memory, clock):
        long = await memory.remember("Ana drinks tea. " * 20)
        short = await memory.remember("Ana drinks tea with Ben")
        found = await memory.recall("Ana drinks tea", max_tokens=10, explain=True, min_relevance="off")
        assert [hit.id for hit in found] == [short.id]
        assert {miss.id: miss.reason for miss in found.near_misses} == {long.id: "over the token budget"}

    play(url, story)


@every_store
def test_what_a_budget_leaves_out_is_not_a_missing_answer(url):
    async def story(memory, clock):
        await memory.remember("Ana drinks green tea in the morning")
        found = await memory.recall("what does Ana drink in the morning?", max_tokens=1)
        assert (len(found), found.verdict) == (0, Verdict.MATCH)

    play(url, story)


class ForeignEmbedder:
    """The default model under another name, so that nobody has fitted a floor to its space."""

    def __init__(self):
        self._inner = open_embedder()
        self.space = Space(model="foreign", revision="1", dimension=self._inner.space.dimension)

    async def embed(self, texts):
        return await self._inner.embed(texts)

    async def close(self):
        await self._inner.close()


def ask_abroad(question, *, floor=None, **options):
    async def run():
        async with Memory(
            "agent", ["memory://"], embedder=ForeignEmbedder(), floor=floor, clock=HandClock()
        ) as memory:
            await memory.remember("Ana prefers green tea to coffee")
            return await memory.recall(question, **options)

    return asyncio.run(run())


def test_in_a_space_nobody_fitted_nothing_is_cut_and_the_answer_says_so():
    """Proves RC-15."""
    for question in ("what does Ana prefer?", "recipe for chocolate cake"):
        found = ask_abroad(question)
        assert (len(found), found.verdict, found.degraded) == (1, Verdict.WEAK, ("min_relevance",))
    assert ask_abroad("what does Ana prefer?", min_relevance="off").degraded == ()


def test_a_fitted_floor_is_what_auto_means():
    found = ask_abroad("does Ana prefer green tea to coffee?", floor=0.3, explain=True)
    assert (len(found), found.verdict, found.degraded, found.floor) == (1, Verdict.MATCH, (), 0.3)
    nothing = ask_abroad("recipe for chocolate cake", floor=0.3)
    assert (len(nothing), nothing.verdict) == (0, Verdict.NO_MATCH)


class Forgetful(MemoryStore):
    """A store that does not count recalls."""

    recalls = None


def test_use_that_the_store_does_not_count_is_named_as_degraded():
    async def story():
        async with Memory(agent_id="options", stores=[Forgetful(open_embedder().space)]) as memory:
            await memory.remember("Ana prefers green tea")
            found = await memory.recall("does Ana prefer tea?", rank={"frequency": 1}, explain=True)
            assert found.degraded == ("rank.frequency",)
            assert found.hits[0].signals["frequency"] == 0

    asyncio.run(story())


@every_store
def test_what_is_recalled_often_can_rank_higher(url):
    async def story(memory, clock):
        seldom = await memory.remember("Ana drinks green tea at breakfast")
        often = await memory.remember("Ben drinks black coffee at breakfast")
        for _ in range(3):
            await memory.recall("Ben black coffee", k=1)
        found = await memory.recall("drinks at breakfast", rank={"semantic": 0, "frequency": 1}, explain=True)
        assert found.degraded == ()
        assert [hit.id for hit in found] == [often.id, seldom.id]
        assert [hit.signals["recalls"] for hit in found] == [3, 0]

    play(url, story)
