"""Validates requests by their schemas and describes the most telling problem."""

from collections.abc import Iterable, Sequence
from difflib import get_close_matches
from typing import TYPE_CHECKING

from msgspec.structs import replace

from memorywire.model.errors import InvalidRequest, UnknownOperation
from memorywire.model.grant import MARK as GRANT
from memorywire.model.grant import is_mark as is_grant_mark
from memorywire.model.kv import MARK, is_mark
from memorywire.model.query import Operator
from memorywire.model.record import Json
from memorywire.wire import spec, strict
from memorywire.wire.codec import OPERATIONS
from memorywire.wire.filters import in_seconds

if TYPE_CHECKING:
    from memorywire.wire.spec.keywords import Fault

_ALIKE = 0.7  # "user" is taken for user_id, "tenant" is not taken for content

_SAYINGS = {
    "type": "has the wrong type",
    "enum": "is not one of the allowed values",
    "minLength": "is too short",
    "maxLength": "is too long",
    "minimum": "is too small",
    "maximum": "is too large",
    "exclusiveMinimum": "must be more than",
    "minItems": "has too few items",
    "maxItems": "has too many items",
    "uniqueItems": "has an item twice",
    "minProperties": "has too few properties",
    "maxProperties": "has too many properties",
    "pattern": "has a character that is not allowed",
    "not": "must not be blank",
}
_LIMITS = frozenset(
    f"{end}{what}" for end in ("min", "max") for what in ("imum", "Length", "Items", "Properties")
)
_AT_LEAST = frozenset({"minLength", "minItems", "minProperties"})
_EMPTY = "must not be empty"
_TYPES = ("null", "boolean", "integer", "number", "string", "array", "object")
_UNKNOWN = "additionalProperties"
_SECONDS = "/$defs/seconds"


def check(operation: str, payload: Json) -> None:
    """Raise InvalidRequest, naming the field, unless the payload is a valid request."""
    if operation not in OPERATIONS:
        raise UnknownOperation(
            "there is no such operation",
            field="operation",
            fix=f"use one of: {', '.join(OPERATIONS)}",
        )
    strict.check(payload)
    name = f"{operation}.request"
    faults = spec.shape(name).faults(payload)
    if faults:
        raise problem_of(faults, spec.schema(name))
    if operation == "remember" and "metadata" in payload:
        _refuse_marks(payload["metadata"])


def _refuse_marks(metadata: Json) -> None:
    marks = ((MARK, is_mark, "key-value entries", "set the key"), (GRANT, is_grant_mark, "grants", "share"))
    for name, is_reserved, owner, fix in marks:
        if is_reserved(metadata.get(name)):
            field, fix = f"metadata.{name}", f"{fix}, or give the metadata another name"
            raise InvalidRequest(f"{field} is reserved for {owner}", field=field, fix=fix)


def check_query(query: Json) -> None:
    """Raise InvalidRequest for a query that a recall would refuse."""
    check("recall", {"agent_id": "agent", "query": query})


def is_blank(text: str) -> bool:
    """Whether the text has no visible character."""
    return not spec.definition("blank").faults(text)


def problem_of(faults: "Sequence[Fault]", schema: Json) -> InvalidRequest:
    """Return the error of an unknown field, which can explain a missing one, else of the deepest fault."""
    fault = max(faults, key=lambda one: (one.keyword == _UNKNOWN, len(one.path)))
    problem = _describe(fault)
    if fault.keyword != _UNKNOWN and problem.field is not None:
        problem.fix = problem.fix or _meaning(problem.field, schema)
    return problem


def _describe(fault: "Fault") -> InvalidRequest:
    path = [str(step) for step in fault.path]
    where = _join_path(path)
    match fault.keyword:
        case "anyOf" | "oneOf":
            return _closest(fault, path)
        case "additionalProperties":
            return _describe_unknown(path, fault)
        case "required":
            field = _join_path([*path, *fault.names])
            return InvalidRequest(f"{field} is required", field=field)
        case "falseSchema":
            return InvalidRequest(f"{where} is not allowed here", field=where, fix=f"use {path[-1].lower()}")
        case "not" if fault.schema["not"].get("$ref", "").endswith(_SECONDS):
            return in_seconds(where)
    message = _EMPTY if _is_emptiness(fault) else _SAYINGS.get(fault.keyword, "is not valid")
    return InvalidRequest(f"{where or 'the request'} {message}{_format_limit(fault)}", field=where or None)


def _describe_unknown(path: list[str], fault: "Fault") -> InvalidRequest:
    """Return the error of an unknown key: an operator inside a condition, a field everywhere else."""
    name, fields = fault.names[0], fault.schema.get("properties", {})
    if fields.keys() != {*Operator}:
        return unknown_field(name, list(fields), path)
    field = _join_path([*path, name])
    names = ", ".join(Operator)
    fix = _spelling(name, list(Operator)) or f"use one of: {names}"
    return InvalidRequest(f"{field} is not an operator; there are {names}", field=field, fix=fix)


def unknown_field(name: str, fields: list[str], path: Sequence[str] = ()) -> InvalidRequest:
    """Return the error of an unknown field, with the known field of a similar name."""
    field = _join_path([*path, name])
    fix = f"there are: {', '.join(fields)}" if fields else None
    return InvalidRequest(f"unknown field {field}", field=field, fix=_spelling(name, fields) or fix)


def _closest(fault: "Fault", path: list[str]) -> InvalidRequest:
    """Return the error of the closest alternative: the one with the deepest fault."""
    faults = [inner for branch in fault.branches for inner in branch]
    deepest = max(faults, key=lambda inner: len(inner.path), default=None)
    if deepest is not None and deepest.path:
        return _describe(replace(deepest, path=(*fault.path, *deepest.path)))
    missing = [name for inner in faults if inner.keyword == "required" for name in inner.names]
    if missing:
        names = [_join_path([*path, name]) for name in missing]
        return InvalidRequest(f"give {', '.join(names)}, or both", field=names[0])
    return InvalidRequest(f"{_join_path(path)} has none of the allowed forms", field=_join_path(path) or None)


def _format_limit(fault: "Fault") -> str:
    bound = fault.schema[fault.keyword]
    if _is_emptiness(fault):
        return ""
    if fault.keyword in _LIMITS:
        return f" (limit {bound})"
    if fault.keyword == "exclusiveMinimum":
        return f" {bound}"
    if fault.keyword == "enum":
        return f": {', '.join(map(str, bound))}"
    if fault.keyword == "type":
        return (
            f": expected {bound if isinstance(bound, str) else ' or '.join(sorted(bound, key=_TYPES.index))}"
        )
    return ""


def _spelling(unknown: str, fields: list[str]) -> str | None:
    near = get_close_matches(unknown, fields, n=1, cutoff=_ALIKE)
    return f"did you mean {near[0]}?" if near else None


def _meaning(field: str, schema: Json) -> str | None:
    """Return the schema's description of a field of the request, or of the nearest field around it."""
    shape, steps = None, field.split(".")
    for depth, step in enumerate(steps, start=1):
        schema = schema.get("properties", {}).get(step, {})
        if "description" in schema:
            shape = f"{_join_path(steps[:depth])}: {schema['description']}"
    return shape


def _is_emptiness(fault: "Fault") -> bool:
    """Whether an empty value was given where at least one element is needed."""
    return fault.keyword in _AT_LEAST and fault.schema[fault.keyword] == 1


def _join_path(steps: Iterable[str]) -> str:
    return ".".join(steps)
