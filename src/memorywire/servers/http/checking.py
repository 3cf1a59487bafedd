"""Requests of the contracts that have no operation on the wire: checked against the door's own schemas."""

import json
from collections.abc import Sequence
from functools import cache
from typing import Any

import jsonschema_rs
from starlette.requests import Request

from memorywire import spec
from memorywire.model.errors import InvalidRequest
from memorywire.model.record import Json
from memorywire.servers.http.door import Door
from memorywire.servers.http.handlers import json_object
from memorywire.servers.http.requests import query_pairs
from memorywire.servers.http.schemas import own_schemas

_DIGITS = 10


async def asked_body(name: str, request: Request, door: Door, *, limit: int | None = None) -> dict[str, Any]:
    """The body, when it is what the schema of that name describes."""
    body = await json_object(request, limit=limit or door.limits.body, seconds=door.limits.body_seconds)
    for error in _validator(name).iter_errors(body):
        place = ".".join(str(step) for step in error.instance_path)
        raise InvalidRequest(error.message, field=place or None, fix="see /docs")
    return body


def asked_query(
    request: Request, *, texts: Sequence[str] = (), numbers: Sequence[str] = ()
) -> dict[str, Any]:
    """The query, when it has no other names than these, each once."""
    asked: dict[str, Json] = {}
    for name, text in query_pairs(request):
        if name not in (*texts, *numbers) or name in asked:
            raise InvalidRequest(f"{name} is not a field here, or given twice", field=name)
        asked[name] = _number(name, text) if name in numbers else text
    return asked


def _number(name: str, text: str) -> int:
    if not (text.isascii() and text.isdecimal() and len(text) < _DIGITS):
        raise InvalidRequest(f"{name} must be an integer, 0 or more", field=name)
    return int(text)


@cache
def _validator(name: str) -> jsonschema_rs.Draft202012Validator:
    known = {"common": {"$defs": spec.schema("common")["$defs"]}, "recall.request": _plain("recall.request")}
    return jsonschema_rs.Draft202012Validator({**own_schemas()[name], "components": {"schemas": known}})


def _plain(name: str) -> dict[str, Json]:
    """The properties of a schema that refer to no other document."""
    found = spec.schema(name)["properties"]
    return {"properties": {name: inner for name, inner in found.items() if "$ref" not in json.dumps(inner)}}
