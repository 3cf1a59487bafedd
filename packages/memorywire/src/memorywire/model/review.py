"""Reviewing as values: what a reviewer asks, and what comes back."""

from collections.abc import Mapping
from enum import StrEnum

from msgspec import Struct, field

from memorywire.model.answers import Outcome, Status
from memorywire.model.proposal import WAITING, Proposal, State
from memorywire.model.record import DEFAULT_TENANT, Json, Record, Scope

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


class Reach(Struct, frozen=True, kw_only=True):
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


class Inbox(Struct, frozen=True, kw_only=True):
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


class Examine(Struct, frozen=True, kw_only=True):
    reach: Reach
    proposal_id: str


class Decide(Struct, frozen=True, kw_only=True):
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


class ProposalPage(Struct, frozen=True, kw_only=True):
    items: tuple[Proposal, ...]
    total: int
    next: str | None = None


class Reviewed(Struct, frozen=True, kw_only=True):
    """A proposal as a reviewer needs it: the difference it makes, what is similar, `seen` to answer with."""

    proposal: Proposal
    diff: Mapping[str, Json]
    similar: tuple[Record, ...]
    seen: str
    age_ms: int


class Decided(Struct, frozen=True, kw_only=True):
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
