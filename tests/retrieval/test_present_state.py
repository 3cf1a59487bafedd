"""The present state of a fact comes first, and a question on few facts is not left empty by chance."""

import pytest

from tests.engine.stage import STORES, play


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
def test_a_question_on_few_facts_is_answered_by_what_only_means_the_same(url):
    facts = ("I've got a crush on the girl from the rowing team.", "The logo is an otter holding a key.")
    assert [text for text, _ in remember_and_ask(url, facts, "Who am I in love with?")] == [facts[0]]
    assert remember_and_ask(url, facts, "Which telescope found the ninth planet?") == []
