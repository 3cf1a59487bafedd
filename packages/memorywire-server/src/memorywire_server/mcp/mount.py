"""MCP over HTTP: an application that the HTTP server mounts."""

from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from typing import Any, cast
from urllib.parse import urlsplit

from mcp.server.auth.middleware.bearer_auth import AuthenticatedUser, AuthorizationContext
from mcp.server.auth.provider import AccessToken
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import Server
from mcp.server.streamable_http import StreamableHTTPServerTransport
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from starlette.datastructures import Headers
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from memorywire.app.container import Container
from memorywire.model.errors import MemorywireError, NotFound, Unauthenticated, WrongMethod
from memorywire.model.record import Json
from memorywire_server.auth import Caller, Provider
from memorywire_server.http.answers import as_json, as_problem
from memorywire_server.http.app import MountedApp
from memorywire_server.http.endpoint import Limits, Service
from memorywire_server.http.quotas import Party, Quota
from memorywire_server.mcp.server import build_server
from memorywire_server.mcp.sessions import AgentSession, session_of

METADATA = "/.well-known/oauth-protected-resource"


def metadata_mount(provider: Provider, path: str) -> MountedApp:
    """Return the mount of the OAuth metadata of the server, and of MCP at `path`."""

    async def admit_anybody(_: Scope) -> Caller | None:
        return None

    return MountedApp(path=METADATA, app=_Metadata(provider, path), entry=admit_anybody)


class _Metadata:
    """Serves the OAuth metadata, without authentication."""

    def __init__(self, provider: Provider, path: str) -> None:
        self._provider = provider
        self._paths = {METADATA: "", f"{METADATA}{path}": path}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["path"] not in self._paths:
            fix = f"there are: {', '.join(self._paths)}"
            response = as_problem(NotFound("there is no such resource", fix=fix))
        elif scope["method"] not in ("GET", "HEAD"):
            response = as_problem(WrongMethod("this address does not support that method", fix="use GET"))
        else:
            # The URL that a client requests a token for: the tokens' audience, if it is a URL above this one.
            resource, audience = f"{_origin(scope)}{self._paths[scope['path']]}", self._provider.audience
            if resource.startswith(f"{audience.rstrip('/')}/"):
                resource = audience
            document: dict[str, Json] = {
                "resource": resource,
                "authorization_servers": [self._provider.issuer],
                "bearer_methods_supported": ["header"],
                "resource_name": "memorywire",
            }
            response = as_json(document)
        await response(scope, receive, send)


class _Challenge(Response):
    """A 401 with the URL of the metadata, on the host name that the client uses."""

    def __init__(self, error: MemorywireError, path: str) -> None:
        self._error = error
        self._path = path
        super().__init__()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        parts = [f'resource_metadata="{_origin(scope)}{METADATA}{self._path}"']
        if "authorization" in Headers(scope=scope):
            parts.append('error="invalid_token"')
        response = as_problem(self._error)
        response.headers["WWW-Authenticate"] = f"Bearer {', '.join(parts)}"
        await response(scope, receive, send)


def _origin(scope: Scope) -> str:
    """Return the scheme and host that the client used, even behind a proxy that terminates TLS."""
    headers = Headers(scope=scope)
    forwarded = headers.get("x-forwarded-proto", "").partition(",")[0].strip().lower()
    scheme = "https" if "https" in (forwarded, scope.get("scheme")) else "http"
    host = urlsplit(f"//{headers.get('host', '')}").netloc
    return f"{scheme}://{''.join(c for c in host if c.isalnum() or c in '.-:[]_')}"


PATH = "/mcp"

_IDLE_SECONDS = 300.0
"""A session that is idle for this long is closed."""


def mcp_mount(
    container: Container,
    limits: Limits | None = None,
    *,
    extend: Callable[[Server[Any]], None] = lambda _: None,
    provider: Provider | None = None,
    groups: Sequence[str] = (),
) -> MountedApp:
    """Return the mount of MCP. Clients of the older protocol have sessions, bound to their credential.

    `extend` can add tools to the server; `groups` enables optional tools. With a `provider`, a 401 tells
    the client where to sign in, by a link to `metadata_mount`.
    """
    bounds = limits or Limits()
    service = Service(container, bounds)

    async def open_service() -> Service:
        return service

    def who(context: ServerRequestContext[Any, Any]) -> AgentSession:
        request = cast("Request", context.request)
        return session_of(request.scope["state"], request.headers)

    def challenge(error: MemorywireError) -> Response:
        """Encode a refusal; a client without a valid token gets the URL of the metadata."""
        return _Challenge(error, PATH) if isinstance(error, Unauthenticated) else as_problem(error)

    server = build_server(open_service, who, groups=groups)
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
        await service.drain()

    words = None if provider is None else challenge
    return MountedApp(path=PATH, app=_Named(manager), running=running, words=words)


class _Sessions(StreamableHTTPSessionManager):
    """Limits the sessions of one credential to half and those of one tenant to three quarters of all."""

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
    """Sets a user for each caller, so that no caller can continue another caller's session."""

    def __init__(self, manager: StreamableHTTPSessionManager) -> None:
        self._manager = manager

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        caller: Caller = scope["state"]["caller"]
        token = AccessToken(
            token="", client_id=f"{caller.tenant}/{caller.name}", scopes=[], subject=caller.tenant
        )
        if scope["method"] == "GET":
            scope["state"]["lease"].require_stream()
        await self._manager.asgi_app({**scope, "user": AuthenticatedUser(token)}, receive, send)
