"""A real server for tests: uvicorn on a thread of its own, spoken to with the standard library alone."""

import asyncio
import json
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.client import HTTPConnection
from typing import Any
from urllib.parse import quote, urlencode, urlsplit

from memorywire.app import Container, Governance, Rules, open_container
from memorywire.journal.operators import Operator, Registry, Role
from memorywire.model.clock import Clock, system_clock
from memorywire.search.embed import Embedder
from memorywire_server.archive import LedgerArchive
from memorywire_server.auth import Provider
from memorywire_server.http.app import MountedApp
from memorywire_server.http.endpoint import Limits
from memorywire_server.http.serve import Address, Serving, serve


@dataclass(frozen=True)
class Reply:
    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)


@dataclass(frozen=True)
class Client:
    """Sends requests, one connection each, with or without a token."""

    url: str
    token: str | None = None
    headers: Mapping[str, str] = field(default_factory=dict)

    def send(
        self, method: str, path: str, body: bytes | None = None, headers: Mapping[str, str] | None = None
    ) -> Reply:
        said = {**self.headers, **(headers or {})}
        if self.token is not None:
            said["Authorization"] = f"Bearer {self.token}"
        connection = self.connect()
        try:
            connection.request(method, path, body, said)
            answer = connection.getresponse()
            return Reply(answer.status, {k.lower(): v for k, v in answer.getheaders()}, answer.read())
        finally:
            connection.close()

    def connect(self) -> HTTPConnection:
        parts = urlsplit(self.url)
        return HTTPConnection(parts.hostname or "", parts.port, timeout=60)

    def post(self, path: str, payload: Any, **headers: str) -> Reply:
        body = payload if isinstance(payload, bytes) else json.dumps(payload).encode()
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        return self.send("POST", path, body, {"Content-Type": "application/json", **named})

    def put(self, path: str, payload: Any) -> Reply:
        return self.send("PUT", path, json.dumps(payload).encode(), {"Content-Type": "application/json"})

    def get(self, path: str, /, **query: Any) -> Reply:
        pairs = [
            (name, one)
            for name, value in query.items()
            for one in (value if isinstance(value, list) else [value])
        ]
        return self.send("GET", f"{path}?{urlencode(pairs)}" if pairs else path)

    def remember(self, content: str, agent: str = "a", **fields: Any) -> dict[str, Any]:
        """The receipt of a remember that succeeds."""
        payload = {"agent_id": agent, "type": "semantic", "content": content, **fields}
        reply = self.post("/v0/remember", payload)
        assert reply.status in (200, 202), reply.body
        receipt: dict[str, Any] = reply.json
        return receipt


def at(*parts: str) -> str:
    """A path with every part spelled so that nothing in it is taken for a slash."""
    return "/v0/" + "/".join(quote(part, safe="") for part in parts)


@dataclass
class Server:
    """A running server and what stands behind it."""

    client: Client
    container: Container
    loop: asyncio.AbstractEventLoop
    stop: asyncio.Event
    thread: threading.Thread
    lines: list[str]

    def run(self, work: Any) -> Any:
        return asyncio.run_coroutine_threadsafe(work, self.loop).result()

    @property
    def registry(self) -> Registry:
        assert self.container.journal is not None
        return Registry(
            journal=self.container.journal, clock=self.container.context.clock, actor="person:test"
        )

    def operator(
        self,
        name: str,
        role: str = "admin",
        tenants: Sequence[str] = ("default",),
        agents: Sequence[str] = ("*",),
        **more: Any,
    ) -> Client:
        """A client with the token of a new operator."""
        now = self.container.context.clock()
        operator = Operator(
            name=name, role=Role(role), made_at=now, tenants=tuple(tenants), agents=tuple(agents)
        )
        return Client(self.client.url, self.run(self.registry.add(operator, **more)).secret)

    def end(self) -> None:
        """As a signal would: what is in flight finishes."""
        self.loop.call_soon_threadsafe(self.stop.set)
        self.thread.join()


def written_line(server: Server, change_id: str) -> dict[str, Any]:
    """The line about a change, which is written a moment after the answer."""
    while not (found := [line for line in server.lines if change_id in line]):
        time.sleep(0.01)
    line: dict[str, Any] = json.loads(found[0])
    return line


@contextmanager
def serving(
    store: str = "sqlite://",
    *,
    policy: str = "open",
    embedder: str | Embedder = "minilm",
    clock: Clock = system_clock,
    limits: Limits | None = None,
    mounts: Callable[[Container], Sequence[MountedApp]] = lambda _: (),
    hosts: tuple[str, ...] = (),
    proxies: tuple[str, ...] = (),
    provider: Provider | None = None,
    backends: Rules | None = None,
    archive: Callable[[Container], LedgerArchive | None] = lambda _: None,
) -> Iterator[Server]:
    ready: Future[Server] = Future()
    lines: list[str] = []

    async def life() -> None:
        container = await open_container(
            stores=[store],
            embedder=embedder,
            embedder_key=None,
            clock=clock,
            governance=Governance(policy=policy),
            backends=backends,
        )
        stop, loop = asyncio.Event(), asyncio.get_running_loop()

        def opened(url: str) -> None:
            ready.set_result(Server(Client(url), container, loop, stop, threading.current_thread(), lines))

        address = Address(port=0, hosts=hosts, proxies=proxies)
        try:
            await serve(
                container,
                Serving(
                    address=address,
                    limits=limits or Limits(rate=1e6, wrong_tokens=1e6),
                    mounts=mounts,
                    ready=opened,
                    log=lines.append,
                    provider=provider,
                    archive=archive(container),
                ),
                stop,
            )
        finally:
            await container.close()

    def start() -> None:
        try:
            asyncio.run(life())
        except BaseException as error:
            if not ready.done():
                ready.set_exception(error)
            raise

    thread = threading.Thread(target=start, name="server")
    thread.start()
    server = ready.result()
    try:
        yield server
    finally:
        if thread.is_alive():
            server.end()
