"""The glance that spares most requests the rules never spares one in which a rule finds something."""

from collections.abc import Callable
from random import Random

import pytest

from memorywire.model.record import Json
from memorywire.policy.redact import Redactor
from tests.redaction.corpus.evasion import DISGUISED, ENCODED
from tests.redaction.corpus.ordinary import ordinary
from tests.redaction.corpus.planted import planted
from tests.redaction.corpus.secrets import held_out_kinds, later_kinds, written_for
from tests.redaction.corpus.shapes import Sample

_BESIDE = "Ana drinks green tea"
_SHAPES: dict[str, Callable[[str], Json]] = {
    "text": lambda text: text,
    "field": lambda text: {"note": text},
    "ordinary field": lambda text: {"max_tokens": text, "page": [text]},
    "telling field": lambda text: {
        "api_key": text,
        "Password2": text,
        "my_pass": text,
        "AUTHORIZATION": text,
    },
    "last of many": lambda text: {"a": _BESIDE, "b": [_BESIDE, 7, None, {"c": _BESIDE}], "d": text},
    "first of many": lambda text: [text, _BESIDE, {"d": _BESIDE}],
    "key": lambda text: {text: _BESIDE},
}


def _samples() -> list[Sample]:
    secrets = [*written_for(4), *held_out_kinds(4), *later_kinds(4), *planted(held_out=False, each=8)]
    random = Random(4)
    ways = list({**DISGUISED, **ENCODED}.values())
    turned = [
        Sample(one.kind, one.text.replace(one.secret, random.choice(ways)(one.secret)), one.secret)
        for one in secrets
    ]
    return [*secrets, *turned, *ordinary(1500)]


@pytest.mark.parametrize("shape", _SHAPES)
def test_where_a_glance_sees_nothing_no_rule_finds_anything(shape: str):
    redactor, missed = Redactor(), []
    for sample in _samples():
        value = _SHAPES[shape](sample.text)
        if redactor.finds_nothing((), (value,)) and redactor.json(value, "content")[1]:
            missed.append(sample)
    assert missed == []


def test_where_a_glance_sees_nothing_in_names_no_rule_finds_anything():
    redactor = Redactor()
    names = [text for sample in _samples() for text in (sample.text, sample.secret) if text]
    assert [n for n in names if redactor.finds_nothing((_BESIDE, n), ()) and redactor.identifier(n)[1]] == []


def test_a_glance_is_enough_for_most_that_people_write():
    redactor, plain = Redactor(), [one.text for one in ordinary(1500) if one.text.isascii()]
    clear = [text for text in plain if redactor.finds_nothing(("agent",), ({"note": text}, ["tag"]))]
    assert len(clear) > len(plain) / 3


def test_every_secret_of_a_kind_with_a_rule_is_looked_at_twice():
    redactor = Redactor()
    assert [one.text for one in written_for(4) if redactor.finds_nothing((), (one.text,))] == []


def test_a_name_that_was_looked_at_does_not_vouch_for_what_stands_beside_it():
    redactor = Redactor()
    secret = next(one.text for one in written_for(4))
    assert redactor.finds_nothing(("agent", "user"), (_BESIDE,))
    assert redactor.finds_nothing(("agent", "user"), ())
    assert not redactor.finds_nothing(("agent", "user"), (secret,))
    assert not redactor.finds_nothing(("agent", secret), ())


def test_registered_secrets_are_never_taken_at_a_glance():
    assert not Redactor({"pin": "green tea"}).finds_nothing((), (_BESIDE,))
    assert Redactor().finds_nothing((), (_BESIDE,))
