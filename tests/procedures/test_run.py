"""A step follows the table and the caller's facts, and a refusal says why."""

import pytest

from memorywire.model.errors import Conflict, InvalidRequest
from memorywire.procedures.definition import allowed, step
from memorywire.procedures.parse import parse
from tests.procedures.samples import refund

PAYABLE = {"approved": True, "blocked": False}


def test_a_step_leads_to_the_destination_and_leaves_the_definition_as_it_was():
    begun = parse(refund())
    assert step(begun, "pay", PAYABLE).current == "paid"
    assert begun.current == "asked"


@pytest.mark.parametrize(("trigger", "after"), [("note", "paid"), ("retry", "paid"), ("close", "closed")])
def test_internal_and_reflexive_steps_stay_where_they_are(trigger, after):
    assert step(parse(refund(current="paid")), trigger, {}).current == after


def test_the_first_transition_whose_conditions_hold_is_taken():
    forks = parse(
        refund(transitions=[["go", "asked", "paid", "rich"], ["go", "asked", "closed", None, "patient"]])
    )
    assert step(forks, "go", {"rich": True, "patient": False}).current == "paid"
    assert step(forks, "go", {"rich": False, "patient": False}).current == "closed"
    with pytest.raises(Conflict, match="rich does not hold, patient holds"):
        step(forks, "go", {"rich": False, "patient": True})


def test_allowed_names_what_would_succeed_in_the_order_of_the_definition():
    begun = parse(refund())
    assert allowed(begun, PAYABLE) == ["pay", "close", "note"]
    assert allowed(begun, PAYABLE | {"blocked": True}) == ["close", "note"]


@pytest.mark.parametrize(
    "facts", [{}, {"approved": True}, PAYABLE | {"blocked": 0}, PAYABLE | {"approved": "no"}]
)
def test_a_fact_that_is_not_known_true_or_false_is_a_problem(facts):
    begun = parse(refund())
    for ask in (lambda: step(begun, "pay", facts), lambda: allowed(begun, facts)):
        with pytest.raises(InvalidRequest) as caught:
            ask()
        assert caught.value.field in ("facts.approved", "facts.blocked")


def test_a_trigger_that_is_not_for_this_state_is_refused_with_those_that_are():
    with pytest.raises(Conflict) as caught:
        step(parse(refund()), "ask", {})
    assert caught.value.fix == "in this state there is: pay, close, note"


def test_a_trigger_nobody_knows_is_refused_with_those_there_are():
    with pytest.raises(InvalidRequest) as caught:
        step(parse(refund()), "explode", {})
    assert caught.value.fix == "use one of: pay, ask, close, note, retry"
