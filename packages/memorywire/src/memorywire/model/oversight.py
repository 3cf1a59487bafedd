"""Looking over a memory: who has one, what is in it, when it was used, and whether that helped."""

from collections.abc import Mapping
from enum import StrEnum
from typing import TypeAlias

from msgspec import Struct, field

from memorywire.model.answers import Outcome, Status
from memorywire.model.proposal import Decide, Examine, Inbox, Reach
from memorywire.model.query import EVERYTHING, Filter
from memorywire.model.record import DEFAULT_TENANT, Json, MemoryType, Record, Scope


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


class Rules(Struct, frozen=True, kw_only=True):
    tenant: str = DEFAULT_TENANT


class SetRules(Struct, frozen=True, kw_only=True):
    """The whole ordered list that is to be in force, if edition `if_edition` still is."""

    rules: tuple[Json, ...]
    if_edition: int | None = None
    tenant: str = DEFAULT_TENANT


class TryRule(Struct, frozen=True, kw_only=True):
    """What the rule would have done to the agent's changes of the last `days`."""

    scope: Scope
    rule: Mapping[str, Json]
    days: int = 30


class ActivateRule(Struct, frozen=True, kw_only=True):
    name: str
    tenant: str = DEFAULT_TENANT


class RevertRule(Struct, frozen=True, kw_only=True):
    name: str
    tenant: str = DEFAULT_TENANT


class Why(Struct, frozen=True, kw_only=True):
    reach: Reach
    recall_id: str


class RuleEdition(Struct, frozen=True, kw_only=True):
    """What was in force from `at` on, until the next edition."""

    number: int
    at: int
    by: str
    rules: tuple[Json, ...]


class Suggested(Struct, frozen=True, kw_only=True):
    """A rule nobody has activated, and the proposals whose decisions speak for it."""

    rule: Json
    evidence: tuple[str, ...]


class RuleBook(Struct, frozen=True, kw_only=True):
    """The policy in force: the rules people `given`, before those of the profile or file (`base`)."""

    edition: int
    given: tuple[Json, ...]
    base: tuple[Json, ...]
    profile: str
    default: str
    default_trust: str
    pending_days: int
    learned: bool
    four_eyes: bool = False
    trust: Mapping[str, str] = field(default_factory=dict)
    secrets: Mapping[str, str] = field(default_factory=dict)
    budget: Mapping[str, Json] = field(default_factory=dict)
    editions: tuple[RuleEdition, ...] = ()
    suggestions: tuple[Suggested, ...] = ()


class RuleTrial(Struct, frozen=True, kw_only=True):
    """What a rule would have done: so many of `total` matched, so many of those with another verdict.

    `sample` are the newest that matched. `degraded` names conditions of which the past tells nothing, and
    `older_changes` when there were more than were looked at.
    """

    rule: str
    verdict: str
    total: int
    matched: int
    changed: int
    sample: tuple[str, ...]
    summary: str
    degraded: tuple[str, ...] = ()


class Reverted(Struct, frozen=True, kw_only=True):
    """What a learned rule had let pass is taken back, and the rule is switched off.

    `kept_ids` are changes that could not be taken back, because memory has moved since.
    """

    rule: str
    edition: int
    reverted_ids: tuple[str, ...]
    kept_ids: tuple[str, ...]
    ended_ids: tuple[str, ...]
    status: Status | None = None
    change_id: str | None = None
    outcomes: tuple[Outcome, ...] = ()


class Given(Struct, frozen=True, kw_only=True):
    """A memory as a recall gave it; without `memory` it was erased since."""

    id: str
    version: int
    score: float
    current: bool
    memory: Record | None = None


class Reasons(Struct, frozen=True, kw_only=True):
    """What a recall answered, and from what; the query is gone once a memory it found was erased."""

    recall_id: str
    scope: Scope
    at: int
    caller: str
    verdict: str
    results: tuple[Given, ...]
    query: str | None = None
    as_of: int | None = None
    feedback: tuple[Judged, ...] = ()


Oversight: TypeAlias = (
    Inbox
    | Examine
    | Decide
    | Rules
    | SetRules
    | TryRule
    | ActivateRule
    | RevertRule
    | Why
    | Agents
    | Facets
    | Recalls
    | Feedback
)
"""What people ask, and agents do not: a door for agents need not serve it."""


class Cause(StrEnum):
    """How a memory came to depend on the source; `directive` is one that does not, but gives orders."""

    SOURCE = "source"
    DERIVED = "derived_from"
    MERGED = "merged_from"
    SUPERSEDES = "supersedes"
    REPLACED = "replaced_by"
    DIRECTIVE = "directive"


class Deed(StrEnum):
    """What is done about a memory. What is `gone` had ended already; what is `kept` corrects the source."""

    ENDED = "ended"
    ROLLED_BACK = "rolled_back"
    RESTORED = "restored"
    QUARANTINED = "quarantined"
    GONE = "gone"
    KEPT = "kept"


class Recover(Struct, frozen=True, kw_only=True):
    """Everything since then whose source reads like the pattern (`*` stands for anything)."""

    scope: Scope
    source: str
    since: int
    dry_run: bool = False


class Step(Struct, frozen=True, kw_only=True):
    """What is done about one memory and why: `via` is the memory it came through, `signs` of a directive."""

    id: str
    deed: Deed
    cause: Cause
    via: str | None = None
    signs: tuple[str, ...] = ()


class Recovered(Struct, frozen=True, kw_only=True):
    """The report, and the one change that an undo takes back; without `change_id` nothing changed.

    `degraded` says `older_changes` when there were more changes since then than were looked at.
    """

    steps: tuple[Step, ...]
    dry_run: bool
    status: Status | None = None
    change_id: str | None = None
    outcomes: tuple[Outcome, ...] = ()
    degraded: tuple[str, ...] = ()

    def ids(self, deed: Deed) -> tuple[str, ...]:
        return tuple(step.id for step in self.steps if step.deed is deed)


class Kept(Struct, frozen=True, kw_only=True):
    """One finding in one memory: `what` names the kind of secret or the sign of an instruction."""

    id: str
    what: str
    place: str


class Scanned(Struct, frozen=True, kw_only=True):
    """How many memories were read, and what stands in them."""

    memories: int
    secrets: tuple[Kept, ...] = ()
    instructions: tuple[Kept, ...] = ()


class Cleared(Struct, frozen=True, kw_only=True):
    """What became of the secrets of one memory: a new version without them, or the problem that kept them."""

    id: str
    status: Status | None = None
    change_id: str | None = None
    proposal_id: str | None = None
    problem: dict[str, str] = field(default_factory=dict)
