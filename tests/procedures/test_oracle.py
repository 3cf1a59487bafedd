"""pytransitions is the judge: same states, same allowed triggers, same refusals."""

import inspect
from copy import deepcopy

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from transitions import Machine, MachineError, State

from memorywire.model.errors import Conflict, InvalidRequest
from memorywire.procedures.definition import allowed, step
from memorywire.procedures.parse import parse
from tests.procedures.strategies import FACTS, STATES, TRIGGERS, sound_definitions


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
@given(document=sound_definitions(), story=st.lists(moments, min_size=1, max_size=12))
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
