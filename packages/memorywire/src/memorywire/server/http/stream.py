"""Events as a stream that a browser or a program follows, and takes up again where it broke off."""

from collections.abc import AsyncIterator

from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from memorywire.client.events import Event
from memorywire.journal.operators import Right
from memorywire.model.errors import StoreError
from memorywire.model.record import Json
from memorywire.server.auth import Caller
from memorywire.server.http.answers import encoded
from memorywire.server.http.endpoint import Endpoint, Service, asked, caller_of

_BEAT_SECONDS = 15.0


def events_endpoint(service: Service) -> Endpoint:
    async def events(request: Request) -> Response:
        """Every change, proposal and decision as it is committed, without content."""
        caller = caller_of(request)
        caller.require(Right.READ)
        position = _position(request)
        request.state.lease.require_stream()
        place = await service.feed.now() if position is None else position
        lines = _lines(place, service, caller)
        return StreamingResponse(lines, media_type="text/event-stream", headers={"X-Accel-Buffering": "no"})

    return events


async def _lines(place: int, service: Service, caller: Caller) -> AsyncIterator[bytes]:
    """Yield events after `place`; the middleware ends the stream."""
    quiet = 0.0
    try:
        yield b": listening\n\n"
        while True:
            heard = service.feed.heard
            events, place = await service.feed.after(place, tenant=caller.tenant, agents=caller.agents)
            for event in events:
                if caller.hears_of(event.operation):
                    yield _line(event)
            quiet = 0.0 if events else quiet + await service.feed.pause(heard)
            if quiet >= _BEAT_SECONDS:
                quiet = 0.0
                yield b": still here\n\n"
    except StoreError:  # the client opens the stream again, and continues where it broke off
        return


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
