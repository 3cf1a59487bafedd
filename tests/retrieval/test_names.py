"""Names are told by how they are written, and what is left of a question is still a question."""

import pytest

from memorywire.search.question import asks_more, find_names, remove_names


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("what does Ana like?", ("Ana",)),
        ("Ana's favourite tea", ("Ana",)),
        ("did Ana and Ben meet? Was Ana late?", ("Ana", "Ben")),
        ("When did it rain? Where was it dry?", ()),
        ("Yesterday it rained", ()),
        ("who knows the GDPR and read_timeout_ms?", ()),
        ("was it Élodie’s idea?", ("Élodie",)),
        ("", ()),
    ],
)
def test_a_capital_inside_a_sentence_names_somebody(text: str, found: tuple[str, ...]) -> None:
    assert find_names(text) == found


def test_what_is_left_is_the_question_without_the_names() -> None:
    assert remove_names("what did Ana buy for Ben's birthday?") == "what did buy for birthday?"


@pytest.mark.parametrize("text", ["what does she like to drink?", "is it Ana?", "Ana's"])
def test_nothing_is_left_where_there_is_no_name_or_nothing_else(text: str) -> None:
    assert remove_names(text) is None


def test_asking_to_hear_about_somebody_is_not_asking_for_more() -> None:
    assert asks_more("which size do the shoes of Ana have?")
    assert not asks_more("tell me about Ana")
    assert not asks_more("which size do the shoes have?")
