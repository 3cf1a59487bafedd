"""Plans and their results: the change that an operation plans, its outcome, and its ledger entry."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from msgspec import Struct
from msgspec.structs import replace

from memorywire.journal.acts import Loan
from memorywire.journal.entries import Entry, contents_of, digests_beside
from memorywire.model.answers import Outcome, Status
from memorywire.model.change import Change
from memorywire.model.errors import InvalidRequest
from memorywire.model.grant import MARK, is_grant
from memorywire.model.kv import size_of
from memorywire.model.proposal import Proposal
from memorywire.model.record import Json
from memorywire.model.requests import METADATA_BYTES_MAX, Write

if TYPE_CHECKING:
    from memorywire.pipeline.context import Context


class Plan(Struct, frozen=True, kw_only=True, gc=False):
    """The change that an operation plans, with the request it came from.

    `by_filter`: a filter selected the memories, rather than ids. `secrets` are the kinds and places of the
    secrets that were redacted from the request.
    """

    change: Change
    request: Write
    by_filter: bool = False
    secrets: tuple[tuple[str, str], ...] = ()


class CommitResult(Struct, frozen=True, kw_only=True, gc=False):
    """The outcome of a plan: committed, staged as a proposal by `rule`, or deferred because a store failed.

    `proposed` is the held change; for a repeated request it is the change of the first one.
    """

    status: Status
    outcomes: tuple[Outcome, ...]
    change_id: str | None = None
    proposal_id: str | None = None
    approval_url: str | None = None
    rule: str | None = None
    proposed: Change | None = None

    @property
    def is_staged(self) -> bool:
        """Whether the plan was held for review."""
        return self.status is Status.STAGED

    def receipt(self) -> dict[str, Any]:
        """Return the fields that all receipts share; without a change or a proposal there is no status."""
        holders: list[str] = []
        missing: list[str] = []
        for outcome in self.outcomes:
            (holders if outcome.error is None else missing).append(outcome.store)
        return {
            "status": self.status if self.change_id or self.proposal_id else None,
            "stores": tuple(holders),
            "outcomes": self.outcomes,
            "change_id": self.change_id,
            "pending_approval": self.status is Status.STAGED,
            "approval_url": self.approval_url,
            "proposal_id": self.proposal_id,
            "rule": self.rule,
            "degraded": tuple(missing),
        }


def build_committed(change_id: str, memories: int, stores: Sequence[str]) -> CommitResult:
    """Build the result of a change that all stores hold."""
    outcomes = tuple([Outcome(store=name, count=memories) for name in stores])
    return CommitResult(status=Status.COMMITTED, outcomes=outcomes, change_id=change_id)


def build_staged(proposal: Proposal, context: "Context") -> CommitResult:
    """Build the result of a plan that was held as this proposal."""
    return CommitResult(
        status=Status.STAGED,
        outcomes=(),
        proposal_id=proposal.id,
        approval_url=context.require_governance().address(proposal),
        rule=proposal.rule,
        proposed=proposal.change,
    )


def build_untouched(context: "Context") -> CommitResult:
    """Build the result of a plan with nothing to do, or of a dry run."""
    outcomes = tuple([Outcome(store=name) for name in context.names])
    return CommitResult(status=Status.COMMITTED, outcomes=outcomes)


def count_memories(change: Change) -> int:
    """Count the memories that a change puts, ends or erases."""
    if not change.end and not change.erase and len(change.put) == 1:
        return 1
    return len({put.record.id for put in change.put} | {end.id for end in change.end} | set(change.erase))


def list_loans(change: Change) -> tuple[Loan, ...]:
    """List the grants that the change puts, for the journal."""
    return tuple(
        (put.record.metadata[MARK]["borrower"], put.record.scope.agent, put.record.id)
        for put in change.put
        if is_grant(put.record)
    )


def summarize_effect(change: Change) -> object:
    """Return a value that is equal for changes with the same effect, whenever they were planned."""
    puts = [(put.base, put.record.id, put.record.version, put.record.digest) for put in change.put]
    return puts, change.end, change.erase


def refuse_large(metadata: Mapping[str, Json], field: str) -> None:
    """Raise InvalidRequest for `field` if the metadata is larger than a memory may have."""
    if metadata and (size := size_of(metadata)) > METADATA_BYTES_MAX:
        raise InvalidRequest(
            f"the metadata would be {size} bytes of JSON, {METADATA_BYTES_MAX} are allowed",
            field=field,
            fix="store large values elsewhere and keep a reference",
        )


async def embed_changes(changes: Sequence[Change], context: "Context") -> Sequence[Change]:
    """Add a vector to each put that needs one: no vector given, none copied (`like`), and not `bare`.

    All texts are embedded in one call.
    """
    texts: list[str] = []
    places: dict[int, list[int]] = {}
    for index, change in enumerate(changes):
        for at, put in enumerate(change.put):
            if put.vector is None and put.like is None and not put.bare:
                texts.append(put.record.meaning)
                places.setdefault(index, []).append(at)
    if not texts:
        return changes
    vectors, ready = iter(await context.embedder.embed(texts)), list(changes)
    for index, positions in places.items():
        puts = list(changes[index].put)
        for at in positions:
            puts[at] = replace(puts[at], vector=next(vectors))
        ready[index] = replace(changes[index], put=tuple(puts))
    return ready


def entry_of(change: Change, kind: str, context: "Context", **details: Json) -> Entry:
    """Build the ledger entry of a change: which versions began, ended and were erased."""
    document = {name: value for name, value in details.items() if value is not None}
    return build_entry(change, kind, context.require_governance().caller, document)


def build_entry(change: Change, kind: str, actor: str, details: dict[str, Json]) -> Entry:
    """Like `entry_of`, with an explicit actor; modifies `details` in place."""
    if change.end:
        details["ended"] = [[end.id, end.version, end.reason.value] for end in change.end]
        if into := [[end.id, end.into] for end in change.end if end.into is not None]:
            details["into"] = into
    if change.erase:
        details["erased"] = list(change.erase)
    if change.operation == "share":
        details["borrower"] = change.put[0].record.metadata[MARK]["borrower"]
    if change.undoes is not None:
        details["undoes"] = change.undoes
    if (change.about, change.key, change.reason, change.fingerprint) != (None, None, None, None):
        details["change"] = digests_beside(change.about, change.key, change.reason, change.fingerprint)
    return Entry(
        at=change.at,
        operation=change.operation,
        scope=change.scope,
        actor=actor,
        kind=kind,
        subject=change.id,
        details=details,
        contents=contents_of(change),
    )


def entry_about(proposal: Proposal, kind: str, actor: str, at: int, **details: Json) -> Entry:
    """Build the ledger entry of a proposal: affected memories and the reason it was held, but no content."""
    findings = {"secrets": proposal.secrets, "signs": proposal.instructions}
    if proposal.reviewers > 1:
        details |= {"reviewers": proposal.reviewers, "approvals": [one.by for one in proposal.approvals]}
    return Entry(
        at=at,
        operation=proposal.operation,
        scope=proposal.scope,
        actor=actor,
        kind=kind,
        subject=proposal.id,
        details={
            "rule": proposal.rule,
            "memories": sorted(proposal.touched),
            **{name: [list(pair) for pair in pairs] for name, pairs in findings.items() if pairs},
            **{name: value for name, value in details.items() if value is not None},
        },
    )
