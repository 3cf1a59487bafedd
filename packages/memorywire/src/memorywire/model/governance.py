"""The messages between a memory and a reviewer of the host: the review request and the response."""

from collections.abc import Awaitable, Mapping
from typing import Protocol

from msgspec import Struct

from memorywire.model.errors import InvalidRequest
from memorywire.model.proposal import Approval, Proposal, Risk
from memorywire.model.record import Json
from memorywire.model.requests import Request, Write

NAME_MAX = 256
REASON_MAX = 1024


class ReviewRequest(Struct, frozen=True, kw_only=True):
    """A held change for a reviewer: the request, its effect on memory now, and why it was held.

    `seen` is the digest of exactly this view, so that a decision applies to nothing else. If it `erases`, the
    response needs `confirm`. `approvals` are those so far, of the required number `reviewers`.
    """

    proposal_id: str
    operation: str
    agent_id: str
    request: Request | None
    diff: Mapping[str, Json]
    rule: str
    why: str
    risk: Risk
    seen: str
    user_id: str | None = None
    reasoning: str | None = None
    erases: bool | None = None
    reviewers: int = 1
    approvals: tuple[Approval, ...] = ()


class ReviewResponse(Struct, frozen=True, kw_only=True):
    """The decision of a reviewer, with their name and the time (epoch milliseconds).

    `confirm` is the word `erase` if the approval erases content for good.
    """

    approved: bool
    reviewer: str
    reviewed_at: int
    reason: str | None = None
    confirm: str | None = None

    def check(self) -> None:
        """Raise InvalidRequest, naming the field, unless the response is complete and valid."""
        if not isinstance(self.approved, bool):
            raise InvalidRequest("approved must be true or false", field="approved")
        _check_text("reviewer", self.reviewer, NAME_MAX)
        if type(self.reviewed_at) is not int or self.reviewed_at < 0:
            raise InvalidRequest("reviewed_at must be a time in epoch milliseconds", field="reviewed_at")
        for name, limit in (("reason", REASON_MAX), ("confirm", NAME_MAX)):
            if getattr(self, name) is not None:
                _check_text(name, getattr(self, name), limit)


class GovernanceClient(Protocol):
    """A reviewer of the host: a person, or a service that asks one."""

    def review(self, request: ReviewRequest, /) -> "ReviewResponse | Awaitable[ReviewResponse | None] | None":
        """Decide a held change; None leaves it to others. A plain function runs in a thread."""


def build_review(proposal: Proposal, diff: Mapping[str, Json], seen: str) -> ReviewRequest:
    """Build the request for a pending proposal."""
    request = proposal.request
    return ReviewRequest(
        proposal_id=proposal.id,
        operation=proposal.operation,
        agent_id=proposal.scope.agent,
        user_id=proposal.scope.user,
        request=request,
        diff=diff,
        reasoning=request.reasoning if isinstance(request, Write) else None,
        rule=proposal.rule,
        why=proposal.why,
        risk=proposal.risk,
        seen=seen,
        erases=True if proposal.erases else None,
        reviewers=proposal.reviewers,
        approvals=proposal.approvals,
    )


def _check_text(name: str, value: Json, limit: int) -> None:
    is_text = isinstance(value, str) and value.isprintable()
    if not is_text or not value.strip() or len(value) > limit:
        raise InvalidRequest(f"{name} must be a string of 1 to {limit} characters", field=name)
