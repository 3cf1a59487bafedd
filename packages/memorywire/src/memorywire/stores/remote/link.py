"""A way to another memorywire: requests over connections that stay open, made in threads."""

import asyncio
import json
import ssl
from collections import deque
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from urllib.parse import parse_qsl, unquote, urlsplit

from memorywire.model.errors import InvalidRequest, MemorywireError, StoreCorrupt, StoreUnavailable
from memorywire.model.record import Json
from memorywire.stores.remote.problems import error_of

_MOST_BYTES = 64 * 1024 * 1024
_DONE = range(200, 300)


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where the other memorywire is, and which tenant is meant there; shown without the token."""

    scheme: str
    host: str
    port: int | None = None
    path: str = ""
    token: str | None = None
    tenant: str | None = None

    def __repr__(self) -> str:
        return f"Place({self.scheme}://{self.host})"

    @property
    def headers(self) -> dict[str, str]:
        """The headers that say who asks, and for which tenant."""
        known = {} if self.token is None else {"Authorization": f"Bearer {self.token}"}
        return known if self.tenant is None else {**known, "Memorywire-Tenant": self.tenant}


def locate(url: str, token: str | None = None) -> Place:
    """The place an http or https URL names; it may hold the token, before the host, and `?tenant=NAME`."""
    try:
        parts = urlsplit(url)
        host, port, tenant = parts.hostname, parts.port, _tenant(parts.query)
    except (ValueError, AttributeError):  # the latter of what is no text
        host, port, tenant = None, None, None
    if host is None or parts.scheme not in ("http", "https"):
        raise InvalidRequest(
            "this is no address of another memorywire",
            field="store",
            fix="write http://HOST:8377, https://TOKEN@HOST, or https://TOKEN@HOST?tenant=NAME",
        )
    given = unquote(parts.password or parts.username or "") or token
    path = parts.path.rstrip("/")
    return Place(scheme=parts.scheme, host=host, port=port, path=path, token=given, tenant=tenant)


def tenant_named(urls: Iterable[str]) -> str | None:
    """The tenant that the addresses name, if any of them does; InvalidRequest when they name several."""
    named = sorted({place.tenant for place in map(locate, urls) if place.tenant is not None})
    if len(named) > 1:
        raise InvalidRequest(
            f"the stores are of several tenants: {', '.join(named)}",
            field="store",
            fix="name stores of one tenant",
        )
    return named[0] if named else None


def _tenant(query: str) -> str | None:
    """The tenant that a query names; ValueError for anything else, or for what no header can say."""
    if not query:
        return None
    ((option, name),) = parse_qsl(query, strict_parsing=True)
    if option != "tenant" or not (name.isascii() and name.isprintable()):
        raise ValueError
    return name


@dataclass(frozen=True, slots=True)
class _Sent:
    method: str
    path: str
    body: bytes | None
    headers: Mapping[str, str]


class Link:
    """Sends JSON and gets JSON back, or raises the problem that came instead."""

    def __init__(
        self, place: Place, *, timeout: float = 30.0, keep: int = 8, most_bytes: int = _MOST_BYTES
    ) -> None:
        """`timeout` is in seconds, for each time the other side is waited for.

        An answer is read up to `most_bytes`; what is longer is no answer.

        Of the connections so many are kept open. When one of them broke, nobody knows who heard what was
        sent, and it is sent again.
        """
        self._place = place
        self._timeout = timeout
        self._keep = keep
        self._most_bytes = most_bytes
        self._idle: deque[HTTPConnection] = deque()
        self._closed = False

    async def post(self, path: str, document: Json, *, tenant: str | None = None) -> Json:
        """The answer to a document."""
        return await self.ask("POST", path, document, tenant=tenant)

    async def ask(self, method: str, path: str, document: Json = None, *, tenant: str | None = None) -> Json:
        """The answer of an address; without a document there is no body."""
        headers = {"Accept": "application/json", **self._place.headers}
        if document is not None:
            headers["Content-Type"] = "application/json"
        if tenant is not None:
            headers["Memorywire-Tenant"] = tenant
        body = None if document is None else _written(document)
        return await asyncio.to_thread(self._exchange, _Sent(method, path, body, headers))

    async def close(self) -> None:
        self._closed = True
        while self._idle:
            self._idle.popleft().close()

    def _exchange(self, sent: "_Sent") -> Json:
        if self._closed:
            raise StoreUnavailable("the way to the other memorywire was closed")
        try:
            if self._idle:
                try:
                    return self._asked(self._idle.popleft(), sent)
                except (HTTPException, ConnectionError, IndexError):
                    pass  # it was closed while it was idle; a new one shows whether anybody is there
            return self._asked(self._connected(), sent)
        except (HTTPException, OSError) as error:
            raise self._unanswered(error) from error

    def _unanswered(self, error: Exception) -> StoreUnavailable:
        if getattr(error, "reason", None) == "WRONG_VERSION_NUMBER":  # of TLS: the answer came in the clear
            return StoreUnavailable(
                f"{self._place.host} does not speak https at this port",
                fix="say http:// in its address, or name the port where it speaks https",
            )
        reason = getattr(error, "strerror", None) or type(error).__name__
        return StoreUnavailable(
            f"{self._place.host} did not answer: {reason}",
            fix="is it running? start it with `memorywire serve`, or check the address and its port",
        )

    def _asked(self, connection: HTTPConnection, sent: "_Sent") -> Json:
        answered = False
        try:
            connection.request(sent.method, f"{self._place.path}{sent.path}", sent.body, dict(sent.headers))
            response = connection.getresponse()
            answer = response.read(self._most_bytes + 1)
            answered = response.isclosed() and not response.will_close and len(self._idle) < self._keep
        finally:
            if answered and not self._closed:
                self._idle.append(connection)
            else:
                connection.close()
        return self._read(response.status, answer)

    def _connected(self) -> HTTPConnection:
        place = self._place
        if place.scheme == "https":
            context = ssl.create_default_context()
            return HTTPSConnection(place.host, place.port, timeout=self._timeout, context=context)
        return HTTPConnection(place.host, place.port, timeout=self._timeout)

    def _read(self, status: int, answer: bytes) -> Json:
        try:
            document = json.loads(answer)
        except (ValueError, RecursionError):
            document = None
        if status in _DONE and document is not None:
            return document
        raise self._problem(status, document)

    def _problem(self, status: int, document: Json) -> MemorywireError:
        if status not in _DONE and isinstance(document, dict) and "code" in document:
            return error_of(document)
        return StoreCorrupt(
            f"{self._place.host} answered with status {status} and nothing a memorywire says",
            fix="check the address",
        )


def _written(document: Json) -> bytes:
    try:
        return json.dumps(document, ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode()
    except (TypeError, ValueError) as error:
        raise InvalidRequest(
            "this cannot be said in JSON", fix="send text, numbers, lists and objects"
        ) from error
