"""The OpenAPI document as JSON and as an HTML page."""

import json
import re
from collections.abc import Iterator, Mapping
from functools import cache
from html import escape
from importlib.resources import files

from starlette.requests import Request
from starlette.responses import Response

from memorywire.model.record import Json
from memorywire_server.http.answers import JSON, encode_json
from memorywire_server.http.openapi import openapi

_COMPONENTS = "#/components/schemas/"
_DATA = frozenset({"default", "enum", "const", "example", "examples", "info"})
"""Keywords whose values are data rather than schemas."""

_NAMED = frozenset({"properties", "patternProperties"})
"""Keywords whose values map names to schemas."""

_SHARED = "common"
"""The schema that contains only definitions."""


@cache
def published_openapi() -> dict[str, Json]:
    """Return the published document; cached and shared, so do not change it."""
    document = openapi()
    schemas = {f"{_COMPONENTS}{name}": schema for name, schema in document["components"]["schemas"].items()}
    inner = {pointer: _resolve(document, pointer) for pointer in _inner_pointers(document)}
    definitions = {
        f"{home}/$defs/{name}": definition
        for home, schema in schemas.items()
        for name, definition in schema.get("$defs", {}).items()
    }
    every = {**schemas, **inner, **definitions}
    aliases = {  # schemas that only refer to another one
        pointer: schema["$ref"]
        for pointer, schema in every.items()
        if "$ref" in schema and set(schema) <= {"$ref", "title", "description"}
    }
    names = {pointer: _name(pointer, aliases) for pointer in every}
    schemas = {names[pointer]: schema for pointer, schema in every.items() if pointer not in aliases}
    schemas.pop(_SHARED)
    result: dict[str, Json] = _rewrite(document, names)
    result["components"]["schemas"] = {
        name: _rewrite({key: value for key, value in schema.items() if key != "$defs"}, names)
        for name, schema in sorted(schemas.items())
    }
    return result


def _inner_pointers(value: Json) -> Iterator[str]:
    """Yield every reference to a part of a component rather than to a component."""
    if isinstance(value, list):
        for inner in value:
            yield from _inner_pointers(inner)
    elif isinstance(value, dict):
        reference = value.get("$ref")
        if isinstance(reference, str) and "/" in reference.partition(_COMPONENTS)[2]:
            yield reference
        for inner in value.values():
            yield from _inner_pointers(inner)


def _name(pointer: str, aliases: Mapping[str, str]) -> str:
    """Return the component name: of a shared definition its own, of others with their schema's as prefix."""
    while pointer in aliases:
        pointer = aliases[pointer]
    home, *inner = pointer.removeprefix(_COMPONENTS).split("/")
    if not inner:
        return home
    return inner[-1] if home == _SHARED else f"{home.partition('.')[0]}_{inner[-1]}"


def _resolve(document: Mapping[str, Json], pointer: str) -> Json:
    value: Json = document
    for step in pointer.removeprefix("#/").split("/"):
        value = value[step]
    return value


def _rewrite(value: Json, names: Mapping[str, str]) -> Json:
    """Rewrite references as references to components, in an `allOf` if they have sibling keywords."""
    if isinstance(value, list):
        return [_rewrite(inner, names) for inner in value]
    if not isinstance(value, dict):
        return value
    rest: dict[str, Json] = {}
    for key, inner in value.items():
        if key in _NAMED and isinstance(inner, dict):  # a property called `default` is a schema
            rest[key] = {name: _rewrite(schema, names) for name, schema in inner.items()}
        elif key != "title" or not isinstance(inner, str):  # titles become class names, and are not unique
            rest[key] = inner if key in _DATA else _rewrite(inner, names)
    if isinstance(rest.get("const"), bool):  # code generators turn it into invalid code
        rest = {**rest, "type": "boolean", "not": {"enum": [not rest.pop("const")]}}
    if rest.get("type") == "array":
        rest.setdefault("items", {})
    if rest.get("type") == "object" and not _NAMED & set(rest):
        rest.setdefault("additionalProperties", True)
    if "default" in rest:
        rest["description"] = (
            f"{rest.get('description', '')} Default: {encode_json(rest.pop('default')).decode()}."
        )
    reference = rest.pop("$ref", None)
    if reference is None:
        return rest
    pointer = {"$ref": f"{_COMPONENTS}{names[reference]}" if reference in names else reference}
    return {**rest, "allOf": [pointer]} if rest else pointer


async def get_openapi(request: Request) -> Response:
    return Response(_encode_openapi(), media_type=JSON)


@cache
def _encode_openapi() -> bytes:
    return encode_json(published_openapi())


async def get_docs(request: Request) -> Response:
    return Response(_build_page(), media_type="text/html; charset=utf-8")


async def get_css(request: Request) -> Response:
    style = (files(__package__) / "docs.css").read_bytes()
    return Response(style, media_type="text/css; charset=utf-8")


@cache
def _build_page() -> str:
    document = openapi()
    parts = [
        _build_section(method, path, operation)
        for path, operation in document["paths"].items()
        for method, operation in operation.items()
    ]
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8"><title>memorywire</title>'
        '<link rel="stylesheet" href="/docs.css"></head><body><main>'
        f"<h1>memorywire {escape(document['info']['version'])}</h1>"
        f"<p>{_format_text(document['info']['description'])}</p>"
        '<p>For programs: <a href="/openapi.json">/openapi.json</a></p>'
        f"{''.join(parts)}</main></body></html>"
    )


def _build_section(method: str, path: str, operation: Mapping[str, Json]) -> str:
    return (
        f"<section><h2><b>{escape(method.upper())}</b> <code>{escape(path)}</code></h2>"
        f"<p>{_format_text(operation['summary'])}</p>{''.join(_build_details(operation))}</section>"
    )


def _build_details(operation: Mapping[str, Json]) -> Iterator[str]:
    contents = operation.get("requestBody", {}).get("content", {}).values()
    rows = [
        _build_row(one["name"], one["in"], one["description"], one["required"])
        for one in operation.get("parameters", ())
    ]
    for content in contents:
        schema = content["schema"]
        if "$ref" in schema:
            schema = openapi()["components"]["schemas"][schema["$ref"].rpartition("/")[2]]
        required = schema.get("required", ())
        for name, field in schema.get("properties", {}).items():
            rows.append(_build_row(name, "body", field.get("description", ""), name in required))
    if rows:
        yield f"<table><tr><th>field</th><th>in</th><th>meaning</th></tr>{''.join(rows)}</table>"
    for content in contents:
        for name, example in content.get("examples", {}).items():
            text = escape(json.dumps(example["value"], ensure_ascii=False, indent=2))
            title = _format_text(example.get("summary", name))
            yield f"<details><summary>{title}</summary><pre>{text}</pre></details>"
    yield f"<p class=answers>Answers: {', '.join(escape(status) for status in operation['responses'])}</p>"


def _build_row(name: str, place: str, meaning: str, is_required: bool) -> str:
    mark = " *" if is_required else ""
    meaning = _format_text(meaning)
    return f"<tr><td><code>{escape(name)}</code>{mark}</td><td>{place}</td><td>{meaning}</td></tr>"


def _format_text(text: str) -> str:
    """Return the text as HTML, with `code` between backticks."""
    return re.sub(r"`([^`]+)`", r"<code>\1</code>", escape(text))
