"""The ranker weighs relevance, recency, source and use, and shows each."""

import pytest

from memorywire.model.clock import DAY_MS
from memorywire.model.errors import InvalidRequest
from memorywire.model.query import Scored
from memorywire.model.record import MemoryType, Record, Scope, Standing
from memorywire.model.requests import RankWeights
from memorywire.search.rank import counts_recalls, rank

NOW = 1_800_000_000_000


def scored(id, score=0.5, *, days=0.0, signals=None, **fields):
    moment = NOW - int(days * DAY_MS)
    record = Record(
        id=id,
        scope=Scope(agent="a"),
        type=MemoryType.SEMANTIC,
        content=id,
        created_at=moment,
        updated_at=moment,
        **fields,
    )
    return Scored(record=record, score=score, signals=signals or {})


def order(candidates, **weights):
    return [one.record.id for one in rank(candidates, RankWeights(**weights), NOW)]


def test_recency_halves_with_every_half_life():
    old = rank([scored("old", days=14)], RankWeights(recency=1, half_life_days=7), NOW)[0]
    assert old.signals["recency"] == pytest.approx(0.25)
    assert old.score == pytest.approx((0.5 + 0.25) / 2)


def test_the_event_counts_and_not_its_recording():
    told_late = scored("told late", occurred_at=NOW - 30 * DAY_MS)
    assert rank([told_late], RankWeights(recency=1), NOW)[0].signals["recency"] == pytest.approx(0.5)


def test_what_lies_ahead_is_as_recent_as_now():
    assert rank([scored("soon", days=-9)], RankWeights(recency=1), NOW)[0].signals["recency"] == 1


def test_weights_decide_the_order():
    fresh, close = scored("fresh", 0.4), scored("close", 0.6, days=60)
    assert order([close, fresh]) == ["close", "fresh"]
    assert order([close, fresh], recency=1) == ["fresh", "close"]
    assert order([close, fresh], recency=0.01) == ["close", "fresh"]


def test_the_users_own_word_counts_more():
    candidates = [
        scored("tool", 0.6, source="tool"),
        scored("by role", metadata={"role": "user"}),
        scored("by source", source="user"),
    ]
    assert order(candidates, source=1) == ["by role", "by source", "tool"]


def test_use_counts_where_the_store_counts_it():
    candidates = [scored("once", signals={"recalls": 1}), scored("often", signals={"recalls": 40})]
    assert order(candidates, frequency=1) == ["often", "once"]
    assert counts_recalls(candidates)
    assert not counts_recalls([*candidates, scored("unknown")])


def test_a_demoted_memory_has_a_quarter_of_its_weighed_score():
    plain, demoted = scored("plain", 0.8), scored("demoted", 0.2, standing=Standing.DEMOTED)
    first, second = rank([plain, demoted], RankWeights(recency=1), NOW)
    assert second.score == pytest.approx(first.score / 4)


def test_ties_break_by_relevance_and_then_by_id():
    candidates = [scored("b"), scored("c", 0.6), scored("a")]
    assert order(candidates, semantic=0, recency=1) == ["c", "a", "b"]


def test_weights_that_are_all_zero_are_refused():
    with pytest.raises(InvalidRequest) as caught:
        order([scored("a")], semantic=0)
    assert caught.value.field == "rank"


def test_weights_whose_sum_is_no_number_weigh_like_small_ones():
    candidates = [scored("old", days=40), scored("new", days=1)]
    large = rank(candidates, RankWeights(semantic=1.5e308, recency=1.6e308, frequency=1.4e308), NOW)
    small = rank(candidates, RankWeights(semantic=1.5, recency=1.6, frequency=1.4), NOW)
    assert [one.record.id for one in large] == [one.record.id for one in small]
    assert [one.score for one in large] == pytest.approx([one.score for one in small])
