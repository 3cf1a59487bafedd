"""Our own compiled schemas find what a full implementation of JSON Schema finds, and tell the same of it."""

from collections.abc import Iterator
from typing import Any, TypeAlias

import jsonschema_rs
import pytest

from memorywire.model.record import MemoryType
from memorywire.wire import spec
from memorywire.wire.spec.keywords import Shape
from memorywire.wire.spec.shapes import Shapes
from memorywire_server.http.openapi import openapi, own_schemas
from tests.spec.schemas import validator

Faults: TypeAlias = list[tuple[str, list[Any]]]
Told: TypeAlias = tuple[Faults, tuple[str, list[Any]] | None]

HOME = "urn:test"
ALONE = Shapes({}.__getitem__)
OPERATIONS = sorted({name.partition(".")[0] for name in spec.schemas() if name.endswith(".request")})
ODD: tuple[Any, ...] = (
    None,
    True,
    0,
    -1,
    1.0,
    2.5,
    10**12,
    "",
    " \u2028\ufeff",
    "\x85",
    "a\n",
    "a.b",
    "x" * 5000,
)
NESTED: tuple[Any, ...] = (
    [],
    [1, 1.0],
    [1, True],
    ["a", "a"],
    [{"a": 1}, {"a": 1.0}],
    {},
    {"eq": 1, "like": 2},
)
STRANGE: tuple[Any, ...] = (
    *ODD,
    *NESTED,
    {"and": [{"a": {"in": []}}, {"b": {"gt": {}}}]},
    {"AND": [], "a..b": 1},
)


def _spoilt(document: Any) -> Iterator[Any]:
    """The document with one thing wrong, or perhaps not wrong, in every place."""
    yield from STRANGE
    if isinstance(document, dict):
        yield {**document, "unknown": 1}
        for name, inner in document.items():
            yield {other: value for other, value in document.items() if other != name}
            yield from ({**document, name: spoilt} for spoilt in _spoilt(inner))
    elif isinstance(document, list):
        yield [*document, *document]
        for at, inner in enumerate(document[:2]):
            yield from ([*document[:at], spoilt, *document[at + 1 :]] for spoilt in _spoilt(inner))


def _ours(shape: Shape, value: Any) -> Told:
    return _told([(fault.keyword, [*fault.path]) for fault in shape.faults(value)])


def _theirs(judge: jsonschema_rs.Draft202012Validator, value: Any) -> Told:
    return _told([(error.kind.name, error.instance_path) for error in judge.iter_errors(value)])


def _told(faults: Faults) -> Told:
    """All that is wrong, in any order, and the one fault that a problem would be about."""
    telling = max(faults, key=lambda one: (one[0] == "additionalProperties", len(one[1])), default=None)
    return sorted(faults, key=repr), telling


@pytest.mark.parametrize("operation", OPERATIONS)
def test_every_request_is_judged_as_json_schema_judges_it(operation: str) -> None:
    name = f"{operation}.request"
    requests = [{}, *(one["request"] for kind in ("valid", "invalid") for one in _examples(operation, kind))]
    judged = [spoilt for request in requests for spoilt in (request, *_spoilt(request))]
    for value in judged:
        assert _ours(spec.shape(name), value) == _theirs(validator(name), value), value
    assert {bool(spec.shape(name).faults(value)) for value in judged} == {True, False}


@pytest.mark.parametrize("operation", OPERATIONS)
def test_every_answer_is_judged_as_json_schema_judges_it(operation: str) -> None:
    name = f"{operation}.response"
    answers = [{}, *(one["response"] for one in _examples(operation, "valid") if "response" in one)]
    for value in [spoilt for answer in answers[:3] for spoilt in (answer, *_spoilt(answer))]:
        assert _ours(spec.shape(name), value) == _theirs(validator(name), value), value


def _examples(operation: str, kind: str) -> list[dict[str, Any]]:
    """What is wired is asked for without anything, so there is no example of asking."""
    return [] if operation == "capabilities" else [*spec.examples(operation, kind).values()]


@pytest.mark.parametrize("name", sorted(own_schemas()))
def test_the_schemas_of_the_http_door_are_judged_alike(name: str) -> None:
    address = f"{HOME}#/components/schemas/{name}"
    shape = Shapes({HOME: openapi()}.__getitem__).at(address)
    known = jsonschema_rs.Registry([(HOME, openapi())])
    judge = jsonschema_rs.Draft202012Validator({"$ref": address}, registry=known)
    for value in (*STRANGE, *({member: odd} for member in _members(name) for odd in STRANGE)):
        assert _ours(shape, value) == _theirs(judge, value), value


def _members(name: str) -> list[str]:
    return sorted(own_schemas()[name].get("properties", {}))


SMALL: dict[str, Any] = {
    "alternatives": {"anyOf": [{"required": ["a"]}, {"type": "string"}]},
    "exactly one": {"oneOf": [{"const": 1}, {"minimum": 0}]},
    "patterns beside names": {
        "properties": {"ab": {"maxLength": 1}},
        "patternProperties": {"^a": {"type": "string"}},
        "additionalProperties": {"type": "integer"},
    },
    "a constant inside": {"const": {"a": [1, {"b": None}]}},
    "options of every kind": {"enum": ["a", 1, None, [1.0], {"a": True}]},
    "one needs the other": {"dependentRequired": {"a": ["b", "c"]}},
    "more than": {"type": ["integer", "null"], "exclusiveMinimum": 0, "maximum": 3},
    "nothing": {"properties": {"a": False}, "additionalProperties": True},
}
VALUES: tuple[Any, ...] = (
    *STRANGE,
    *(
        {"a": 1},
        {"a": "x", "ab": "xy", "c": 1.5},
        {"ab": 1},
        {"a": [1, {"b": None}]},
        {"a": [True, {"b": 0}]},
    ),
    *([1], [1.0], [True], {"a": True}, {"a": 1, "b": 2}, 3, 4, 1e300),
)


@pytest.mark.parametrize("case", SMALL)
def test_a_keyword_means_what_json_schema_means(case: str) -> None:
    judge, shape = jsonschema_rs.Draft202012Validator(SMALL[case]), ALONE.of(SMALL[case], HOME)
    told = [_ours(shape, value) for value in VALUES]
    assert told == [_theirs(judge, value) for value in VALUES]
    assert {telling is None for _, telling in told} == {True, False}


def test_white_space_is_that_of_ecmascript_for_every_character() -> None:
    blank = spec.schema("common")["$defs"]["blank"]
    shape, judge = ALONE.of(blank, HOME), jsonschema_rs.Draft202012Validator(blank)
    characters = [chr(code) for code in range(0x10000) if not 0xD800 <= code < 0xE000]
    fitting = [one for one in characters if not shape.faults(one)]
    assert fitting == [one for one in characters if judge.is_valid(one)]
    assert 20 < len(fitting) < 100


def test_a_keyword_that_is_not_known_is_refused_when_the_schema_is_compiled() -> None:
    with pytest.raises(ValueError, match="multipleOf"):
        ALONE.of({"type": "number", "multipleOf": 3}, HOME)


@pytest.mark.parametrize(
    "pattern",
    [
        *(r"\$", r"^a\$$", "[$]", "^[^$]$", r"a\sb", r"^[a\s]$", r"^[^\s-]$", r"[\\s]"),
        *(r"^(?:ab|\u0024){2}$", "a(?!b)"),
    ],
)
def test_a_pattern_means_what_ecmascript_means(pattern: str) -> None:
    pieces = ("", "a", "b", "s", "$", "\\", "-", " ", "\n", "\u00a0", "\u001c")
    texts = {one + other + last for one in pieces for other in pieces for last in ("", "b", "$", "\n")}
    ours = ALONE.of({"pattern": pattern}, HOME)
    theirs = jsonschema_rs.Draft202012Validator({"pattern": pattern})
    judged = {text: (not ours.faults(text), theirs.is_valid(text)) for text in texts}
    assert [text for text, (one, other) in judged.items() if one is not other] == []
    assert {one for one, _ in judged.values()} == {True, False}


@pytest.mark.parametrize(
    "pattern",
    [
        *(
            "a.b",
            r"\d",
            r"\S",
            r"\w",
            r"\bx",
            r"\Z",
            "[]",
            "[^]",
            "[[a]",
            "[a",
            r"[a-\s]",
            r"[\s-z]",
            r"[\d]",
        ),
        *("a++", "a*?", "a{,2}", "(?P<n>a)", "(?i)a", r"(a)\1", r"\p{L}", "a}", "]"),
    ],
)
def test_a_pattern_that_is_not_translated_is_refused_when_the_schema_is_compiled(pattern: str) -> None:
    with pytest.raises(ValueError, match="not supported"):
        ALONE.of({"pattern": pattern}, HOME)
    with pytest.raises(ValueError, match="not supported"):
        ALONE.of({"patternProperties": {pattern: True}}, HOME)


def test_values_made_by_a_class_of_their_own_are_what_they_are_made_of() -> None:
    shape = ALONE.of({"type": "string", "enum": ["semantic"]}, HOME)
    assert not shape.faults(MemoryType.SEMANTIC)
    assert shape.faults(MemoryType.EPISODIC)
    with pytest.raises(TypeError):
        shape.faults(object())
