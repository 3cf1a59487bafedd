"""Definitions that want to run code, to be mistaken for others, or to use up the machine."""

import json
from typing import Any

from tests.procedures.samples import refund, way

TRAP = "memorywire_trap"
"""A module that leaves a mark when it is imported; the tests put it where it can be found."""
CALL = f"{TRAP}.spring"


def _object_in_itself() -> dict[str, Any]:
    metadata: dict[str, Any] = {}
    metadata["again"] = [metadata, metadata]
    return refund(metadata=metadata)


def _laughs() -> dict[str, Any]:
    """Few objects, many mentions: a billion values once written out."""
    laugh: list[Any] = ["ha"]
    for _ in range(12):
        laugh = [laugh] * 8
    return refund(metadata={"laugh": laugh})


def _deep(levels: int) -> dict[str, Any]:
    inner: dict[str, Any] = {}
    for _ in range(levels):
        inner = {"in": inner}
    return refund(metadata=inner)


def _states(number: int) -> list[str]:
    return [f"s{index}" for index in range(number)]


def _state(**more: Any) -> dict[str, Any]:
    return refund(states=["asked", {"name": "paid", **more}, "closed"])


_CALLBACKS = {f"a transition with {key}": way(**{key: CALL}) for key in ("before", "after", "prepare")}
_CALLBACKS |= {
    f"a machine with {key}": refund(**{key: CALL})
    for key in (
        "before_state_change",
        "after_state_change",
        "prepare_event",
        "finalize_event",
        "on_exception",
        "on_final",
        "model",
        "model_attribute",
        "send_event",
        "queued",
        "auto_transitions",
        "ordered_transitions",
        "__class__",
        "machine_cls",
    )
}
_CALLBACKS |= {
    f"a state with {key}": _state(**{key: CALL})
    for key in ("on_enter", "on_exit", "final", "ignore_invalid_triggers", "timeout", "on_timeout", "tags")
}
_CALLBACKS |= {
    "a state with children": _state(children=["a", "b"]),
    "a state that holds the machine": _state(children=refund(), remap={"closed": "asked"}),
    "a list with before": refund(transitions=[["pay", "asked", "paid", None, None, CALL]]),
    "a list with all callbacks": refund(transitions=[["pay", "asked", "paid", None, None, CALL, CALL, CALL]]),
}

_CONDITIONS = {
    "a dotted condition": way(conditions=CALL),
    "a dotted condition in a list": way(conditions=["approved", CALL]),
    "a dotted condition in a text": json.dumps(way(conditions=[CALL])),
    "a dotted unless": way(unless=CALL),
    "a dotted unless by position": refund(transitions=[["pay", "asked", "paid", None, CALL]]),
    "a condition in a list in a list": way(conditions=[[CALL]]),
    "a condition that is an object": way(conditions={"func": CALL}),
    "a condition that is a call": way(conditions="spring()"),
    "a condition that is code": way(conditions="__import__('os').system('id')"),
    "a condition with a colon": way(conditions="os:system"),
    "a condition with a space": way(conditions="os system"),
    "a condition with a line break": way(conditions="approved\n"),
    "a condition that is a dunder": way(conditions="__class__"),
    "a condition that ends as a dunder": way(conditions="init__"),
    "a condition that fires a trigger": way(conditions="pay"),
    "a condition that fires any trigger": way(unless="trigger"),
    "a condition that asks the machine": way(conditions="may_pay"),
    "a condition that asks the state": way(conditions="is_paid"),
    "a condition that moves the machine": way(conditions="to_paid"),
    "a condition that is empty": way(conditions=""),
    "a condition that is a number": way(conditions=1),
    "a condition that is true": way(conditions=True),
    "a condition of another script": way(conditions="аpproved"),
    "a condition that is long": way(conditions="a" * 65),
    "more conditions than anybody knows": way(conditions=[f"f{index}" for index in range(33)]),
}

_NAMES = {
    "a trigger called trigger": way(trigger="trigger"),
    "a trigger called state": way(trigger="state"),
    "a trigger called may_trigger": way(trigger="may_trigger"),
    "a trigger that reads a state": way(trigger="is_asked"),
    "a trigger that jumps to a state": way(trigger="to_closed"),
    "a trigger that asks for itself": refund(
        transitions=[["pay", "asked", "paid"], ["may_pay", "asked", "paid"]]
    ),
    "a trigger that is a dunder": way(trigger="__init__"),
    "a trigger that begins as a dunder": way(trigger="__init"),
    "a trigger with a dot": way(trigger=CALL),
    "a trigger that is a list": way(trigger=["pay"]),
    "a state that is a dunder": refund(states=["asked", "paid", "closed", "__dict__"]),
    "a state with markup": refund(states=["asked", "paid", "closed", "<script>alert(1)</script>"]),
    "a state that ends a drawing": refund(states=["asked", "paid", "closed", 'x" as s0\n[*] --> s0']),
    "a state that steers a terminal": refund(states=["asked", "paid", "closed", "\x1b[2J"]),
    "a state with a space at its end": refund(states=["asked", "paid", "closed", "paid "]),
    "a state with a NUL": refund(states=["asked", "paid", "closed", "a\x00b"]),
    "a state that looks like another": refund(states=["asked", "paid", "closed", "pаid"]),
    "a state that is everywhere": refund(states=["asked", "paid", "closed", "*"]),
    "a state that is null": refund(states=["asked", "paid", "closed", None]),
    "a name with a path": refund(name="../../etc/passwd"),
    "a name of a megabyte": refund(name="x" * 1_000_000),
    "an everywhere in a list": way(source=["*"]),
    "a destination everywhere": way(dest="*"),
    "a destination that is a list": way(dest=["paid"]),
}

_BOMBS = {
    "3,000 states": refund(states=_states(3_000), initial="s0", current="s0", transitions=[]),
    "3,000 states in a text": json.dumps(
        refund(states=_states(3_000), initial="s0", current="s0", transitions=[])
    ),
    "a million states": refund(states=["s"] * 1_000_000),
    "10,000 transitions": refund(transitions=[["pay", "asked", "paid"]] * 10_000),
    "a source of 100,000 states": way(source=["asked"] * 100_000),
    "transitions that multiply": refund(
        states=_states(256),
        initial="s0",
        current="s0",
        transitions=[[f"t{index}", "*", "="] for index in range(1_024)],
    ),
    "an object that contains itself": _object_in_itself(),
    "a billion values": _laughs(),
    "a deep object": _deep(500),
    "a deep text": '{"name":' * 100_000,
    "a number of 5,000 digits": '{"name": ' + "9" * 5_000 + "}",
    "metadata of a megabyte": refund(metadata={"a": "x" * 1_000_000}),
}

_DISGUISES = {
    "a key twice in a text": json.dumps(refund())[:-1] + ', "transitions": []}',
    "a key twice in a transition": '{"name": "a", "initial": "a", "states": ["a"], "transitions": '
    '[{"trigger": "t", "source": "a", "dest": "a", "dest": null}]}',
    "not a number": json.dumps(refund(metadata={"a": float("nan")})),
    "endless": json.dumps(refund(metadata={"a": float("inf")})),
    "behind a byte order mark": "\ufeff " + json.dumps(way(before=CALL)),
    "behind blank lines": "\n\r\t " + json.dumps(way(before=CALL)) + "\n",
    "with an escaped key": json.dumps(way(before=CALL)).replace("before", "\\u0062efore"),
    "a lone surrogate": json.dumps(refund(metadata={"a": "\ud800"})),
    "a NUL": refund(metadata={"a": "\x00"}),
    "an integer of 65 bits": refund(metadata={"a": 2**64}),
    "a key that is a number": refund(metadata={1: "a"}),
    "bytes": refund(metadata={"a": b"x"}),
    "a function": refund(metadata={"a": print}),
}

PAYLOADS: dict[str, Any] = {**_CALLBACKS, **_CONDITIONS, **_NAMES, **_BOMBS, **_DISGUISES}

SHARED = frozenset({"a billion values"})
"""What JSON cannot write, because it names one object many times: it never comes through a door."""
