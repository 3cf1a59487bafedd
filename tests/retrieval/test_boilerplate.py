"""How a question is put says nothing of what it asks for."""

import pytest

from memorywire.search.question import asks_about_past, asks_for_reply, counts_back, find_boilerplate
from memorywire.search.text import terms


@pytest.mark.parametrize(
    ("text", "asking"),
    [
        ("What did I plant three weeks ago?", "three weeks ago"),
        ("How many days ago did I see the dentist?", "many days ago"),
        ("Can you recommend a hotel in Oslo?", "recommend"),
        ("I'm planning a weekend in Oslo. Any helpful tips?", "I'm planning helpful tips"),
        ("Do you think it is a good idea to sell the boat?", "think good idea"),
        (
            "I was looking back at our previous conversation about stamps.",
            "looking back previous conversation",
        ),
        ("What kind of stove did I buy?", "kind"),
        ("I’ve been wondering: could you please remind me of the name?", "I’ve wondering please remind"),
    ],
)
def test_what_only_asks_is_told_from_what_is_said(text: str, asking: str) -> None:
    assert find_boilerplate(text) == terms(asking).keys()


@pytest.mark.parametrize(
    "text", ["", "Where is the boat?", "the tips of the oars", "my days in Oslo", "What did Ana recommend?"]
)
def test_a_plain_question_has_nothing_of_the_kind(text: str) -> None:
    assert find_boilerplate(text) == frozenset()


def test_a_word_that_is_also_said_stays() -> None:
    assert "recommend" not in find_boilerplate("Can you recommend what Ana did not recommend?")
    assert "recommend" in find_boilerplate("Can you recommend what Ana liked?")


def test_of_a_text_that_only_asks_every_word_counts() -> None:
    assert find_boilerplate("Any suggestions?") == frozenset()
    assert find_boilerplate("Any suggestions for Oslo?") == terms("suggestions").keys()


def test_a_time_may_be_counted_back_from_now() -> None:
    assert counts_back("What did I plant a couple of weeks ago?")
    assert not counts_back("What did I plant in May?")
    assert not counts_back("What did I plant long ago?")


@pytest.mark.parametrize("text", ["When did I sell the boat?", "why was Ana late?", "“When had it rained?”"])
def test_when_and_why_something_happened_is_past(text: str) -> None:
    assert asks_about_past(text)


@pytest.mark.parametrize(
    "text",
    [
        "How many houses did I see before making an offer?",
        "When does my first sprint end?",
        "What did I weigh after finishing the course?",
    ],
)
def test_a_moment_that_is_told_by_what_happened_is_past(text: str) -> None:
    assert asks_about_past(text)


@pytest.mark.parametrize(
    "text",
    [
        "When is the meeting?",
        "Where did Ana move to after her recent relocation?",
        "What do I drink after lunch?",
        "When did I last see the dentist?",
        "Why was the most recent order late?",
        "When I travel, which seat do I like?",
        "Where did I sell the boat?",
        "",
    ],
)
def test_what_may_have_changed_since_is_not(text: str) -> None:
    assert not asks_about_past(text)


@pytest.mark.parametrize(
    "text",
    [
        "What did you recommend for the balcony?",
        "Can you remind me of the name of the inn?",
        "You’ve also told me: which one had you picked?",
        "I liked the walk you suggested, where was it?",
        "What was your second suggestion?",
    ],
)
def test_a_question_may_ask_for_what_an_assistant_said(text: str) -> None:
    assert asks_for_reply(text)


@pytest.mark.parametrize(
    "text", ["What did Ana recommend?", "Can you recommend an inn?", "Could you tell me when I moved?", ""]
)
def test_asking_an_assistant_for_something_is_not_asking_for_what_it_said(text: str) -> None:
    assert not asks_for_reply(text)
