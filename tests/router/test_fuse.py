"""Fusion: ranks add up, scores are kept in bounds, and no store votes twice."""

import pytest
from msgspec.structs import replace

from memorywire.model.query import Scored
from memorywire.model.record import Record, Standing
from memorywire.model.requests import Fusion
from memorywire.search.fuse import Fused, Ranking, Rules, fuse
from memorywire_testing.samples import a_record, a_scope

SCOPE = a_scope()


def _memory(id: str, says: str | None = None, **fields: object) -> Record:
    return a_record(SCOPE, says or f"what {id} says", id=id, **fields)


def _ranking(store: str, *hits: str, scores: tuple[float, ...] = (), weight: float = 1.0) -> Ranking:
    given = scores or tuple(1 - place / 10 for place in range(len(hits)))
    scored = [
        Scored(record=_memory(id), score=score, signals={}) for id, score in zip(hits, given, strict=True)
    ]
    return Ranking(store=store, hits=scored, weight=weight)


def _scores(fused: list[Fused]) -> dict[str, float]:
    return {one.record.id: one.score for one in fused}


def test_reciprocal_ranks_count_from_sixty_and_place_zero() -> None:
    fused = fuse([_ranking("a", "x", "y"), _ranking("b", "y", "z")], Rules())
    assert _scores(fused) == pytest.approx({"y": 1 / 61 + 1 / 60, "x": 1 / 60, "z": 1 / 61})
    assert [one.record.id for one in fused] == ["y", "x", "z"]
    assert fused[0].stores == ("a", "b")


def test_ties_are_broken_by_id() -> None:
    fused = fuse([_ranking("a", "y", "x"), _ranking("b", "x", "y")], Rules())
    assert [one.record.id for one in fused] == ["x", "y"]


def test_max_takes_the_best_score_and_no_score_is_above_one() -> None:
    loud, calm = _ranking("a", "x", scores=(900.0,)), _ranking("b", "x", "y", scores=(0.2, 0.9))
    assert _scores(fuse([loud, calm], Rules(fusion=Fusion.MAX))) == {"x": 1.0, "y": 0.9}


def test_weighted_brings_every_store_to_one_scale() -> None:
    loud = _ranking("a", "x", "y", scores=(500.0, -3.0))
    calm = _ranking("b", "y", "x", scores=(0.4, 0.1), weight=3.0)
    scores = _scores(fuse([loud, calm], Rules(fusion=Fusion.WEIGHTED)))
    assert scores == pytest.approx({"y": 0.25 / 2 + 0.75, "x": 0.25 + 0.75 * (1 + 0.25) / 2})


def test_weighted_lets_two_stores_that_agree_outvote_one_that_claims_the_most() -> None:
    rogue = _ranking("rogue", "evil", scores=(1.0,))
    honest = [_ranking(name, "best", "poor", scores=(0.9, 0.01)) for name in "ab"]
    fused = fuse([rogue, *honest], Rules(fusion=Fusion.WEIGHTED))
    assert [one.record.id for one in fused] == ["best", "poor", "evil"]
    trusted = fuse([replace(rogue, weight=3.0), *honest], Rules(fusion=Fusion.WEIGHTED))
    assert trusted[0].record.id == "evil", "an operator may trust one store more than the others together"


def test_max_orders_equal_scores_by_the_number_of_stores() -> None:
    rogue = _ranking("rogue", "a1", "a2", scores=(1.0, 1.0))
    honest = [_ranking(name, "best", scores=(1.0,)) for name in "ab"]
    fused = fuse([rogue, *honest], Rules(fusion=Fusion.MAX))
    assert [one.record.id for one in fused] == ["best", "a1", "a2"]


def test_a_quorum_leaves_out_what_too_few_returned() -> None:
    rankings = [_ranking("a", "x", "lone"), _ranking("b", "x"), _ranking("c", "y", "x")]
    assert [one.record.id for one in fuse(rankings, Rules(quorum=2))] == ["x"]
    assert len(fuse(rankings, Rules())) == 3


def test_trimming_takes_away_the_best_votes_of_each_memory() -> None:
    rankings = [_ranking("a", "x", "y"), _ranking("b", "y", "x"), _ranking("rogue", "evil", "x")]
    fused = fuse(rankings, Rules(trim=1))
    assert "evil" not in _scores(fused)
    assert _scores(fused)["x"] == pytest.approx(2 / 61)
    assert _scores(fused)["y"] == pytest.approx(1 / 61)


def test_a_memory_that_a_store_lists_thrice_gets_one_vote() -> None:
    once = fuse([_ranking("a", "x"), _ranking("b", "y", "x")], Rules())
    thrice = fuse([_ranking("a", "x", "x", "x"), _ranking("b", "y", "x")], Rules())
    assert _scores(once) == _scores(thrice)


def test_the_same_words_under_two_ids_are_one_memory_when_no_store_has_both() -> None:
    twin = Scored(record=_memory("x2", "what x1 says"), score=1.0, signals={})
    apart = [_ranking("a", "x1"), Ranking(store="b", hits=[twin])]
    (fused,) = fuse(apart, Rules())
    assert (fused.record.id, fused.stores) == ("x1", ("a", "b"))
    knowing = [*apart, Ranking(store="c", hits=[*_ranking("c", "x1").hits, twin])]
    assert len(fuse(knowing, Rules())) == 2


def test_a_demoted_memory_keeps_a_quarter_of_its_fused_score() -> None:
    low = Scored(record=_memory("x", standing=Standing.DEMOTED), score=1.0, signals={})
    fused = fuse([Ranking(store="a", hits=[low]), _ranking("b", "y", "x")], Rules())
    assert _scores(fused)["x"] == pytest.approx((1 / 60 + 1 / 61) / 4)
