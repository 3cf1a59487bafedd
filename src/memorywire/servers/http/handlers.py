"""Wire routes at work: a request becomes a payload, the door answers, the answer becomes a response."""

from collections.abc import Awaitable, Callable, Mapping
from typing import TypeAlias

from starlette.requests import Request
from starlette.responses import Response

from memorywire.model.errors import Conflict, InvalidRequest
from memorywire.model.record import Json
from memorywire.servers.callers import Caller
from memorywire.servers.http.answers import ACCEPTED, MOVED, as_json, as_problem
from memorywire.servers.http.door import Door
from memorywire.servers.http.requests import (
    from_query,
    path_value,
    properties,
    query_pairs,
    read_body,
    resolved,
    with_headers,
)
from memorywire.servers.http.routes import Wire

Endpoint: TypeAlias = Callable[[Request], Awaitable[Response]]

_WAITING = frozenset({"staged", "deferred"})


def wire_endpoint(route: Wire, door: Door) -> Endpoint:
    """The endpoint of one wire route."""

    async def endpoint(request: Request) -> Response:
        request.state.operation = route.operation
        payload = await _payload(route, request, door)
        try:
            answer = await door.call(route.operation, payload, caller_of(request))
        except Conflict as error:
            moved = error.field == "if_version" and "if-match" in request.headers
            return as_problem(error, MOVED if moved else None)
        request.state.answer = answer
        return as_json(answer, _status(answer), _headers(answer))

    return endpoint


def caller_of(request: Request) -> Caller:
    """Who asks: the guard has let them in."""
    caller: Caller = request.state.caller
    return caller


async def json_object(request: Request, *, limit: int, seconds: float) -> dict[str, Json]:
    """The body as an object; a query would say something nobody reads, so there must be none."""
    if request.scope["query_string"]:
        raise InvalidRequest("this address takes no query", fix="put the fields into the body")
    body = await read_body(request, limit=limit, seconds=seconds)
    if not isinstance(body, dict):
        raise InvalidRequest("the request has the wrong type: expected object")
    return body


async def _payload(route: Wire, request: Request, door: Door) -> dict[str, Json]:
    if route.by_query:
        payload = from_query(route.operation, query_pairs(request))
    else:
        payload = await json_object(request, limit=door.limits.body, seconds=door.limits.body_seconds)
    if route.field is not None:
        _put_path(route, route.field, payload, request)
    return with_headers(route.operation, payload, request.headers)


def _put_path(route: Wire, field: str, payload: dict[str, Json], request: Request) -> None:
    if field in payload:
        raise InvalidRequest(f"{field} is in the address already", field=field, fix="name it once")
    value = path_value(request, field)
    kind = resolved(route.operation, properties(route.operation)[field])
    payload[field] = [value] if kind.get("type") == "array" else value


def _status(answer: Mapping[str, Json]) -> int:
    return ACCEPTED if answer.get("status") in _WAITING else 200


def _headers(answer: Mapping[str, Json]) -> dict[str, str]:
    """A version is what `If-Match` compares with."""
    version = answer.get("version")
    return {"ETag": f'"{version}"'} if isinstance(version, int) else {}
