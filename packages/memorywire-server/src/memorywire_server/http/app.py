"""The ASGI application: all routes, mounted applications, and the security middleware."""

import asyncio
import re
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from difflib import get_close_matches
from typing import cast

from msgspec import Struct
from msgspec.structs import replace
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware.errors import ServerErrorMiddleware
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import BaseRoute, Mount, Route
from starlette.types import ASGIApp

from memorywire.app.container import Container
from memorywire.journal.operators import Right
from memorywire.model.errors import MemorywireError, NotFound, UnknownOperation, WrongMethod
from memorywire.model.record import DEFAULT_TENANT, Scope
from memorywire_server.auth import Authenticator, Provider
from memorywire_server.background import StateChecks, WebhookSender
from memorywire_server.http import audit
from memorywire_server.http.answers import HEADERS, as_json, as_problem
from memorywire_server.http.batch import run_batch, trigger
from memorywire_server.http.contracts import kv_routes, layer_routes
from memorywire_server.http.definitions import definition_routes
from memorywire_server.http.docs_page import get_css, get_docs, get_openapi
from memorywire_server.http.dream import post_dream, post_promote
from memorywire_server.http.endpoint import (
    Endpoint,
    Handler,
    Limits,
    Service,
    build_route,
    caller_of,
    wire_handler,
)
from memorywire_server.http.metrics import RequestObserver
from memorywire_server.http.middleware import SIGNED, Entry, SecurityMiddleware, Words
from memorywire_server.http.reviews import Reviews, post_review
from memorywire_server.http.routes import wire_routes
from memorywire_server.telemetry import current_trace


def _ready_endpoint(service: Service) -> Endpoint:
    checking: asyncio.Task[bool] | None = None

    async def check() -> bool:
        """Return whether the store and the journal answer a small query in time."""
        try:
            async with asyncio.timeout(2.0):
                await service.container.context.store.get(Scope(agent="readyz"), ["readyz"])
                await service.journal.read_last_sequence()
        except (MemorywireError, TimeoutError):
            return False
        return True

    async def readyz(request: Request) -> Response:
        nonlocal checking
        if checking is None or checking.done():  # probes need no token, so they share one check at a time
            checking = asyncio.create_task(check())
        if service.closing.is_set() or not await asyncio.shield(checking):
            status = "not ready"
        elif not service.container.writable:
            status = "read-only"
        elif not service.container.roomy:
            status = "disk full"
        else:
            return as_json({"status": "ok"})
        return as_json({"status": status}, 503)

    return readyz


WRONG_METHOD = 405
_OPERATION = re.compile("/v0/[^/]+")
_LONGEST_GUESS = 64  # unknown paths come from unauthenticated clients and can be of any length
_METRICS = "text/plain; version=0.0.4; charset=utf-8"


class MountedApp(Struct, frozen=True, kw_only=True):
    """An ASGI app (an object, not a function) mounted under a path; `running` is open while the server runs.

    Requests pass the security middleware first, which sets `scope["state"]["caller"]`. A token or `entry`
    authenticates them; `words` encodes refusals. `hosting` marks the mount that makes the server an
    OpenWOP host, `welcoming` the one that `/` redirects to. Logs and metrics
    use `name`, or the last part of the path.
    """

    path: str
    app: ASGIApp
    name: str | None = None
    running: Callable[[], AbstractAsyncContextManager[object]] | None = None
    entry: Entry | None = None
    words: Words | None = None
    hosting: bool = False
    welcoming: bool = False


def build_app(
    container: Container,
    *,
    trusting: bool,
    hosts: frozenset[str] = frozenset(),
    limits: Limits | None = None,
    mounts: Sequence[MountedApp] = (),
    observer: RequestObserver,
    provider: Provider | None = None,
    home: Callable[[], str] = lambda: DEFAULT_TENANT,
) -> tuple[ASGIApp, Service]:
    """Build the application over an open container; return it with the service to drain at the end.

    With `trusting`, the local user, whose tenant is `home`, needs no token while there are no operators.
    `hosts` are the accepted `Host` names, empty for any; tokens of the `provider` are accepted too.
    """
    container = replace(container, hosting=any(mount.hosting for mount in mounts))
    service, clock = Service(container, limits or Limits()), container.context.clock
    authenticator = Authenticator(service.journal, clock, trusting=trusting, provider=provider, home=home)
    pauses, reviews = service.limits.webhook_pause_ms, Reviews(service)
    sender = WebhookSender(service.journal, service.feed, clock, first_pause_ms=pauses, reviews=reviews)

    @asynccontextmanager
    async def running(_: Starlette) -> AsyncIterator[None]:
        async with AsyncExitStack() as stack:
            for mount in mounts:
                if mount.running is not None:
                    await stack.enter_async_context(mount.running())
            container.reader.wake()
            if container.backends is not None:
                container.backends.wake()
            jobs = (sender.run(), StateChecks(service.journal, observer.alarm).run())
            tasks = [asyncio.create_task(job) for job in jobs]
            yield
            for task in tasks:
                task.cancel()
            await asyncio.wait(tasks)  # they use the journal, which may be closed after this
        await authenticator.close()

    app = Starlette(
        routes=[
            *_routes(service, observer, mounts),
            # Both for the path itself and for paths below it: a Mount alone would require a trailing slash.
            *(kind(mount.path, mount.app) for mount in mounts for kind in (Route, Mount)),
        ],
        exception_handlers={MemorywireError: problem_of, HTTPException: _unknown, Exception: _bug},
        lifespan=running,
    )
    app.router.redirect_slashes = False
    middleware = SecurityMiddleware(
        app,
        service=service,
        authenticator=authenticator,
        observer=observer,
        hosts=hosts,
        entries={mount.path: mount.entry for mount in mounts if mount.entry is not None},
        words={mount.path: mount.words for mount in mounts if mount.words is not None},
        names=_names(mounts),
    )
    return ServerErrorMiddleware(middleware, handler=_bug), service


def _names(mounts: Sequence[MountedApp]) -> dict[str, str]:
    """Map path prefixes to the names of operations in logs and metrics, for refused requests too."""
    return {
        **{route.path.partition("{")[0]: route.operation for route in reversed(wire_routes())},
        **{
            f"/v0/{name}": name
            for name in "audit batch debts dream events export kv layer promote reviews".split()
        },
        **{f"/v0/kv-{name}": "kv" for name in ("search", "stats", "reembed")},
        **{"/v0/procedures": "trigger", "/v0/backends": "backend", "/v0/bindings": "backend"},
        **{f"/{name}": name for name in ("docs", "healthz", "metrics", "readyz")},
        **{"/": "start", "/docs.css": "docs", "/openapi.json": "openapi"},
        **{one.path: one.name or one.path.rpartition("/")[2] for one in mounts},
    }


def _routes(service: Service, observer: RequestObserver, mounts: Sequence[MountedApp]) -> list[BaseRoute]:
    async def start(request: Request) -> Response:
        """Redirect to the console, or to the documentation if there is none."""
        return RedirectResponse(next((mount.path for mount in mounts if mount.welcoming), "/docs"))

    async def metrics(request: Request) -> Response:
        caller_of(request).require(Right.READ, everywhere=True)
        context, status = service.container.context, await service.journal.read_status()
        return Response(observer.metrics.text(status, context.names, context.clock()), media_type=_METRICS)

    async def healthz(request: Request) -> Response:
        return as_json({"status": "ok"})

    paths: dict[str, dict[str, Handler]] = {}
    for route in wire_routes():
        paths.setdefault(route.path, {})[route.method] = wire_handler(route)
    return [
        Route("/", start),
        *(build_route(service, path, **handlers) for path, handlers in paths.items()),
        build_route(service, "/v0/batch", POST=run_batch),
        build_route(service, "/v0/procedures/{id}/trigger", POST=trigger),
        build_route(service, "/v0/audit", GET=audit.get_entries),
        build_route(service, "/v0/audit/verify", GET=audit.get_verdict),
        build_route(service, "/v0/audit/proof", GET=audit.get_proof),
        build_route(service, "/v0/audit/checkpoint", GET=audit.get_checkpoint),
        build_route(service, "/v0/audit/archive", POST=audit.post_archive),
        build_route(service, "/v0/dream", POST=post_dream),
        build_route(service, f"{SIGNED}{{webhook_id}}", POST=post_review),
        build_route(service, "/v0/promote", POST=post_promote),
        build_route(service, "/v0/export", GET=audit.get_export),
        build_route(service, "/v0/debts", GET=audit.get_debts),
        *kv_routes(service),
        *layer_routes(service),
        *definition_routes(service),
        build_route(service, "/v0/events", GET=audit.stream_events),
        Route("/metrics", metrics),
        Route("/healthz", healthz),
        Route("/readyz", _ready_endpoint(service)),
        Route("/openapi.json", get_openapi),
        Route("/docs", get_docs),
        Route("/docs.css", get_css),
    ]


async def problem_of(request: Request, error: Exception) -> Response:
    """Encode one of our errors as a problem."""
    problem = cast("MemorywireError", error)
    request.state.visit.code = problem.code
    return as_problem(problem)


async def _unknown(request: Request, error: Exception) -> Response:
    """Encode an error of the router, such as an unknown path, as a problem."""
    problem = cast("HTTPException", error)
    if problem.status_code == WRONG_METHOD:
        headers = problem.headers or {}
        methods = headers.get("Allow")
        wrong = WrongMethod(
            "this address does not support that method", fix=f"send {methods}" if methods else None
        )
        return as_problem(wrong, headers=headers)
    addresses = [route.path for route in wire_routes() if route.field is None]
    near = get_close_matches(request.url.path[:_LONGEST_GUESS], addresses, n=1, cutoff=0.85)
    fix = f"did you mean {near[0]}?" if near else "see /docs"
    if request.method == "POST" and _OPERATION.fullmatch(request.url.path):
        return as_problem(UnknownOperation("no such operation", field="operation", fix=fix))
    return as_problem(NotFound("no such address", fix=fix))


async def _bug(request: Request, error: Exception) -> Response:
    """Answer an unexpected error without its details, which only the log contains."""
    trace = current_trace.get()
    place = "" if trace is None else f", at trace_id {trace.id}"
    fault = MemorywireError("internal error", fix=f"see the log of the server{place}")
    return as_problem(fault, headers=HEADERS)
