"""A fact that a model proposes is kept only if the conversation can bear it out."""

import pytest

from memorywire.facts.evidence import Evidence

HOME = "The user lives in Rome."
TEA = "The user likes green tea."


def supports(fact: str, *turns: str) -> bool:
    evidence = Evidence()
    for turn in turns:
        evidence.add(turn)
    return evidence.supports(fact)


@pytest.mark.parametrize(
    ("fact", "turns"),
    [
        (HOME, ["I live in Rome."]),
        (HOME, ["We're settled in Rome now, near the river."]),
        (TEA, ["Do you know green tea? I like green tea."]),
        (TEA, ["I no longer like green tea.", "I was wrong, I like green tea."]),
        (HOME, ["Ich wohne in Rom."]),  # in another language no word has to fit
        ("The user dislikes cilantro.", ["I can't stand cilantro."]),
        ("The user does not eat gluten.", ["I don't eat gluten."]),
        ("The user lives in York.", ["I no longer live in Leeds. I live in York."]),
    ],
)
def test_what_somebody_says_bears_a_fact_out(fact, turns):
    assert supports(fact, *turns)


@pytest.mark.parametrize(
    ("fact", "turns"),
    [
        (TEA, ["I no longer like green tea."]),
        (TEA, ["Forget that I like green tea."]),
        (TEA, ["I like green tea.", "I don't like green tea any more."]),
        (HOME, ["Do I live in Rome?"]),
        (HOME, ["If I lived in Rome I would walk more."]),
        (HOME, ["My friend said: 'I live in Rome.'"]),
        (HOME, ["Suppose I move. I live in Rome. I have a garden."]),
        ("The user eats gluten.", ["I don't eat gluten."]),
        ("The user is allergic to peanuts.", ["I am not allergic to peanuts."]),
        ("The user's name is John.", ["What is 17 times 23?"]),
        ("The user's name is John.", ["I no longer like green tea."]),
        (HOME, []),
    ],
)
def test_what_nobody_states_bears_no_fact_out(fact, turns):
    assert not supports(fact, *turns)
