"""A definition is read in every form it may have, and refused with the place of its fault."""

import json

import pytest

from memorywire.model.errors import InvalidRequest
from memorywire.procedures.definition import Transition
from memorywire.procedures.parse import check, parse
from tests.procedures.samples import refund, refused, way


def test_every_form_of_a_transition_is_read_as_pytransitions_means_it():
    ways = parse(refund()).transitions
    assert ways[0] == Transition(
        trigger="pay", source="asked", dest="paid", conditions=("approved",), unless=("blocked",)
    )
    rest = [(one.trigger, one.source, one.dest) for one in ways[1:]]
    assert rest == [
        ("ask", "paid", "asked"),
        ("ask", "closed", "asked"),
        ("close", "asked", "closed"),
        ("close", "paid", "closed"),
        ("close", "closed", "closed"),
        ("note", "asked", None),
        ("note", "paid", None),
        ("retry", "paid", "paid"),
    ]


def test_a_list_may_go_on_with_conditions_and_unless():
    listed = parse(refund(transitions=[["pay", "asked", "paid", ["approved"], "blocked"]]))
    assert listed.transitions == parse(refund()).transitions[:1]


def test_a_text_that_spells_an_object_is_the_same_definition():
    assert parse(json.dumps(refund(), indent=2)) == parse(refund())


def test_a_procedure_stands_in_its_initial_state_until_it_says_otherwise():
    begun = refund()
    del begun["current"]
    assert parse(begun).current == parse(refund(current=None)).current == "asked"
    assert parse(refund(current="paid")).current == "paid"


@pytest.mark.parametrize(
    "words",
    [
        "To deploy, run make ship",
        "{first} stop, then start",
        '{"name": "half of an object"',
        "[1, 2]",
        '["pay", "asked", "paid"]',
        '"{}"',
        "{}\n{}",
        "{'name': 'not JSON'}",
    ],
)
def test_words_are_no_definition_and_are_let_through(words):
    check(words)
    with pytest.raises(InvalidRequest, match="words"):
        parse(words)


def test_a_definition_as_large_as_allowed_is_accepted_and_one_more_is_not():
    states = [f"s{number}" for number in range(256)]
    ways = [[f"t{number}", "*", "s0"] for number in range(4)]
    assert len(parse(refund(states=states, initial="s0", current="s1", transitions=ways)).transitions) == 1024
    more = refused(refund(states=states, initial="s0", current="s1", transitions=[*ways, ["t4", "s0", "s1"]]))
    assert more.field == "content.transitions[4]"
    assert refused(refund(states=[*states, "s256"])).field == "content.states"


def test_names_of_64_letters_are_the_longest():
    long = "x" * 64
    check(refund(name=long))
    assert refused(refund(name=f"{long}x")).field == "content.name"


_FAULTS = {
    "a key of no procedure": (refund(before="os.system"), "content.before"),
    "a key that is no name": (refund(**{"a\nb": 1}), "content"),
    "no name": ({name: part for name, part in refund().items() if name != "name"}, "content.name"),
    "no states": (refund(states=[]), "content.states"),
    "states that are no list": (refund(states="asked"), "content.states"),
    "a state twice": (refund(states=["asked", "paid", "asked", "closed"]), "content.states[2]"),
    "a callback of a state": (
        refund(states=["asked", {"name": "paid", "on_enter": "f"}, "closed"]),
        "content.states[1].on_enter",
    ),
    "a state with a strange name": (
        refund(states=["asked", {"name": "pa.id"}, "closed"]),
        "content.states[1].name",
    ),
    "an initial state that is none": (refund(initial="open"), "content.initial"),
    "a current state that is none": (refund(current="open"), "content.current"),
    "a transition that is a word": (refund(transitions=["pay"]), "content.transitions[0]"),
    "a transition too short": (refund(transitions=[["pay", "asked"]]), "content.transitions[0]"),
    "a list with a callback": (
        refund(transitions=[["pay", "asked", "paid", None, None, "os.system"]]),
        "content.transitions[0]",
    ),
    "a callback": (way(after=["f"]), "content.transitions[0].after"),
    "no destination": (
        refund(transitions=[{"trigger": "pay", "source": "asked"}]),
        "content.transitions[0].dest",
    ),
    "an unknown source": (way(source="open"), "content.transitions[0].source"),
    "an unknown source among others": (way(source=["asked", "open"]), "content.transitions[0].source[1]"),
    "no source": (way(source=[]), "content.transitions[0].source"),
    "a source twice": (way(source=["asked", "asked"]), "content.transitions[0].source"),
    "an unknown destination": (way(dest="open"), "content.transitions[0].dest"),
    "an unknown destination in a list": (
        refund(transitions=[["pay", "asked", "open"]]),
        "content.transitions[0][2]",
    ),
    "a dotted condition": (way(conditions=["ok", "os.system"]), "content.transitions[0].conditions[1]"),
    "a condition twice": (way(conditions=["ok", "ok"]), "content.transitions[0].conditions"),
    "a condition that contradicts": (way(conditions="ok", unless="ok"), "content.transitions[0].unless"),
    "a condition named as a trigger": (way(conditions="pay"), "content.transitions[0].conditions"),
    "a trigger that machines bind": (way(trigger="to_paid"), "content.transitions[0].trigger"),
    "a transition twice": (
        refund(transitions=[["pay", "asked", "paid"], {"trigger": "pay", "source": "*", "dest": "paid"}]),
        "content.transitions[1]",
    ),
    "metadata that is a list": (refund(metadata=[]), "content.metadata"),
    "metadata with a set": (refund(metadata={"a": [{1}]}), "content.metadata.a[0]"),
    "metadata that is endless": (refund(metadata={"a": float("inf")}), "content.metadata.a"),
    "too much metadata": (refund(metadata={"a": "x" * 70_000}), "content.metadata"),
}


@pytest.mark.parametrize(("content", "place"), _FAULTS.values(), ids=_FAULTS)
def test_a_fault_is_named_with_its_place(content, place):
    assert refused(content).field == place


def test_metadata_may_hold_thousands_of_values_but_not_any_number():
    check(refund(metadata={"a": [1] * 4_000}))
    assert refused(refund(metadata={"a": [1] * 5_000})).detail == "more than 4096 values"


def test_metadata_that_contains_itself_is_called_so():
    metadata = {"again": []}
    metadata["again"].append(metadata)
    problem = refused(refund(metadata=metadata))
    assert (problem.detail, problem.field) == (
        "an object that contains itself",
        "content.metadata.again[0]",
    )


def test_a_refused_value_is_not_repeated():
    problem = refused(way(conditions="sk.live.4711")).problem()
    assert "4711" not in " ".join(problem.values())
