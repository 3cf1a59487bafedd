"""Schema validation at the door, with compiled validators and one problem per request."""

from collections.abc import Iterable
from difflib import get_close_matches
from functools import cache

import jsonschema_rs

from memorywire import spec
from memorywire.model.errors import InvalidRequest, UnknownOperation
from memorywire.model.record import Json
from memorywire.model.where import Operator
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


def check(operation: str, payload: object) -> None:
    """Raise InvalidRequest, naming the field, unless the payload is a valid request."""
    if operation not in _KNOWN:
        raise UnknownOperation(
            "there is no such operation",
            field="operation",
            fix=f"use one of: {', '.join(_KNOWN)}",
        )
    strict.check(payload)
    errors = list(_validator(f"{operation}.request").iter_errors(payload))
    if errors:
        raise problem_of(errors, spec.schema(f"{operation}.request"))


@cache
def _validator(name: str) -> jsonschema_rs.Draft202012Validator:
    return jsonschema_rs.Draft202012Validator(spec.schema(name), retriever=spec.schema_at)


def problem_of(errors: list[jsonschema_rs.ValidationError], schema: Json) -> InvalidRequest:
    """The most telling error: an unknown field (it explains a missing one), else the deepest."""
    error = max(errors, key=lambda e: (e.kind.name == "additionalProperties", len(e.instance_path)))
    problem = _describe(error)
    if error.kind.name == "additionalProperties" and problem.fix is None:
        problem.fix = _spelling(error.kind.as_dict()["unexpected"][0], _property_names(schema))
    return problem


def _describe(error: jsonschema_rs.ValidationError) -> InvalidRequest:
    name = error.kind.name
    path = [str(step) for step in error.instance_path]
    if name in ("anyOf", "oneOf"):
        return _closest(error, path)
    if name in ("additionalProperties", "unevaluatedProperties"):
        return _unexpected(path, error.kind.as_dict()["unexpected"][0], error.schema_path)
    if name == "required":
        field = _dotted([*path, error.kind.as_dict()["property"]])
        return InvalidRequest(f"{field} is required", field=field)
    where = _dotted(path)
    if name == "falseSchema":
        return InvalidRequest(f"{where} is not allowed here", field=where, fix=f"use {path[-1].lower()}")
    return InvalidRequest(
        f"{where or 'the request'} {_SAYINGS.get(name, 'is not valid')}{_bound(error)}", field=where or None
    )


def _unexpected(path: list[str], name: str, schema_path: list[str | int]) -> InvalidRequest:
    """A key that is not known: an operator inside a condition, a field everywhere else."""
    field = _dotted([*path, name])
    if "operators" not in schema_path:
        return InvalidRequest(f"{field} is not a field here", field=field)
    known = ", ".join(Operator)
    fix = _spelling(name, list(Operator)) or f"use one of: {known}"
    return InvalidRequest(f"{field} is not an operator; there are {known}", field=field, fix=fix)


def _closest(error: jsonschema_rs.ValidationError, path: list[str]) -> InvalidRequest:
    """Of several alternatives, speak of the one the sender came nearest to: the deepest fault."""
    faults = [fault for branch in error.kind.as_dict().get("context", []) for fault in branch]
    deepest = max(faults, key=lambda fault: len(fault.instance_path), default=None)
    if deepest is not None and len(deepest.instance_path) > len(path):
        return _describe(deepest)
    missing = [fault.kind.as_dict()["property"] for fault in faults if fault.kind.name == "required"]
    if missing:
        names = [_dotted([*path, name]) for name in missing]
        return InvalidRequest(f"give {', '.join(names)}, or both", field=names[0])
    return InvalidRequest(f"{_dotted(path)} is none of the allowed forms", field=_dotted(path) or None)


def _bound(error: jsonschema_rs.ValidationError) -> str:
    match error.kind.as_dict():
        case {"limit": limit}:
            return f" (limit {limit})"
        case {"options": options}:
            return f": {', '.join(map(str, options))}"
        case {"types": types}:
            return f": expected {' or '.join(types)}"
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
