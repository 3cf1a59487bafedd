"""Whose word counts for what a memory is worth, when several stores returned it."""

import pytest

from memorywire.model.query import Scored
from memorywire.pipeline.candidates import find_agreed_score
from memorywire.search.fuse import Fused
from memorywire_testing.samples import a_record, a_scope

RECORD = a_record(a_scope())
STORES = ("a", "b", "c", "d")


def _worth(anchor: str | None = None, **scores: float) -> float | None:
    hits = {name: Scored(record=RECORD, score=score, signals={}) for name, score in scores.items()}
    scored = find_agreed_score(Fused(record=RECORD, score=0.0, hits=hits), anchor, STORES)
    return None if scored is None else scored.score


def test_half_of_the_stores_cannot_raise_what_an_honest_one_says() -> None:
    assert _worth(a=1.0, b=1.0, c=0.2) == pytest.approx(0.2)
    assert _worth(a=1.0, b=1.0, c=0.2, d=0.3) == pytest.approx(0.3)
    assert _worth(a=0.4, b=0.4, c=0.4, d=0.4) == pytest.approx(0.4)


def test_what_no_majority_returned_is_nobodys_word() -> None:
    assert _worth(a=1.0, b=1.0) is None
    assert _worth() is None


def test_beside_the_embedded_store_nobody_else_is_asked() -> None:
    assert _worth("d", a=1.0, b=1.0, c=1.0, d=0.1) == pytest.approx(0.1)
    assert _worth("d", a=1.0, b=1.0, c=1.0) is None


def test_a_score_beyond_all_scores_is_cut() -> None:
    assert _worth(a=9.0, b=9.0, c=9.0) == 1.0
