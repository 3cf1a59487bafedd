"""Conversations in Python: messages go in, what they give away can be asked for in plain words."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, TypedDict, Unpack

from memorywire.engine.facts import Asked, facts
from memorywire.house import House
from memorywire.model.errors import InvalidRequest
from memorywire.model.layer import Conversation, Event, FoundFacts, Kind, Turn
from memorywire.model.record import Json, Scope
from memorywire.model.requests import MinRelevance
from memorywire.wire import strict
from memorywire.wire.codec import encode

MOST_TURNS = 1_000
MOST_CHARS = 65_536
MOST_FACTS = 50
DEFAULT_FACTS = 10

_FIELDS = frozenset({"role", "content", "name", "at"})


class AddOptions(TypedDict, total=False):
    """With `infer` the messages are read for facts, without it each is kept as it was said."""

    infer: bool
    session_id: str | None
    metadata: Mapping[str, Any]


class AskOptions(TypedDict, total=False):
    """`sources` are those of `fact`, `turn` and `note` that may answer; all, when not given."""

    top_k: int
    min_relevance: MinRelevance
    sources: Sequence[str]


class Layer:
    """The conversations of one agent, or of one of its users."""

    def __init__(self, house: Callable[[], Awaitable[House]], scope: Scope) -> None:
        self.scope = scope
        self._house = house

    async def add(self, messages: Sequence[Mapping[str, Any]], **options: Unpack[AddOptions]) -> Event:
        """Take in messages, each with `role` and `content`, and `name` and `at` where they are known.

        The event says `done`, or `pending` while somebody still has to read them; ask `event` then.
        """
        house = await self._house()
        return await house.reader.add(self.scope, conversation(messages, **options), house.tools)

    async def event(self, event_id: str) -> Event:
        """What became of messages that were added."""
        house = await self._house()
        found = await house.reader.event(self.scope.tenant, event_id)
        house.reader.wake()
        return found

    async def recall(self, query: str, **options: Unpack[AskOptions]) -> FoundFacts:
        """What answers the question, best first."""
        return await facts(asked(self.scope, query, **options), (await self._house()).tools)

    async def work(self) -> int:
        """Read now what waits and is due; how much is left waiting."""
        return await (await self._house()).reader.drain()


def conversation(messages: Sequence[Mapping[str, Any]], **options: Unpack[AddOptions]) -> Conversation:
    """The turns of messages that can be kept."""
    if isinstance(messages, str | bytes | Mapping) or not 0 < len(messages) <= MOST_TURNS:
        raise InvalidRequest(f"messages is a list of 1 to {MOST_TURNS}", field="messages")
    strict.check([list(map(dict, messages)), dict(options.get("metadata", {})), options.get("session_id")])
    return Conversation(turns=tuple(_turn(at, said) for at, said in enumerate(messages)), **options)


def _turn(place: int, said: Mapping[str, Any]) -> Turn:
    field = f"messages.{place}"
    unknown = sorted(set(said) - _FIELDS)
    if unknown:
        raise InvalidRequest(f"{unknown[0]} is not a field here", field=f"{field}.{unknown[0]}")
    for name in ("role", "content"):
        text = said.get(name)
        if not isinstance(text, str) or not text.strip() or len(text) > MOST_CHARS:
            raise InvalidRequest(f"{name} is text of 1 to {MOST_CHARS} characters", field=f"{field}.{name}")
    at = said.get("at")
    moment = None if at is None else int(at)
    return Turn(role=said["role"], content=said["content"], name=said.get("name"), at=moment)


def asked(scope: Scope, query: str, **options: Unpack[AskOptions]) -> Asked:
    """A question that can be asked."""
    if not query.strip():
        raise InvalidRequest("the query must not be blank", field="query")
    rest: dict[str, Any] = dict(options)
    rest["top_k"] = int(rest.get("top_k", DEFAULT_FACTS))
    if not 0 < rest["top_k"] <= MOST_FACTS:
        raise InvalidRequest(f"top_k is 1 to {MOST_FACTS}", field="top_k")
    named = rest.pop("sources", tuple(Kind))
    unknown = sorted(set(named) - set(Kind))
    if unknown or not named:
        raise InvalidRequest("sources are some of: fact, turn, note", field="sources")
    strict.check(query)
    return Asked(scope=scope, query=query, sources=tuple(Kind(name) for name in named), **rest)


def event_document(event: Event) -> dict[str, Json]:
    """What a caller is told of an event; the messages themselves are not repeated."""
    told: dict[str, Json] = {
        "event_id": event.id,
        "status": event.state.value,
        "at": event.at,
        "memories": list(event.memories),
        "held": list(event.held),
    }
    return told if event.error is None else {**told, "error": event.error}


def facts_document(found: FoundFacts) -> dict[str, Json]:
    document: dict[str, Json] = encode(found)
    return document
