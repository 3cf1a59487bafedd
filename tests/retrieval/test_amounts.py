"""A question for an amount is answered by what tells one: others count less, and of two the newer wins."""

from collections.abc import Sequence
from dataclasses import replace

import pytest

from memorywire.conformance.samples import NOW, a_query, a_record, a_scope, a_vector, ids
from memorywire.model.query import Query, Scored
from memorywire.model.record import Record, Scope
from memorywire.retrieval.amounts import amounts
from memorywire.retrieval.aside import asks_of_the_past
from memorywire.stores.amounts import counted
from memorywire.stores.relevance import UNTOLD, weight
from tests.retrieval.test_conversations import found

NEAR, FAR = a_vector(1), a_vector(1, 1)
BIKES = frozenset(["bike"])


@pytest.fixture(params=["memory://", "sqlite://"])
def url(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.mark.parametrize(
    ("said", "terms"),
    [
        ("I have three bikes.", {"bike"}),
        ("Twenty five new titles", {"new", "titl"}),
        ("20 playlists, all of them mine", {"playlist"}),
        ("it was $1,200, or 15% of it", {"$", "%"}),
        ("twice a week", {"time", "week"}),
        ("a 30-minute walk", {"minut", "walk"}),
        ("made in 2019 by hand", set()),
        ("1. Bikes\n2. Boats", set()),
        ("there were 3. Bikes came later", set()),
        ("my bike is red", set()),
        ("", set()),
    ],
)
def test_what_stands_behind_a_number_is_counted(said: str, terms: set[str]) -> None:
    assert counted(said) == terms


@pytest.mark.parametrize(
    ("asked", "terms"),
    [
        ("How many bikes do I own?", {"bike"}),
        ("how many of Emma's recipes have I tried?", {"emma", "recip"}),
        ("What is the total number of online courses I took?", {"onlin", "cours"}),
        ("How often do I swim?", {"time", "day", "week", "month", "year"}),
        ("How long is the walk?", {"second", "minut", "hour", "day", "week", "month", "year"}),
        ("how much time does it take?", {"second", "minut", "hour", "day", "week", "month", "year"}),
        ("How much is the rent?", {"$", "%", "dollar", "euro", "pound", "percent"}),
        ("How many do I have?", set()),
        ("How many days ago did I swim?", set()),
        ("How many days passed between the two?", set()),
        ("How many different doctors did I see?", set()),
        ("How many eggs did you say it takes?", set()),
        ("Which bike do I own?", set()),
    ],
)
def test_what_a_question_asks_an_amount_of(asked: str, terms: set[str]) -> None:
    assert amounts(asked) == terms


def test_what_an_amount_was_no_later_word_changes() -> None:
    assert asks_of_the_past("How long did the move take?")
    assert asks_of_the_past("How old was I then?")
    assert not asks_of_the_past("How many bikes do I own?")
    assert not asks_of_the_past("How much did I pay for the last one?")


def said(scope: Scope, words: str, id: str, **fields: object) -> Record:
    return a_record(scope, words, id=id, **fields)


def asked(url: str, kept: Sequence[tuple[Record, bytes]], query: Query) -> dict[str, Scored]:
    return {hit.record.id: hit for hit in found(url, kept, query)}


def test_what_tells_no_such_amount_counts_less(url: str) -> None:
    scope = a_scope()
    kept = [
        (said(scope, "a red bike", "a"), NEAR),
        (said(scope, "two bikes", "b"), NEAR),
        (said(scope, "two boats", "c"), NEAR),
    ]
    plain = a_query(scope, "", NEAR)
    assert ids(found(url, kept, plain)) == ["a", "b", "c"]
    before, after = asked(url, kept, plain), asked(url, kept, replace(plain, amounts=BIKES))
    assert list(after) == ["b", "a", "c"]
    assert {id for id, hit in after.items() if "untold" in hit.signals} == {"a", "c"}
    assert after["b"].score == pytest.approx(before["b"].score, abs=1e-3)
    assert weight(after["a"].score) == pytest.approx(UNTOLD * weight(before["a"].score), abs=1e-2)
    assert not any("untold" in hit.signals for hit in before.values())


def turns(scope: Scope, newer: str) -> list[tuple[Record, bytes]]:
    return [
        (said(scope, "I own three bikes by now", "old", session_id="one", occurred_at=NOW - 9), NEAR),
        (said(scope, newer, "new", session_id="two", occurred_at=NOW - 1), FAR),
        (said(scope, "the weather is fine", "else", session_id="three", occurred_at=NOW), a_vector(0, 0, 1)),
    ]


def test_of_two_sessions_that_tell_the_amount_the_newer_comes_first(url: str) -> None:
    scope = a_scope()
    query = replace(a_query(scope, "how many bikes do I own by now?", NEAR), amounts=BIKES)
    telling = turns(scope, "four bikes come along")
    first, second, _ = found(url, telling, query)
    assert (first.record.id, second.record.id) == ("new", "old")
    assert first.signals["newest"] == 1.0
    assert ids(found(url, telling, replace(query, settled=True)))[0] == "old"
    assert ids(found(url, turns(scope, "the bikes come along"), query))[0] == "old"
