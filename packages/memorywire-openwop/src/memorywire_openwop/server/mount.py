"""The OpenWOP host as applications that the HTTP server mounts."""

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from functools import partial
from typing import NoReturn

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import Scope

from memorywire.app import Container
from memorywire.model.capabilities import Edition, host_over
from memorywire.model.errors import Forbidden, MemorywireError, NotFound, Unauthenticated, WrongMethod
from memorywire.model.record import Json
from memorywire_openwop.discovery import build_document
from memorywire_openwop.fixtures import AGENTS, workflows
from memorywire_openwop.host import RUN_HOURS, Host
from memorywire_openwop.server.answers import as_envelope
from memorywire_openwop.server.endpoints import (
    EXTENSION,
    NEEDS,
    READING,
    TESTING,
    TESTING_READS,
    WRITING,
    HostContext,
    Verb,
    authorize,
)
from memorywire_server.auth import Authenticator, Caller, Provider
from memorywire_server.http.answers import as_json
from memorywire_server.http.app import WRONG_METHOD, MountedApp
from memorywire_server.http.endpoint import Endpoint, Limits, Service

DISCOVERY = "/.well-known/openwop"
PATH = "/v1"
_LOOK_SECONDS = 600.0
_HOUR_SECONDS = 3_600


def openwop_mounts(
    container: Container,
    *,
    local: bool,
    provider: Provider | None = None,
    manifests: Sequence[Mapping[str, Json]] = (),
    testing: bool = False,
    limits: Limits | None = None,
    run_hours: float = RUN_HOURS,
    edition: str = Edition.V1_14,
) -> list[MountedApp]:
    """Return the mounts of `serve`. `testing` adds the published scenarios' workflows, agents and endpoints.

    Runs longer than `run_hours` fail. `edition` is the edition of the suite whose names are used.
    """
    service = Service(container, limits or Limits())
    host = Host(
        container,
        service.journal,
        serves=host_over(container.capabilities),
        workflows=workflows() if testing else {},
        run_hours=run_hours,
        edition=Edition(edition),
    )
    context = HostContext(
        host=host, service=service, manifests=(*manifests, *AGENTS) if testing else manifests
    )
    authenticator = Authenticator(service.journal, container.context.clock, trusting=local, provider=provider)

    @asynccontextmanager
    async def running() -> AsyncIterator[None]:
        looking = asyncio.create_task(_end_overdue(host, min(_LOOK_SECONDS, run_hours * _HOUR_SECONDS)))
        yield
        looking.cancel()
        with suppress(asyncio.CancelledError):
            await looking
        await service.drain()
        await authenticator.close()

    posts = {**WRITING, **TESTING} if testing else WRITING
    gets = {**READING, **TESTING_READS} if testing else READING
    app = _application([*_routes("POST", posts, context), *_routes("GET", gets, context)])
    return [
        MountedApp(
            path=DISCOVERY,
            app=_application([Route(DISCOVERY, _discovery(host))]),
            entry=_anybody,
            words=as_envelope,
        ),
        MountedApp(
            path=PATH,
            app=app,
            name="openwop",
            running=running,
            entry=partial(_bearer, authenticator),
            words=as_envelope,
            hosting=True,
        ),
    ]


async def _end_overdue(host: Host, every: float) -> NoReturn:
    """End overdue runs periodically, including those of other processes."""
    while True:
        with suppress(MemorywireError):  # the journal is unavailable: retry in the next round
            await host.end_overdue()
        await asyncio.sleep(every)


def _application(routes: Sequence[Route]) -> Starlette:
    app = Starlette(routes=routes, exception_handlers={MemorywireError: _problem, HTTPException: _problem})
    app.router.redirect_slashes = False
    return app


def _routes(method: str, verbs: Mapping[str, Verb], context: HostContext) -> list[Route]:
    return [Route(path, _endpoint(method, verb, context), methods=[method]) for path, verb in verbs.items()]


def _endpoint(method: str, verb: Verb, context: HostContext) -> Endpoint:
    async def endpoint(request: Request) -> Response:
        request.state.operation = "openwop"
        caller = authorize(request, NEEDS[method])
        return await context.service.finish(verb(request, context, caller))

    return endpoint


def _discovery(host: Host) -> Endpoint:
    async def endpoint(_: Request) -> Response:
        return as_json(build_document(host, f"{PATH}{EXTENSION}"))

    return endpoint


async def _anybody(_: Scope) -> None:
    """Admit everyone: the discovery document is public."""


async def _bearer(authenticator: Authenticator, scope: Scope) -> Caller | None:
    """Authenticate the caller; a refusal goes to the state, so that the endpoint answers with an envelope."""
    headers = {name: value.decode("latin-1") for name, value in scope["headers"]}
    try:
        return await authenticator.admit(headers.get(b"authorization"), headers.get(b"memorywire-tenant"))
    except (Unauthenticated, Forbidden) as refusal:
        scope.setdefault("state", {})["refusal"] = refusal
        return None


async def _problem(request: Request, error: Exception) -> Response:
    """Answer our errors and those of the router with an envelope."""
    if isinstance(error, MemorywireError):
        request.state.visit.code = error.code
        return as_envelope(error)
    wrong = isinstance(error, HTTPException) and error.status_code == WRONG_METHOD
    headers = error.headers if isinstance(error, HTTPException) else None
    return as_envelope(WrongMethod("method not allowed") if wrong else NotFound("no such address"), headers)
