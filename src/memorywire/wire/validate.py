"""Schema validation at the door, with compiled validators and one problem per request."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from difflib import get_close_matches

from memorywire import spec
from memorywire.model.errors import InvalidRequest, UnknownOperation
from memorywire.model.kv import MARK, is_mark
from memorywire.model.record import Json
from memorywire.model.where import Operator
from memorywire.spec.keywords import Fault
from memorywire.wire import strict

OPERATIONS = ("remember", "recall", "forget", "merge", "expire")
READS = ("get", "list", "history", "undo", "changes", "capabilities")
OVERSIGHT = (
    *("proposals", "proposal", "decide", "why"),
    *("rules", "set_rules", "test_rule", "activate_rule", "revert_rule"),
    *("agents", "facets", "recalls", "feedback"),
)
"""For people: a door that serves agents need not offer these."""

_KNOWN = OPERATIONS + READS + OVERSIGHT

_ALIKE = 0.7  # "user" is taken for user_id, "tenant" is not taken for content

_SAYINGS = {
    "type": "has the wrong type",
    "enum": "is not one of the allowed values",
    "minLength": "is too short",
    "maxLength": "is too long",
    "minimum": "is too small",
    "maximum": "is too large",
    "exclusiveMinimum": "is too small",
    "minItems": "has too few items",
    "maxItems": "has too many items",
    "uniqueItems": "has an item twice",
    "minProperties": "must not be empty",
    "maxProperties": "has too many properties",
    "pattern": "has a character that is not allowed",
    "not": "must not be blank",
}
_LIMITS = frozenset(
    f"{end}{what}" for end in ("min", "max") for what in ("imum", "Length", "Items", "Properties")
) | {"exclusiveMinimum"}
_TYPES = ("null", "boolean", "integer", "number", "string", "array", "object")
_UNKNOWN = "additionalProperties"


def check(operation: str, payload: Json) -> None:
    """Raise InvalidRequest, naming the field, unless the payload is a valid request."""
    if operation not in _KNOWN:
        raise UnknownOperation(
            "there is no such operation",
            field="operation",
            fix=f"use one of: {', '.join(_KNOWN)}",
        )
    strict.check(payload)
    name = f"{operation}.request"
    faults = spec.shape(name).faults(payload)
    if faults:
        raise problem_of(faults, spec.schema(name))
    if operation == "remember" and is_mark(payload.get("metadata", {}).get(MARK)):
        raise InvalidRequest(
            "metadata that says which key a memory is the value of is written with the key",
            field=f"metadata.{MARK}",
            fix="set the key, or give the metadata another name",
        )


def problem_of(faults: Sequence[Fault], schema: Json) -> InvalidRequest:
    """The most telling fault: an unknown field (it explains a missing one), else the deepest."""
    fault = max(faults, key=lambda one: (one.keyword == _UNKNOWN, len(one.path)))
    problem = _describe(fault)
    if fault.keyword == _UNKNOWN and problem.fix is None:
        problem.fix = _spelling(fault.names[0], _property_names(schema))
    return problem


def _describe(fault: Fault) -> InvalidRequest:
    path = [str(step) for step in fault.path]
    where = _dotted(path)
    match fault.keyword:
        case "anyOf" | "oneOf":
            return _closest(fault, path)
        case "additionalProperties":
            return _unexpected(path, fault)
        case "required":
            field = _dotted([*path, *fault.names])
            return InvalidRequest(f"{field} is required", field=field)
        case "falseSchema":
            return InvalidRequest(f"{where} is not allowed here", field=where, fix=f"use {path[-1].lower()}")
    said = _SAYINGS.get(fault.keyword, "is not valid")
    return InvalidRequest(f"{where or 'the request'} {said}{_bound(fault)}", field=where or None)


def _unexpected(path: list[str], fault: Fault) -> InvalidRequest:
    """A key that is not known: an operator inside a condition, a field everywhere else."""
    name = fault.names[0]
    field = _dotted([*path, name])
    if fault.schema.get("properties", {}).keys() != {*Operator}:
        return InvalidRequest(f"{field} is not a field here", field=field)
    known = ", ".join(Operator)
    fix = _spelling(name, list(Operator)) or f"use one of: {known}"
    return InvalidRequest(f"{field} is not an operator; there are {known}", field=field, fix=fix)


def _closest(fault: Fault, path: list[str]) -> InvalidRequest:
    """Of several alternatives, speak of the one the sender came nearest to: the deepest fault."""
    faults = [inner for branch in fault.branches for inner in branch]
    deepest = max(faults, key=lambda inner: len(inner.path), default=None)
    if deepest is not None and deepest.path:
        return _describe(replace(deepest, path=(*fault.path, *deepest.path)))
    missing = [name for inner in faults if inner.keyword == "required" for name in inner.names]
    if missing:
        names = [_dotted([*path, name]) for name in missing]
        return InvalidRequest(f"give {', '.join(names)}, or both", field=names[0])
    return InvalidRequest(f"{_dotted(path)} is none of the allowed forms", field=_dotted(path) or None)


def _bound(fault: Fault) -> str:
    said = fault.schema[fault.keyword]
    if fault.keyword in _LIMITS:
        return f" (limit {said})"
    if fault.keyword == "enum":
        return f": {', '.join(map(str, said))}"
    if fault.keyword == "type":
        return f": expected {said if isinstance(said, str) else ' or '.join(sorted(said, key=_TYPES.index))}"
    return ""


def _spelling(unknown: str, known: list[str]) -> str | None:
    near = get_close_matches(unknown, known, n=1, cutoff=_ALIKE)
    return f"did you mean {near[0]}?" if near else None


def _property_names(schema: Json) -> list[str]:
    if isinstance(schema, list):
        return [name for part in schema for name in _property_names(part)]
    if not isinstance(schema, dict):
        return []
    inner = [name for part in schema.values() for name in _property_names(part)]
    return [*schema.get("properties", {}), *inner]


def _dotted(steps: Iterable[str]) -> str:
    return ".".join(steps)
