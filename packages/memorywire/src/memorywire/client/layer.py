"""Conversations in Python: add messages, and ask for the facts in them in plain words."""

from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from typing import Any, TypedDict, Unpack, get_args

from msgspec.structs import replace

from memorywire.app.container import Container
from memorywire.client.arguments import checks_arguments
from memorywire.client.options import ScopeOption, default_scope
from memorywire.model.errors import InvalidRequest, NotFound
from memorywire.model.kv import MARK as KEYED
from memorywire.model.kv import is_mark
from memorywire.model.layer import Conversation, Event, FoundFacts, Kind, Turn, Whose
from memorywire.model.record import END_OF_CALENDAR, Json, Scope
from memorywire.model.requests import MinRelevance, Owners
from memorywire.model.text import CONTENT_CHARS_MAX
from memorywire.pipeline.layer import Asked, find_facts
from memorywire.wire import strict, validate
from memorywire.wire.codec import decode_owners, encode
from memorywire.wire.filters import check_moment
from memorywire.wire.validate import is_blank

MOST_TURNS = 1_000
MOST_ROLE_CHARS = 64
MOST_NAME_CHARS = 256
MOST_FACTS = 50
DEFAULT_FACTS = 10

_WORDS = "of content in parts hand over the text; leave a message without words out"
_FIELDS = frozenset({"role", "content", "name", "at"})


class TalkOptions(TypedDict, total=False):
    """Messages are stored as they are; with `infer`, facts are extracted from them as well."""

    infer: bool
    session_id: str | None
    metadata: Mapping[str, Any]


class AddOptions(TalkOptions, ScopeOption, total=False):
    """How messages are added, and for which user."""


class QuestionOptions(TypedDict, total=False):
    """`sources` limits the answers to some of `fact`, `turn` and `note`; `scope` says whose they are."""

    top_k: int
    min_relevance: MinRelevance
    sources: Sequence[str]
    scope: Whose


class AskOptions(QuestionOptions, ScopeOption, total=False):
    """The options of a question, and the user whose conversations it is about."""


class Layer:
    """The conversations of one agent, or of one of its users."""

    def __init__(self, container: Callable[[], Awaitable[Container]], scope: Scope) -> None:
        self.scope = scope
        self._container = container

    @checks_arguments
    async def add(self, messages: Sequence[Mapping[str, Any]], **options: Unpack[AddOptions]) -> Event:
        """Add messages, each with `role` and `content` and optionally `name` and `at`.

        The event is `done`, or `pending` until the messages are processed; `event` returns its state.

        Options: `infer`, `session_id`, `metadata`, `user_id`.
        """
        scope, rest = self._whose(options, AddOptions.__optional_keys__)
        container = await self._container()
        return await container.reader.add(scope, conversation(messages, **rest), container.context)

    @checks_arguments
    async def event(self, event_id: str, **options: Unpack[ScopeOption]) -> Event:
        """Return the state of added messages; raises NotFound for an event of another agent or user."""
        scope, _ = self._whose(options, ScopeOption.__optional_keys__)
        event = await find_event(await self._container(), scope.tenant, event_id)
        if not scope.covers(event.scope):
            raise NotFound("there is no such event", field="event_id")
        return event

    @checks_arguments
    async def recall(self, query: str, **options: Unpack[AskOptions]) -> FoundFacts:
        """Return what answers the question, best first.

        By default it covers the memories of its user and those without a user (`scope="user_and_agent"`);
        without a user, only those without one (`scope="agent"`). `scope="all"` covers all users of the agent.

        Options: `top_k`, `min_relevance`, `sources` (`fact`, `turn`, `note`), `scope`, `user_id`.
        """
        scope, rest = self._whose(options, AskOptions.__optional_keys__)
        if rest.get("scope") is None:
            rest["scope"] = default_scope({"user_id": scope.user})
        return await find_facts(asked(scope, query, **rest), (await self._container()).context)

    async def work(self) -> int:
        """Process the pending conversations that are due; return how many are left."""
        return await (await self._container()).reader.drain()

    def _whose(self, options: Mapping[str, Any], names: Collection[str]) -> tuple[Scope, dict[str, Any]]:
        """Return the scope, and the options without the user."""
        for name in options:
            if name not in names:
                there = ", ".join(sorted(names))
                raise InvalidRequest(f"unknown field {name}", field=name, fix=f"there are: {there}")
        rest = dict(options)
        user = rest.pop("user_id", None)
        if user is None:
            return self.scope, rest
        if not isinstance(user, str):
            raise InvalidRequest("user_id has the wrong type: expected string", field="user_id")
        strict.check(user)
        return replace(self.scope, user=user), rest


async def find_event(container: Container, tenant: str, event_id: str) -> Event:
    """Return the event of any agent of the tenant; starts work on pending messages."""
    event = await container.reader.event(tenant, event_id)
    container.reader.wake()
    return event


def conversation(messages: Sequence[Mapping[str, Any]], **options: Unpack[TalkOptions]) -> Conversation:
    """The turns of messages that can be kept."""
    is_list = isinstance(messages, Sequence) and not isinstance(messages, str | bytes)
    if not is_list or not 0 < len(messages) <= MOST_TURNS:
        raise InvalidRequest(f"messages must be a list of 1 to {MOST_TURNS}", field="messages")
    metadata, session = options.get("metadata", {}), options.get("session_id")
    if not isinstance(metadata, Mapping):
        raise InvalidRequest("metadata must be an object", field="metadata")
    if is_mark(metadata.get(KEYED)):
        raise InvalidRequest("a turn or a fact cannot be the value of a key", field=f"metadata.{KEYED}")
    if session is not None:
        _refuse_unfit(session, "session_id", MOST_NAME_CHARS)
    turns = tuple(_turn(message, f"messages.{place}") for place, message in enumerate(messages))
    strict.check([list(map(dict, messages)), dict(metadata), session])
    return Conversation(turns=turns, **options)


def _turn(message: object, field: str) -> Turn:
    if not isinstance(message, Mapping):
        raise InvalidRequest("a message must be an object with role and content", field=field)
    unknown = sorted(set(message) - _FIELDS)
    if unknown:
        fix = "leave it out: a message has role, content, name and at"
        raise InvalidRequest(f"unknown field {unknown[0]}", field=f"{field}.{unknown[0]}", fix=fix)
    name, at = message.get("name"), message.get("at")
    _refuse_unfit(message.get("role"), f"{field}.role", MOST_ROLE_CHARS)
    _refuse_unfit(message.get("content"), f"{field}.content", CONTENT_CHARS_MAX, fix=_WORDS)
    if name is not None:
        _refuse_unfit(name, f"{field}.name", MOST_NAME_CHARS)
    if at is not None and (type(at) is not int or not 0 <= at < END_OF_CALENDAR):
        raise InvalidRequest("at must be a time in epoch milliseconds", field=f"{field}.at")
    check_moment(at, f"{field}.at")
    return Turn(role=message["role"], content=message["content"], name=name, at=at)


def _refuse_unfit(text: object, field: str, most: int, *, fix: str | None = None) -> None:
    if not isinstance(text, str) or is_blank(text) or len(text) > most:
        raise InvalidRequest(f"{field} is text of 1 to {most} characters", field=field, fix=fix)


def asked(scope: Scope, query: str, /, **options: Unpack[QuestionOptions]) -> Asked:
    """A question that can be asked."""
    rest: dict[str, Any] = dict(options)
    level = {name: rest[name] for name in ("min_relevance",) if rest.get(name) is not None}
    validate.check("recall", {"agent_id": "agent", "query": query, **level})
    rest.setdefault("top_k", DEFAULT_FACTS)
    if not 0 < rest["top_k"] <= MOST_FACTS:
        raise InvalidRequest(f"top_k must be 1 to {MOST_FACTS}", field="top_k")
    named = rest.pop("sources", tuple(Kind))
    unknown = sorted(set(named) - set(Kind))
    if unknown or not named:
        raise InvalidRequest("sources must be some of: fact, turn, note", field="sources")
    owners = _read_owners(rest.pop("scope", None), scope)
    strict.check(rest)
    kinds = tuple(Kind(name) for name in named)
    return Asked(scope=scope, query=query, sources=kinds, owners=owners, **rest)


def _read_owners(name: str | None, scope: Scope) -> Owners | None:
    if name is None:
        return None
    if name not in get_args(Whose):
        raise InvalidRequest(f"scope must be one of: {', '.join(get_args(Whose))}", field="scope")
    return decode_owners(name, {} if scope.user is None else {"user_id": scope.user})


def event_document(event: Event) -> dict[str, Json]:
    """What a caller is told of an event; the messages themselves are not repeated."""
    document: dict[str, Json] = {
        "event_id": event.id,
        "status": event.state.value,
        "at": event.at,
        "memories": list(event.memories),
        "held": list(event.held),
        "turns": list(event.turns),
        "forgotten": list(event.forgotten),
    }
    return document if event.error is None else {**document, "error": event.error}


def facts_document(found: FoundFacts) -> dict[str, Json]:
    document: dict[str, Json] = encode(found)
    return document
