"""Looking over a memory: who has one, what is in it, when it was used, and whether that helped."""

from collections.abc import Mapping
from enum import StrEnum

from memorywire.model.record import DEFAULT_TENANT, MemoryType, Scope
from memorywire.model.review import Reach
from memorywire.model.values import dataclass
from memorywire.model.where import EVERYTHING, Filter


class Helped(StrEnum):
    """What somebody says of a memory that a recall handed out."""

    USEFUL = "useful"
    WRONG = "wrong"
    OUTDATED = "outdated"


@dataclass(frozen=True, slots=True, kw_only=True)
class Agents:
    """Which agents of the tenant have memories, or changes that wait for a person."""

    tenant: str = DEFAULT_TENANT


@dataclass(frozen=True, slots=True, kw_only=True)
class Facets:
    """How the memories that `list` would give are spread over the values of their fields."""

    scope: Scope
    filter: Filter = EVERYTHING
    types: tuple[MemoryType, ...] = ()
    include: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Recalls:
    """The newest recalls, before the one named `before`; only those that handed out `memory_id`, if named."""

    reach: Reach
    memory_id: str | None = None
    before: str | None = None
    limit: int = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Feedback:
    """Whether a memory that a recall handed out was any good."""

    reach: Reach
    recall_id: str
    memory_id: str
    helped: Helped
    reason: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentSummary:
    """An agent's current memories, and its changes that wait."""

    agent_id: str
    memories: int
    waiting: int


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentList:
    items: tuple[AgentSummary, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class FacetValue:
    value: str
    count: int


@dataclass(frozen=True, slots=True, kw_only=True)
class FacetCounts:
    """For each field, its most frequent values among the newest `looked_at` memories of those that match."""

    looked_at: int
    fields: Mapping[str, tuple[FacetValue, ...]]


@dataclass(frozen=True, slots=True, kw_only=True)
class RecallSummary:
    """A recall without what it handed out; the query is gone once a memory it found was erased."""

    recall_id: str
    scope: Scope
    at: int
    caller: str
    verdict: str
    count: int
    query: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RecallPage:
    items: tuple[RecallSummary, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """What was said of a memory that a recall handed out, by whom, and when."""

    memory_id: str
    helped: Helped
    by: str
    at: int
    reason: str | None = None
