"""Entries are found by meaning, ranked by a sum of signals, and repetitions are handled before the cut."""

import math
from typing import Any

import pytest

from memorywire import Memory
from memorywire.model.clock import DAY_MS
from memorywire.model.errors import InvalidRequest
from memorywire.model.query import Scored
from memorywire.model.record import MemoryType, Record, Scope
from memorywire.model.requests import RankWeights
from memorywire.pipeline.kv.searching import rank_by_sum
from tests.engine.stage import NOON, HandClock
from tests.kv.stage import play

_DRINKS = {
    "ana/drink": "Ana prefers green tea to coffee",
    "ben/drink": "Ben drinks nothing but cold water",
    "infra/db": "The staging database runs Postgres 16",
}


def test_the_nearest_entry_comes_first() -> None:
    async def story(memory: Memory, clock: HandClock) -> None:
        await memory.kv.set_many(_DRINKS, embed=True)
        found = await memory.kv.search("which database is on staging?", top_k=2)
        assert next(match.entry.key for match in found) == "infra/db"
        assert (found.dimension, found.truncated) == (384, True)
        only = await memory.kv.search("what do they drink?", prefix="ben/")
        assert [match.entry.key for match in only] == ["ben/drink"]

    play(story, embedder="minilm")


def test_an_entry_is_found_by_the_text_that_was_given_for_it() -> None:
    async def story(memory: Memory, clock: HandClock) -> None:
        await memory.kv.set("a", {"id": 17}, embed=True, embed_text="Ana's favourite drink is green tea")
        await memory.kv.set("b", {"id": 18}, embed=True, embed_text="The deploy key rotates on Fridays")
        found = await memory.kv.search("what does Ana like to drink?", top_k=1)
        assert [(match.entry.key, match.entry.value) for match in found] == [("a", {"id": 17})]

    play(story, embedder="minilm")


@pytest.mark.parametrize(
    ("mode", "shown", "merged"),
    [("drop", 2, 0), ("merge", 2, 1), ("keep", 3, 0)],
    ids=["drop", "merge", "keep"],
)
def test_repetitions_are_dropped_merged_or_kept(mode: str, shown: int, merged: int) -> None:
    async def story(memory: Memory, clock: HandClock) -> None:
        await memory.kv.set("a", "Ana prefers green tea to coffee", embed=True)
        await memory.kv.set("b", "Ana prefers green tea to coffee.", embed=True)
        await memory.kv.set("c", "Ben drinks nothing but cold water", embed=True)
        found = await memory.kv.search("what does Ana drink?", dedup={"mode": mode})
        keys = {match.entry.key for match in found}
        twins = {entry.key for match in found for entry in match.merged_from}
        assert (len(keys), len(twins), found.repeats) == (shown, merged, 1)
        assert "c" in keys
        assert not keys & twins
        assert twins <= {"a", "b"}

    play(story, embedder="minilm")


def test_repetitions_go_before_the_cut() -> None:
    async def story(memory: Memory, clock: HandClock) -> None:
        for place in range(5):
            await memory.kv.set(
                f"a{place}", f"Ana prefers green tea to coffee{'.' * (place % 2)}", embed=True
            )
        await memory.kv.set("ben", "Ben drinks nothing but cold water", embed=True)
        found = await memory.kv.search("what does Ana drink?", top_k=2, dedup={"mode": "drop"})
        assert {match.entry.key[0] for match in found} == {"a", "b"}
        assert found.repeats == 4

    play(story, embedder="minilm")


def _candidate(id: str, relevance: float, age_days: float, source: str | None, recalls: int) -> Scored:
    born = NOON - int(age_days * DAY_MS)
    record = Record(
        id=id,
        scope=Scope(agent="a"),
        type=MemoryType.SEMANTIC,
        content=id,
        created_at=born,
        updated_at=born,
        source=source,
    )
    return Scored(record=record, score=relevance, signals={"recalls": float(recalls)})


@pytest.mark.parametrize(
    ("weights", "order"),
    [
        ({}, ["near", "fresh", "used"]),
        ({"semantic": 0.1, "recency": 1.0, "half_life_days": 50.0}, ["fresh", "used", "near"]),
        ({"semantic": 0.1, "frequency": 1.0}, ["used", "near", "fresh"]),
    ],
    ids=["meaning", "recency", "use"],
)
def test_the_weights_decide_the_order(weights: dict[str, Any], order: list[str]) -> None:
    candidates = [
        _candidate("near", 0.9, 100, None, 0),
        _candidate("fresh", 0.5, 0, None, 0),
        _candidate("used", 0.4, 50, None, 9),
    ]
    ranked = rank_by_sum(candidates, RankWeights(**weights), NOON)
    assert [scored.record.id for scored in ranked] == order
    assert rank_by_sum(candidates[::-1], RankWeights(**weights), NOON) == ranked


def test_the_score_is_the_weighted_sum() -> None:
    weights = RankWeights(semantic=0.5, recency=0.2, half_life_days=10, source=0.3, frequency=0.1)
    (scored,) = rank_by_sum([_candidate("a", 0.8, 10, "user", 4)], weights, NOON)
    assert scored.score == pytest.approx(0.5 * 0.8 + 0.2 * 0.5 + 0.3 * 1.0 + 0.1 * math.log(5))


def test_what_is_searched_often_rises_when_use_counts() -> None:
    async def story(memory: Memory, clock: HandClock) -> None:
        await memory.kv.set("a", "tea in the morning", embed=True)
        await memory.kv.set("b", "tea in the evening", embed=True)
        for _ in range(5):
            await memory.kv.search("tea in the evening", top_k=1)
        found = await memory.kv.search("tea", rank={"semantic": 0.0, "frequency": 1.0})
        assert [match.entry.key for match in found] == ["b", "a"]
        assert found.matches[0].score == pytest.approx(math.log(6))

    play(story, embedder="minilm")


@pytest.mark.parametrize("top_k", [0, 51])
def test_top_k_has_bounds(top_k: int) -> None:
    async def story(memory: Memory, clock: HandClock) -> None:
        await memory.kv.search("x", top_k=50)
        with pytest.raises(InvalidRequest) as caught:
            await memory.kv.search("x", top_k=top_k)
        assert caught.value.field == "top_k"

    play(story)


def test_a_sum_beyond_all_numbers_is_the_largest_of_them() -> None:
    weights = RankWeights(semantic=1.7e308, recency=1.7e308, source=1.7e308)
    (scored,) = rank_by_sum([_candidate("a", 0.8, 0, "user", 4)], weights, NOON)
    assert math.isfinite(scored.score)


@pytest.mark.parametrize(
    "option",
    [{"rank": {"semantic": math.nan}}, {"rank": {"recency": math.inf}}, {"min_relevance": math.nan}],
    ids=["weight", "endless", "floor"],
)
def test_a_number_that_is_none_is_refused_and_nothing_after_it_suffers(option: dict[str, Any]) -> None:
    async def story(memory: Memory, clock: HandClock) -> None:
        await memory.kv.set("tea", "green", embed=True)
        with pytest.raises(InvalidRequest):
            await memory.kv.search("tea", **option)
        assert (await memory.kv.set("tea", "black")).version == 2

    play(story)
