"""The same server over HTTP: an application that the HTTP door mounts behind its guard."""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any, cast

from mcp.server.auth.middleware.bearer_auth import AuthenticatedUser, AuthorizationContext
from mcp.server.auth.provider import AccessToken
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import Server
from mcp.server.streamable_http import StreamableHTTPServerTransport
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from starlette.requests import Request
from starlette.types import Receive, Scope, Send

from memorywire.app import Container
from memorywire.server.callers import Caller
from memorywire.server.http.app import Mounted
from memorywire.server.http.endpoint import Door, Limits
from memorywire.server.http.quotas import Party, Quota
from memorywire.server.mcp.oauth import challenge_at
from memorywire.server.mcp.server import build_server
from memorywire.server.mcp.sessions import Visit, visit_of
from memorywire.server.oidc import Provider

PATH = "/mcp"

_IDLE_SECONDS = 300.0
"""A session that neither asks nor listens for this long makes room for another."""


def mcp_mount(
    container: Container,
    limits: Limits | None = None,
    *,
    extend: Callable[[Server[Any]], None] = lambda _: None,
    provider: Provider | None = None,
) -> Mounted:
    """What `serve` mounts. Old clients have sessions, each of the credential that opened it.

    `extend` may give the server more to offer, behind the same guard. With a `provider` of tokens a client
    without one is told where to sign in; `metadata_mount` is what it reads then.
    """
    bounds = limits or Limits()
    door = Door(container, bounds)

    async def open_door() -> Door:
        return door

    server = build_server(open_door, _who)
    extend(server)
    manager = _Sessions(
        server,
        session_idle_timeout=_IDLE_SECONDS,
        max_request_body_size=bounds.body,
        max_sessions=bounds.streams,
    )

    @asynccontextmanager
    async def running() -> AsyncIterator[None]:
        async with manager.run():
            yield
        await door.drain()

    words = None if provider is None else challenge_at(PATH)
    return Mounted(path=PATH, app=_Named(manager), running=running, words=words)


class _Sessions(StreamableHTTPSessionManager):
    """Sessions, of which one credential gets at most half and one tenant at most three quarters."""

    def _admit_session(self, requestor: AuthorizationContext | None) -> StreamableHTTPServerTransport | None:
        if requestor is not None and self.max_sessions is not None:
            quota = Quota(self.max_sessions, "too many sessions are open", retry_after=1)
            for owner in self._session_owners.values():
                quota.add(_party(owner))
            if not quota.has_room(_party(requestor)):
                return None
        return super()._admit_session(requestor)


def _party(owner: AuthorizationContext) -> Party:
    return Party(credential=owner["client_id"], tenant=owner["subject"] or "")


class _Named:
    """The application with a user for each caller, by which the session manager tells callers apart."""

    def __init__(self, manager: StreamableHTTPSessionManager) -> None:
        self._manager = manager

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        named = {**scope, "user": _user(scope["state"]["caller"])}
        if scope["method"] == "GET":
            scope["state"]["lease"].require_stream()
        await self._manager.asgi_app(named, receive, send)


def _who(context: ServerRequestContext[Any, Any]) -> Visit:
    request = cast("Request", context.request)
    return visit_of(request.scope["state"], request.headers)


def _user(caller: Caller) -> AuthenticatedUser:
    """A user that differs for every caller, so that nobody can continue another's session."""
    owner = f"{caller.tenant}/{caller.name}"
    return AuthenticatedUser(AccessToken(token="", client_id=owner, scopes=[], subject=caller.tenant))
