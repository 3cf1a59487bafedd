"""Proposals: changes that wait for a person, their review and decision."""

from collections.abc import Mapping
from enum import StrEnum

from msgspec import Struct, field

from memorywire.model.answers import Outcome, Status
from memorywire.model.change import Base, Change
from memorywire.model.record import DEFAULT_TENANT, LOCAL, PERSON, Json, Record, Scope, Trust
from memorywire.model.requests import Request


class State(StrEnum):
    """The state of a proposal; only `pending` and `stale` ones wait for a decision."""

    PENDING = "pending"
    STALE = "stale"
    APPROVED = "approved"
    REJECTED = "rejected"
    EXPIRED = "expired"


FOLLOWING: Mapping[State, frozenset[State]] = {
    State.PENDING: frozenset({State.PENDING, State.STALE, State.APPROVED, State.REJECTED, State.EXPIRED}),
    State.STALE: frozenset({State.REJECTED, State.EXPIRED}),
    State.APPROVED: frozenset({State.PENDING}),
    State.REJECTED: frozenset({State.PENDING}),
    State.EXPIRED: frozenset(),
}
"""The allowed transitions between states.

A pending proposal stays pending after a new plan; one whose decision was reopened becomes pending.
"""


class Risk(StrEnum):
    """The risk of a change: `high` if it contains secrets or instructions, or erases content."""

    LOW = "low"
    MEDIUM = "medium"
    HIGH = "high"


WAITING = frozenset({State.PENDING, State.STALE})


class Decision(Struct, frozen=True, kw_only=True):
    """A decision: who, what, when, why, and the resulting change; `automatic` if no person decided.

    `via` is the credential behind the name, if it has another name, and `reviewed_at` the time of the
    decision by the reviewer's own clock.
    """

    by: str
    at: int
    verb: str | None = None
    reason: str | None = None
    change_id: str | None = None
    automatic: bool = False
    via: str | None = None
    reviewed_at: int | None = None


class Approval(Struct, frozen=True, kw_only=True):
    """A reviewer's approval of the present plan; `via` is the credential behind the reviewer's name."""

    by: str
    at: int
    reason: str | None = None
    via: str | None = None


class Comment(Struct, frozen=True, kw_only=True):
    """A comment of a reviewer on a proposal, for the other reviewers."""

    by: str
    at: int
    text: str


class Proposal(Struct, frozen=True, kw_only=True):
    """A change that waits for a decision. Stores do not see it.

    `request` is planned again if the memories that it read have changed; `change` is the plan that the
    reviewer sees and that is committed. Both are removed once their content is erased.
    `secrets` and `instructions` are the findings, as (kind, place), never the value. `features` are the input
    for learning rules. `proposer` is the credential behind the `caller`, if it has another name.
    It is committed once `reviewers` different people approved; `approvals` are those of the present plan.
    The `assignee`, `snoozed_until` and the `comments` order the work of reviewers and decide nothing; `notes`
    counts how often they changed.
    """

    id: str
    scope: Scope
    operation: str
    at: int
    caller: str
    rule: str
    why: str
    request: Request | None
    change: Change | None
    secrets: tuple[tuple[str, str], ...] = ()
    instructions: tuple[tuple[str, str], ...] = ()
    similar: tuple[str, ...] = ()
    features: Mapping[str, Json] | None = None
    key: str | None = None
    batch: str | None = None
    expires_at: int | None = None
    state: State = State.PENDING
    revision: int = 1
    decision: Decision | None = None
    proposer: str | None = None
    reviewers: int = 1
    approvals: tuple[Approval, ...] = ()
    assignee: str | None = None
    snoozed_until: int | None = None
    comments: tuple[Comment, ...] = ()
    notes: int = 0

    @property
    def risk(self) -> Risk:
        change = self.change
        if self.secrets or self.instructions or (change is not None and change.erase):
            return Risk.HIGH
        replaces = change is not None and any(put.base is not Base.NOTHING for put in change.put)
        is_untrusted = change is not None and any(put.record.trust is Trust.UNTRUSTED for put in change.put)
        return Risk.MEDIUM if change is not None and (change.end or replaces or is_untrusted) else Risk.LOW

    @property
    def erases(self) -> bool:
        """Whether approving it erases content, which cannot be undone."""
        return self.change is not None and bool(self.change.erase)

    @property
    def touched(self) -> frozenset[str]:
        """The memories the change begins, ends or erases."""
        change = self.change
        if change is None:
            return frozenset()
        put_ids = (put.record.id for put in change.put)
        return frozenset((*put_ids, *(end.id for end in change.end), *change.erase))


class OutboxEntry(Struct, frozen=True, kw_only=True):
    """A pending change for a store; `tries` attempts failed so far, the last with `error`.

    `position` is its place in the outbox, once it is stored there.
    """

    store: str
    change: Change
    at: int
    tries: int = 0
    due_at: int = 0
    error: str | None = None
    position: int = 0

    def summary(self) -> dict[str, Json]:
        """The proposal without its request and change."""
        return {
            "store": self.store,
            "change_id": self.change.id,
            "operation": self.change.operation,
            "agent_id": self.change.scope.agent,
            "at": self.at,
            "tries": self.tries,
            "due_at": self.due_at,
            "error": self.error,
        }


class RecallNote(Struct, frozen=True, kw_only=True):
    """The hits of a recall: ids, versions and scores. The query is erased with the memories it found."""

    id: str
    at: int
    scope: Scope
    caller: str
    query: str
    verdict: str
    hits: tuple[tuple[str, int, float], ...]
    details: Mapping[str, Json] | None = None
    """`as_of`, and the session, run and trace that it was asked for, as far as they were given."""

    @property
    def origin(self) -> dict[str, Json]:
        """The session, run and trace of the recall, if they were given."""
        details = self.details or {}
        return {name: details[name] for name in ORIGIN if name in details}


ORIGIN = ("session_id", "run_id", "trace_id")

LENT = "lent"
"""The key in the details of a recall with the lending agent of each shared memory."""


ERASE = "erase"
"""The word that a person types to approve a change that erases content for good."""


class Verb(StrEnum):
    """The actions of a reviewer on a proposal."""

    APPROVE = "approve"
    EDIT = "edit"
    REJECT = "reject"
    MERGE = "merge"
    SUPERSEDE = "supersede"
    FORGET_SIMILAR = "forget_similar"
    REOPEN = "reopen"


class Reach(Struct, frozen=True, kw_only=True):
    """The proposals that a reviewer may see: a tenant's, an agent's, or one user's."""

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
    """Request a page of proposals after `after`, oldest first, or by risk and newest first.

    `held_by` selects by the rule that held them, `text` by their content.
    """

    reach: Reach
    states: frozenset[State] = WAITING
    batch: str | None = None
    held_by: str | None = None
    text: str | None = None
    by_risk: bool = False
    after: str | None = None
    limit: int = 100


class Queue(Struct, frozen=True, kw_only=True):
    """A part of the inbox: proposals assigned to a reviewer (empty: to nobody), snoozed at a time or not."""

    assignee: str | None = None
    at: int
    snoozed: bool = False


class Annotate(Struct, frozen=True, kw_only=True):
    """Change the review notes of proposals; fields that are None stay as they are.

    An empty `assignee` removes the assignment, and a time in the past ends the snooze.
    """

    reach: Reach
    proposal_ids: tuple[str, ...]
    assignee: str | None = None
    snoozed_until: int | None = None
    comment: str | None = None


class Examine(Struct, frozen=True, kw_only=True):
    reach: Reach
    proposal_id: str


class Decide(Struct, frozen=True, kw_only=True):
    """One decision on one proposal, or on several of one agent: all of them or none.

    `seen` is the digest of the view that the reviewer saw; if the proposal has changed since, nothing is
    decided. `edit` replaces fields of a held remember; `target` is the memory to merge into, to supersede
    or to forget. `confirm` is the word `erase`, if the approval erases content for good.
    """

    reach: Reach
    proposal_ids: tuple[str, ...]
    verb: Verb
    reason: str | None = None
    seen: str | None = None
    target: str | None = None
    edit: Mapping[str, Json] = field(default_factory=dict)
    confirm: str | None = None


class HostDecision(Decide, frozen=True, kw_only=True):
    """A decision that a reviewer of the host made at `reviewed_at`, by their own clock."""

    reviewed_at: int


class ProposalPage(Struct, frozen=True, kw_only=True):
    items: tuple[Proposal, ...]
    total: int
    next: str | None = None


class Reviewed(Struct, frozen=True, kw_only=True):
    """A proposal for review: its diff, similar memories, and `seen`, the digest to decide with."""

    proposal: Proposal
    diff: Mapping[str, Json]
    similar: tuple[Record, ...]
    seen: str
    age_ms: int


class Quorum(Struct, frozen=True, kw_only=True):
    """The number of approvals of a proposal, and of required ones."""

    proposal_id: str
    approvals: int
    reviewers: int


class Decided(Struct, frozen=True, kw_only=True):
    """The receipt of a decision; without `change_id` nothing entered memory.

    `erased` is True when it erased content, which cannot be undone. `waiting` are those of the proposals
    that other reviewers have to approve too.
    """

    proposal_ids: tuple[str, ...]
    state: State
    by: str
    at: int
    status: Status | None = None
    change_id: str | None = None
    outcomes: tuple[Outcome, ...] = ()
    erased: bool | None = None
    waiting: tuple[Quorum, ...] | None = None


AGENT = "agent:"
"""The prefix of the name of a program that acts for a model. It may propose changes, not decide them."""

UNVERIFIED = "person:unverified"
"""The prefix of the name of a person whom only the connection identifies."""


VOUCHING = "reviewer:"
"""The prefix of the credential of a program that reviews on behalf of people and states their names."""


def people_behind(name: str, credential: str | None) -> frozenset[str]:
    """Return the names of a reviewer; two callers with a common name may be the same person."""
    vouches = credential is not None and not credential.startswith(VOUCHING)
    return frozenset({LOCAL if name == PERSON else name, *([credential] if vouches and credential else [])})


def is_agent(name: str) -> bool:
    return name.startswith(AGENT)
