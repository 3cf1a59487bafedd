"""What stands behind every route: who may ask, the operation itself, and the time it may take."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from memorywire.app import Container
from memorywire.app.dispatch import dispatch
from memorywire.client.events import Feed
from memorywire.journal.operators import Right
from memorywire.journal.sqlite import SqliteJournal
from memorywire.model.errors import Overloaded
from memorywire.model.record import DEFAULT_TENANT, Json
from memorywire.pipeline.context import unsupported
from memorywire.policy.patterns import names
from memorywire.server.callers import Caller
from memorywire.server.http.quotas import current_lease
from memorywire.server.http.routes import ALL, EVERYWHERE, NEEDS, agent_is_optional, names_agent
from memorywire.server.tracing import spanned
from memorywire.wire import strict
from memorywire.wire.codec import encode

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """What the server accepts. Sizes are in bytes.

    `head` limits the URL with all headers. A client has `header_seconds` to send the head
    of a request, `body_seconds` for its body, `write_seconds` to read a part of the answer, and
    `idle_seconds` until its next request. `connections`, `at_once` and `streams` are totals: one address
    gets half of the connections, one credential half of the requests and streams, one tenant three quarters.

    `rate` is how many requests a second a credential may send for long; for a moment it may send twice that.
    `wrong_tokens` is the same for requests of one address whose token is not valid.
    A webhook that failed waits `webhook_pause_ms` at first, and twice as long each time.
    """

    body: int = 1024 * 1024
    batch: int = strict.MAX_BYTES
    head: int = 16 * 1024
    header_seconds: float = 10.0
    idle_seconds: int = 15
    write_seconds: float = 30.0
    connections: int = 1_024
    body_seconds: float = 20.0
    answer_seconds: float = 30.0
    at_once: int = 256
    streams: int = 128
    rate: float = 200.0
    wrong_tokens: float = 10.0
    webhook_pause_ms: int = 1_000


class Door:
    """The house as seen from outside; work that was begun is finished, even if nobody waits any more."""

    def __init__(self, container: Container, limits: Limits) -> None:
        if container.journal is None:
            raise unsupported("serving", "no journal is wired here")
        self.container = container
        self.journal: SqliteJournal = container.journal
        self.limits = limits
        self.feed = Feed(container)
        self.closing = asyncio.Event()
        self._running: set[asyncio.Future[Any]] = set()

    async def call(self, operation: str, payload: Mapping[str, Json], caller: Caller) -> dict[str, Json]:
        """One operation of the wire, as this caller."""
        answer: dict[str, Json] = encode(await self.ask(operation, payload, caller))
        if operation == "agents":
            answer["items"] = [one for one in answer["items"] if names(caller.agents, one["agent_id"])]
        if operation == "capabilities":
            answer["limits"]["payload_bytes_max"] = self.limits.body
        return answer

    async def ask(self, operation: str, payload: Mapping[str, Json], caller: Caller) -> object:
        """As `call`, with the answer as a value instead of JSON."""
        with spanned(operation) as tell:
            permit(operation, payload, caller)
            asked = dispatch(operation, payload, self.as_caller(caller), tenant=caller.tenant)
            answer = await self.finish(asked)
            tell(answer)
            return answer

    def as_caller(self, caller: Caller) -> Container:
        return replace(self.container, context=self.container.as_caller(caller.name, caller.principal))

    def opener(self, caller: Caller) -> Callable[[], Awaitable[Container]]:
        """A function that gives the house to a face of memory, for this caller."""

        async def container() -> Container:
            return self.as_caller(caller)

        return container

    async def finish(self, work: Awaitable[T]) -> T:
        """The answer of the work; raises Overloaded when it takes too long, and then it still goes on."""
        task = asyncio.ensure_future(work)
        self._running.add(task)
        task.add_done_callback(self._done)
        try:
            async with asyncio.timeout(self.limits.answer_seconds):
                return await asyncio.shield(task)
        except TimeoutError:
            seconds = self.limits.answer_seconds
            raise Overloaded(
                f"there was no answer within {seconds:g} s; what was asked may still be done",
                retry_after=max(1, round(seconds)),
            ) from None
        finally:
            lease = current_lease.get()
            if lease is not None and not task.done():  # the client waits no more, but the work goes on
                lease.hold_until(task)

    async def drain(self) -> None:
        """Wait for everything that was begun."""
        self.closing.set()
        while self._running:
            await asyncio.wait(self._running)

    def _done(self, task: "asyncio.Future[Any]") -> None:
        self._running.discard(task)
        if not task.cancelled():
            task.exception()  # somebody has seen it, or nobody waits for it


def permit(operation: str, payload: Mapping[str, Json], caller: Caller) -> None:
    """Raise Forbidden unless the caller may ask this, whether or not what it names exists."""
    if operation not in ALL:
        return  # there is nothing to protect, and the dispatch says so
    everywhere = operation in EVERYWHERE and caller.tenant == DEFAULT_TENANT
    caller.require(NEEDS.get(operation, Right.MANAGE), everywhere=everywhere)
    if names_agent(operation) and operation != "capabilities":
        caller.require_agent(payload, optional=agent_is_optional(operation))
        if operation == "remember":
            caller.require_own_id(payload)
    elif operation in EVERYWHERE:
        caller.require_every_agent()
