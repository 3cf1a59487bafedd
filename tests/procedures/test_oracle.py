"""pytransitions is the judge: same states, same allowed triggers, same refusals."""

import inspect
from copy import deepcopy

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from transitions import Machine, MachineError, State

from memorywire.model.errors import Conflict, InvalidRequest
from memorywire.procedures.parse import parse
from memorywire.procedures.run import allowed, step

STATES = ("asked", "in review", "paid-out", "closed_1")
TRIGGERS = ("go", "back up", "note-it", "finish")
FACTS = ("approved", "blocked", "_late")


def _some(values: tuple[str, ...], least: int = 0) -> st.SearchStrategy[list[str]]:
    return st.lists(st.sampled_from(values), min_size=least, unique=True)


@st.composite
def transitions(draw: st.DrawFn) -> object:
    """One transition in any of its spellings."""
    source = draw(st.one_of(st.just("*"), st.sampled_from(STATES), _some(STATES, 1)))
    dest = draw(st.one_of(st.sampled_from(STATES), st.just("="), st.none()))
    asked = draw(_some(FACTS))
    cut = draw(st.integers(0, len(asked)))
    conditions, unless = asked[:cut], asked[cut:]
    trigger = draw(st.sampled_from(TRIGGERS))
    if draw(st.booleans()):
        return [trigger, source, dest, conditions, unless]
    if not asked and draw(st.booleans()):
        return [trigger, source, dest]
    alone = unless[0] if len(unless) == 1 else unless
    return {"trigger": trigger, "source": source, "dest": dest, "conditions": conditions, "unless": alone}


@st.composite
def definitions(draw: st.DrawFn) -> dict[str, object]:
    spelled = draw(st.lists(st.sampled_from(["text", "object"]), min_size=4, max_size=4))
    states = [
        {"name": state} if form == "object" else state for state, form in zip(STATES, spelled, strict=True)
    ]
    return {
        "name": "any",
        "initial": draw(st.sampled_from(STATES)),
        "states": states,
        "transitions": draw(st.lists(transitions(), max_size=8)),
    }


def _has_no_twins(document: dict[str, object]) -> bool:
    """The one thing pytransitions takes and we do not; any other refusal is a fault."""
    try:
        parse(document)
    except InvalidRequest as problem:
        return problem.detail != "the same transition is there twice"
    return True


class Model:
    """Facts as attributes, where pytransitions looks conditions up."""


def _told(model: Model, trigger: str) -> object:
    try:
        return model.trigger(trigger)
    except AttributeError:
        return "unknown"
    except MachineError:
        return "not here"


def _said(definition: object, trigger: str, facts: dict[str, bool]) -> tuple[object, object]:
    try:
        return True, step(definition, trigger, facts)
    except InvalidRequest:
        return "unknown", definition
    except Conflict as refusal:
        return ("not here" if "does not lead" in refusal.detail else False), definition


moments = st.tuples(
    st.sampled_from((*TRIGGERS, "explode")), st.fixed_dictionaries({fact: st.booleans() for fact in FACTS})
)


@settings(max_examples=300, deadline=None)
@given(document=definitions().filter(_has_no_twins), story=st.lists(moments, min_size=1, max_size=12))
def test_any_story_goes_as_pytransitions_tells_it(document, story):
    ours = parse(document)
    model = Model()
    Machine(
        model,
        states=deepcopy(document["states"]),
        initial=document["initial"],
        transitions=document["transitions"],
        auto_transitions=False,
    )
    for trigger, facts in story:
        vars(model).update(facts)
        free = [name for name in ours.triggers if model.may_trigger(name)]
        assert allowed(ours, facts) == free
        heard = _told(model, trigger)
        told, ours = _said(ours, trigger, facts)
        assert (told, ours.current) == (heard, model.state)


def test_control_a_machine_that_ignores_unless_is_told_apart():
    document = {
        "name": "any",
        "initial": "asked",
        "states": list(STATES),
        "transitions": [["go", "asked", "closed_1", [], ["blocked"]]],
    }
    deaf = deepcopy(document)
    deaf["transitions"][0][4] = []
    model = Model()
    model.blocked = True
    Machine(model, states=STATES, initial="asked", transitions=deaf["transitions"], auto_transitions=False)
    assert allowed(parse(document), {"blocked": True}) == []
    assert model.may_trigger("go")


@pytest.mark.parametrize(
    ("callable_", "known"),
    [
        (
            Machine.__init__,
            "model states initial transitions send_event auto_transitions ordered_transitions "
            "ignore_invalid_triggers before_state_change after_state_change name queued prepare_event "
            "finalize_event model_attribute model_override on_exception on_final kwargs",
        ),
        (
            Machine.add_transition,
            "trigger source dest conditions unless before after prepare kwargs",
        ),
        (State.__init__, "name on_enter on_exit ignore_invalid_triggers final"),
    ],
    ids=lambda one: getattr(one, "__qualname__", None),
)
def test_pytransitions_takes_no_argument_that_was_never_judged(callable_, known):
    """A new parameter may be a new way to call code: decide on it, then add it here."""
    assert list(inspect.signature(callable_).parameters)[1:] == known.split()
