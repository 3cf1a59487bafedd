"""Consolidation: its settings (retention, limits on the work and the cost of a run), and a run's result."""

from collections.abc import Mapping
from enum import StrEnum

from msgspec import Struct, field
from msgspec.structs import asdict

from memorywire.model.label import MARK
from memorywire.model.record import Json, MemoryType, Record, Trust

PIN = "pinned"
OFF = "off"
EVERY_SECONDS = 60.0
SHORTEST, LONGEST = 0.1, 86_400.0  # seconds between two rounds
WINDOW = 50
"""The default number of newest memories that are short-term."""

WINDOW_MAX = 1_000
DEFAULT_CONSOLIDATOR = "memorywire"

_DAYS = {MemoryType.EPISODIC: 180, MemoryType.EMOTIONAL: 180}
_MOST = dict.fromkeys(MemoryType, 50_000)
_AT_LEAST = 10
_RULES = frozenset({"know", "do", "blacklist"})  # the kinds of `facts.rules`
_MILLION = 1_000_000


class Retention(Struct, frozen=True, kw_only=True):
    """For each type, how many days an unused memory stays and how many memories one user may have.

    A type that is not listed has no limit; neither has a memory that is pinned: with the field `pinned` of a
    remember, by `metadata.pinned`, or by one of the tags `pins`. Rules of sessions (`know`, `do`,
    `blacklist`) are pinned too, unless they come from an untrusted source.
    """

    days: Mapping[MemoryType, int] = field(default_factory=lambda: _DAYS)
    most: Mapping[MemoryType, int] = field(default_factory=lambda: _MOST)
    half_life_days: float = 90.0
    pins: frozenset[str] = frozenset({PIN})

    def pinned(self, record: Record) -> bool:
        """Whether the memory is pinned."""
        if not self.pins.isdisjoint(record.tags) or record.metadata.get(PIN) is True:
            return True
        if record.trust is not Trust.UNTRUSTED and not _RULES.isdisjoint(record.tags):
            return True
        mark = record.metadata.get(MARK)
        return isinstance(mark, Mapping) and mark.get(PIN) is True


class Limits(Struct, frozen=True, kw_only=True):
    """Limits of one run: the number of changes, their share of all memories (at least ten), and seconds."""

    changes: int = 500
    ratio: float = 0.4
    seconds: float = 600.0

    def allowed(self, memories: int) -> int:
        return min(self.changes, max(_AT_LEAST, int(memories * self.ratio)))


class Spending(Struct, frozen=True, kw_only=True):
    """Limits of what one run may spend on a model: tokens, and `cost` at `price` per million tokens.

    Without a price only the tokens are limited.
    """

    tokens: int = 50_000
    price: float | None = None
    cost: float | None = None

    def costs(self, tokens: int) -> float | None:
        return None if self.price is None else self.price * tokens / _MILLION

    def allows(self, tokens: int) -> bool:
        """Whether a run may use this many tokens."""
        costs = self.costs(tokens)
        return tokens <= self.tokens and (costs is None or self.cost is None or costs <= self.cost)


class ConsolidationSettings(Struct, frozen=True, kw_only=True):
    """Settings of consolidation. `model` is an endpoint or `off`, with its `key`.

    `consolidator` names the entry point that does the work. A server looks through short-term memory every
    `promote` seconds, and dreams each day at `night`, in minutes after midnight UTC; None: off. Short-term
    are notes with the tag and, of each agent and user, the newest `window` memories.
    """

    retention: Retention = field(default_factory=Retention)
    limits: Limits = field(default_factory=Limits)
    spending: Spending = field(default_factory=Spending)
    model: str = OFF
    key: str | None = None
    promote: float | None = EVERY_SECONDS
    window: int = 0
    night: int | None = None
    consolidator: str = DEFAULT_CONSOLIDATOR


class Probe(Struct, frozen=True):
    """A question, and the ids that should be among its first hits."""

    query: str
    ids: frozenset[str]


DREAM = "dream"
"""The operation of a run's change, and the rule name of steps that are proposed because they are not sure."""


class Pass(StrEnum):
    """The passes, in order. Each works on the result of those before it."""

    EXACT = "exact"
    NEAR = "near"
    SEMANTIC = "semantic"
    CONFLICT = "conflict"
    RETENTION = "retention"
    CAP = "cap"
    SUMMARY = "summary"
    PROCEDURE = "procedure"


class Step(Struct, frozen=True, kw_only=True):
    """One step: what happens to the memories `ids`, and why. It has ids and reasons, no contents.

    Duplicates are merged into `kept`, contradictions are superseded by it, other memories are archived.
    A step that is not `sure` is proposed to a person.
    """

    name: Pass
    ids: tuple[str, ...]
    why: str
    kept: str | None = None
    sure: bool = True

    @property
    def touched(self) -> frozenset[str]:
        return frozenset(self.ids if self.kept is None else (self.kept, *self.ids))

    def document(self) -> dict[str, Json]:
        document = {**asdict(self), "name": self.name.value, "ids": list(self.ids)}
        document["pass"] = document.pop("name")
        return {name: value for name, value in document.items() if value is not None}


class Result(StrEnum):
    """The result of a run: `calm` found nothing to do, `discarded` would have made recall worse."""

    CALM = "calm"
    COMMITTED = "committed"
    REHEARSED = "rehearsed"
    DISCARDED = "discarded"


class RunResult(Struct, frozen=True, kw_only=True):
    """The result of a run: its steps, its proposals, the steps that a rule refused, and the number left out.

    `run` is the id of its change. `probes` has the number of questions and the recall before and after;
    `model` reports what a model was asked, or why none was.
    """

    result: Result
    memories: int
    steps: tuple[Step, ...] = ()
    proposed: tuple[tuple[str, Step], ...] = ()
    refused: tuple[tuple[str, Step], ...] = ()
    left: int = 0
    run: str | None = None
    probes: Mapping[str, Json] | None = None
    model: Mapping[str, Json] = field(default_factory=dict)

    def document(self) -> dict[str, Json]:
        document: dict[str, Json] = {
            "result": self.result.value,
            "memories": self.memories,
            "steps": [step.document() for step in self.steps],
            "proposed": [{"proposal_id": id, **step.document()} for id, step in self.proposed],
            "refused": [{"rule": rule, **step.document()} for rule, step in self.refused],
            "left": self.left,
            "model": dict(self.model),
        }
        document |= {} if self.run is None else {"run": self.run}
        return document | ({} if self.probes is None else {"probes": self.probes})


class Promoted(Struct, frozen=True, kw_only=True):
    """A short-term memory and the long-term one it became; a rehearsal has no `into` for a new one."""

    id: str
    into: str | None = None


class Promotion(Struct, frozen=True, kw_only=True):
    """One round over `memories` short-term ones: which were promoted and which archived.

    `staged` ones wait for a person, `refused` ones a rule keeps as they are.
    """

    memories: int
    promoted: tuple[Promoted, ...] = ()
    archived: tuple[str, ...] = ()
    staged: tuple[str, ...] = ()
    refused: tuple[str, ...] = ()


class SessionRule(Struct, frozen=True, kw_only=True):
    """A memory that the next session loads as a rule."""

    id: str
    content: str


class SessionRules(Struct, frozen=True, kw_only=True):
    """The rules for the next session, in three lists, oldest first."""

    know: tuple[SessionRule, ...] = ()
    do: tuple[SessionRule, ...] = ()
    blacklist: tuple[SessionRule, ...] = ()


class Dreamed(Struct, frozen=True, kw_only=True):
    """The answer to a requested run: its result and the rules of the next session.

    The steps, the proposals and the refused steps are JSON, as `dream show` has them.
    """

    result: Result
    memories: int
    steps: tuple[Mapping[str, Json], ...]
    proposed: tuple[Mapping[str, Json], ...]
    refused: tuple[Mapping[str, Json], ...]
    left: int
    model: Mapping[str, Json]
    rules: SessionRules
    run: str | None = None
    probes: Mapping[str, Json] | None = None
