"""The scenario runner itself: a fragment that does not hold must be noticed."""

from typing import Any

import pytest

from memorywire.model.errors import NotFound

from .scenario import HandClock, matches, run

HOLDING = [
    ({}, {"a": 1}),
    ({"a": 1}, {"a": 1, "b": 2}),
    ({"a": {"b": [1, {"c": None}]}}, {"a": {"b": [1, {"c": None, "d": 0}]}}),
    ({"a": {"$any": True}}, {"a": None}),
    ({"a": {"$absent": True}}, {}),
    ([], []),
    ({"$length": 2, "$contains": {"id": "y"}}, [{"id": "x"}, {"id": "y", "z": 1}]),
    ({"$gte": 1, "$lte": 2}, 1.5),
    (1, 1.0),
]

BROKEN = [
    ({"a": 1}, {}),
    ({"a": 1}, {"a": 2}),
    ({"a": 1}, [1]),
    ({"a": {}}, {"a": 3}),
    ({"a": {"$any": True}}, {}),
    ({"a": {"$absent": True}}, {"a": None}),
    ([1], [1, 2]),
    ([1, 2], [2, 1]),
    ([], None),
    ({"$length": 1}, []),
    ({"$length": 0}, "no list"),
    ({"$contains": "x"}, ["y"]),
    ({"$contains": "x"}, "xyz"),
    ({"$gte": 1}, 0.5),
    ({"$gte": 0}, True),
    ({"$lte": 1}, 2),
    (True, 1),
    (1, True),
    (None, 0),
]


@pytest.mark.parametrize(("fragment", "value"), HOLDING)
def test_a_fragment_that_holds_matches(fragment: Any, value: Any) -> None:
    assert matches(fragment, value)


@pytest.mark.parametrize(("fragment", "value"), BROKEN)
def test_a_fragment_that_does_not_hold_is_noticed(fragment: Any, value: Any) -> None:
    assert not matches(fragment, value)


def _echo(operation: str, payload: dict[str, Any]) -> dict[str, Any]:
    if operation == "fail":
        raise NotFound("nothing here", field="id")
    return payload


def _story(*steps: dict[str, Any]) -> dict[str, Any]:
    return {"name": "story", "clock": 1000, "steps": list(steps)}


def test_saved_values_are_substituted_and_the_clock_moves() -> None:
    clock = HandClock(0)
    first = {"operation": "echo", "payload": {"x": [{"id": "m1"}]}, "save": {"it": "x.0.id"}}
    second = {"operation": "echo", "advance_ms": 5, "payload": {"y": "${it}"}, "expect": {"y": "m1"}}
    run(_story(first, second), _echo, clock)
    assert clock() == 1005


@pytest.mark.parametrize(
    "step",
    [
        {"operation": "echo", "payload": {"x": 1}, "expect": {"x": 2}},
        {"operation": "echo", "payload": {}, "expect_problem": {"code": "not_found"}},
        {"operation": "fail", "payload": {}, "expect_problem": {"code": "conflict"}},
        {"operation": "fail", "payload": {}, "expect_problem": {"code": "not_found", "field": "ids"}},
        {"operation": "fail", "payload": {}},
    ],
)
def test_a_step_that_goes_otherwise_fails_the_run(step: dict[str, Any]) -> None:
    with pytest.raises(AssertionError, match="story, step 1"):
        run(_story(step), _echo, HandClock(0))
