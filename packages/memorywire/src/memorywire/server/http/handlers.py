"""Wire routes at work: a request becomes a payload, the door answers, the answer becomes a response."""

from collections.abc import Awaitable, Callable, Mapping
from typing import TypeAlias

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from memorywire.model.errors import Conflict, InvalidRequest
from memorywire.model.record import Json
from memorywire.server.callers import Caller
from memorywire.server.http.answers import ACCEPTED, MOVED, as_json, as_problem
from memorywire.server.http.endpoint import Door
from memorywire.server.http.parameters import parameters_of
from memorywire.server.http.requests import properties, read_body, resolved, with_headers
from memorywire.server.http.routes import Wire

Endpoint: TypeAlias = Callable[[Request], Awaitable[Response]]

_WAITING = frozenset({"staged", "deferred"})


def described(path: str, endpoints: Mapping[str, Endpoint]) -> Route:
    """A path that takes the parameters the description names, and no others; `asked` has them.

    One route for all methods of a path, so that a wrong method is told all the right ones.
    """

    async def endpoint(request: Request) -> Response:
        method = "GET" if request.method == "HEAD" else request.method
        request.state.asked = sent = parameters_of(path, method).read(request)
        try:
            return await endpoints[method](request)
        except Conflict as error:
            if error.field != "if_version" or "If-Match" not in sent:
                raise
            request.state.visit.code = error.code
            return as_problem(error, MOVED)

    return Route(path, endpoint, methods=list(endpoints))


def asked(request: Request) -> dict[str, Json]:
    """The parameters of a described path, by name."""
    found: dict[str, Json] = request.state.asked
    return found


def wire_endpoint(route: Wire, door: Door) -> Endpoint:
    """The endpoint of one wire route."""

    async def endpoint(request: Request) -> Response:
        request.state.operation = route.operation
        payload = await _payload(route, request, door)
        answer = await door.call(route.operation, payload, caller_of(request))
        request.state.answer = answer
        return as_json(answer, _status(answer), _headers(answer))

    return endpoint


def caller_of(request: Request) -> Caller:
    """Who asks: the guard has let them in."""
    caller: Caller = request.state.caller
    return caller


async def json_object(request: Request, *, limit: int, seconds: float) -> dict[str, Json]:
    """The body, which is an object."""
    body = await read_body(request, limit=limit, seconds=seconds)
    if not isinstance(body, dict):
        raise InvalidRequest("the request has the wrong type: expected object")
    return body


async def _payload(route: Wire, request: Request, door: Door) -> dict[str, Json]:
    sent = asked(request)
    if route.by_query:
        fields = properties(route.operation)
        return {name: value for name, value in sent.items() if name in fields}
    payload = await json_object(request, limit=door.limits.body, seconds=door.limits.body_seconds)
    if route.field is not None:
        _put_path(route, route.field, payload, sent[route.field])
    return with_headers(properties(route.operation), payload, sent)


def _put_path(route: Wire, field: str, payload: dict[str, Json], value: Json) -> None:
    if field in payload:
        raise InvalidRequest(f"{field} is in the address already", field=field, fix="name it once")
    kind = resolved(route.operation, properties(route.operation)[field])
    payload[field] = [value] if kind.get("type") == "array" else value


def _status(answer: Mapping[str, Json]) -> int:
    return ACCEPTED if answer.get("status") in _WAITING else 200


def _headers(answer: Mapping[str, Json]) -> dict[str, str]:
    """A version is what `If-Match` compares with."""
    version = answer.get("version")
    return {"ETag": f'"{version}"'} if isinstance(version, int) else {}
