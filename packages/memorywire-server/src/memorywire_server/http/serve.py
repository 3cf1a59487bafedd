"""Runs the server: opens the socket, serves the container, and shuts down without losing commits."""

import asyncio
import errno
import ipaddress
import os
import signal
import socket
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from typing import Any, cast

import uvicorn
from msgspec import Struct, field
from msgspec.structs import replace
from starlette.types import ASGIApp

from memorywire.app.container import Container
from memorywire.journal.operators import Operators
from memorywire.model.errors import InvalidRequest
from memorywire.model.record import DEFAULT_TENANT
from memorywire.pipeline.context import review_url
from memorywire_server.archive import LedgerArchive
from memorywire_server.auth import Provider
from memorywire_server.http.app import MountedApp, build_app
from memorywire_server.http.connections import Connection, Traffic
from memorywire_server.http.endpoint import Limits, Service
from memorywire_server.http.metrics import Log, RequestObserver, to_stderr
from memorywire_server.http.middleware import LOOPBACK

_DRAIN_SECONDS = 10
_WAITING = 512
_OWN_FILES = 192
"""File descriptors reserved for stores, their logs, and backends."""


class Address(Struct, frozen=True, kw_only=True):
    """Where to listen; `hosts` are additional host names of the server.

    If the port is in use, up to `spare` of the following ports are tried, on a loopback address only.
    `proxies` are addresses and networks of reverse proxies, which send the client in X-Forwarded-For.
    """

    host: str = "127.0.0.1"
    port: int = 8377
    spare: int = 0
    hosts: tuple[str, ...] = ()
    proxies: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for proxy in self.proxies:
            try:
                ipaddress.ip_network(proxy)
            except ValueError as error:
                fix = "give an address such as 10.0.0.7, or a network such as 10.0.0.0/24"
                raise InvalidRequest(f"{proxy} is not an address", field="proxy", fix=fix) from error

    @property
    def local(self) -> bool:
        """Whether only this machine can connect."""
        try:
            return ipaddress.ip_address(self.host).is_loopback
        except ValueError:
            return self.host == "localhost"

    @property
    def names(self) -> frozenset[str]:
        """The accepted `Host` names; empty, for a server that is not local without `hosts`, means any."""
        if self.local:
            return LOOPBACK | {self.host.lower(), *(name.lower() for name in self.hosts)}
        return frozenset(name.lower() for name in self.hosts)


class Serving(Struct, frozen=True, kw_only=True):
    """What to serve, and how. `ready` is called with the URL once the server listens.

    Proposals are decided at the path `console`, unless the settings have another URL. `home` returns the
    tenant of the local user.
    """

    address: Address = field(default_factory=Address)
    limits: Limits = field(default_factory=Limits)
    mounts: Callable[[Container], Sequence[MountedApp]] = lambda _: ()
    ready: Callable[[str], None] = lambda _: None
    console: str | None = None
    log: Log | None = to_stderr
    provider: Provider | None = None
    home: Callable[[], str] = lambda: DEFAULT_TENANT
    archive: LedgerArchive | None = None


class _Server(uvicorn.Server):
    """uvicorn without its signal handling, which would re-raise signals before the container is closed."""

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


async def serve(container: Container, serving: Serving, stop: asyncio.Event | None = None) -> None:
    """Serve until a signal or `stop`; finishes requests in flight. The container stays open.

    Raises InvalidRequest if other machines could connect without a token, or the address is not available.
    """
    address = serving.address
    journal, needs_token = container.journal, not address.local and serving.provider is None
    if needs_token and (journal is None or not await Operators(journal).has_any()):
        raise InvalidRequest(
            f"{address.host} is reachable from other machines, but there are no operators yet",
            field="host",
            fix="memorywire operator add NAME --role admin, or serve on 127.0.0.1",
        )
    observer = RequestObserver(container.context.clock, serving.log)
    watched = observer.over(container)
    with _listening(address) as listener:
        host = f"[{address.host}]" if ":" in address.host else address.host
        url = f"http://{host}:{listener.getsockname()[1]}"
        if serving.console is not None:
            watched = _reviewed_at(f"{url}{serving.console}", watched)
        app, service = build_app(
            watched,
            trusting=address.local,
            hosts=address.names,
            limits=serving.limits,
            mounts=serving.mounts(watched),
            observer=observer,
            provider=serving.provider,
            home=serving.home,
        )
        service.archive = serving.archive
        limits = replace(serving.limits, connections=_affordable(serving.limits.connections))
        traffic = Traffic(limits, observer.metrics.refused.inc, proxies=address.proxies)
        observer.metrics.connections.set_function(lambda: traffic.open)
        server = _Server(_config(app, traffic, address.proxies))
        ending = asyncio.create_task(_end(server, service, stop or asyncio.Event()))
        serving.ready(url)
        try:
            await server.serve([listener])
        finally:
            ending.cancel()
            with suppress(asyncio.CancelledError):
                await ending
            await service.drain()


def _reviewed_at(console: str, container: Container) -> Container:
    """Make receipts of held changes link to this console, unless the settings have another URL."""
    governance = container.context.governance
    if governance is None or governance.review_url is not None:
        return container
    governance = replace(governance, review_url=review_url(console))
    return replace(container, context=replace(container.context, governance=governance))


async def _end(server: _Server, service: Service, stop: asyncio.Event) -> None:
    """On a stop signal: end streams, accept no new requests, finish running ones."""
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        with suppress(ValueError, RuntimeError):  # only the main thread receives signals
            try:
                loop.add_signal_handler(number, stop.set)
            except NotImplementedError:  # on Windows
                signal.signal(number, lambda *_: loop.call_soon_threadsafe(stop.set))
    await stop.wait()
    service.container.hurry()
    service.closing.set()
    server.should_exit = True


def _config(app: ASGIApp, traffic: Traffic, proxies: Sequence[str]) -> uvicorn.Config:
    return uvicorn.Config(
        cast("Any", app),  # Starlette and uvicorn define the same protocol with different types
        http=cast("Any", partial(Connection, traffic=traffic)),
        ws="none",
        lifespan="on",
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=bool(proxies),
        forwarded_allow_ips=list(proxies),
        timeout_keep_alive=traffic.limits.idle_seconds,
        timeout_graceful_shutdown=_DRAIN_SECONDS,
    )


def _affordable(connections: int) -> int:
    """Limit connections to the file descriptors of the process, minus those reserved for stores."""
    try:
        import resource
    except ImportError:  # Windows has no such limit
        return connections
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return connections if soft == resource.RLIM_INFINITY else max(1, min(connections, soft - _OWN_FILES))


@contextmanager
def _listening(address: Address) -> Iterator[socket.socket]:
    family = socket.AF_INET6 if ":" in address.host else socket.AF_INET
    # An explicit protocol makes asyncio set TCP_NODELAY, so that small responses are sent at once.
    listener = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        if os.name != "nt":  # Windows would let two processes listen on one port
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        _bind(listener, address)
        listener.listen(_WAITING)
    except (OSError, OverflowError) as error:
        listener.close()
        raise InvalidRequest(
            f"cannot listen on {address.host} port {address.port}: {error}",
            field="port",
            fix="choose another port, or stop the program that uses it",
        ) from error
    try:
        listener.setblocking(False)
        yield listener
    finally:
        listener.close()


def _bind(listener: socket.socket, address: Address) -> None:
    """Bind to the port of the address, or to the next free one."""
    last = address.port + (address.spare if address.local else 0)
    for port in range(address.port, last):
        try:
            return listener.bind((address.host, port))
        except OSError as error:
            if error.errno != errno.EADDRINUSE:
                raise
    return listener.bind((address.host, last))
