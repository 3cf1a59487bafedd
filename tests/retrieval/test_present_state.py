"""The present state of a fact comes first, and a question on few facts is not left empty by chance."""

import pytest

from tests.engine.stage import STORES, play

_PORTS = (("mail", 25), ("search", 92), ("chat", 52), ("print", 63))


def remember_and_ask(url, facts, question, **options):
    async def story(memory, clock):
        for fact in facts:
            await memory.remember(fact)
            clock.pass_days(1)
        found = await memory.recall(question, explain=True, **options)
        return [(hit.content, hit.signals) for hit in found]

    return play(url, story)


@pytest.mark.parametrize("url", STORES)
def test_a_change_told_in_other_words_comes_before_what_it_changes(url):
    facts = ("Piano lesson is on Tuesday at four.", "The teacher moved our piano hour to Thursday.")
    (first, signals), (second, _) = remember_and_ask(url, facts, "When is the piano lesson now?")
    assert (first, second) == (facts[1], facts[0])
    assert signals["newest"] == 1


@pytest.mark.parametrize("url", STORES)
@pytest.mark.parametrize(
    "later",
    ["The teacher of our piano hour is Ms Adler.", "The violin hour of Ben was moved to Thursday."],
    ids=["no change", "a name that was not asked for"],
)
def test_another_fact_of_the_same_kind_does_not_pass(url, later):
    facts = ("The piano lesson of Ella is on Tuesday at four.", later)
    (first, _), *_ = remember_and_ask(url, facts, "When is the lesson of Ella?", min_relevance="off")
    assert first == facts[0]


@pytest.mark.parametrize("url", STORES)
def test_a_new_value_that_tells_of_no_change_comes_first_and_marks_the_old_one(url):
    facts = (
        "I commute by the 7:12 train.",
        "My sister plays the oboe.",
        "I cycle to the office along the canal, about forty minutes.",
        "The printer is out of toner.",
    )
    answers = remember_and_ask(url, facts, "how do I commute to work?", min_relevance="off")
    (first, newer), (second, older), *_ = answers
    assert (first, second) == (facts[2], facts[0])
    assert newer["newest"] == 1
    assert 0.5 < older["revised"] < 1


@pytest.mark.parametrize("url", STORES)
@pytest.mark.parametrize(
    ("facts", "question"),
    [
        (("My son Leo is a nurse.", "My daughter Ana became a pilot."), "what does my son do for a living?"),
        (("Mia's bike is red.", "Tom's bike is now blue."), "what colour is Mia's bike?"),
        (
            tuple(f"The {name} service listens on port {port}." for name, port in _PORTS),
            "which port has the mail service?",
        ),
        (("The lesson was on Tuesday.", "The lesson moved to Thursday."), "when was the lesson on Tuesday?"),
    ],
    ids=["children", "names", "many alike", "the past"],
)
def test_what_only_resembles_the_answer_does_not_pass_it(url, facts, question):
    (first, _), *_ = remember_and_ask(url, (*facts, "We live by a lake."), question, min_relevance="off")
    assert first == facts[0]


@pytest.mark.parametrize("url", STORES)
def test_a_question_on_few_facts_is_answered_by_what_only_means_the_same(url):
    facts = ("I've got a crush on the girl from the rowing team.", "The logo is an otter holding a key.")
    assert [text for text, _ in remember_and_ask(url, facts, "Who am I in love with?")] == [facts[0]]
    assert remember_and_ask(url, facts, "Which telescope found the ninth planet?") == []
