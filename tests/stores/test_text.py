"""The index terms of a text: what a word can be found by."""

import pytest

from memorywire.stores.text import terms

ENGLISH = (
    "I'm sure we'll meet at nine o'clock, don't you think? It's Ana's idea, y'all; can't say who'd've "
    "thought. 'Tis the season, ma'am: rock'n'roll, t'other one, d'you see, c'mon, s'pose so, d'oh, Qur'an, "
    "O'Brien's and the dogs' bowls. I’ve been there, he’d said, isn’t it?"
)


@pytest.mark.parametrize(
    ("written", "asked"),
    [
        ("L'été à Nice", "été"),
        ("L'ÉTÉ à Nice", "ete"),
        ("un verre d’eau", "eau"),
        ("jusqu'aujourd", "aujourd"),
        ("l'acqua fredda", "acqua"),
        ("la Commedia dell'Arte", "arte"),
        ("sant'Agostino", "Agostino"),
        ("l'home i l'ombra", "ombra"),
        ("l'œuvre", "œuvre"),
        ("Miles O'Brien", "Brien"),
    ],
)
def test_a_word_is_found_behind_its_elision(written: str, asked: str) -> None:
    assert terms(asked).keys() <= terms(written).keys()


def test_an_elided_word_is_found_as_it_is_written_too_and_counts_once() -> None:
    assert terms("l'eau") == {"leau": 1, "eau": 1}
    assert terms("L'Oréal") == {"loreal": 1, "l": 1, "oreal": 1}


def test_english_apostrophes_tell_nothing_apart() -> None:
    kept = "im sure well meet nine oclock dont think ana idea yall cant say whodv thought tis season maam"
    kept += " rocknrol tother one dyou see cmon spose doh quran obrien o brien dog bowl ive hed said isnt"
    assert terms(ENGLISH).keys() == set(kept.split())
