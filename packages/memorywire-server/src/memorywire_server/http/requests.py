"""Reads requests: body, query, path and two headers become one payload of the wire."""

import asyncio
import re
from collections.abc import Container, Mapping, Sequence
from functools import cache
from urllib.parse import parse_qsl, quote, unquote

from starlette.requests import ClientDisconnect, Request

from memorywire.model.errors import InvalidJson, InvalidRequest, NotFound, TooLarge, TooSlow, WrongMedia
from memorywire.model.record import Json
from memorywire.wire import strict
from memorywire.wire.spec.shapes import Shapes
from memorywire.wire.validate import problem_of
from memorywire_server.http.answers import JSON
from memorywire_server.http.openapi import openapi
from memorywire_server.http.routes import is_text

_MOST_PARAMETERS = 200
_MEDIA = re.compile(r"application/(?:[\w.-]+\+)?json")


async def read_body(request: Request, *, limit: int, seconds: float) -> Json:
    """Read the body and parse it as JSON; raises WrongMedia for other types."""
    media = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if not _MEDIA.fullmatch(media):
        raise WrongMedia(
            "the body must be JSON", field="Content-Type", fix="send Content-Type: application/json"
        )
    if request.headers.get("content-encoding", "identity").lower() != "identity":
        raise WrongMedia(
            "the body must not be compressed", field="Content-Encoding", fix="send it uncompressed"
        )
    return strict.parse(await read_bytes(request, limit=limit, seconds=seconds))


async def read_bytes(request: Request, *, limit: int, seconds: float) -> bytes:
    """Read the body; raises TooLarge beyond `limit` bytes and TooSlow after `seconds`."""
    too_large = TooLarge(f"the body is larger than {limit} bytes", fix="send less, or several requests")
    if int(request.headers.get("content-length", "0")) > limit:
        raise too_large
    parts: list[bytes] = []
    size = 0
    try:
        async with asyncio.timeout(seconds):
            async for part in request.stream():
                size += len(part)
                if size > limit:
                    raise too_large
                parts.append(part)
    except TimeoutError:
        raise TooSlow(f"the body was not there after {seconds:g} s", fix="send it faster") from None
    except ClientDisconnect:
        raise TooSlow("the client disconnected before the body arrived") from None
    return b"".join(parts)


def with_headers(
    fields: Container[str], payload: dict[str, Json], parameters: Mapping[str, Json]
) -> dict[str, Json]:
    """Add the fields for `Idempotency-Key` and `If-Match`; raises InvalidRequest if a field differs."""
    headers: dict[str, Json] = {}
    if "Idempotency-Key" in parameters:
        headers["idempotency_key"] = parameters["Idempotency-Key"]
    if "If-Match" in parameters:
        version = int(parameters["If-Match"].strip('"'))
        headers["if_edition" if "if_edition" in fields else "if_version"] = version
    for name, value in headers.items():
        if payload.setdefault(name, value) != value:
            raise InvalidRequest(f"{name} and its header differ", field=name)
    return payload


DOCUMENT = "urn:memorywire:openapi"
_PROMISES = ("Idempotency-Key", "If-Match")
"""Headers that clients rely on: an operation that does not use them refuses rather than ignores them."""


class Parameters:
    """The parameters of one method of one path, besides the body."""

    def __init__(self, path: str, method: str) -> None:
        self._described: Sequence[Mapping[str, Json]] = openapi()["paths"][path][method].get("parameters", ())
        self._by_place: dict[str, list[str]] = {"path": [], "query": [], "header": []}
        self._kinds: dict[str, Mapping[str, Json]] = {}
        references: dict[str, Json] = {}
        for at, one in enumerate(self._described):
            name, schema, place = one["name"], one.get("schema"), "schema"
            if schema is None:
                schema, place = one["content"][JSON]["schema"], f"content/{_escape(JSON)}/schema"
            self._kinds[name] = _resolve_kind(schema)
            self._by_place[one["in"]].append(name)
            pointer = f"{DOCUMENT}#/paths/{_escape(path)}/{method}/parameters/{at}/{place}"
            references[name] = {"$ref": pointer}
        required = [one["name"] for one in self._described if one["required"]]
        self._schema: Json = {"properties": references, "required": required}
        self._shape = load_shapes().of(self._schema, DOCUMENT)

    def read(self, request: Request) -> dict[str, Json]:
        """Return the parameters of a request, by name; raises InvalidRequest for an invalid one."""
        values: dict[str, Json] = {}
        if request.scope["query_string"]:
            raw = request.scope["query_string"].decode("ascii", "replace")
            try:
                pairs = parse_qsl(
                    raw, keep_blank_values=True, errors="strict", max_num_fields=_MOST_PARAMETERS
                )
            except ValueError as error:
                fix = "encode it as UTF-8, percent by percent"
                raise InvalidRequest("the query cannot be read", fix=fix) from error
            strict.check([text for pair in pairs for text in pair])
            values = self._read_query(pairs)
        for name in self._by_place["path"]:
            try:
                values[name] = unquote(request.path_params[name], errors="strict")
            except UnicodeDecodeError as error:
                raise NotFound("no such address") from error
        for name in self._by_place["header"]:
            if name in request.headers:
                values[name] = request.headers[name]
        for name in _PROMISES:
            if name in request.headers and name not in self._kinds:
                raise InvalidRequest(f"{name} is not used by this operation", field=name, fix="leave it out")
        return self.check(values)

    def from_query(self, pairs: Sequence[tuple[str, str]]) -> dict[str, Json]:
        """Do the same for a query alone."""
        return self.check(self._read_query(pairs))

    def _read_query(self, pairs: Sequence[tuple[str, str]]) -> dict[str, Json]:
        """Parse each field by its schema; raises InvalidRequest for an unknown or repeated one."""
        values: dict[str, Json] = {}
        for name, text in pairs:
            if name not in self._by_place["query"]:
                known = ", ".join(self._by_place["query"])
                fix = f"there are: {known}" if known else "this address takes no query"
                raise InvalidRequest(f"unknown field {name}", field=name, fix=fix)
            kind = self._kinds[name]
            if kind.get("type") == "array":
                values.setdefault(name, []).append(_parse_value(_resolve_kind(kind["items"]), text, name))
            elif name in values:
                raise InvalidRequest(f"{name} is given twice", field=name)
            else:
                values[name] = _parse_value(kind, text, name)
        return values

    def check(self, values: dict[str, Json]) -> dict[str, Json]:
        """Validate the values and return them; raises InvalidRequest for an unknown or invalid one."""
        for name in values.keys() - self._kinds.keys():
            raise InvalidRequest(f"unknown field {name}", field=name, fix="see /docs")
        strict.check(values)
        faults = self._shape.faults(values)
        if faults:
            problem = problem_of(faults, self._schema)
            text = next((one["description"] for one in self._described if one["name"] == problem.field), "")
            problem.fix = problem.fix or (f"{problem.field}: {text}" if text else "see /docs")
            raise problem
        return values


@cache
def parameters_of(path: str, method: str) -> Parameters:
    """Return the parameters of a described operation; `path` is its template."""
    return Parameters(path, method.lower())


@cache
def load_shapes() -> Shapes:
    """Return the schemas of the OpenAPI document, registered under the URI DOCUMENT."""
    return Shapes({DOCUMENT: openapi()}.__getitem__)


def _resolve_kind(schema: Mapping[str, Json]) -> Mapping[str, Json]:
    """Resolve the schema's references, to find out how to parse its text."""
    while "$ref" in schema:
        value: Json = openapi()
        for step in schema["$ref"].removeprefix("#/").split("/"):
            value = value[step]
        schema = {**value, **{name: value for name, value in schema.items() if name != "$ref"}}
    return schema


def _escape(step: str) -> str:
    """Escape a step of a JSON pointer for a URI fragment."""
    return quote(step.replace("~", "~0").replace("/", "~1"), safe="~")


def _parse_value(kind: Mapping[str, Json], text: str, name: str) -> Json:
    """Parse text by its schema: strings as they are, others as JSON; the schema rejects what is not JSON."""
    if is_text(kind):
        return text
    try:
        value = strict.parse(text)
    except InvalidJson as error:
        if kind.get("type") in ("integer", "number", "boolean"):
            return text
        raise InvalidRequest(f"{name} must be JSON: {error.detail}", field=name) from error
    whole = kind.get("type") == "integer" and isinstance(value, float) and value.is_integer()
    return int(value) if whole else value  # JSON Schema treats 1.0 as an integer
