"""The index terms of a text: what a word can be found by."""

import pytest

from memorywire.search.text import query_terms, terms

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


@pytest.mark.parametrize(
    ("written", "asked"),
    [
        ("مُحَمَّد يسكن في القاهرة", "محمد"),
        ("محمد يسكن في القاهرة", "مُحَمَّد"),
        ("שָׁלוֹם עולם", "שלום"),
        ("हिन्दी किताबें", "किताबें"),
        ("می‌خواهم", "میخواهم"),
        ("Donau\u00addampf", "Donaudampf"),
        ("ฉันชอบดื่มชาเขียว", "ชา"),
        ("ฉันชอบดื่มชาเขียว", "ชาเขียว"),
        ("Ana loves 🍣 and 🍜", "🍜"),
        ("Well done 👍🏽", "👍"),
        ("❤️ for the team", "❤"),
        ("an office in 🇩🇪", "🇩🇪"),
        ("__init__.py is empty", "init"),
        ("the _private part", "private"),
    ],
)
def test_what_is_written_in_another_way_is_found(written: str, asked: str) -> None:
    assert terms(asked)
    assert terms(asked).keys() <= terms(written).keys()


@pytest.mark.parametrize(
    ("written", "asked"),
    [("हिन्दी किताबें", "हैं"), ("ฉันชอบดื่มชา", "กาแฟ"), ("Ana loves 🍣", "🍕"), ("made in 🇩🇪", "🇩🇰")],
)
def test_what_shares_only_signs_is_not(written: str, asked: str) -> None:
    assert terms(asked)
    assert not terms(asked).keys() & terms(written).keys()


def test_a_stop_word_in_capitals_is_a_name_where_a_query_says_nothing_else() -> None:
    assert query_terms("IT") == query_terms("what is IT?") == ["IT"]
    assert query_terms("The IT budget") == ["budget"]
    assert "IT" in terms("The IT department moved")
    assert terms("it is what I say") == {"say": 1}
