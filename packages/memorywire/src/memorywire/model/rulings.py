"""Rules as people see and change them: what is asked about the policy, and what comes back."""

from collections.abc import Mapping
from typing import TypeAlias

from msgspec import Struct, field

from memorywire.model.answers import Outcome, Status
from memorywire.model.record import DEFAULT_TENANT, Json, Record, Scope
from memorywire.model.review import Decide, Examine, Inbox, Reach
from memorywire.model.survey import Agents, Facets, Feedback, Judged, Recalls


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
