"""Before every route: is this host ours, does a browser misuse us, who asks, how often, how much at once."""

import time
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from math import ceil
from typing import TypeAlias, TypeVar
from urllib.parse import urlsplit

from starlette.datastructures import Headers
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from memorywire.model.errors import (
    Forbidden,
    InvalidRequest,
    MemorywireError,
    Misdirected,
    Overloaded,
    RateLimited,
)
from memorywire.servers.callers import Caller, Doorkeeper
from memorywire.servers.http.answers import as_problem
from memorywire.servers.http.door import Door
from memorywire.servers.http.watch import Visit, Watch

Entry: TypeAlias = Callable[[Scope], Awaitable[Caller | None]]
"""How an application recognises its own visitors; None is a stranger, whom it receives itself."""

Words: TypeAlias = Callable[[MemorywireError], Response]
"""How an application words a problem."""

T = TypeVar("T")

PROBES = frozenset({"/healthz", "/readyz"})
PUBLIC = PROBES | {"/", "/openapi.json", "/docs", "/docs.css"}
LOOPBACK = frozenset({"127.0.0.1", "localhost", "::1"})

_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
    "form-action 'self'; frame-ancestors 'none'; base-uri 'none'"
)
HEADERS: Mapping[str, str] = {
    "Content-Security-Policy": _POLICY,
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
    "Cache-Control": "no-store",
}

_SAME = frozenset({"same-origin", "none"})
_AGAIN = 1
_STREAM = b"text/event-stream"
_CACHE = b"cache-control"
_DRESS = {name.lower().encode(): value.encode() for name, value in HEADERS.items()}
_STRANGERS = ""  # they share one rate
_MOST_BUCKETS = 10_000


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

    def __len__(self) -> int:
        return len(self._buckets)

    def take(self, caller: str) -> None:
        """Raises RateLimited, with the wait, when the bucket is empty."""
        now, most = self._now(), self._rate * 2
        if caller not in self._buckets and len(self._buckets) >= _MOST_BUCKETS:
            self._forget_full(now)
        bucket = self._buckets.setdefault(caller, _Bucket(most, now))
        bucket.left = min(most, bucket.left + (now - bucket.at) * self._rate)
        bucket.at = now
        if bucket.left < 1:
            wait = max(1, ceil((1 - bucket.left) / self._rate))
            raise RateLimited(f"more than {self._rate:g} requests a second", retry_after=wait)
        bucket.left -= 1

    def _forget_full(self, now: float) -> None:
        """Drop full buckets, which are like untouched ones: there may be any number of callers."""
        full = self._rate * 2
        self._buckets = {
            caller: bucket
            for caller, bucket in self._buckets.items()
            if bucket.left + (now - bucket.at) * self._rate < full
        }


class Guard:
    """The application behind its checks. `hosts` are the names this server goes by; none means any.

    `entries` are paths below which an application lets visitors in by its own means, `words` those below
    which problems are told in the words of another contract.
    What it lets in finds its caller in `scope["state"]["caller"]`, in mounted applications too, and in
    `closing` an event that ends whatever would last.
    """

    def __init__(
        self,
        app: ASGIApp,
        *,
        door: Door,
        doorkeeper: Doorkeeper,
        watch: Watch,
        hosts: frozenset[str],
        entries: Mapping[str, Entry],
        words: Mapping[str, Words],
    ) -> None:
        self._app = app
        self._door = door
        self._doorkeeper = doorkeeper
        self._watch = watch
        self._hosts = hosts
        self._entries = entries
        self._words = words
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
                    message["headers"] = _dress(message["headers"])
                    if _is_stream(message["headers"]):
                        self._let_go(visit)  # streams last, and are counted by whoever opens them
                await send(message)

            try:
                await self._admit(scope)
                await self._pass(visit, scope, receive, dressed)
            except MemorywireError as error:
                visit.code = error.code
                say = _below(scope["path"], self._words) or as_problem
                await say(error)(scope, receive, dressed)

    async def _admit(self, scope: Scope) -> None:
        headers = Headers(scope=scope)
        if "content-length" in headers and "transfer-encoding" in headers:
            raise InvalidRequest(
                "a body has one length", field="Transfer-Encoding", fix="send one of the two"
            )
        if scope["path"] not in PROBES:
            self._check_host(headers)
        entry = _below(scope["path"], self._entries)
        if entry is None or not _is_navigation(scope["method"], headers):
            _check_origin(headers)
        if scope["path"] in PUBLIC:
            return
        state = scope.setdefault("state", {})
        state.update(closing=self._door.closing)
        caller = await (self._bearer(headers) if entry is None else entry(scope))
        state.update(caller=caller, admit=partial(self._bearer, headers))
        if caller is not None:
            self._watch.named(scope, caller)
        self._rates.take(_STRANGERS if caller is None else caller.name)

    async def _bearer(self, headers: Headers) -> Caller:
        return await self._doorkeeper.admit(headers.get("authorization"), headers.get("memorywire-tenant"))

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


def _below(path: str, homes: Mapping[str, T]) -> T | None:
    """The value of the first of these paths that the path is at or below."""
    found = (value for home, value in homes.items() if path == home or path.startswith(f"{home}/"))
    return next(found, None)


def _dress(headers: Iterable[tuple[bytes, bytes]]) -> list[tuple[bytes, bytes]]:
    """The headers with ours in place of the application's; only its caching is left to it."""
    own = [(name, value) for name, value in headers if name == _CACHE or name not in _DRESS]
    cached = any(name == _CACHE for name, _ in own)
    return [*own, *(pair for pair in _DRESS.items() if not (cached and pair[0] == _CACHE))]


def _is_stream(headers: Iterable[tuple[bytes, bytes]]) -> bool:
    return any(name == b"content-type" and value.startswith(_STREAM) for name, value in headers)


def _check_origin(headers: Headers) -> None:
    """Refuse pages of other sites, which could use their visitor's access; programs send no such header.

    TLS that is terminated before us changes the scheme and keeps the host, so only the host is compared.
    """
    scheme, _, place = headers.get("origin", "").partition("://")
    if scheme and (scheme not in ("http", "https") or place != headers.get("host")):
        raise Forbidden("a page of another origin cannot ask here", field="Origin")
    if headers.get("sec-fetch-site", "none") not in _SAME:
        raise Forbidden("a page of another site cannot ask here", field="Sec-Fetch-Site")


def _is_navigation(method: str, headers: Headers) -> bool:
    """Whether somebody just follows a link to one of our pages: that does nothing by itself."""
    return (
        method == "GET"
        and headers.get("sec-fetch-mode") == "navigate"
        and headers.get("sec-fetch-dest") == "document"
    )


def _hostname(host: str) -> str:
    try:
        return urlsplit(f"//{host}").hostname or ""
    except ValueError:
        return ""


def _as_sent(scope: Scope) -> Scope:
    """The scope with the path as it was sent: an id may contain an encoded slash."""
    if scope["path"].startswith("/v0/") and "raw_path" in scope:
        return {**scope, "path": scope["raw_path"].decode("ascii", "replace")}
    return scope
