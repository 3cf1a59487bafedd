"""Parses definitions with an allow-list: refuses everything not known to be harmless, with its position."""

import json
import math
import re
from collections.abc import Iterable, Mapping

from msgspec import Struct
from msgspec.structs import replace

from memorywire.model.errors import InvalidRequest
from memorywire.model.record import Json
from memorywire.model.requests import METADATA_BYTES_MAX
from memorywire.procedures.definition import Definition, Transition

NAME_MAX = 64
_NAME = re.compile(r"[A-Za-z0-9_-]([A-Za-z0-9_ -]{0,62}[A-Za-z0-9_-])?")
_FACT = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,63}")
_DEPTH_MAX = 16
_VALUES_MAX = 4096


def fault(detail: str, place: str, fix: str) -> InvalidRequest:
    return InvalidRequest(detail, field=place, fix=fix)


def name(value: Json, place: str) -> str:
    """Validate the name of a state, a trigger or a procedure; errors do not repeat the value."""
    if not isinstance(value, str):
        raise fault("a name must be text", place, "give a name between quotes")
    if not _NAME.fullmatch(value):
        detail = "letters of ASCII, digits, spaces, `_` or `-`, no space at its ends"
        raise fault(f"a name must have 1 to {NAME_MAX} {detail}", place, "rename it")
    return _without_dunder(value, place)


def fact(value: Json, place: str) -> str:
    """Validate the name of a fact: an identifier that is looked up only among the caller's facts."""
    if not isinstance(value, str) or not _FACT.fullmatch(value):
        raise fault(
            "a condition is the bare name of a fact: letters of ASCII, digits and `_`, no dots, no calls",
            place,
            "name a fact, such as `approved`, and say whether it holds when you trigger",
        )
    return _without_dunder(value, place)


def shown(key: object, place: str) -> str:
    """Return the path of a key in an object, or the path of the object if the key must not be shown."""
    return f"{place}.{key}" if isinstance(key, str) and _NAME.fullmatch(key) else place


def _without_dunder(value: str, place: str) -> str:
    if value.startswith("__") or value.endswith("__"):
        raise fault("a name must not begin or end with two underscores", place, "rename it")
    return value


def json_object(text: str) -> Mapping[str, Json] | None:
    """Parse a text as a JSON object; returns None for any other text."""
    bare = text.strip("\ufeff \t\r\n")
    if not bare.startswith("{"):
        return None
    try:
        document: dict[str, Json] = json.loads(bare, object_pairs_hook=_build_object)
    except RecursionError as error:
        raise fault(f"nested deeper than {_DEPTH_MAX}", "content", "make it flatter") from error
    except json.JSONDecodeError:
        return None
    except ValueError as error:  # an integer with more digits than Python parses
        raise fault("an integer beyond 64 bits", "content", "write it as text") from error
    return document


def _build_object(pairs: list[tuple[str, Json]]) -> dict[str, Json]:
    members = dict(pairs)
    if len(members) < len(pairs):
        detail = "the same key appears twice in one object, and readers differ in which one counts"
        raise fault(detail, "content", "write every key once")
    return members


def plain(metadata: Json, place: str) -> dict[str, Json]:
    """Validate metadata: a JSON object of limited size and depth that does not contain itself."""
    if not isinstance(metadata, dict):
        raise fault("metadata must be an object", place, "write {} or leave it out")
    _walk(metadata, place)
    size = len(json.dumps(metadata, ensure_ascii=False, separators=(",", ":")).encode())
    if size > METADATA_BYTES_MAX:
        detail = f"the metadata is {size} bytes of JSON, {METADATA_BYTES_MAX} are allowed"
        raise fault(detail, place, "store large values elsewhere and keep a reference")
    return metadata


def _walk(root: dict[str, Json], place: str) -> None:
    """Validate every value, once per reference; the limits stop a walk that would otherwise not end."""
    pending: list[tuple[Json, str, tuple[int, ...]]] = [(root, place, ())]
    depth = 0
    while pending:
        value, at, above = pending.pop()
        depth += 1
        if depth > _VALUES_MAX:
            raise fault(f"more than {_VALUES_MAX} values", place, "keep large things elsewhere")
        if id(value) in above:
            raise fault("an object that contains itself", at, "refer to it by name")
        if len(above) >= _DEPTH_MAX:
            raise fault(f"nested deeper than {_DEPTH_MAX}", place, "make it flatter")
        pending += [(inner, where, (*above, id(value))) for inner, where in _inside(value, at)]


def _inside(value: Json, at: str) -> list[tuple[Json, str]]:
    if isinstance(value, list):
        return [(inner, f"{at}[{index}]") for index, inner in enumerate(value)]
    if isinstance(value, dict):
        if not all(isinstance(key, str) for key in value):
            raise fault("a key must be text", at, "write keys between quotes")
        return [part for key, inner in value.items() for part in ((key, at), (inner, shown(key, at)))]
    if isinstance(value, str):
        is_sound = not re.search("[\x00\ud800-\udfff]", value)  # no NUL, no lone surrogates
    elif isinstance(value, int):
        is_sound = -(2**63) <= value <= 2**63 - 1
    else:
        is_sound = value is None or (isinstance(value, float) and math.isfinite(value))
    if not is_sound:
        raise fault("not a JSON value that every store can keep", at, "write it as text")
    return []


STATES_MAX = 256
TRANSITIONS_MAX = 1024
FACTS_MAX = 32

_KEYS = ("name", "initial", "states", "transitions", "current", "metadata")
_NEEDED = ("name", "initial", "states", "transitions")
_TRANSITION = ("trigger", "source", "dest", "conditions", "unless")  # also the order in a list
_BOUND = frozenset({"state", "trigger", "may_trigger"})
"""Names of attributes that pytransitions defines itself."""

_TAKEN = (
    "`state`, `trigger`, is_STATE, to_STATE, may_TRIGGER and, for a condition, the name of a trigger "
    "have a meaning of their own in a state machine"
)
_EVERY = "*"
_SAME = "="
_MACHINE = frozenset({"states", "transitions", "initial", "current"})


def check(content: Json) -> None:
    """Raise InvalidRequest, with the place, unless the content is text, notes or a valid definition.

    An object with a key that only a state machine has is a definition; any other object is notes, which are
    never run.
    """
    document = object_of(content)
    if document is not None and not _MACHINE.isdisjoint(document):
        _definition(document)


def parse(content: Json) -> Definition:
    """Parse the definition in a procedural memory's content, given as an object or as JSON text."""
    document = object_of(content)
    if document is None:
        fix = f"write an object with {', '.join(_NEEDED)}"
        raise fault("this memory is words, not the definition of a procedure", "content", fix)
    return _definition(document)


def object_of(content: Json) -> Mapping[str, Json] | None:
    """Return the content as an object, parsed if it is JSON text; None for other text."""
    return json_object(content) if isinstance(content, str) else _object(content, "content")


class _Row(Struct, frozen=True, kw_only=True):
    """A transition as written: an object, or a list in the order of `_TRANSITION`."""

    place: str
    positional: bool
    parts: Mapping[str, Json]

    def at(self, key: str) -> str:
        return f"{self.place}[{_TRANSITION.index(key)}]" if self.positional else f"{self.place}.{key}"


def _definition(document: Mapping[str, Json]) -> Definition:
    _check_keys(document, _KEYS, _NEEDED, "content")
    states = _states(document["states"])
    initial = _state(document["initial"], states, "content.initial")
    current = document.get("current")
    return Definition(
        name=name(document["name"], "content.name"),
        initial=initial,
        states=tuple(states),
        transitions=_read_transitions(document["transitions"], states),
        current=initial if current is None else _state(current, states, "content.current"),
        metadata=plain(document.get("metadata", {}), "content.metadata"),
    )


def _states(value: Json) -> dict[str, None]:
    """Validate the states; returns their names in order, as keys for fast lookup."""
    items = _list(value, "content.states", STATES_MAX)
    if not items:
        raise fault("a procedure needs a state", "content.states", "name at least one")
    states: dict[str, None] = {}
    for index, item in enumerate(items):
        place = f"content.states[{index}]"
        if isinstance(item, Mapping):
            _check_keys(item, ("name",), ("name",), place)
            item, place = item["name"], f"{place}.name"
        state = name(item, place)
        if state in states:
            raise fault(f"the state {state!r} is there twice", place, "write every state once")
        states[state] = None
    return states


def _read_transitions(value: Json, states: Mapping[str, None]) -> tuple[Transition, ...]:
    items = _list(value, "content.transitions", TRANSITIONS_MAX)
    rows = [_row(item, f"content.transitions[{index}]") for index, item in enumerate(items)]
    transitions: dict[Transition, None] = {}
    for row in rows:
        for way in _expand(row, states, room=TRANSITIONS_MAX - len(transitions)):
            if way in transitions:
                raise fault("the same transition is there twice", row.place, "write it once")
            transitions[way] = None
    # pytransitions defines some names itself: triggers and facts with these names would conflict.
    triggers = {way.trigger for way in transitions}
    bound_names = _BOUND | {f"{prefix}_{state}" for state in states for prefix in ("is", "to")}
    bound_names |= {f"may_{trigger}" for trigger in triggers}
    for row in rows:
        if row.parts["trigger"] in bound_names:
            raise fault(_TAKEN, row.at("trigger"), "choose another name")
        for key in ("conditions", "unless"):
            if not (bound_names | triggers).isdisjoint(_names(row, key)):
                raise fault(_TAKEN, row.at(key), "choose another name")
    return tuple(transitions)


def _row(item: Json, place: str) -> _Row:
    if isinstance(item, list):
        if not 3 <= len(item) <= len(_TRANSITION):
            detail = "a transition in a list is trigger, source, dest and perhaps conditions and unless"
            raise fault(detail, place, 'write ["trigger", "source", "dest"]')
        return _Row(place=place, positional=True, parts=dict(zip(_TRANSITION, item, strict=False)))
    parts = _object(item, place)
    _check_keys(parts, _TRANSITION, ("trigger", "source", "dest"), place)
    return _Row(place=place, positional=False, parts=parts)


def _expand(row: _Row, states: Mapping[str, None], room: int) -> list[Transition]:
    """Expand a row to one transition per source; raises if there are more than `room`."""
    trigger = name(row.parts["trigger"], row.at("trigger"))
    sources = _sources(row, states)
    if len(sources) > room:
        detail = f"more than {TRANSITIONS_MAX} transitions once every source stands alone"
        raise fault(detail, row.place, "split the procedure into smaller ones")
    dest = row.parts["dest"]
    if dest is not None and dest != _SAME:
        dest = _state(dest, states, row.at("dest"))
    conditions, unless = (_names(row, key) for key in ("conditions", "unless"))
    _refuse_twice([*conditions, *unless], row.at("unless" if unless else "conditions"))
    way = Transition(trigger=trigger, source="", dest=dest, conditions=conditions, unless=unless)
    return [replace(way, source=one, dest=one if dest == _SAME else dest) for one in sources]


def _sources(row: _Row, states: Mapping[str, None]) -> list[str]:
    value, place = row.parts["source"], row.at("source")
    if value == _EVERY:
        return list(states)
    if not isinstance(value, list):
        return [_state(value, states, place)]
    if not value:
        raise fault("a transition without a source never happens", place, "name a state, or write `*`")
    items = _list(value, place, STATES_MAX)
    sources = [_state(item, states, f"{place}[{index}]") for index, item in enumerate(items)]
    _refuse_twice(sources, place)
    return sources


def _names(row: _Row, key: str) -> tuple[str, ...]:
    value, place = row.parts.get(key), row.at(key)
    if value is None:
        return ()
    if isinstance(value, str):
        return (fact(value, place),)
    items = _list(value, place, FACTS_MAX)
    return tuple(fact(item, f"{place}[{index}]") for index, item in enumerate(items))


def _state(value: Json, states: Mapping[str, None], place: str) -> str:
    state = name(value, place)
    if state not in states:
        raise fault(f"there is no state {state!r}", place, "add it to states, or name one of them")
    return state


def _check_keys(
    members: Mapping[str, Json], keys: tuple[str, ...], least_keys: Iterable[str], place: str
) -> None:
    for key in members:
        if key not in keys:
            fix = f"remove it: here are only {', '.join(keys)}, no code is called, and words are sent as text"
            raise fault("a key that a procedure does not have", shown(key, place), fix)
    for key in least_keys:
        if key not in members:
            raise fault(f"{key} is required", f"{place}.{key}", "add it")


def _object(value: Json, place: str) -> Mapping[str, Json]:
    if not isinstance(value, Mapping):
        raise fault("must be an object", place, "write {...}")
    return value


def _list(value: Json, place: str, most: int) -> list[Json]:
    if not isinstance(value, list):
        raise fault("must be a list", place, "write [...]")
    if len(value) > most:
        raise fault(f"has {len(value)} items, {most} are allowed", place, "use fewer, or split the procedure")
    return value


def _refuse_twice(names: list[str], place: str) -> None:
    if len(set(names)) < len(names):
        raise fault("the same name is there twice", place, "write it once")
