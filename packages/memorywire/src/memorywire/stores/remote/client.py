"""JSON requests to another memorywire, and parsing of its URL."""

import json
from collections.abc import Iterable
from urllib.parse import parse_qsl, unquote, urlsplit

from msgspec import Struct

from memorywire.model.errors import InvalidRequest, MemorywireError, StoreCorrupt, StoreUnavailable
from memorywire.model.record import Json
from memorywire.runtime.http import HttpClient, HttpError, PlainHttp, Resolve, Response, ResponseTooLarge
from memorywire.stores.remote.protocol import error_of

_MOST_BYTES = 64 * 1024 * 1024
_DONE = range(200, 300)


class Place(Struct, frozen=True, kw_only=True):
    """The address, token and tenant of another memorywire; its repr hides the token."""

    scheme: str
    host: str
    port: int | None = None
    path: str = ""
    token: str | None = None
    tenant: str | None = None

    def __repr__(self) -> str:
        return f"Place({self.scheme}://{self.host})"

    @property
    def origin(self) -> str:
        """The scheme, host and port, as a URL."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{self.scheme}://{host}" if self.port is None else f"{self.scheme}://{host}:{self.port}"

    @property
    def headers(self) -> dict[str, str]:
        """The headers with the token and the tenant."""
        headers = {} if self.token is None else {"Authorization": f"Bearer {self.token}"}
        return headers if self.tenant is None else {**headers, "Memorywire-Tenant": self.tenant}


def locate(url: str, token: str | None = None) -> Place:
    """Parse an http or https URL, with an optional token before the host and `?tenant=NAME`."""
    try:
        parts = urlsplit(url)
        host, port, tenant = parts.hostname, parts.port, _tenant(parts.query)
    except (ValueError, AttributeError):  # AttributeError for invalid text
        host, port, tenant = None, None, None
    if host is None or parts.scheme not in ("http", "https"):
        raise InvalidRequest(
            "this is not the address of a memorywire server",
            field="store",
            fix="write http://HOST:8377, https://TOKEN@HOST, or https://TOKEN@HOST?tenant=NAME",
        )
    secret = unquote(parts.password or parts.username or "") or token
    path = parts.path.rstrip("/")
    return Place(scheme=parts.scheme, host=host, port=port, path=path, token=secret, tenant=tenant)


def tenant_named(urls: Iterable[str]) -> str | None:
    """Return the tenant in the URLs, or None; raises InvalidRequest if they have different ones."""
    tenants = sorted({place.tenant for place in map(locate, urls) if place.tenant is not None})
    if len(tenants) > 1:
        raise InvalidRequest(
            f"the stores belong to several tenants: {', '.join(tenants)}",
            field="store",
            fix="name stores of one tenant",
        )
    return tenants[0] if tenants else None


def _tenant(query: str) -> str | None:
    """Parse the tenant of a query; ValueError for other parameters or characters invalid in a header."""
    if not query:
        return None
    ((option, name),) = parse_qsl(query, strict_parsing=True)
    if option != "tenant" or not (name.isascii() and name.isprintable()):
        raise ValueError
    return name


class Link:
    """Sends JSON to another memorywire and returns its JSON, or raises the error in its response."""

    def __init__(
        self,
        place: Place,
        *,
        timeout: float = 30.0,
        keep: int = 8,
        most_bytes: int = _MOST_BYTES,
        resolve: Resolve | None = None,
    ) -> None:
        """See `HttpClient` for `timeout`, `keep` and `resolve`; responses are read up to `most_bytes`."""
        self._place = place
        self._http = HttpClient(
            place.origin, timeout=timeout, max_bytes=most_bytes, keep_alive=keep, resolve=resolve
        )
        self._closed = False

    async def post(self, path: str, document: Json, *, tenant: str | None = None) -> Json:
        """POST a document and return the answer."""
        return await self.ask("POST", path, document, tenant=tenant)

    async def ask(self, method: str, path: str, document: Json = None, *, tenant: str | None = None) -> Json:
        """Send a request to an address and return the answer; without a document the body is empty."""
        headers = {"Accept": "application/json", **self._place.headers}
        if document is not None:
            headers["Content-Type"] = "application/json"
        if tenant is not None:
            headers["Memorywire-Tenant"] = tenant
        body = None if document is None else _encode(document)
        if self._closed:
            raise StoreUnavailable("the connection to the other memorywire was closed")
        try:
            response = await self._http.send(method, f"{self._place.path}{path}", body, headers)
        except ResponseTooLarge as error:
            raise self._problem(error.status, None) from error
        except HttpError as error:
            raise self._build_unavailable(error) from error
        return self._read(response)

    async def close(self) -> None:
        self._closed = True
        self._http.close()

    def _build_unavailable(self, error: HttpError) -> StoreUnavailable:
        if isinstance(error, PlainHttp):
            return StoreUnavailable(
                f"{self._place.host} does not speak https at this port",
                fix="use http:// in its address, or the port of https",
            )
        return StoreUnavailable(
            f"{self._place.host} did not answer: {error.reason}",
            fix="start it with `memorywire serve`, or check the address and the port",
        )

    def _read(self, response: Response) -> Json:
        try:
            document = json.loads(response.body)
        except (ValueError, RecursionError):
            document = None
        if response.is_ok and document is not None:
            return document
        raise self._problem(response.status, document)

    def _problem(self, status: int, document: Json) -> MemorywireError:
        if status not in _DONE and isinstance(document, dict) and "code" in document:
            return error_of(document)
        return StoreCorrupt(
            f"{self._place.host} answered with status {status} and a body that is not from memorywire",
            fix="check the address",
        )


def _encode(document: Json) -> bytes:
    try:
        return json.dumps(document, ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode()
    except (TypeError, ValueError) as error:
        raise InvalidRequest(
            "this cannot be encoded as JSON", fix="send text, numbers, lists and objects"
        ) from error
