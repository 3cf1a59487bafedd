"""Oversight: surveys of memories and recalls, rules, recovery from a bad source, and scans."""

from collections.abc import Mapping
from enum import StrEnum
from typing import TypeAlias

from msgspec import Struct, field

from memorywire.model.answers import Outcome, Status
from memorywire.model.proposal import Decide, Examine, Inbox, Reach
from memorywire.model.query import EVERYTHING, Filter
from memorywire.model.record import DEFAULT_TENANT, Json, MemoryType, Record, Scope


class Helped(StrEnum):
    """The rating of a memory that a recall returned."""

    USEFUL = "useful"
    WRONG = "wrong"
    OUTDATED = "outdated"


class Agents(Struct, frozen=True, kw_only=True):
    """List the agents of the tenant that have memories or pending proposals."""

    tenant: str = DEFAULT_TENANT


class Facets(Struct, frozen=True, kw_only=True):
    """Count the values of the fields of the memories that `list` would return."""

    scope: Scope
    filter: Filter = EVERYTHING
    types: tuple[MemoryType, ...] = ()
    include: tuple[str, ...] = ()


class Recalls(Struct, frozen=True, kw_only=True):
    """List the newest recalls, older than the recall `before`.

    Only those that returned `memory_id`, and of this session, run and trace, if given.
    """

    reach: Reach
    memory_id: str | None = None
    session_id: str | None = None
    run_id: str | None = None
    trace_id: str | None = None
    before: str | None = None
    limit: int = 20


class Feedback(Struct, frozen=True, kw_only=True):
    """Rate a memory that a recall returned."""

    reach: Reach
    recall_id: str
    memory_id: str
    helped: Helped
    reason: str | None = None


class AgentSummary(Struct, frozen=True, kw_only=True):
    """The number of an agent's current memories, and of its pending proposals."""

    agent_id: str
    memories: int
    waiting: int


class AgentList(Struct, frozen=True, kw_only=True):
    items: tuple[AgentSummary, ...]


class FacetValue(Struct, frozen=True, kw_only=True):
    value: str
    count: int


class FacetCounts(Struct, frozen=True, kw_only=True):
    """For each field, its most frequent values among `looked_at` matching memories: all, or the newest."""

    looked_at: int
    fields: Mapping[str, tuple[FacetValue, ...]]


class RecallSummary(Struct, frozen=True, kw_only=True):
    """A recall without its hits; the query is removed once a memory that it found is erased."""

    recall_id: str
    scope: Scope
    at: int
    caller: str
    verdict: str
    count: int
    query: str | None = None
    session_id: str | None = None
    run_id: str | None = None
    trace_id: str | None = None


class RecallPage(Struct, frozen=True, kw_only=True):
    items: tuple[RecallSummary, ...]


class Judged(Struct, frozen=True, kw_only=True):
    """A rating of a memory that a recall returned, with its author and time."""

    memory_id: str
    helped: Helped
    by: str
    at: int
    reason: str | None = None


class Rules(Struct, frozen=True, kw_only=True):
    tenant: str = DEFAULT_TENANT


class SetRules(Struct, frozen=True, kw_only=True):
    """Replace all rules, in order, if edition `if_edition` is still in force."""

    rules: tuple[Json, ...]
    if_edition: int | None = None
    tenant: str = DEFAULT_TENANT


class TryRule(Struct, frozen=True, kw_only=True):
    """Test a rule: its effect on the agent's changes of the last `days`."""

    scope: Scope
    rule: Mapping[str, Json]
    days: int = 30


class ActivateRule(Struct, frozen=True, kw_only=True):
    name: str
    tenant: str = DEFAULT_TENANT


class RevertRule(Struct, frozen=True, kw_only=True):
    name: str
    tenant: str = DEFAULT_TENANT


class Erase(Struct, frozen=True, kw_only=True):
    """Erase everything of a user: of the agent, or of every agent of the tenant."""

    user_id: str
    agent_id: str | None = None
    reason: str | None = None
    dry_run: bool = False
    tenant: str = DEFAULT_TENANT


class AgentErased(Struct, frozen=True, kw_only=True):
    """The memories of one agent that were erased, or that await a decision on `proposal_ids`."""

    agent_id: str
    erased_ids: tuple[str, ...]
    waiting_ids: tuple[str, ...]
    proposal_ids: tuple[str, ...]
    outcomes: tuple[Outcome, ...]


class Erased(Struct, frozen=True, kw_only=True):
    """The receipt of an erase; of a dry run, its effects.

    `erased` and `waiting` count memories. `id_removed`: no row has the id of the user any more.
    """

    user_id: str
    erased: int
    waiting: int
    id_removed: bool
    agents: tuple[AgentErased, ...]
    dry_run: bool = False


class PersonExport(Struct, frozen=True, kw_only=True):
    """Everything of a user as the lines of a bundle; `counts` by kind, `digest` of all lines but the last."""

    user_id: str
    counts: Mapping[str, int]
    digest: str
    lines: tuple[str, ...]

    @property
    def text(self) -> str:
        """The bundle as the text of a file."""
        return "".join(f"{line}\n" for line in self.lines)


class Why(Struct, frozen=True, kw_only=True):
    reach: Reach
    recall_id: str


class RuleEdition(Struct, frozen=True, kw_only=True):
    """The rules in force from `at` until the next edition."""

    number: int
    at: int
    by: str
    rules: tuple[Json, ...]


class Suggested(Struct, frozen=True, kw_only=True):
    """A learned rule that is not active, and the proposals whose decisions support it."""

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
    """The effect of a rule on past changes: how many of `total` match, and how many change their verdict.

    `sample` are the newest matches. `degraded` names conditions that cannot be checked afterwards, and
    `older_changes` if there were more changes than were examined.
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
    """The receipt for reverting the changes that a learned rule allowed; the rule is disabled.

    `kept_ids` are changes that could not be reverted because the memories have changed since.
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
    """A memory as a recall returned it; `memory` is None if it was erased, or is no longer shared."""

    id: str
    version: int
    score: float
    current: bool
    memory: Record | None = None
    lender: str | None = None


class Reasons(Struct, frozen=True, kw_only=True):
    """The answer of a recall and its origin; the query is removed once a memory that it found is erased."""

    recall_id: str
    scope: Scope
    at: int
    caller: str
    verdict: str
    results: tuple[Given, ...]
    query: str | None = None
    as_of: int | None = None
    session_id: str | None = None
    run_id: str | None = None
    trace_id: str | None = None
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
    | Erase
)
"""Requests of people. A server for agents need not offer them."""


class Cause(StrEnum):
    """Why a memory is affected: it depends on the source, or (`directive`) it contains an instruction."""

    SOURCE = "source"
    DERIVED = "derived_from"
    MERGED = "merged_from"
    SUPERSEDES = "supersedes"
    REPLACED = "replaced_by"
    DIRECTIVE = "directive"


class Deed(StrEnum):
    """The action on a memory. `gone` had already ended; `kept` corrects the source."""

    ENDED = "ended"
    ROLLED_BACK = "rolled_back"
    RESTORED = "restored"
    QUARANTINED = "quarantined"
    GONE = "gone"
    KEPT = "kept"


class Recover(Struct, frozen=True, kw_only=True):
    """Remove all memories since that time whose source matches the pattern (`*` matches any text)."""

    scope: Scope
    source: str
    since: int
    dry_run: bool = False


class Step(Struct, frozen=True, kw_only=True):
    """The action on one memory and its cause; `via` is the memory it derives from."""

    id: str
    deed: Deed
    cause: Cause
    via: str | None = None
    signs: tuple[str, ...] = ()


class Recovered(Struct, frozen=True, kw_only=True):
    """The report, and the one change that an undo takes back; without `change_id` nothing changed.

    `degraded` has `older_changes` if there were more changes since then than were examined.
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
    """The number of memories that were read, and the findings in them."""

    memories: int
    secrets: tuple[Kept, ...] = ()
    instructions: tuple[Kept, ...] = ()


class Cleared(Struct, frozen=True, kw_only=True):
    """The result of removing secrets from a memory: a new version, or the problem that prevented it."""

    id: str
    status: Status | None = None
    change_id: str | None = None
    proposal_id: str | None = None
    problem: dict[str, str] = field(default_factory=dict)
