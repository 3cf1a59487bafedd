"""What every route uses: permissions, the execution of operations, and time limits."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, TypeAlias, TypeVar

from msgspec import Struct
from msgspec.structs import replace
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from memorywire.app.container import Container
from memorywire.app.dispatch import dispatch
from memorywire.client.events import Feed
from memorywire.journal.journal import Journal
from memorywire.journal.operators import Right
from memorywire.model.errors import Conflict, InvalidRequest, Overloaded
from memorywire.model.record import DEFAULT_TENANT, Json
from memorywire.pipeline.context import unsupported
from memorywire.policy.patterns import names
from memorywire.wire import strict
from memorywire.wire.codec import encode
from memorywire.wire.validate import problem_of
from memorywire_server.archive import LedgerArchive
from memorywire_server.auth import Caller
from memorywire_server.http.answers import ACCEPTED, MOVED, as_json, as_problem
from memorywire_server.http.openapi import own_schemas
from memorywire_server.http.quotas import current_lease
from memorywire_server.http.requests import DOCUMENT, load_shapes, parameters_of, read_body, with_headers
from memorywire_server.http.routes import (
    ALL,
    EVERYWHERE,
    NEEDS,
    Wire,
    agent_is_optional,
    names_agent,
    properties,
    resolve_schema,
)
from memorywire_server.telemetry import current_trace, open_span

T = TypeVar("T")

_TRACED = frozenset({"recall", "context"})
"""Operations that are logged with the trace id of their request."""


class Limits(Struct, frozen=True, kw_only=True):
    """Limits of the server. Sizes are in bytes.

    `head` limits the URL together with all headers. A client has `header_seconds` to send the head
    of a request, `body_seconds` for its body, `write_seconds` to read a part of the response, and
    `idle_seconds` until its next request. `connections`, `at_once` and `streams` are totals: an address gets
    half of the connections, one credential half and one tenant three quarters of requests and streams.

    `rate` is the sustained number of requests per second of a credential; bursts may reach twice that.
    `wrong_tokens` is the same limit on requests with an invalid token from one address.
    A failed webhook is retried after `webhook_pause_ms`, and the pause doubles each time.
    """

    body: int = 1024 * 1024
    batch: int = strict.MAX_BYTES
    head: int = 16 * 1024
    header_seconds: float = 10.0
    idle_seconds: int = 15
    write_seconds: float = 30.0
    connections: int = 1_024
    body_seconds: float = 20.0
    answer_seconds: float = 30.0
    at_once: int = 256
    streams: int = 128
    rate: float = 200.0
    wrong_tokens: float = 10.0
    webhook_pause_ms: int = 1_000


class Service:
    """Runs operations for callers. An operation that has started finishes, even if the client disconnects."""

    def __init__(self, container: Container, limits: Limits) -> None:
        if container.journal is None:
            raise unsupported("serving", "no journal is wired here")
        self.container = container
        self.journal: Journal = container.journal
        self.limits = limits
        self.archive: LedgerArchive | None = None
        self.feed = Feed(container)
        self.closing = asyncio.Event()
        self._running: set[asyncio.Future[Any]] = set()

    async def call(self, operation: str, payload: Mapping[str, Json], caller: Caller) -> dict[str, Json]:
        """Run an operation of the wire as this caller."""
        answer: dict[str, Json] = encode(await self.ask(operation, payload, caller))
        if operation == "agents":
            answer["items"] = [one for one in answer["items"] if names(caller.agents, one["agent_id"])]
        if operation == "capabilities":
            answer["limits"]["payload_bytes_max"] = self.limits.body
        return answer

    async def ask(self, operation: str, payload: Mapping[str, Json], caller: Caller) -> object:
        """Do the same as `call`, but return a value instead of JSON."""
        with open_span(operation) as tell:
            permit(operation, payload, caller)
            trace = current_trace.get()
            if operation in _TRACED and trace is not None and trace.named:
                payload = {"trace_id": trace.id, **payload}
            work = dispatch(operation, payload, self.as_caller(caller), tenant=caller.tenant)
            answer = await self.finish(work)
            tell(answer)
            return answer

    def as_caller(self, caller: Caller) -> Container:
        return replace(self.container, context=self.container.as_caller(caller.name, caller.principal))

    def opener(self, caller: Caller) -> Callable[[], Awaitable[Container]]:
        """Return a function that returns the container for this caller."""

        async def container() -> Container:
            return self.as_caller(caller)

        return container

    async def finish(self, work: Awaitable[T]) -> T:
        """Return the result of the work; on a timeout raises Overloaded, but the work continues."""
        task = asyncio.ensure_future(work)
        self._running.add(task)
        task.add_done_callback(self._done)
        try:
            async with asyncio.timeout(self.limits.answer_seconds):
                return await asyncio.shield(task)
        except TimeoutError:
            seconds = self.limits.answer_seconds
            raise Overloaded(
                f"there was no answer within {seconds:g} s; what was asked may still be done",
                retry_after=max(1, round(seconds)),
            ) from None
        finally:
            lease = current_lease.get()
            if lease is not None and not task.done():  # the client no longer waits, but the work continues
                lease.hold_until(task)

    async def drain(self) -> None:
        """Wait for all work that has started."""
        self.closing.set()
        while self._running:
            await asyncio.wait(self._running)

    def _done(self, task: "asyncio.Future[Any]") -> None:
        self._running.discard(task)
        if not task.cancelled():
            task.exception()  # marks the error as retrieved: the client got it, or has disconnected


def permit(operation: str, payload: Mapping[str, Json], caller: Caller) -> None:
    """Raise Forbidden unless the caller may run this, whether or not the named object exists."""
    if operation not in ALL:
        return  # nothing to protect: the dispatch reports the unknown operation
    everywhere = operation in EVERYWHERE and caller.tenant == DEFAULT_TENANT
    caller.require(NEEDS.get(operation, Right.MANAGE), everywhere=everywhere)
    if names_agent(operation) and operation != "capabilities":
        caller.require_agent(payload, optional=agent_is_optional(operation))
        if operation == "remember":
            caller.require_own_id(payload)
    elif operation in EVERYWHERE:
        caller.require_every_agent()


Endpoint: TypeAlias = Callable[[Request], Awaitable[Response]]
Handler: TypeAlias = Callable[[Request, Service], Awaitable[Response]]


def build_route(service: Service, path: str, **handlers: Handler) -> Route:
    """Build a route that accepts the described parameters only; `get_parameters` returns them.

    All methods of a path share one route, so that a 405 response lists all allowed methods.
    """

    async def endpoint(request: Request) -> Response:
        method = "GET" if request.method == "HEAD" else request.method
        request.state.parameters = parameters = parameters_of(path, method).read(request)
        try:
            return await handlers[method](request, service)
        except Conflict as error:
            if error.field != "if_version" or "If-Match" not in parameters:
                raise
            request.state.visit.code = error.code
            return as_problem(error, MOVED)

    return Route(path, endpoint, methods=list(handlers))


def get_parameters(request: Request) -> dict[str, Json]:
    """Return the parameters of the request, by name."""
    parameters: dict[str, Json] = request.state.parameters
    return parameters


def caller_of(request: Request) -> Caller:
    """Return the authenticated caller."""
    caller: Caller = request.state.caller
    return caller


def wire_handler(route: Wire) -> Handler:
    """Return the handler of one wire route."""

    async def handle(request: Request, service: Service) -> Response:
        request.state.operation = route.operation
        payload = await _read_payload(route, request, service)
        answer = await service.call(route.operation, payload, caller_of(request))
        request.state.answer = answer
        status = ACCEPTED if answer.get("status") in ("staged", "deferred") else 200
        version = answer.get("version")  # the value for `If-Match`
        return as_json(answer, status, {"ETag": f'"{version}"'} if isinstance(version, int) else {})

    return handle


async def _read_payload(route: Wire, request: Request, service: Service) -> dict[str, Json]:
    parameters, fields = get_parameters(request), properties(route.operation)
    if route.by_query:
        return {name: value for name, value in parameters.items() if name in fields}
    payload = await _read_object(request, service, service.limits.body)
    if route.field is not None:
        if route.field in payload:
            raise InvalidRequest(
                f"{route.field} is in the address already", field=route.field, fix="name it once"
            )
        value = parameters[route.field]
        kind = resolve_schema(route.operation, fields[route.field])
        payload[route.field] = [value] if kind.get("type") == "array" else value
    return with_headers(fields, payload, parameters)


async def read_checked_body(
    name: str, request: Request, service: Service, *, limit: int | None = None
) -> dict[str, Any]:
    """Return the body; raises InvalidRequest unless it matches the schema of that name."""
    body = await _read_object(request, service, limit or service.limits.body)
    problem = problem_with(body, name)
    if problem is not None:
        raise problem
    return body


async def _read_object(request: Request, service: Service, limit: int) -> dict[str, Json]:
    body = await read_body(request, limit=limit, seconds=service.limits.body_seconds)
    if not isinstance(body, dict):
        raise InvalidRequest("the request has the wrong type: expected object")
    return body


def problem_with(document: Json, name: str) -> InvalidRequest | None:
    """Validate a document against the schema of that name; returns the problem, if any."""
    faults = load_shapes().at(f"{DOCUMENT}#/components/schemas/{name}").faults(document)
    if not faults:
        return None
    problem = problem_of(faults, own_schemas()[name])
    problem.fix = problem.fix or "see /docs"
    return problem
