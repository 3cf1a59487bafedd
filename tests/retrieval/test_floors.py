"""The floor belongs to an embedding space; a floor fitted to data replaces it."""

import pytest

from memorywire.model.answers import Verdict
from memorywire.model.errors import InvalidRequest
from memorywire.model.query import Scored
from memorywire.model.record import MemoryType, Record, Scope
from memorywire.model.space import Space
from memorywire.search.admit import (
    MATCH,
    TURN,
    WEAK,
    admit,
    choose_floors,
    level,
)
from memorywire.search.embed import open_embedder
from memorywire_evals.fitting import build_table, fit_floor, fit_match, measure_cut

DEFAULT = open_embedder().space
OTHER = Space(model="another", revision="1", dimension=8)


def verdict(floors, *scores, min_relevance="auto"):
    record = Record(
        id="1", scope=Scope(agent="a"), type=MemoryType.SEMANTIC, content="x", created_at=0, updated_at=0
    )
    admission = admit([Scored(record=record, score=s, signals={}) for s in scores], min_relevance, floors)
    return len(admission.admitted), admission.verdict


def test_the_default_space_is_fitted():
    floors = choose_floors(DEFAULT)
    assert (floors.weak, floors.match, floors.fitted) == (WEAK, MATCH, True)


def of(session, score, **signals):
    record = Record(
        id=f"{session} {score}",
        scope=Scope(agent="a"),
        type=MemoryType.SEMANTIC,
        content="x",
        created_at=0,
        updated_at=0,
        session_id=session,
        metadata={"role": "user"},
    )
    return Scored(record=record, score=score, signals=signals)


def admitted(*candidates, **options):
    return [scored.score for scored in admit(candidates, "auto", choose_floors(DEFAULT), **options).admitted]


def test_more_is_asked_of_a_turn_than_of_a_fact():
    assert admitted(of(None, 0.1), of("s", 0.1)) == [0.1]
    assert admitted(of("s", 0.1)) == []
    assert admitted(of("s", 0.3), of("s", 0.26)) == [0.3, 0.26]


def test_a_fact_needs_a_share_of_the_best_facts_evidence():
    assert admitted(of(None, 0.99), of(None, 0.9), of(None, 0.2)) == [0.99, 0.9]
    assert admitted(of(None, 0.25), of(None, 0.2)) == [0.25, 0.2]


def test_a_query_that_asks_for_several_things_divides_the_share_among_them():
    candidates = (of(None, 0.99), of(None, 0.3))
    assert admitted(*candidates) == [0.99]
    assert admitted(*candidates, things=2) == [0.99, 0.3]
    assert admitted(of(None, 0.05), things=2) == []


def test_a_weaker_fact_may_stand_beside_one_above_the_floor_but_not_alone():
    assert admitted(of(None, 0.06), of(None, 0.05)) == [0.06, 0.05]
    assert admitted(of(None, 0.05)) == []


@pytest.mark.parametrize("session", [None, "s"])
@pytest.mark.parametrize("min_relevance", ["auto", "off", 0.3])
@pytest.mark.parametrize("rest", [0.02, 0.3])
@pytest.mark.parametrize("scores", [(0.99, 0.9, 0.2), (0.25, 0.2, 0.1), (0.05, 0.01)], ids=str)
def test_who_passes_is_known_before_anybody_is_read(session, min_relevance, rest, scores):
    ranking = [of(session, score, rest=rest) for score in scores]
    floors, asked = choose_floors(DEFAULT), {"asks_more": True, "things": 2}
    best = ranking[0]
    told = level(best.score, best.signals, session is not None, min_relevance, floors, **asked)
    passing = [scored for scored in ranking if scored.score >= told]
    assert tuple(passing) == admit(ranking, min_relevance, floors, **asked).admitted
    assert admit(passing, min_relevance, floors, **asked).admitted == tuple(passing)


def test_a_match_is_an_answer_although_the_question_seems_to_name_somebody():
    assert admitted(of(None, 0.72, rest=0.02), asks_more=True) == [0.72]


def test_a_name_alone_is_no_answer_to_a_question_that_asks_more():
    named = of(None, 0.5, rest=0.02)
    assert admitted(named, asks_more=True) == []
    assert admitted(named) == [0.5]
    assert admitted(of(None, 0.5, rest=0.3), named, asks_more=True) == [0.5, 0.5]


def test_a_floor_the_caller_gives_is_one_for_all():
    candidates = [of(None, 0.99), of(None, 0.2), of("s", 0.12), of("s", 0.05, rest=0.0)]
    found = admit(candidates, 0.1, choose_floors(DEFAULT), asks_more=True)
    assert [scored.score for scored in found.admitted] == [0.99, 0.2, 0.12]


def test_a_space_nobody_fitted_cuts_nothing_and_claims_no_match():
    floors = choose_floors(OTHER)
    assert not floors.fitted
    assert verdict(floors, 0.99, 0.01) == (2, Verdict.WEAK)
    assert verdict(floors) == (0, Verdict.NO_MATCH)
    assert verdict(floors, 0.99, 0.01, min_relevance=0.5) == (1, Verdict.WEAK)


@pytest.mark.parametrize("space", [DEFAULT, OTHER])
def test_a_fitted_floor_is_the_floor_of_any_space(space):
    floors = choose_floors(space, 0.4)
    assert floors.fitted
    assert verdict(floors, 0.39) == (0, Verdict.NO_MATCH)
    assert verdict(floors, 0.41) == (1, Verdict.WEAK)
    assert verdict(floors, 0.99) == (1, Verdict.MATCH)


def test_fitting_the_floor_of_turns_leaves_the_match_where_it_is():
    assert choose_floors(DEFAULT, TURN).match == pytest.approx(MATCH)


def test_a_floor_of_zero_cuts_nothing_and_claims_no_match():
    assert verdict(choose_floors(DEFAULT, 0.0), 0.99, 0.0) == (2, Verdict.WEAK)


def test_the_fitted_floor_parts_the_two_kinds_in_the_middle():
    assert fit_floor([0.9, 0.6, 0.8], [0.1, 0.2, 0.4]) == 0.5


def test_the_fitted_floor_gives_up_at_most_two_in_a_hundred():
    answerable = [0.1, 0.2] + [0.5 + n / 1000 for n in range(98)]
    floor = fit_floor(answerable, [0.3] * 10)
    assert floor == 0.4
    assert measure_cut(floor, answerable, [0.3] * 10).kept == 0.98
    assert measure_cut(fit_floor(answerable[1:], [0.3] * 10), answerable[1:], [0.3]).kept >= 0.98


def test_a_floor_never_cuts_the_answerable_to_cut_the_others():
    floor = fit_floor([0.3, 0.4], [0.5, 0.9])
    assert (measure_cut(floor, [0.3, 0.4], [0.5, 0.9]).kept, floor) == (1.0, 0.3)


@pytest.mark.parametrize(
    ("answerable", "others"), [([0.9, 0.6, 0.8], [0.1, 0.2, 0.4]), ([0.689, 0.9], [0.02]), ([0.3], [0.5])]
)
def test_what_a_fitted_floor_keeps_is_a_match(answerable, others):
    floor = fit_floor(answerable, others)
    floors = choose_floors(OTHER, floor, fit_match(floor, answerable))
    assert {verdict(floors, relevance) for relevance in answerable} == {(1, Verdict.MATCH)}
    assert verdict(floors, floor - 0.01) == (0, Verdict.NO_MATCH)


def test_between_the_floor_and_the_match_an_answer_is_weak():
    floors = choose_floors(DEFAULT, 0.3, 0.6)
    assert [verdict(floors, relevance)[1] for relevance in (0.29, 0.59, 0.6)] == [
        Verdict.NO_MATCH,
        Verdict.WEAK,
        Verdict.MATCH,
    ]


def test_the_match_fitted_is_no_higher_than_its_floor_implies():
    assert fit_match(TURN, [0.95]) == pytest.approx(MATCH, abs=0.001)
    assert fit_match(0.0, [0.95]) is None


def test_a_match_without_a_floor_is_refused():
    with pytest.raises(InvalidRequest) as caught:
        choose_floors(DEFAULT, None, 0.6)
    assert caught.value.field == "match"


def test_the_table_shows_the_fitted_floor_among_others():
    rows = build_table(0.123, [0.5], [0.1])
    assert [row.floor for row in rows] == sorted({row.floor for row in rows})
    assert any(row.floor == 0.123 and (row.kept, row.cut) == (1.0, 1.0) for row in rows)
