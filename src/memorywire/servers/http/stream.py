"""Events as a stream that a browser or a program follows, and takes up again where it broke off."""

from collections.abc import AsyncIterator, Awaitable, Callable
from typing import TypeAlias

from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from memorywire.facades.events import Event
from memorywire.journal.operators import Right
from memorywire.model.errors import MemorywireError, Overloaded, StoreError
from memorywire.model.record import Json
from memorywire.servers.callers import Caller, Doorkeeper
from memorywire.servers.http.answers import encoded
from memorywire.servers.http.door import Door
from memorywire.servers.http.handlers import Endpoint, asked, caller_of

Welcome: TypeAlias = Callable[[Request], Awaitable[Caller | None]]
"""Gives the sender of a request as of now: a revoked token ends the streams it opened."""

_BEAT_SECONDS = 15.0
_AGAIN = 5


class Streams:
    """How many streams are open, and how many there may be."""

    def __init__(self, most: int) -> None:
        self.most = most
        self.open = 0


def events_endpoint(door: Door, welcome: Welcome) -> Endpoint:
    streams = Streams(door.limits.streams)

    async def events(request: Request) -> Response:
        """Every change, proposal and decision as it is committed, without content."""
        caller = caller_of(request)
        caller.require(Right.READ)
        position = _position(request)
        if streams.open >= streams.most:
            raise Overloaded("too many are listening", retry_after=_AGAIN)
        place = await door.feed.now() if position is None else position
        told = _told(place, door, welcome, request, caller, streams)
        return StreamingResponse(told, media_type="text/event-stream", headers={"X-Accel-Buffering": "no"})

    return events


async def _told(
    place: int, door: Door, welcome: Welcome, request: Request, caller: Caller, streams: Streams
) -> AsyncIterator[bytes]:
    streams.open += 1
    quiet = 0.0
    try:  # a store that does not answer ends the stream too, and whoever listened takes it up again
        yield b": listening\n\n"
        while not door.closing.is_set() and await _still_welcome(welcome, request, caller):
            heard = door.feed.heard
            found, place = await door.feed.after(place, tenant=caller.tenant, agents=caller.agents)
            for event in found:
                if caller.hears_of(event.operation):
                    yield _line(event)
            quiet = 0.0 if found else quiet + await door.feed.pause(heard)
            if quiet >= _BEAT_SECONDS:
                quiet = 0.0
                yield b": still here\n\n"
    except StoreError:
        return
    finally:
        streams.open -= 1


async def _still_welcome(welcome: Welcome, request: Request, caller: Caller) -> bool:
    try:
        return await welcome(request) == caller
    except MemorywireError:
        return False


def bearer(doorkeeper: Doorkeeper) -> Welcome:
    """By the token that came with the request."""

    async def admitted(request: Request) -> Caller:
        headers = request.headers
        return await doorkeeper.admit(headers.get("authorization"), headers.get("memorywire-tenant"))

    return admitted


def _position(request: Request) -> int | None:
    """Where to go on: behind `Last-Event-ID`, or `after`, or from now on."""
    sent = asked(request)
    after = sent.get("Last-Event-ID", sent.get("after"))
    return None if after is None else int(after)


def _line(event: Event) -> bytes:
    return b"id: %d\nevent: %s\ndata: %s\n\n" % (event.id, event.kind.encode(), encoded(as_document(event)))


def as_document(event: Event) -> dict[str, Json]:
    """An event as it is told: what was done to which memory, never what it says."""
    said = {
        "id": event.id,
        "at": event.at,
        "operation": event.operation,
        "kind": event.kind,
        "agent_id": event.agent,
        "user_id": event.user,
        "actor": event.actor,
        "subject": event.subject,
        "memories": list(event.memories),
    }
    return {name: value for name, value in said.items() if value is not None}
