"""The description as it is published: the same schemas, arranged so that generators of clients can read them.

Generators follow references to components alone, and lose what stands beside a reference. They name classes
after titles, take a field with a default for one that is required, and an object without fields for empty.
"""

from collections.abc import Iterator, Mapping
from functools import cache

from memorywire.model.record import Json
from memorywire.server.http.answers import encoded
from memorywire.server.http.openapi import openapi

_COMPONENTS = "#/components/schemas/"
_DATA = frozenset({"default", "enum", "const", "example", "examples", "info"})
"""Members that hold values instead of schemas."""

_NAMED = frozenset({"properties", "patternProperties"})
"""Members that hold schemas by names."""

_SHARED = "common"
"""The schema that consists of definitions alone."""


@cache
def published_openapi() -> dict[str, Json]:
    """The whole document; shared between callers, so read only."""
    document = openapi()
    schemas = {f"{_COMPONENTS}{name}": schema for name, schema in document["components"]["schemas"].items()}
    inner = {pointer: _found(document, pointer) for pointer in _inner_pointers(document)}
    defined = {
        f"{home}/$defs/{name}": definition
        for home, schema in schemas.items()
        for name, definition in schema.get("$defs", {}).items()
    }
    every = {**schemas, **inner, **defined}
    aliases = {pointer: schema["$ref"] for pointer, schema in every.items() if _is_alias(schema)}
    names = {pointer: _name(_end(pointer, aliases)) for pointer in every}
    kept = {names[pointer]: schema for pointer, schema in every.items() if pointer not in aliases}
    kept.pop(_SHARED)
    arranged: dict[str, Json] = _arranged(document, names)
    arranged["components"]["schemas"] = {
        name: _arranged({key: value for key, value in schema.items() if key != "$defs"}, names)
        for name, schema in sorted(kept.items())
    }
    return arranged


def _is_alias(schema: Mapping[str, Json]) -> bool:
    """Whether the schema is another one under a further name."""
    return "$ref" in schema and set(schema) <= {"$ref", "title", "description"}


def _end(pointer: str, aliases: Mapping[str, str]) -> str:
    while pointer in aliases:
        pointer = aliases[pointer]
    return pointer


def _inner_pointers(value: Json) -> Iterator[str]:
    """Every reference that leads into a component instead of to one."""
    if isinstance(value, list):
        for inner in value:
            yield from _inner_pointers(inner)
    elif isinstance(value, dict):
        reference = value.get("$ref")
        if isinstance(reference, str) and "/" in reference.partition(_COMPONENTS)[2]:
            yield reference
        for inner in value.values():
            yield from _inner_pointers(inner)


def _name(pointer: str) -> str:
    """The name as a component: of a shared definition its own, of others with the schema they are in."""
    home, *inner = pointer.removeprefix(_COMPONENTS).split("/")
    if not inner:
        return home
    return inner[-1] if home == _SHARED else f"{home.partition('.')[0]}_{inner[-1]}"


def _found(document: Mapping[str, Json], pointer: str) -> Json:
    found: Json = document
    for step in pointer.removeprefix("#/").split("/"):
        found = found[step]
    return found


def _arranged(value: Json, names: Mapping[str, str]) -> Json:
    """The value with references to components, each alone or in an `allOf` with what stood beside it."""
    if isinstance(value, list):
        return [_arranged(inner, names) for inner in value]
    if not isinstance(value, dict):
        return value
    rest = {key: _member(key, inner, names) for key, inner in value.items() if not _is_left_out(key, inner)}
    if isinstance(rest.get("const"), bool):  # a generator writes code from it that cannot be parsed
        rest = {**rest, "type": "boolean", "not": {"enum": [not rest.pop("const")]}}
    if rest.get("type") == "array":
        rest.setdefault("items", {})
    if rest.get("type") == "object" and not _NAMED & set(rest):
        rest.setdefault("additionalProperties", True)
    if "default" in rest:
        rest["description"] = (
            f"{rest.get('description', '')} Default: {encoded(rest.pop('default')).decode()}."
        )
    reference = rest.pop("$ref", None)
    if reference is None:
        return rest
    pointed = {"$ref": f"{_COMPONENTS}{names[reference]}" if reference in names else reference}
    return {**rest, "allOf": [pointed]} if rest else pointed


def _member(key: str, value: Json, names: Mapping[str, str]) -> Json:
    if key in _NAMED and isinstance(value, dict):  # what is called `default` in there is a schema
        return {name: _arranged(inner, names) for name, inner in value.items()}
    return value if key in _DATA else _arranged(value, names)


def _is_left_out(key: str, value: Json) -> bool:
    """Titles become names of classes, and are not unique."""
    return key == "title" and isinstance(value, str)
