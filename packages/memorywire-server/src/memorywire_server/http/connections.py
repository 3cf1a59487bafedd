"""Limits on connections: their number, the size of a request head and the time of each step.

uvicorn implements HTTP; this adds the limits that it lacks.
"""

import asyncio
import ipaddress
import json
from collections import Counter, deque
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any, cast

import h11
from starlette.responses import Response
from starlette.types import Message, Receive, Scope, Send
from uvicorn import Config
from uvicorn.protocols.http.h11_impl import STATUS_PHRASES, H11Protocol
from uvicorn.server import ServerState

from memorywire.model.errors import InvalidRequest, MemorywireError, Overloaded, TooSlow
from memorywire_server.http.answers import HEADERS, PROBES, PROBLEM, as_problem
from memorywire_server.http.endpoint import Limits

_RESERVED = 16
"""Connections beyond the limits, for health probes only; a new one replaces the oldest."""

_RESERVED_SECONDS = 2.0
_RETRY_SECONDS = 5
_MOST_HEADERS = 100
_PUNCTUATION = len(": \r\n")
_LENGTHS = frozenset({len("content-length"), len("transfer-encoding")})
_NETWORK_BITS = 64  # an IPv6 customer has at least a /64, so its addresses count as one


class Traffic:
    """The open connections of a server, in total and by address."""

    def __init__(
        self, limits: Limits, on_refusal: Callable[[], None] = lambda: None, *, proxies: Sequence[str] = ()
    ) -> None:
        self.limits = limits
        self._refused = on_refusal
        self._proxies = [ipaddress.ip_network(proxy) for proxy in proxies]
        self._per_address = max(1, limits.connections // 2)
        self._open = 0
        self._by_address: Counter[str] = Counter()
        self._reserved: deque[Connection] = deque()

    @property
    def open(self) -> int:
        return self._open + len(self._reserved)

    def admit(self, connection: "Connection", host: str) -> bool:
        """Count a connection; returns False if a limit is reached: then it can only send probes."""
        if self._open < self.limits.connections and self._has_room(host):
            self._open += 1
            self._by_address[network_of(host)] += 1
            return True
        self._refused()
        if len(self._reserved) >= _RESERVED:
            self._reserved.popleft().transport.abort()
        self._reserved.append(connection)
        return False

    def _has_room(self, host: str) -> bool:
        """Return whether the host may open another connection; trusted proxies have no limit per address."""
        if self._by_address[network_of(host)] < self._per_address:
            return True
        return any(ipaddress.ip_address(host) in proxy for proxy in self._proxies)

    def remove(self, connection: "Connection", host: str, *, reserved: bool) -> None:
        if reserved:
            if connection in self._reserved:
                self._reserved.remove(connection)
            return
        address = network_of(host)
        self._open -= 1
        self._by_address[address] -= 1
        if not self._by_address[address]:
            del self._by_address[address]


class Connection(H11Protocol):
    """A connection that is closed if a request head, a body or reading a response takes too long."""

    def __init__(
        self,
        config: Config,
        server_state: ServerState,
        app_state: dict[str, Any],
        _loop: asyncio.AbstractEventLoop | None = None,
        *,
        traffic: Traffic,
    ) -> None:
        super().__init__(config, server_state, app_state, _loop)
        self._traffic = traffic
        self._limits = traffic.limits
        self._host = ""
        self._reserved = False
        self._step: str | None = None
        self._deadline: asyncio.TimerHandle | None = None
        self._write_deadline: asyncio.TimerHandle | None = None
        self.conn = self._requests = _CheckedRequests(self._limits)

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        super().connection_made(cast("asyncio.Transport", transport))
        self._host = self.client[0] if self.client else ""
        self._reserved = not self._traffic.admit(self, self._host)
        if self._reserved:
            self.app = cast("Any", _ProbesOnly(self.app))
        self._watch_step(received=True)

    def connection_lost(self, exc: Exception | None) -> None:
        self._traffic.remove(self, self._host, reserved=self._reserved)
        self._set_step(None)
        self._stop_write_deadline()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        self._watch_step(received=True)

    def on_response_complete(self) -> None:
        super().on_response_complete()
        self._watch_step(received=False)

    def pause_writing(self) -> None:
        super().pause_writing()
        if self._write_deadline is None:
            self._write_deadline = self.loop.call_later(self._limits.write_seconds, self.transport.abort)

    def resume_writing(self) -> None:
        self._stop_write_deadline()
        super().resume_writing()

    def send_400_response(self, msg: str) -> None:
        """Answer a malformed request with a problem, and close the connection."""
        error = self._requests.rejection
        status = 400 if error is None else error.error_status_hint
        self._reject(InvalidRequest(msg if error is None else str(error)), status)

    def _watch_step(self, *, received: bool) -> None:
        """Start the time limit of the client's current step, unless it is running.

        Between requests uvicorn's keep-alive limit applies, until the first byte arrives.
        """
        state = self.conn.their_state
        if self.transport.is_closing():
            self._set_step(None)
        elif state is h11.SEND_BODY:
            self._set_step("body", self._limits.body_seconds)
        elif state is h11.IDLE and received:
            seconds = _RESERVED_SECONDS if self._reserved else self._limits.header_seconds
            self._set_step("head", seconds)
        else:
            self._set_step(None)

    def _set_step(self, step: str | None, seconds: float = 0.0) -> None:
        if step == self._step:
            return
        if self._deadline is not None:
            self._deadline.cancel()
        self._step = step
        self._deadline = None
        if step is not None:
            error = TooSlow(f"the {step} of the request took too long", fix="send it faster")
            self._deadline = self.loop.call_later(seconds, self._reject, error, 408)

    def _reject(self, error: MemorywireError, status: int) -> None:
        """Send an error if the client has sent something and no response has begun; close the connection."""
        silent = self.cycle is None and self.conn.their_state is h11.IDLE and not self.conn.trailing_data[0]
        if not silent and self.conn.our_state in (h11.IDLE, h11.SEND_RESPONSE):
            body = json.dumps(error.problem(), ensure_ascii=False).encode(errors="replace")
            own = {"Content-Type": PROBLEM, "Content-Length": str(len(body)), "Connection": "close"}
            headers = [(name.encode(), value.encode()) for name, value in {**HEADERS, **own}.items()]
            start = h11.Response(status_code=status, headers=headers, reason=STATUS_PHRASES[status])
            for event in (start, h11.Data(data=body), h11.EndOfMessage()):
                self.transport.write(self.conn.send(event) or b"")
        if self.cycle is not None:
            self.cycle.disconnected = True
        self._set_step(None)
        self.transport.close()

    def _stop_write_deadline(self) -> None:
        if self._write_deadline is not None:
            self._write_deadline.cancel()
            self._write_deadline = None


class _CheckedRequests(h11.Connection):
    """Rejects requests whose head is too large or whose body has two lengths.

    h11 limits only heads that arrive in several parts. With two lengths, a proxy may use the other one
    (request smuggling): the start of the next request is ambiguous, so the connection must be closed.
    """

    def __init__(self, limits: Limits) -> None:
        super().__init__(h11.SERVER, limits.head)
        self._limits = limits
        self.rejection: h11.RemoteProtocolError | None = None

    def next_event(self) -> Any:
        try:
            event = super().next_event()
            if isinstance(event, h11.Request):
                self._check(event)
        except h11.RemoteProtocolError as error:
            self.rejection = error
            raise
        return event

    def _check(self, request: h11.Request) -> None:
        size = len(request.target)
        if size > self._limits.head:
            raise h11.RemoteProtocolError(f"the URL is longer than {self._limits.head} bytes", 414)
        headers = request.headers.raw_items()  # three times faster than iterating over `headers`
        lengths = set()
        for name, value in headers:
            size += len(name) + len(value) + _PUNCTUATION
            if len(name) in _LENGTHS:
                lengths.add(name.lower())
        if size > self._limits.head or len(headers) > _MOST_HEADERS:
            most = f"{self._limits.head} bytes, or {_MOST_HEADERS} headers"
            raise h11.RemoteProtocolError(f"the URL and the headers are more than {most}", 431)
        if {b"content-length", b"transfer-encoding"} <= lengths:
            raise h11.RemoteProtocolError("a body has one length: send Content-Length or Transfer-Encoding")


class _ProbesOnly:
    """The application for connections beyond the limits: answers probes and rejects other requests."""

    def __init__(self, app: Callable[..., Any]) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def closing(message: Message) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = [*message["headers"], (b"connection", b"close")]
            await send(message)

        if scope["path"] in PROBES:
            await self._app(scope, receive, closing)
        else:
            error = Overloaded("too many connections are open", retry_after=_RETRY_SECONDS)
            response: Response = as_problem(error, headers=HEADERS)
            await response(scope, receive, closing)


@lru_cache(maxsize=4096)
def network_of(address: str) -> str:
    """Return the key to count an address by: an IPv6 address by network, a mapped IPv4 address as IPv4."""
    try:
        parsed = ipaddress.ip_address(address.partition("%")[0])
    except ValueError:
        return address
    if isinstance(parsed, ipaddress.IPv4Address):
        return address
    if parsed.ipv4_mapped is not None:
        return str(parsed.ipv4_mapped)
    return str(ipaddress.ip_network((parsed, _NETWORK_BITS), strict=False))
