"""Two memories are one only when names, numbers, denials and their order agree."""

import pytest

from memorywire.model.record import MemoryType, Record, Scope
from memorywire.search.duplicates import is_same_statement, parse_slots, parse_statement

SAID_TWICE = [
    ("Ana likes tea", "ana  likes tea."),
    ("ANA LIKES TEA!", "Ana likes tea"),
    ("Ana does not eat meat", "Ana doesn't eat meat"),
    ("I'm allergic to nuts", "I am allergic to nuts"),
    ("She has two cats", "She has 2 cats"),
    ("The house has twenty-five rooms", "The house has 25 rooms"),
    ("It seats two hundred people", "It seats 200 people"),
    ("He lives on the third floor", "He lives on the 3rd floor"),
    ("The limit is 1,000 a minute", "The limit is 1000 a minute"),
    ("On Friday we ship the release", "We ship the release on Friday"),
    ("User prefers dark mode", "The user has a preference for dark mode"),
    ("I really like tea", "I like tea"),
    ("Ana’s cat is grey", "Ana's cat is grey"),
    ('Ana said "yes" (twice)', "Ana said yes - twice"),
]

LOOK_ALIKES = [
    ("Ana has two cats", "Ana has three cats"),
    ("The port is 5432", "The port is 5433"),
    ("It runs Python 3.1", "It runs Python 3.10"),
    ("It is -5 degrees outside", "It is 5 degrees outside"),
    ("It costs $5 a month", "It costs €5 a month"),
    ("Ana eats meat", "Ana doesn't eat meat"),
    ("Ana never eats meat", "Ana rarely eats meat"),
    ("The printer works", "The printer hardly works"),
    ("Ana lives in Porto", "Bea lives in Porto"),
    ("Ben gave Ana a book", "Ana gave Ben a book"),
    ("Tea is better than coffee", "Coffee is better than tea"),
    ("We moved from Porto to Lisbon", "We moved to Porto from Lisbon"),
    ("The meeting is before lunch", "The meeting is after lunch"),
    ("Ana lived in Porto", "Ana lives in Porto"),
    ("Is Ana vegan?", "Ana is vegan"),
    ("He writes C", "He writes C++"),
    ("The new menu 👍", "The new menu 👎"),
    ("👍", "👎"),
    ("We play an Organ piece", "We play an Organization piece"),
    ("Ana plays board games on Sunday", "Ana plays games on Sunday"),
    ("All of the keys were rotated", "Some of the keys were rotated"),
    ("他喜欢茶", "他不喜欢茶"),
    ("Ben told me about the merger", "Ben told them about the merger"),
    ("Send the money to Ana", "Send the money for Ana"),
    ("Ben works for Ana", "Ben works with Ana"),
    ("The report is due on Friday", "The report is due by Friday"),
    ("The key is in the drawer", "The key is on the drawer"),
    ("I know what Ana paid", "I know when Ana paid"),
    ("We keep this version", "We keep that version"),
    ("Ana takes vitamin A daily", "Ana takes vitamins daily"),
    ("Mix the eggs then add the milk", "Add the milk then mix the eggs"),
]


@pytest.mark.parametrize(("one", "other"), SAID_TWICE)
def test_the_same_thing_said_again_agrees(one, other):
    assert is_same_statement(parse_statement(one), parse_statement(other))
    assert is_same_statement(parse_statement(other), parse_statement(one))


@pytest.mark.parametrize(("one", "other"), LOOK_ALIKES)
def test_a_look_alike_does_not_agree(one, other):
    """Proves RC-13."""
    assert not is_same_statement(parse_statement(one), parse_statement(other))
    assert not is_same_statement(parse_statement(other), parse_statement(one))


def _record(content, **fields):
    fields = {"type": MemoryType.SEMANTIC, "scope": Scope(agent="a")} | fields
    return Record(id="1", content=content, created_at=0, updated_at=0, **fields)


@pytest.mark.parametrize(
    "fields",
    [
        {"scope": Scope(agent="a", user="ana")},
        {"metadata": {"speaker": "Ben"}},
        {"type": MemoryType.EMOTIONAL},
    ],
)
def test_the_same_words_of_another_are_another_statement(fields):
    assert not is_same_statement(
        parse_slots(_record("I live in Porto")), parse_slots(_record("I live in Porto", **fields))
    )


def test_steps_in_another_order_are_another_procedure():
    told = ["Close the valve, open the tap", "Open the tap, close the valve"]
    facts = [parse_slots(_record(text)) for text in told]
    procedures = [parse_slots(_record(text, type=MemoryType.PROCEDURAL)) for text in told]
    assert is_same_statement(*facts)
    assert not is_same_statement(*procedures)


def test_an_event_is_told_by_its_moment_and_a_fact_is_not():
    facts = [parse_slots(_record("tea with Ana", occurred_at=at)) for at in (1000, 2000)]
    events = [
        parse_slots(_record("tea with Ana", occurred_at=at, type=MemoryType.EPISODIC)) for at in (1000, 2000)
    ]
    assert is_same_statement(*facts)
    assert not is_same_statement(*events)


def test_numbers_inside_structured_content_count():
    steps = [
        parse_slots(_record({"steps": ["wait"], "minutes": n}, type=MemoryType.PROCEDURAL)) for n in (5, 6, 5)
    ]
    assert not is_same_statement(steps[0], steps[1])
    assert is_same_statement(steps[0], steps[2])
