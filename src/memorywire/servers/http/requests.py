"""Requests as HTTP says them: a body, a query, a path and two headers become one payload of the wire."""

import asyncio
import re
from collections.abc import Mapping, Sequence
from urllib.parse import parse_qsl, unquote

from starlette.requests import ClientDisconnect, Request

from memorywire import spec
from memorywire.model.errors import (
    InvalidJson,
    InvalidRequest,
    NotFound,
    TooLarge,
    TooSlow,
    WrongMedia,
)
from memorywire.model.record import Json
from memorywire.wire import strict

_MOST_PARAMETERS = 200
_ETAG = re.compile(r'"(\d{1,18})"')
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


def from_query(operation: str, pairs: Sequence[tuple[str, str]]) -> dict[str, Json]:
    """The fields of a query, each read as the schema of the operation says; nothing is ignored."""
    known = properties(operation)
    payload: dict[str, Json] = {}
    for name, text in pairs:
        if name not in known:
            raise InvalidRequest(f"{name} is not a field here", field=name)
        kind = resolved(operation, known[name])
        if kind.get("type") == "array":
            item = _read(resolved(operation, kind["items"]), text)
            payload.setdefault(name, []).append(item)
        elif name in payload:
            raise InvalidRequest(f"{name} is given twice", field=name)
        else:
            payload[name] = _read(kind, text, name)
    return payload


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
    """Whether a value of it stands in a query as it is; else it is written as JSON."""
    options = schema.get("enum", ())
    return schema.get("type") == "string" or (bool(options) and all(isinstance(one, str) for one in options))


def _read(schema: Mapping[str, Json], text: str, name: str | None = None) -> Json:
    """Text as it is; everything else as JSON, and what is none is left to the schema to refuse."""
    if is_text(schema):
        return text
    try:
        return strict.parse(text)
    except InvalidJson as error:
        if schema.get("type") in ("integer", "number", "boolean"):
            return text
        raise InvalidRequest(f"{name} must be JSON: {error.detail}", field=name) from error


def path_value(request: Request, name: str) -> str:
    """A part of the path, decoded; what is no text names nothing."""
    try:
        value = unquote(request.path_params[name], errors="strict")
    except UnicodeDecodeError as error:
        raise NotFound("no such address") from error
    return value


def with_headers(operation: str, payload: dict[str, Json], headers: Mapping[str, str]) -> dict[str, Json]:
    """`Idempotency-Key` and `If-Match` as the fields they stand for."""
    said: dict[str, Json] = {}
    if "idempotency-key" in headers:
        said["idempotency_key"] = headers["idempotency-key"]
    if "if-match" in headers:
        tag = _ETAG.fullmatch(headers["if-match"].strip())
        if tag is None:
            raise InvalidRequest(
                "If-Match must be one version in quotes", field="If-Match", fix='send If-Match: "3"'
            )
        said["if_edition" if "if_edition" in properties(operation) else "if_version"] = int(tag[1])
    for name, value in said.items():
        if payload.setdefault(name, value) != value:
            raise InvalidRequest(f"{name} and its header say different things", field=name)
    return payload
