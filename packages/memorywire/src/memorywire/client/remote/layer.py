"""Conversations of a memorywire that serves."""

from collections.abc import Mapping, Sequence
from typing import Any, Unpack

from msgspec.structs import replace

from memorywire.client.layer import AddOptions, AskOptions, Layer
from memorywire.client.options import ScopeOption
from memorywire.client.remote.routes import Door, given, nowhere
from memorywire.model.codec import load
from memorywire.model.layer import Event, EventState, FoundFact, FoundFacts, Kind
from memorywire.model.record import Json, Scope


class RemoteLayer(Layer):
    """As `Layer`; the server reads what waits, so there is no `work` here."""

    def __init__(self, door: Door, scope: Scope) -> None:
        super().__init__(nowhere, scope)
        self._door = door

    async def add(self, messages: Sequence[Mapping[str, Any]], **options: Unpack[AddOptions]) -> Event:
        said = [given(message) for message in messages]
        body = {**self._named(), "messages": said, **given(options)}
        return self._event(await self._door.ask("POST", "layer", "add", body=body))

    async def event(self, event_id: str, **options: Unpack[ScopeOption]) -> Event:
        named = {**self._named(), **given(options)}
        return self._event(await self._door.ask("GET", "layer", "events", event_id, **named))

    async def recall(self, query: str, **options: Unpack[AskOptions]) -> FoundFacts:
        body = {**self._named(), "query": query, **given(options)}
        found = await self._door.ask("POST", "layer", "recall", body=body)
        facts: FoundFacts = load(FoundFacts, {**found, "facts": []})
        return replace(facts, facts=tuple(_fact(one) for one in found["facts"]))

    def _named(self) -> dict[str, Json]:
        return given({"agent_id": self.scope.agent, "user_id": self.scope.user})

    def _event(self, document: Mapping[str, Json]) -> Event:
        """What the server tells of an event; that it is of this scope is only known of one's own."""
        return Event(
            id=document["event_id"],
            scope=self.scope,
            at=document["at"],
            state=EventState(document["status"]),
            memories=tuple(document["memories"]),
            held=tuple(document["held"]),
            error=document.get("error"),
        )


def _fact(document: Mapping[str, Json]) -> FoundFact:
    return FoundFact(**{**document, "kind": Kind(document["kind"])})
