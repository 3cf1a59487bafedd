"""Signing in with an identity provider: what clients read to find it, and the challenge that leads there.

A client without a token is told where the metadata of this protected resource is (RFC 9728). The metadata
names the provider, whose tokens the server checks. Without a provider there is nobody to sign in with.
"""

from collections.abc import Callable
from urllib.parse import urlsplit

from starlette.datastructures import Headers
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

from memorywire.model.errors import MemorywireError, NotFound, Unauthenticated, WrongMethod
from memorywire.model.record import Json
from memorywire.server.callers import Caller
from memorywire.server.http.answers import as_json, as_problem
from memorywire.server.http.app import Mounted
from memorywire.server.oidc import Provider

METADATA = "/.well-known/oauth-protected-resource"


def metadata_mount(provider: Provider, path: str) -> Mounted:
    """What `serve` mounts beside MCP: the metadata of the server, and of MCP at `path`."""
    return Mounted(path=METADATA, app=_Metadata(provider, path), entry=_nobody)


def challenge_at(path: str) -> Callable[[MemorywireError], Response]:
    """How MCP at `path` words a refusal: a client without a token is told where to find the provider."""
    return lambda error: _Challenge(error, path) if isinstance(error, Unauthenticated) else as_problem(error)


class _Metadata:
    """The application that answers for the metadata; anybody may read it."""

    def __init__(self, provider: Provider, path: str) -> None:
        self._provider = provider
        self._paths = {METADATA: "", f"{METADATA}{path}": path}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self._answer(scope)(scope, receive, send)

    def _answer(self, scope: Scope) -> ASGIApp:
        if scope["path"] not in self._paths:
            return as_problem(
                NotFound("there is no such resource", fix=f"there are: {', '.join(self._paths)}")
            )
        if scope["method"] not in ("GET", "HEAD"):
            return as_problem(WrongMethod("this address does not know that method", fix="use GET"))
        resource = self._resource(scope, self._paths[scope["path"]])
        document: dict[str, Json] = {
            "resource": resource,
            "authorization_servers": [self._provider.issuer],
            "bearer_methods_supported": ["header"],
            "resource_name": "memorywire",
        }
        return as_json(document)

    def _resource(self, scope: Scope, path: str) -> str:
        """The URL for which a client asks for a token; the audience of the tokens, if that is such a URL."""
        own = f"{_origin(scope)}{path}"
        audience = self._provider.audience
        return audience if own == audience or own.startswith(f"{audience.rstrip('/')}/") else own


class _Challenge(Response):
    """A 401 that says where the metadata is, under the name by which the client knows this server."""

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
    """The scheme and host that the client used, also through a proxy that ends TLS."""
    headers = Headers(scope=scope)
    forwarded = headers.get("x-forwarded-proto", "").partition(",")[0].strip().lower()
    scheme = "https" if "https" in (forwarded, scope.get("scheme")) else "http"
    host = urlsplit(f"//{headers.get('host', '')}").netloc
    return f"{scheme}://{''.join(c for c in host if c.isalnum() or c in '.-:[]_')}"


async def _nobody(_: Scope) -> Caller | None:
    """Everybody is a stranger here: there is nothing to protect."""
    return None
