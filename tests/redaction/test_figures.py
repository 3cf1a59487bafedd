"""The figures of docs/results, on labelled sentences drawn anew from a seed; switched off, each one falls."""

from random import Random

import pytest

from memorywire.policy.redact import Redactor
from memorywire.policy.redact.places import PLACES
from memorywire.policy.redact.rules import ISSUERS
from tests.redaction.corpus import held_out, kinds
from tests.redaction.corpus.evasion import DISGUISED, ENCODED
from tests.redaction.corpus.everyday import SENTENCES
from tests.redaction.corpus.ordinary import ordinary
from tests.redaction.corpus.planted import KINDS as PLANTED
from tests.redaction.corpus.planted import planted
from tests.redaction.corpus.secrets import held_out_kinds, later_kinds, written_for
from tests.redaction.corpus.shapes import draw
from tests.redaction.measuring import Score, disguised, registered, score


@pytest.fixture(scope="module")
def ordinary_score() -> Score:
    return score(Redactor(), ordinary(5000))


def test_the_corpus_is_as_large_as_promised():
    written, held = score(Redactor(patterns=False), written_for(14)), held_out.KINDS
    assert (written.count >= 800, len(written.kinds) >= 40, len(held) >= 20) == (True, True, True)
    assert not {kind.name for kind in held} & set(written.kinds)


def test_no_rule_knows_a_held_out_kind():
    random, redactor = Random(9), Redactor()
    for kind in held_out.KINDS:
        secret = draw(kind.shape, random)
        assert redactor.identifier(secret) == (secret, ()), kind.name
    ours = next(kind for kind in kinds.KINDS if kind.name == "github-classic")
    assert redactor.identifier(draw(ours.shape, random))[1] == ("github-token",)


def test_every_rule_finds_something():
    redactor, found = Redactor(), set[str]()
    for sample in (*written_for(14), *later_kinds(1)):
        found.update(redactor.text(sample.text)[1])
    assert {rule.kind for rule in (*ISSUERS, *PLACES)} - found == set()


def test_kinds_with_rules_are_found(ordinary_score: Score):
    found = score(Redactor(), written_for(14))
    assert found.recall >= 0.99, found.missed
    assert found.found / (found.found + len(found.false) + len(ordinary_score.false)) >= 0.99, found.false


def test_held_out_kinds_are_found(ordinary_score: Score):
    found = score(Redactor(), held_out_kinds(20))
    assert found.recall >= 0.95, found.missed
    assert found.found / (found.found + len(found.false) + len(ordinary_score.false)) >= 0.99, found.false


def test_kinds_chosen_later_are_found():
    found = score(Redactor(), later_kinds(10))
    assert found.recall >= 0.95, found.missed


@pytest.mark.parametrize("held_out", [False, True])
def test_planted_credentials_of_formats_nobody_listed_are_found(held_out: bool):
    found = score(Redactor(), planted(held_out=held_out))
    assert found.recall >= 0.95, found.missed


def test_the_planted_set_is_as_large_as_promised():
    assert len(PLANTED) >= 142
    assert len(planted(held_out=False)) + len(planted(held_out=True)) >= 3400


def test_no_everyday_sentence_raises_an_alarm():
    assert len(SENTENCES) >= 212
    redactor = Redactor()
    assert [text for text in SENTENCES if redactor.text(text) != (text, ())] == []


def test_ordinary_memories_are_left_alone(ordinary_score: Score):
    assert ordinary_score.count == 5000
    assert len(ordinary_score.false) <= 1, ordinary_score.false


def test_without_patterns_nothing_is_found():
    blind = Redactor(patterns=False)
    assert score(blind, written_for(2)).recall == 0
    assert score(blind, held_out_kinds(2)).recall == 0


def test_registered_values_are_found_in_every_form():
    assert not any(registered(ENCODED, each=8).values())


def test_registered_values_are_found_behind_disguises():
    assert not any(registered(DISGUISED, each=4).values())


def test_a_value_that_is_not_registered_stays():
    assert all(registered(ENCODED, each=1, known=False).values())


def test_most_disguises_are_seen_through():
    shares = disguised(Redactor(), DISGUISED, each=1)
    assert sum(shares.values()) / len(shares) >= 0.8, shares
    assert not any(disguised(Redactor(patterns=False), DISGUISED, each=1).values())
