"""Following memory: a client names resources and is told when to read them again (`subscriptions/listen`).

Memories and recalls are the only resources, so nothing else is ever announced: the tools, the prompt and the
list of resources never change while a server runs.
"""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

import anyio
from mcp.server.context import ServerRequestContext
from mcp.server.subscriptions import InMemorySubscriptionBus, ListenHandler, ResourceUpdated
from mcp.shared.exceptions import MCPError
from mcp_types import INTERNAL_ERROR, SubscriptionsListenRequestParams, SubscriptionsListenResult

from memorywire.model.errors import MemorywireError
from memorywire.server.mcp.call import Clerk
from memorywire.server.mcp.resources import MEMORY, RECALL, protocol_error
from memorywire.server.mcp.sessions import Visit

if TYPE_CHECKING:  # the engine is loaded by the first request, so that no handshake waits for it
    from memorywire.client.events import Event
    from memorywire.server.http.endpoint import Door

Context = ServerRequestContext[Any, Any]


class Listeners:
    """The open streams of one server."""

    def __init__(self, clerk: Clerk) -> None:
        self._clerk = clerk
        self._open = 0

    async def listen(
        self, context: Context, params: SubscriptionsListenRequestParams, visit: Visit
    ) -> SubscriptionsListenResult:
        """Tell the client of changes until it goes, the server ends, or its token is no longer taken."""
        from memorywire.journal.operators import Right

        door = await self._clerk.open_door()
        try:
            visit.caller.require(Right.READ)
            visit.caller.require_agent(visit.payload({}), optional=False)
        except MemorywireError as error:
            raise protocol_error(error) from error
        if self._open >= door.limits.streams:
            raise MCPError(INTERNAL_ERROR, "too many are listening")
        uris = params.notifications.resource_subscriptions or []
        bus = InMemorySubscriptionBus()
        handler = ListenHandler(bus)
        place = await door.feed.now()
        self._open += 1
        try:
            async with anyio.create_task_group() as group:
                group.start_soon(_publish, door, visit, uris, bus, handler, place)
                result = await handler(context, params)
                group.cancel_scope.cancel()
            return result
        finally:
            self._open -= 1


async def _publish(
    door: "Door",
    visit: Visit,
    uris: Sequence[str],
    bus: InMemorySubscriptionBus,
    handler: ListenHandler,
    place: int,
) -> None:
    """Announce what changes behind `place`; end the stream when nobody may listen any more."""
    closing = visit.state.get("closing", door.closing)
    while not closing.is_set() and await visit.is_welcome():
        heard = door.feed.heard
        found, place = await door.feed.after(place, tenant=visit.caller.tenant, agents=(visit.agent,))
        changes = [event for event in found if event.kind == "committed" and _concerns(event, visit)]
        for uri in dict.fromkeys(_touched(changes, uris)):
            await bus.publish(ResourceUpdated(uri))
        if not found:
            await door.feed.pause(heard)
    handler.close()


def _concerns(event: "Event", visit: Visit) -> bool:
    """Whether the change is one of this agent and, where the connection is of one user, of that user."""
    return event.agent == visit.agent and visit.user in (None, event.user)


def _touched(changes: Sequence["Event"], uris: Sequence[str]) -> Iterator[str]:
    """The resources to read again: memories that changed, and recalls after any change."""
    ids = {id for event in changes for id in event.memories}
    for uri in uris:
        if (uri.startswith(MEMORY) and unquote(uri.removeprefix(MEMORY)) in ids) or (
            uri.startswith(RECALL) and changes
        ):
            yield uri
