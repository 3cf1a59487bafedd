"""The description of the door, for programs and as a page for people; everything is served from here."""

import json
from collections.abc import Iterator, Mapping
from functools import cache
from html import escape
from importlib.resources import files

from starlette.requests import Request
from starlette.responses import Response

from memorywire.model.record import Json
from memorywire.server.http.answers import JSON, encoded
from memorywire.server.http.handlers import Endpoint
from memorywire.server.http.openapi import openapi
from memorywire.server.http.openapi_published import published_openapi


def openapi_endpoint() -> Endpoint:
    async def document(request: Request) -> Response:
        return Response(_document(), media_type=JSON)

    return document


@cache
def _document() -> bytes:
    return encoded(published_openapi())


def docs_endpoint() -> Endpoint:
    async def docs(request: Request) -> Response:
        return Response(_page(), media_type="text/html; charset=utf-8")

    return docs


def css_endpoint() -> Endpoint:
    async def css(request: Request) -> Response:
        style = (files(__package__) / "docs.css").read_bytes()
        return Response(style, media_type="text/css; charset=utf-8")

    return css


@cache
def _page() -> str:
    document = openapi()
    parts = [
        _route(method, path, said)
        for path, said in document["paths"].items()
        for method, said in said.items()
    ]
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8"><title>memorywire</title>'
        '<link rel="stylesheet" href="/docs.css"></head><body><main>'
        f"<h1>memorywire {escape(document['info']['version'])}</h1>"
        f"<p>{escape(document['info']['description'])}</p>"
        '<p>For programs: <a href="/openapi.json">/openapi.json</a></p>'
        f"{''.join(parts)}</main></body></html>"
    )


def _route(method: str, path: str, said: Mapping[str, Json]) -> str:
    return (
        f"<section><h2><b>{escape(method.upper())}</b> <code>{escape(path)}</code></h2>"
        f"<p>{escape(said['summary'])}</p>{''.join(_details(said))}</section>"
    )


def _details(said: Mapping[str, Json]) -> Iterator[str]:
    rows = [*map(_parameter_row, said.get("parameters", ())), *_field_rows(said)]
    if rows:
        yield f"<table><tr><th>field</th><th>in</th><th>meaning</th></tr>{''.join(rows)}</table>"
    for name, example in _examples(said.get("requestBody")):
        shown = escape(json.dumps(example["value"], ensure_ascii=False, indent=2))
        title = escape(example.get("summary", name))
        yield f"<details><summary>{title}</summary><pre>{shown}</pre></details>"
    yield f"<p class=answers>Answers: {', '.join(escape(status) for status in said['responses'])}</p>"


def _parameter_row(parameter: Mapping[str, Json]) -> str:
    return _row(parameter["name"], parameter["in"], parameter["description"], parameter["required"])


def _field_rows(said: Mapping[str, Json]) -> Iterator[str]:
    for content in said.get("requestBody", {}).get("content", {}).values():
        schema = content["schema"]
        if "$ref" in schema:
            schema = openapi()["components"]["schemas"][schema["$ref"].rpartition("/")[2]]
        for name, field in schema.get("properties", {}).items():
            yield _row(name, "body", field.get("description", ""), name in schema.get("required", ()))


def _row(name: str, place: str, meaning: str, required: bool) -> str:
    mark = " *" if required else ""
    return f"<tr><td><code>{escape(name)}</code>{mark}</td><td>{place}</td><td>{escape(meaning)}</td></tr>"


def _examples(body: Mapping[str, Json] | None) -> Iterator[tuple[str, Mapping[str, Json]]]:
    for content in (body or {}).get("content", {}).values():
        yield from content.get("examples", {}).items()
