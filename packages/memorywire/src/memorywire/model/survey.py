"""Looking over a memory: who has one, what is in it, when it was used, and whether that helped."""

from collections.abc import Mapping
from enum import StrEnum

from msgspec import Struct

from memorywire.model.record import DEFAULT_TENANT, MemoryType, Scope
from memorywire.model.review import Reach
from memorywire.model.where import EVERYTHING, Filter


class Helped(StrEnum):
    """What somebody says of a memory that a recall handed out."""

    USEFUL = "useful"
    WRONG = "wrong"
    OUTDATED = "outdated"


class Agents(Struct, frozen=True, kw_only=True):
    """Which agents of the tenant have memories, or changes that wait for a person."""

    tenant: str = DEFAULT_TENANT


class Facets(Struct, frozen=True, kw_only=True):
    """How the memories that `list` would give are spread over the values of their fields."""

    scope: Scope
    filter: Filter = EVERYTHING
    types: tuple[MemoryType, ...] = ()
    include: tuple[str, ...] = ()


class Recalls(Struct, frozen=True, kw_only=True):
    """The newest recalls, before the one named `before`; only those that handed out `memory_id`, if named."""

    reach: Reach
    memory_id: str | None = None
    before: str | None = None
    limit: int = 20


class Feedback(Struct, frozen=True, kw_only=True):
    """Whether a memory that a recall handed out was any good."""

    reach: Reach
    recall_id: str
    memory_id: str
    helped: Helped
    reason: str | None = None


class AgentSummary(Struct, frozen=True, kw_only=True):
    """An agent's current memories, and its changes that wait."""

    agent_id: str
    memories: int
    waiting: int


class AgentList(Struct, frozen=True, kw_only=True):
    items: tuple[AgentSummary, ...]


class FacetValue(Struct, frozen=True, kw_only=True):
    value: str
    count: int


class FacetCounts(Struct, frozen=True, kw_only=True):
    """For each field, its most frequent values among the newest `looked_at` memories of those that match."""

    looked_at: int
    fields: Mapping[str, tuple[FacetValue, ...]]


class RecallSummary(Struct, frozen=True, kw_only=True):
    """A recall without what it handed out; the query is gone once a memory it found was erased."""

    recall_id: str
    scope: Scope
    at: int
    caller: str
    verdict: str
    count: int
    query: str | None = None


class RecallPage(Struct, frozen=True, kw_only=True):
    items: tuple[RecallSummary, ...]


class Judged(Struct, frozen=True, kw_only=True):
    """What was said of a memory that a recall handed out, by whom, and when."""

    memory_id: str
    helped: Helped
    by: str
    at: int
    reason: str | None = None
