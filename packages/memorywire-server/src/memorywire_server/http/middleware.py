"""Checks before every route: host, origin (CSRF), authentication, rate limits and quotas."""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Mapping
from contextlib import suppress
from functools import partial
from typing import Any, TypeAlias, TypeVar
from urllib.parse import urlsplit

from starlette.datastructures import Headers
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from memorywire.model.errors import (
    Forbidden,
    MemorywireError,
    Misdirected,
    Overloaded,
    StoreError,
    Unauthenticated,
)
from memorywire_server.auth import Authenticator, Caller
from memorywire_server.http.answers import HEADERS, PROBES, as_problem
from memorywire_server.http.connections import network_of
from memorywire_server.http.endpoint import Service
from memorywire_server.http.metrics import RequestObserver
from memorywire_server.http.quotas import Lease, Party, Quotas, Rates, WrongTokens, current_lease

Entry: TypeAlias = Callable[[Scope], Awaitable[Caller | None]]
"""Authenticates the requests of a mounted application; None lets it handle the request unauthenticated."""

Words: TypeAlias = Callable[[MemorywireError], Response]
"""Encodes a problem as a response of the mounted application."""

T = TypeVar("T")

PUBLIC = PROBES | {"/", "/openapi.json", "/docs", "/docs.css"}
SIGNED = "/v0/reviews/"
"""Requests below this path need no token: they are signed with the secret of a webhook."""
LOOPBACK = frozenset({"127.0.0.1", "localhost", "::1"})

_SAME = frozenset({"same-origin", "none"})
_CACHE = b"cache-control"
_DRESS = {name.lower().encode(): value.encode() for name, value in HEADERS.items()}
_CHECK_SECONDS = 0.2
_GRACE_SECONDS = 0.4


class SecurityMiddleware:
    """Checks every request. `hosts` are the accepted host names of this server; empty means any.

    `entries` are paths where a mounted application authenticates requests itself, `words` paths where
    problems have the format of another contract. `names` maps paths to operations for logs.

    Applications find in `scope["state"]` the `caller`, its `address`, the `lease` that counts the
    request, and in `tokens` the limit on wrong tokens. Streams end when the server stops, and within
    a second after their caller loses access.
    """

    def __init__(
        self,
        app: ASGIApp,
        *,
        service: Service,
        authenticator: Authenticator,
        observer: RequestObserver,
        hosts: frozenset[str],
        entries: Mapping[str, Entry],
        words: Mapping[str, Words],
        names: Mapping[str, str],
    ) -> None:
        self._app = app
        self._service = service
        self._authenticator = authenticator
        self._observer = observer
        self._hosts = hosts
        self._entries = entries
        self._words = words
        self._names = names
        self._rates = Rates(service.limits.rate)
        self._tokens = WrongTokens(service.limits.wrong_tokens)
        self._quotas = Quotas(requests=service.limits.at_once, streams=service.limits.streams)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        if scope["type"] != "http":
            await send({"type": "websocket.close", "code": 1000})
            return
        with self._observer.visit(scope) as visit:

            async def send_with_headers(message: Message) -> None:
                if message["type"] == "http.response.start":
                    visit.status = message["status"]
                    message["headers"] = _add_headers(message["headers"])
                await send(message)

            try:
                await self._admit(scope)
                if scope["path"] in PROBES:  # probes are answered whatever the load
                    await self._app(scope, receive, send_with_headers)
                else:
                    await self._pass(scope, receive, send_with_headers)
            except MemorywireError as error:
                visit.code = error.code
                say = _find_mount(scope["path"], self._words) or as_problem
                await say(error)(scope, receive, send_with_headers)

    async def _admit(self, scope: Scope) -> None:
        headers, client, path = Headers(scope=scope), scope.get("client"), scope["path"]
        state = scope.setdefault("state", {})
        state.setdefault("operation", _name_operation(path, self._names))
        address = network_of(client[0]) if client else ""
        state.update(caller=None, address=address, tokens=self._tokens, closing=self._service.closing)
        if path in PROBES:
            return
        try:
            host = urlsplit(f"//{headers.get('host', '')}").hostname or ""
        except ValueError:
            host = ""
        if self._hosts and host not in self._hosts:
            raise Misdirected(
                "this server is not configured for that host name",
                field="Host",
                fix="serve with --allow-host NAME",
            )
        # A navigation by a link from another site is allowed, since a GET changes nothing.
        fetch = (scope["method"], headers.get("sec-fetch-mode"), headers.get("sec-fetch-dest"))
        is_page = _find_mount(path, self._entries) is not None
        if not is_page or fetch != ("GET", "navigate", "document"):
            _check_origin(headers)
        if path not in PUBLIC and not path.startswith(SIGNED):
            caller = state["caller"] = await self._identify(scope, headers)
            if caller is not None:
                state["visit"].caller = caller.name
            state.update(admit=partial(self._bearer, headers))
        self._rates.take(_build_party(state).credential)

    async def _identify(self, scope: Scope, headers: Headers) -> Caller | None:
        """Return the caller; None for a request that a mounted application handles unauthenticated.

        Raises Unauthenticated, or RateLimited after too many wrong tokens from one address.
        """
        state, credential = scope["state"], headers.get("authorization")
        if credential is None:
            return await self._caller(scope, headers)
        self._tokens.check(state["address"], credential)
        try:
            caller = await self._caller(scope, headers)
        except Unauthenticated:
            self._tokens.reject(state["address"], credential)
            raise
        if caller is not None:
            self._tokens.accept(credential)
        elif isinstance(state.get("refusal"), Unauthenticated):
            self._tokens.reject(state["address"], credential)
        return caller

    async def _caller(self, scope: Scope, headers: Headers) -> Caller | None:
        entry = _find_mount(scope["path"], self._entries)
        if entry is not None:
            return await entry(scope)
        return await self._bearer(headers)

    async def _bearer(self, headers: Headers) -> Caller:
        return await self._authenticator.admit(headers.get("authorization"), headers.get("memorywire-tenant"))

    async def _pass(self, scope: Scope, receive: Receive, send: Send) -> None:
        if self._service.closing.is_set():
            raise Overloaded("the server is shutting down", retry_after=1)
        lease = self._quotas.begin(_build_party(scope["state"]))
        scope["state"].update(lease=lease)
        token = current_lease.set(lease)
        if scope["path"].startswith("/v0/") and "raw_path" in scope:  # an id may contain an encoded slash
            scope = {**scope, "path": scope["raw_path"].decode("ascii", "replace")}
        try:
            await self._answer(lease, scope, receive, send)
        finally:
            current_lease.reset(token)
            lease.release()

    async def _answer(self, lease: Lease, scope: Scope, receive: Receive, send: Send) -> None:
        """Run the application; ends a stream when the server stops or its token is revoked."""
        stream: _Stream | None = None
        answering = asyncio.current_task()
        complete = False

        async def send_and_watch(message: Message) -> None:
            nonlocal stream, complete
            if message["type"] == "http.response.start":
                kinds = [value for name, value in message["headers"] if name == b"content-type"]
                if any(kind.startswith(b"text/event-stream") for kind in kinds):
                    lease.become_stream()
                    stream = _Stream(answering, self._wait_until_unwelcome(scope))
            complete = message["type"] == "http.response.body" and not message.get("more_body", False)
            await send(message)

        try:
            await self._app(scope, receive, send_and_watch)
        except asyncio.CancelledError:
            if stream is None or not stream.was_ended():
                raise
        finally:
            if stream is not None:
                stream.close()
        if stream is not None and stream.ended and not complete:
            await send({"type": "http.response.body", "body": b"", "more_body": False})

    async def _wait_until_unwelcome(self, scope: Scope) -> None:
        """Wait until the server stops or the caller loses access.

        Then gives the application a moment to end its stream itself.
        """
        closing = self._service.closing
        while not closing.is_set() and await self._is_welcome(scope):
            with suppress(TimeoutError):
                await asyncio.wait_for(closing.wait(), _CHECK_SECONDS)
        await asyncio.sleep(_GRACE_SECONDS)

    async def _is_welcome(self, scope: Scope) -> bool:
        again = {**scope, "state": {}}  # a fresh state, since a mounted application keeps its session there
        caller: Caller | None = scope["state"]["caller"]
        try:
            return await self._caller(again, Headers(scope=scope)) == caller
        except StoreError:
            return True  # an unavailable store revokes nothing
        except MemorywireError:
            return False


class _Stream:
    """Cancels the task of a streaming response when the coroutine `end` finishes."""

    def __init__(self, answering: "asyncio.Task[Any] | None", end: Coroutine[Any, Any, None]) -> None:
        self._answering = answering
        self._waiting = asyncio.create_task(end)
        self._waiting.add_done_callback(self._end)
        self.ended = False

    def was_ended(self) -> bool:
        """Return whether only this object cancelled the task; the task then continues."""
        return self.ended and self._answering is not None and self._answering.uncancel() == 0

    def close(self) -> None:
        self._waiting.remove_done_callback(self._end)
        self._waiting.cancel()

    def _end(self, _: "asyncio.Task[None]") -> None:
        self.ended = True
        if self._answering is not None:
            self._answering.cancel()


def _name_operation(path: str, names: Mapping[str, str]) -> str:
    """Return the name of the longest known prefix of the path; `other` if there is none."""
    if path in names:
        return names[path]
    parts = path.split("/", 3)
    begin = "/".join(parts[:3])
    return names.get(f"{begin}/") or names.get(begin) or names.get("/".join(parts[:2]), "other")


def _build_party(state: Mapping[str, Any]) -> Party:
    caller: Caller | None = state["caller"]
    if caller is None:
        return Party(credential=f"address:{state['address']}", tenant="")
    return Party(credential=caller.name, tenant=caller.tenant)


def _find_mount(path: str, homes: Mapping[str, T]) -> T | None:
    """Return the value of the first of these paths that equals the path or contains it."""
    values = (value for home, value in homes.items() if path == home or path.startswith(f"{home}/"))
    return next(values, None)


def _add_headers(headers: Iterable[tuple[bytes, bytes]]) -> list[tuple[bytes, bytes]]:
    """Replace the application's headers with ours, except for its Cache-Control."""
    own = [(name, value) for name, value in headers if name == _CACHE or name not in _DRESS]
    has_cache = any(name == _CACHE for name, _ in own)
    return [*own, *(pair for pair in _DRESS.items() if not (has_cache and pair[0] == _CACHE))]


def _check_origin(headers: Headers) -> None:
    """Refuse requests from pages of other sites (CSRF). Programs send no Origin header.

    A proxy that terminates TLS changes the scheme but keeps the host, so only the host is compared.
    """
    scheme, _, place = headers.get("origin", "").partition("://")
    if scheme and (scheme not in ("http", "https") or place != headers.get("host")):
        raise Forbidden("requests from pages of another origin are refused", field="Origin")
    if headers.get("sec-fetch-site", "none") not in _SAME:
        raise Forbidden("requests from pages of another site are refused", field="Sec-Fetch-Site")
