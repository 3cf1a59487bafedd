"""Requests as HTTP says them: a body, a query, a path and two headers become one payload of the wire."""

import asyncio
import re
from collections.abc import Container, Mapping
from urllib.parse import parse_qsl, unquote

from starlette.requests import ClientDisconnect, Request

from memorywire.model.errors import (
    InvalidRequest,
    NotFound,
    TooLarge,
    TooSlow,
    WrongMedia,
)
from memorywire.model.record import Json
from memorywire.wire import spec, strict

_MOST_PARAMETERS = 200
_MEDIA = re.compile(r"application/(?:[\w.-]+\+)?json")


async def read_body(request: Request, *, limit: int, seconds: float) -> Json:
    """The JSON of the body, as `read_bytes` gets it."""
    _check_media(request)
    return strict.parse(await read_bytes(request, limit=limit, seconds=seconds))


async def read_bytes(request: Request, *, limit: int, seconds: float) -> bytes:
    """The body; raises before more than `limit` bytes are held or `seconds` have passed."""
    if int(request.headers.get("content-length", "0")) > limit:
        raise _too_large(limit)
    try:
        async with asyncio.timeout(seconds):
            return await _collected(request, limit)
    except TimeoutError:
        raise TooSlow(f"the body was not there after {seconds:g} s", fix="send it faster") from None
    except ClientDisconnect:
        raise TooSlow("the sender went away before the body was there") from None


async def _collected(request: Request, limit: int) -> bytes:
    parts: list[bytes] = []
    size = 0
    async for part in request.stream():
        size += len(part)
        if size > limit:
            raise _too_large(limit)
        parts.append(part)
    return b"".join(parts)


def _too_large(limit: int) -> TooLarge:
    return TooLarge(f"the body is larger than {limit} bytes", fix="send less, or several requests")


def _check_media(request: Request) -> None:
    media = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if not _MEDIA.fullmatch(media):
        raise WrongMedia(
            "the body must be JSON", field="Content-Type", fix="send Content-Type: application/json"
        )
    if request.headers.get("content-encoding", "identity").lower() != "identity":
        raise WrongMedia("the body must not be compressed", field="Content-Encoding", fix="send it plain")


def properties(operation: str) -> Mapping[str, Json]:
    """The fields of an operation's request."""
    found: Mapping[str, Json] = spec.schema(f"{operation}.request")["properties"]
    return found


def query_pairs(request: Request) -> list[tuple[str, str]]:
    """The query, decoded; raises InvalidRequest for what is no UTF-8 or too much."""
    raw = request.scope["query_string"].decode("ascii", "replace")
    try:
        pairs = parse_qsl(raw, keep_blank_values=True, errors="strict", max_num_fields=_MOST_PARAMETERS)
    except ValueError as error:
        raise InvalidRequest(
            "the query cannot be read", fix="encode it as UTF-8, percent by percent"
        ) from error
    strict.check([text for pair in pairs for text in pair])
    return pairs


def resolved(operation: str, schema: Mapping[str, Json]) -> Mapping[str, Json]:
    """A schema with what it refers to filled in, to learn which type it has."""
    while "$ref" in schema:
        document, _, place = schema["$ref"].partition("#/")
        home = spec.schema(document.removesuffix(".json") or f"{operation}.request")
        rest = {name: value for name, value in schema.items() if name != "$ref"}
        found: Json = home
        for step in place.split("/") if place else ():
            found = found[step]
        schema = {**found, **rest}
    return schema


def is_text(schema: Mapping[str, Json]) -> bool:
    """Whether its values stand in a query as they are, rather than as JSON."""
    options = schema.get("enum", ())
    return schema.get("type") == "string" or (bool(options) and all(isinstance(one, str) for one in options))


def path_value(request: Request, name: str) -> str:
    """A part of the path, decoded; NotFound if it is not UTF-8."""
    try:
        value = unquote(request.path_params[name], errors="strict")
    except UnicodeDecodeError as error:
        raise NotFound("no such address") from error
    return value


def with_headers(
    fields: Container[str], payload: dict[str, Json], sent: Mapping[str, Json]
) -> dict[str, Json]:
    """The payload with the fields that `Idempotency-Key` and `If-Match` stand for."""
    said: dict[str, Json] = {}
    if "Idempotency-Key" in sent:
        said["idempotency_key"] = sent["Idempotency-Key"]
    if "If-Match" in sent:
        version = int(sent["If-Match"].strip('"'))
        said["if_edition" if "if_edition" in fields else "if_version"] = version
    for name, value in said.items():
        if payload.setdefault(name, value) != value:
            raise InvalidRequest(f"{name} and its header say different things", field=name)
    return payload
