"""Reviewing as values: what a reviewer asks, and what comes back."""

from collections.abc import Mapping
from dataclasses import field
from enum import StrEnum

from memorywire.model.answers import Outcome, Status
from memorywire.model.proposal import WAITING, Proposal, State
from memorywire.model.record import DEFAULT_TENANT, Json, Record, Scope
from memorywire.model.values import dataclass

ERASE = "erase"
"""The word that a person types to approve what erases content for good."""


class Verb(StrEnum):
    """What a reviewer can do with a proposal."""

    APPROVE = "approve"
    EDIT = "edit"
    REJECT = "reject"
    MERGE = "merge"
    SUPERSEDE = "supersede"
    FORGET_SIMILAR = "forget_similar"
    REOPEN = "reopen"


@dataclass(frozen=True, slots=True, kw_only=True)
class Reach:
    """Whose proposals a reviewer may see: a tenant's, an agent's, or one user's."""

    tenant: str = DEFAULT_TENANT
    agent: str | None = None
    user: str | None = None

    def covers(self, scope: Scope) -> bool:
        return (
            scope.tenant == self.tenant
            and self.agent in (None, scope.agent)
            and self.user in (None, scope.user)
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Inbox:
    """A page of proposals in the order they came, or the worst and newest first, behind `after`.

    `held_by` is the rule that held them, `text` something they say.
    """

    reach: Reach
    states: frozenset[State] = WAITING
    batch: str | None = None
    held_by: str | None = None
    text: str | None = None
    by_risk: bool = False
    after: str | None = None
    limit: int = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class Examine:
    reach: Reach
    proposal_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Decide:
    """One decision on one proposal, or on several of one agent: all of them or none.

    `seen` is the digest of what the reviewer looked at; when the proposal has changed since, nothing is
    decided. `edit` replaces fields of a held remember; `target` is the memory to merge into, to supersede
    or to forget. `confirm` is the word `erase`, where approving erases content for good.
    """

    reach: Reach
    proposal_ids: tuple[str, ...]
    verb: Verb
    reason: str | None = None
    seen: str | None = None
    target: str | None = None
    edit: Mapping[str, Json] = field(default_factory=dict)
    confirm: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ProposalPage:
    items: tuple[Proposal, ...]
    total: int
    next: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Reviewed:
    """A proposal as a reviewer needs it: the difference it makes, what is similar, `seen` to answer with."""

    proposal: Proposal
    diff: Mapping[str, Json]
    similar: tuple[Record, ...]
    seen: str
    age_ms: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Decided:
    """The receipt of a decision; without `change_id` nothing entered memory.

    `erased` is True when it erased content for good, which nothing takes back.
    """

    proposal_ids: tuple[str, ...]
    state: State
    by: str
    at: int
    status: Status | None = None
    change_id: str | None = None
    outcomes: tuple[Outcome, ...] = ()
    erased: bool | None = None
