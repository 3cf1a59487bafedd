"""Every figure means what it is said to mean: examples worked out by hand."""

import math

import pytest

from memorywire_evals import metrics
from memorywire_evals.cases import Question

RANKED = ["a", "b", "c", "d", "e"]


def test_recall_is_the_share_of_the_gold_among_the_first_k():
    assert metrics.recall_at(RANKED, ["a", "d", "z"], 1) == pytest.approx(1 / 3)
    assert metrics.recall_at(RANKED, ["a", "d", "z"], 4) == pytest.approx(2 / 3)


def test_any_and_all_differ_when_some_of_the_gold_is_missing():
    assert (metrics.any_at(RANKED, ["b", "z"], 5), metrics.all_at(RANKED, ["b", "z"], 5)) == (1, 0)
    assert metrics.all_at(RANKED, ["b", "e"], 5) == 1
    assert metrics.all_at(RANKED, ["b", "e"], 4) == 0


def test_the_ceiling_counts_gold_that_cannot_fit():
    assert metrics.ceiling([1, 2, 4], 1) == pytest.approx((1 + 1 / 2 + 1 / 4) / 3)
    assert metrics.ceiling([1, 2, 4], 5) == 1


def test_the_reciprocal_rank_is_that_of_the_first_gold():
    assert metrics.reciprocal_rank(RANKED, ["c", "e"]) == pytest.approx(1 / 3)
    assert metrics.reciprocal_rank(RANKED, ["z"]) == 0


def test_ndcg_discounts_by_the_logarithm_of_the_place():
    earned = 1 / math.log2(3) + 1 / math.log2(5)
    best = 1 + 1 / math.log2(3)
    assert metrics.ndcg_at(RANKED, ["b", "d"], 10) == pytest.approx(earned / best)


def test_the_official_ndcg_does_not_discount_the_second_place():
    assert metrics.official_ndcg_at(RANKED, ["b"], 5) == 1
    assert metrics.official_ndcg_at(RANKED, ["c"], 5) == pytest.approx(1 / math.log2(3))


def test_a_session_ranks_where_its_best_turn_ranks():
    assert metrics.roll_up(RANKED, {"a": "2", "b": "1", "c": "2", "d": "3"}) == ["2", "1", "3"]


def test_auroc_counts_ties_half():
    assert metrics.auroc([3.0, 2.0], [1.0, 2.0]) == pytest.approx((1 + 1 + 1 + 0.5) / 4)
    assert metrics.auroc([1.0], [1.0]) == 0.5
    assert metrics.auroc([0.0], [1.0, 2.0]) == 0


def test_the_operating_point_loses_no_more_positives_than_allowed():
    positives = [float(value) for value in range(1, 101)]
    # Two of the hundred may go: the threshold is 3, and what stands below 3 is refused.
    assert metrics.abstention_at(positives, [0.5, 2.5, 3.0, 50.0], 0.02) == 0.5


def test_the_newest_statement_must_stand_strictly_above_every_older_one():
    assert metrics.newest_first(RANKED, [["b"], ["a"]]) == 1
    assert metrics.newest_first(RANKED, [["a"], ["d"], ["b"]]) == 0
    assert metrics.newest_first(RANKED, [["z"], ["e"]]) == 1
    assert metrics.newest_first(RANKED, [["z"], ["y"]]) == 0


def test_recency_asks_for_the_freshest_relevant_memory_on_top():
    moments = {"a": 10, "b": 20, "c": 5}
    assert metrics.freshest_on_top(["b", "a"], ["a", "b"], moments) == 1
    assert metrics.freshest_on_top(["a", "b"], ["a", "b"], moments) == 0
    assert metrics.freshest_on_top(["c", "b"], ["b"], moments) == 0
    assert metrics.freshest_on_top([], ["b"], moments) == 0


def test_an_answer_counts_wherever_it_occurs_in_a_text_whatever_its_case():
    texts = ["He plays Tennis.", "He plays rowing."]
    assert metrics.contains_answer(texts, ["ROWING"], 1) == 0
    assert metrics.contains_answer(texts, ["ROWING"], 2) == 1


def test_packing_skips_what_does_not_fit_and_goes_on():
    assert metrics.packed(RANKED, {"a": 6, "b": 5, "c": 4, "d": 1, "e": 1}, 10) == ["a", "c"]


def test_a_token_is_four_characters_begun():
    assert [metrics.tokens(text) for text in ("", "abcd", "abcde")] == [0, 1, 2]


def test_precision_makes_no_claim_when_nothing_was_wanted_and_nothing_came():
    assert metrics.precision([], []) is None
    assert metrics.precision([], ["a"]) == 0
    assert metrics.precision(["a", "b"], ["a"]) == 0.5
    assert metrics.precision(["a"], []) == 0


def test_recall_makes_no_claim_when_nothing_was_wanted():
    assert metrics.recall(["a"], []) is None
    assert metrics.recall(["a", "c"], ["a", "b"]) == 0.5


def test_the_precision_recall_curve_goes_down_the_thresholds():
    assert metrics.precision_recall([0.9, 0.5], [0.6]) == [(0.5, 1.0), (1.0, pytest.approx(2 / 3))]


def test_a_percentile_is_one_of_the_values():
    assert metrics.percentile([5.0, 1.0, 3.0, 2.0], 0.5) == 2
    assert metrics.percentile([5.0, 1.0, 3.0, 2.0], 0.95) == 5


def test_relevancy_is_the_mean_cosine_of_what_is_returned():
    sizes = {"a": 4, "b": 6, "c": 10}
    key = metrics.Key(sessions={}, sizes=sizes, moments={}, texts={}, lines={}, untrusted=())
    question = Question(id="q", text="?", category="any", gold=("a",), answerable=True)
    figures = metrics.default_figures(question, key, ["a", "b"], [0.9, 0.5])
    assert (figures["relevancy"], figures["returned-share"]) == (pytest.approx(0.7), pytest.approx(0.5))
    assert "relevancy" not in metrics.default_figures(question, key, [], [])
