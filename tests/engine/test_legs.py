"""`fusion: legs`: the rankings of one store by vector and by text, joined by reciprocal ranks."""

import asyncio

import pytest

from memorywire import Memory
from memorywire.model.answers import Verdict
from memorywire.model.capabilities import Feature
from memorywire.model.errors import CapabilityUnsupported
from memorywire.search.embed import open_embedder
from memorywire.stores.memory import MemoryStore
from tests.engine.stage import STORES, play

FACTS = (
    "Ana prefers green tea to coffee",
    "Green paint for the tea house was ordered",
    "Her favourite hot drink is matcha",
    "The staging database runs Postgres 16",
    "Coffee beans are roasted in Lisbon",
    "Ben drinks water only",
)
QUESTION = "which tea does Ana like to drink?"


async def tell(memory):
    for fact in FACTS:
        await memory.remember(fact)


def places(found, leg):
    ranked = {hit.signals[f"rank in {leg}"]: hit for hit in found if f"rank in {leg}" in hit.signals}
    assert sorted(ranked) == list(range(1, len(ranked) + 1))
    return [ranked[place] for place in sorted(ranked)]


@pytest.mark.parametrize("url", STORES)
def test_places_in_the_two_legs_make_the_score_and_each_leg_goes_by_its_own_signal(url):
    """Proves RC-17."""

    async def story(memory, clock):
        await tell(memory)
        found = await memory.recall(QUESTION, fusion="legs", k=6, min_relevance="off", explain=True)
        by_default = await memory.recall(QUESTION, k=6, min_relevance="off", explain=True)
        assert found.fusion_used == "legs"
        for hit in found:
            legs = [hit.signals.get(f"rank in {leg}") for leg in ("vector", "text")]
            assert hit.score == pytest.approx(sum(1 / (59 + place) for place in legs if place is not None))
        for leg in ("vector", "text"):
            values = [hit.signals[leg] for hit in places(found, leg)]
            assert values == sorted(values, reverse=True)
            assert values[-1] > 0
        assert [(-hit.score, hit.id) for hit in found] == sorted((-hit.score, hit.id) for hit in found)
        assert {hit.id: hit.signals["relevance"] for hit in found}.items() <= {
            hit.id: hit.score for hit in by_default
        }.items()

    play(url, story)


def test_every_store_joins_its_legs_to_the_same_answer():
    answers = []

    async def story(memory, clock):
        await tell(memory)
        found = await memory.recall(QUESTION, fusion="legs", k=6, min_relevance="off")
        again = await memory.recall(QUESTION, fusion="legs", k=6, min_relevance="off")
        assert [hit.id for hit in found] == [hit.id for hit in again]
        answers.append([(hit.content, pytest.approx(hit.score)) for hit in found])

    for url in STORES:
        play(url, story)
    assert all(answer == answers[0] for answer in answers)
    assert len(answers[0]) > 1


def test_what_is_admitted_is_decided_as_ever():
    async def story(memory, clock):
        await tell(memory)
        nothing = await memory.recall("how far away is the moon of Jupiter?", fusion="legs")
        assert (len(nothing), nothing.verdict) == (0, Verdict.NO_MATCH)
        found = await memory.recall(QUESTION, fusion="legs")
        assert found.verdict is (await memory.recall(QUESTION)).verdict
        assert "Ana prefers green tea to coffee" in [hit.content for hit in found]

    play("memory://", story)


def test_what_ranks_low_in_both_legs_is_not_lost_to_what_is_below_the_floor():
    async def story(memory, clock):
        await memory.remember("Ana's bike lock code is 9922", confidence=0.2)
        for n in range(12):
            await memory.remember(f"The bike number {n} was sold in spring")
        await memory.expire({"confidence_below": 0.5}, action="demote")
        found = await memory.recall("what is the code of Ana's lock?", fusion="legs", k=1)
        assert [hit.content for hit in found] == ["Ana's bike lock code is 9922"]

    play("memory://", story)


class Wordless(MemoryStore):
    """A store that does not rank by words."""

    features = MemoryStore.features - {Feature.FTS}


@pytest.mark.parametrize("stores", [["memory://", "memory://"], Wordless])
def test_where_there_are_no_two_legs_of_one_store_it_is_refused(stores):
    wired = [stores(open_embedder().space)] if stores is Wordless else stores

    async def story():
        async with Memory("agent", wired) as memory:
            await memory.remember(FACTS[0])
            assert len(await memory.recall(QUESTION)) == 1
            with pytest.raises(CapabilityUnsupported) as caught:
                await memory.recall(QUESTION, fusion="legs")
            assert caught.value.field == "fusion"

    asyncio.run(story())
