"""Where a backend may be: an address is resolved, judged, and that very address is then used."""

import ipaddress
import socket
import ssl
from http.client import HTTPConnection, HTTPSConnection
from urllib.parse import parse_qsl, quote, urlencode, urlsplit

from memorywire.app.backends.rules import Resolve
from memorywire.model.errors import Forbidden, InvalidRequest, StoreUnavailable
from memorywire.model.values import dataclass
from memorywire.stores.remote.link import Link, Place

MOST_BYTES = 16 * 1024 * 1024
"""Of an answer; a backend that sends more is not read further."""


POSTGRES = frozenset({"postgres", "postgresql"})
_NEAR = frozenset(
    {"schema", "pool", "prepare", "notify", "stale", "sslmode", "channel_binding", "require_auth"}
    | {"connect_timeout", "application_name", "target_session_attrs"}
)
"""Options of a Postgres URL that lead to no other host, file or service than the URL itself does."""

_UNICAST = ipaddress.IPv6Network("2000::/3")  # all that is handed out; the rest only looks public
_TRANSLATED = ipaddress.IPv6Network("64:ff9b::/96")


@dataclass(frozen=True, slots=True, kw_only=True)
class Hosts:
    """Which hosts a backend may be on: any with public addresses, and those that were named.

    `resolve` gives the addresses of a host.
    """

    named: frozenset[str]
    resolve: Resolve

    def check(self, url: str) -> None:
        """Raise for a URL that could never be used; its addresses are checked again on each use."""
        try:
            parts = urlsplit(url)
            host, port = parts.hostname, parts.port
        except ValueError:
            raise InvalidRequest("that is no URL", field="url") from None
        if host is not None:
            self.admitted(host, port or 443)
        elif parts.scheme in POSTGRES | {"http", "https"}:
            raise InvalidRequest("the url names no host", field="url")
        options = dict(parse_qsl(parts.query, keep_blank_values=True))
        far = sorted(options.keys() - _NEAR) if parts.scheme in POSTGRES else []
        if far:
            raise InvalidRequest(
                f"a backend cannot have the option {far[0]}",
                field="url",
                fix=f"there are: {', '.join(sorted(_NEAR))}",
            )

    def pinned(self, url: str) -> str:
        """The URL of a Postgres database with the admitted address, so that nobody resolves it again."""
        parts = urlsplit(url)
        if parts.hostname is None or parts.hostname in self.named:
            return url
        address = self.admitted(parts.hostname, parts.port or 5432)
        options = [*parse_qsl(parts.query), ("hostaddr", address)]
        return parts._replace(query=urlencode(options, quote_via=quote)).geturl()

    def admitted(self, host: str, port: int) -> str:
        """An address of the host to connect to; raises Forbidden when any of them is not to be reached."""
        found = self.resolve(host, port)
        if not found:
            raise StoreUnavailable(f"{host} has no address")
        if host not in self.named and not all(_is_public(address) for address in found):
            raise Forbidden(
                f"{host} is not an address out in the world",
                field="url",
                fix="name the host in MEMORYWIRE_BACKEND_HOSTS if it is meant",
            )
        return found[0]


def addresses(host: str, port: int) -> list[str]:
    """The addresses that the system's resolver gives."""
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError) as error:
        raise StoreUnavailable(f"{host} cannot be resolved") from error
    return [str(place[0]) for *_, place in found]


def _is_public(address: str) -> bool:
    found = ipaddress.ip_address(address.partition("%")[0])
    if isinstance(found, ipaddress.IPv6Address):
        inner = _inside(found)
        if inner is None:
            return found in _UNICAST and found.is_global
        found = inner
    return found.is_global and not found.is_multicast


def _inside(address: ipaddress.IPv6Address) -> ipaddress.IPv4Address | None:
    """The IPv4 address that an IPv6 address stands for, where a gateway would translate it."""
    if address in _TRANSLATED:
        return ipaddress.IPv4Address(int(address) & 0xFFFF_FFFF)
    return address.ipv4_mapped or address.sixtofour or (address.teredo or (None, None))[1]


class GuardedLink(Link):
    """A link that connects to the address that was admitted, and follows nobody elsewhere."""

    def __init__(self, place: Place, hosts: Hosts) -> None:
        super().__init__(place, most_bytes=MOST_BYTES)
        self._hosts = hosts

    def _connected(self) -> HTTPConnection:
        place, hosts = self._place, self._hosts
        port = place.port or (443 if place.scheme == "https" else 80)
        address = hosts.admitted(place.host, port)
        if place.scheme == "https":
            return _Secured(address, place.host, port, self._timeout)
        return _Pinned(address, place.host, port, self._timeout)


class _Pinned(HTTPConnection):
    """A connection to one fixed address, under the name that was asked for."""

    def __init__(self, address: str, host: str, port: int, timeout: float) -> None:
        super().__init__(host, port, timeout=timeout)
        self._address = address

    def connect(self) -> None:
        self.sock = socket.create_connection((self._address, self.port), self.timeout)


class _Secured(HTTPSConnection):
    """As `_Pinned`, with TLS; the certificate must be for the name."""

    def __init__(self, address: str, host: str, port: int, timeout: float) -> None:
        self._tls = ssl.create_default_context()
        super().__init__(host, port, timeout=timeout, context=self._tls)
        self._address = address

    def connect(self) -> None:
        plain = socket.create_connection((self._address, self.port), self.timeout)
        self.sock = self._tls.wrap_socket(plain, server_hostname=self.host)
