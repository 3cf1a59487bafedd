"""Before every route: is this host ours, does a browser misuse us, who asks, how often, how much at once."""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from math import ceil
from urllib.parse import urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from memorywire.model.errors import (
    Forbidden,
    InvalidRequest,
    MemorywireError,
    Misdirected,
    Overloaded,
    RateLimited,
)
from memorywire.servers.callers import Doorkeeper
from memorywire.servers.http.answers import as_problem
from memorywire.servers.http.door import Door
from memorywire.servers.http.watch import Visit, Watch

PROBES = frozenset({"/healthz", "/readyz"})
PUBLIC = PROBES | {"/openapi.json", "/docs", "/docs.css"}
LOOPBACK = frozenset({"127.0.0.1", "localhost", "::1"})

_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
    "form-action 'self'; frame-ancestors 'none'; base-uri 'none'"
)
HEADERS: Mapping[str, str] = {
    "Content-Security-Policy": _POLICY,
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
    "Cache-Control": "no-store",
}

_SAME = frozenset({"same-origin", "none"})
_AGAIN = 1
_STREAM = "text/event-stream"


@dataclass(slots=True)
class _Bucket:
    left: float
    at: float


class Rates:
    """A bucket for each caller: filled at `rate` a second, holding twice that."""

    def __init__(self, rate: float, now: Callable[[], float] = time.monotonic) -> None:
        self._rate = rate
        self._now = now
        self._buckets: dict[str, _Bucket] = {}

    def take(self, caller: str) -> None:
        """Raises RateLimited, with the wait, when the bucket is empty."""
        now, most = self._now(), self._rate * 2
        bucket = self._buckets.setdefault(caller, _Bucket(most, now))
        bucket.left = min(most, bucket.left + (now - bucket.at) * self._rate)
        bucket.at = now
        if bucket.left < 1:
            wait = max(1, ceil((1 - bucket.left) / self._rate))
            raise RateLimited(f"more than {self._rate:g} requests a second", retry_after=wait)
        bucket.left -= 1


class Guard:
    """The application behind its checks. `hosts` are the names this server goes by; none means any.

    What it lets in finds its caller in `scope["state"]["caller"]`, in mounted applications too, and in
    `closing` an event that ends whatever would last.
    """

    def __init__(
        self, app: ASGIApp, *, door: Door, doorkeeper: Doorkeeper, watch: Watch, hosts: frozenset[str]
    ) -> None:
        self._app = app
        self._door = door
        self._doorkeeper = doorkeeper
        self._watch = watch
        self._hosts = hosts
        self._rates = Rates(door.limits.rate)
        self._at_once = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
        elif scope["type"] == "http":
            await self._visit(scope, receive, send)
        else:
            await send({"type": "websocket.close", "code": 1000})

    async def _visit(self, scope: Scope, receive: Receive, send: Send) -> None:
        with self._watch.visit(scope) as visit:

            async def dressed(message: Message) -> None:
                if message["type"] == "http.response.start":
                    visit.status = message["status"]
                    headers = MutableHeaders(scope=message)
                    headers.update(HEADERS)
                    if headers.get("content-type", "").startswith(_STREAM):
                        self._let_go(visit)  # streams last, and are counted by whoever opens them
                await send(message)

            try:
                await self._admit(scope)
                await self._pass(visit, scope, receive, dressed)
            except MemorywireError as error:
                visit.code = error.code
                await as_problem(error)(scope, receive, dressed)

    async def _admit(self, scope: Scope) -> None:
        headers = Headers(scope=scope)
        if "content-length" in headers and "transfer-encoding" in headers:
            raise InvalidRequest(
                "a body has one length", field="Transfer-Encoding", fix="send one of the two"
            )
        if scope["path"] not in PROBES:
            self._check_host(headers)
        _check_origin(headers)
        if scope["path"] in PUBLIC:
            return
        caller = await self._doorkeeper.admit(headers.get("authorization"), headers.get("memorywire-tenant"))
        scope.setdefault("state", {}).update(caller=caller, closing=self._door.closing)
        self._watch.named(scope, caller)
        self._rates.take(caller.name)

    async def _pass(self, visit: Visit, scope: Scope, receive: Receive, send: Send) -> None:
        if self._at_once >= self._door.limits.at_once or self._door.closing.is_set():
            raise Overloaded("more is being asked than can be answered now", retry_after=_AGAIN)
        self._at_once += 1
        visit.counted = True
        try:
            await self._app(_as_sent(scope), receive, send)
        finally:
            self._let_go(visit)

    def _let_go(self, visit: Visit) -> None:
        self._at_once -= visit.counted
        visit.counted = False

    def _check_host(self, headers: Headers) -> None:
        name = _hostname(headers.get("host", ""))
        if self._hosts and name not in self._hosts:
            raise Misdirected(
                "this server does not go by that name", field="Host", fix="serve with --allow-host NAME"
            )


def _check_origin(headers: Headers) -> None:
    """A page of another site cannot use its visitor's access; programs send neither header.

    Whatever terminates TLS before us changes the scheme and keeps the host.
    """
    scheme, _, place = headers.get("origin", "").partition("://")
    if scheme and (scheme not in ("http", "https") or place != headers.get("host")):
        raise Forbidden("a page of another origin cannot ask here", field="Origin")
    if headers.get("sec-fetch-site", "none") not in _SAME:
        raise Forbidden("a page of another site cannot ask here", field="Sec-Fetch-Site")


def _hostname(host: str) -> str:
    try:
        return urlsplit(f"//{host}").hostname or ""
    except ValueError:
        return ""


def _as_sent(scope: Scope) -> Scope:
    """Paths of the wire are routed before they are decoded: an id may have a slash in it."""
    if scope["path"].startswith("/v0/") and "raw_path" in scope:
        return {**scope, "path": scope["raw_path"].decode("ascii", "replace")}
    return scope
