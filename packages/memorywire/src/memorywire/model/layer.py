"""The values of the message layer: turns of a conversation, the facts read from them, and events."""

from collections.abc import Iterator, Mapping
from enum import StrEnum
from typing import Literal, TypeAlias

from msgspec import Struct, field

from memorywire.model.answers import Verdict
from memorywire.model.record import Json, MemoryType, Scope

MARK = "layer"
"""The metadata key with the kind of a memory of the layer, and the id of its event."""


CALLS_A_DAY = 2_000
"""The default limit of calls a day to an extractor that costs money."""


Whose: TypeAlias = Literal["user", "agent", "user_and_agent", "all"]
"""The owners whose conversations a query covers; a team has none."""


class Kind(StrEnum):
    """The origin of a memory: extracted from a conversation, a turn of one, or any other."""

    FACT = "fact"
    TURN = "turn"
    NOTE = "note"


class EventState(StrEnum):
    PENDING = "pending"
    DONE = "done"
    FAILED = "failed"


class Turn(Struct, frozen=True, kw_only=True):
    """A message of a conversation. `name` is the speaker and `at` the time, where known."""

    role: str
    content: str
    name: str | None = None
    at: int | None = None


class Conversation(Struct, frozen=True, kw_only=True):
    """Turns in order, with their metadata. Each turn is stored; `infer` also extracts facts from them."""

    turns: tuple[Turn, ...]
    infer: bool = True
    session_id: str | None = None
    metadata: Mapping[str, Json] = field(default_factory=dict)

    @property
    def last_at(self) -> int | None:
        """The latest known time of a turn."""
        return max((turn.at for turn in self.turns if turn.at is not None), default=None)


class Fact(Struct, frozen=True, kw_only=True):
    """A sentence that was extracted from a conversation, and the place of the turn it comes from.

    If it `retracts`, its text names the fact that the speaker retracts.
    """

    text: str
    type: MemoryType = MemoryType.SEMANTIC
    confidence: float = 1.0
    occurred_at: int | None = None
    turn: int | None = None
    retracts: bool = False


class Event(Struct, frozen=True, kw_only=True):
    """The processing state of an added conversation.

    `turns` are the memories of its turns, `memories` those of its facts (without extraction, of its turns),
    `forgotten` the facts that it retracted; `held` wait for a person. `found` are the extracted facts, until
    they are stored.
    """

    id: str
    scope: Scope
    at: int
    state: EventState
    memories: tuple[str, ...] = ()
    held: tuple[str, ...] = ()
    turns: tuple[str, ...] = ()
    forgotten: tuple[str, ...] = ()
    tries: int = 0
    due_at: int = 0
    error: str | None = None
    caller: str = ""
    conversation: Conversation | None = None
    found: tuple[Fact, ...] | None = None


class FoundFact(Struct, frozen=True, kw_only=True):
    id: str
    memory: str
    score: float
    kind: Kind
    metadata: Mapping[str, Json] = field(default_factory=dict)


class FoundFacts(Struct, frozen=True, kw_only=True):
    """The facts that match a query, best first; empty, with verdict `no_match`, when none does."""

    facts: tuple[FoundFact, ...]
    verdict: Verdict
    sources: tuple[Kind, ...]
    recall_id: str

    def __iter__(self) -> Iterator[FoundFact]:
        return iter(self.facts)
