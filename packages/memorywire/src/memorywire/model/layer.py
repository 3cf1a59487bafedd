"""The message layer as values: turns of a conversation go in, facts come out, events tell when."""

from collections.abc import Iterator, Mapping
from enum import StrEnum

from msgspec import Struct, field

from memorywire.model.answers import Verdict
from memorywire.model.record import Json, MemoryType, Scope

MARK = "layer"
"""Under this name a memory's metadata says which kind of thing the layer kept, and of which event."""


class Kind(StrEnum):
    """What a memory is to the layer: read out of a conversation, a turn of one, or told by anybody else."""

    FACT = "fact"
    TURN = "turn"
    NOTE = "note"


class EventState(StrEnum):
    PENDING = "pending"
    DONE = "done"
    FAILED = "failed"


class Turn(Struct, frozen=True, kw_only=True):
    """What somebody said. `name` is who they are, `at` when they said it, as far as that is known."""

    role: str
    content: str
    name: str | None = None
    at: int | None = None


class Conversation(Struct, frozen=True, kw_only=True):
    """Turns in their order, and what is known about all of them; to be read for facts, or kept as said."""

    turns: tuple[Turn, ...]
    infer: bool = True
    session_id: str | None = None
    metadata: Mapping[str, Json] = field(default_factory=dict)

    @property
    def last_at(self) -> int | None:
        """When the last turn was said whose moment is known."""
        return max((turn.at for turn in self.turns if turn.at is not None), default=None)


class Fact(Struct, frozen=True, kw_only=True):
    """One sentence that a conversation gives away."""

    text: str
    type: MemoryType = MemoryType.SEMANTIC
    confidence: float = 1.0
    occurred_at: int | None = None


class Event(Struct, frozen=True, kw_only=True):
    """What became of a conversation that was added: `memories` are what it led to, `held` what waits.

    `found` are the facts that were read out of it, until they are memories.
    """

    id: str
    scope: Scope
    at: int
    state: EventState
    memories: tuple[str, ...] = ()
    held: tuple[str, ...] = ()
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
    """What answers a question, best first; empty, with verdict `no_match`, when nothing does."""

    facts: tuple[FoundFact, ...]
    verdict: Verdict
    sources: tuple[Kind, ...]
    recall_id: str

    def __iter__(self) -> Iterator[FoundFact]:
        return iter(self.facts)
