"""Proposals and rules of an import: those in the bundle, and changes that the policy holds for review."""

from collections import Counter
from collections.abc import Iterable
from pathlib import Path

from msgspec.structs import replace

from memorywire.journal.acts import Act, Edition
from memorywire.journal.entries import Entry
from memorywire.migrate.bundle import read_bundle_proposals, read_bundle_rules
from memorywire.migrate.conflicts import ConflictResolver
from memorywire.migrate.history import build_entry, derive_id
from memorywire.migrate.sanitize import RedactedChange, build_request, redact_changes
from memorywire.model.change import Change, EndReason
from memorywire.model.errors import Conflict
from memorywire.model.proposal import Decision, Proposal, State
from memorywire.model.record import Json, Scope, Trust
from memorywire.pipeline.context import Context
from memorywire.pipeline.plan import entry_about
from memorywire.pipeline.review import move_proposal
from memorywire.policy.documents import with_rules


def check_rules(path: Path, context: Context) -> None:
    """Raise InvalidRequest if the rules of a bundle are invalid here: every request would fail under them."""
    edition = read_bundle_rules(path)
    if edition is not None and context.governance is not None:
        with_rules(context.governance.rulebook.base, edition.rules)


async def import_governance(
    path: Path, context: Context, tenant: str, *, dry_run: bool, is_trusted: bool
) -> dict[str, Json]:
    """Import the proposals of a bundle with their ids, and its rules unless the tenant has some.

    The rules of an untrusted bundle are ignored, and its proposals are untrusted. Returns the number of new
    proposals, and what happened to the rules.
    """
    if context.governance is None:
        return {"proposals": 0, "rules": "none"}
    journal, count = context.governance.journal, 0
    for original in read_bundle_proposals(path):
        proposal = _adapt_proposal(original, tenant, is_trusted=is_trusted)
        if await journal.find_proposal(tenant, proposal.id) is not None or _has_secret(proposal, context):
            continue
        count += 1
        entry = entry_about(proposal, "staged", context.governance.caller, context.clock())
        if not dry_run:
            await _write_proposal(proposal, entry, context)
    edition = read_bundle_rules(path)
    if edition is not None and not is_trusted:
        return {"proposals": count, "rules": "not trusted"}
    rules = "none" if edition is None else await _import_rules(edition, context, tenant, dry_run=dry_run)
    return {"proposals": count, "rules": rules}


async def _write_proposal(proposal: Proposal, entry: Entry, context: Context) -> None:
    """Write the proposal; with a derived id if another tenant has a proposal with its id."""
    journal = context.require_governance().journal
    try:
        await journal.write(Act(proposals=(proposal,), entries=(entry,)))
    except Conflict:
        copy = replace(proposal, id=derive_id(proposal.scope.tenant, proposal.id))
        if await journal.find_proposal(copy.scope.tenant, copy.id) is None:
            await journal.write(Act(proposals=(copy,), entries=(replace(entry, subject=copy.id),)))


def _adapt_proposal(proposal: Proposal, tenant: str, *, is_trusted: bool) -> Proposal:
    """Return the proposal for this tenant, at revision one, without vectors, with limited trust."""

    def in_tenant(scope: Scope) -> Scope:
        return replace(scope, tenant=tenant)

    change, request, features = proposal.change, proposal.request, proposal.features
    if change is not None:
        limit, puts = Trust.TRUSTED if is_trusted else Trust.UNTRUSTED, []
        for put in change.put:
            trust = Trust.lowest(put.record.trust, limit)
            record = replace(put.record, scope=in_tenant(put.record.scope), trust=trust)
            puts.append(replace(put, record=record, vector=None))
        change = replace(change, scope=in_tenant(change.scope), put=tuple(puts))
    return replace(
        proposal,
        scope=in_tenant(proposal.scope),
        change=change,
        request=None if request is None else replace(request, scope=in_tenant(request.scope)),
        features=None if features is None or not is_trusted else {**features, "tenant": tenant},
        revision=1,
        approvals=(),  # this memory has other reviewers
    )


def _has_secret(proposal: Proposal, context: Context) -> bool:
    """Whether a proposal has a secret or cannot be redacted. Our own are redacted when proposed."""
    outcomes = [] if proposal.change is None else redact_changes([proposal.change], context)
    return any(not isinstance(one, RedactedChange) or one.secrets for one in outcomes)


async def _import_rules(edition: Edition, context: Context, tenant: str, *, dry_run: bool) -> str:
    journal = context.require_governance().journal
    existing = await journal.find_edition(tenant)
    if existing is not None:
        return "already" if existing.rules == edition.rules else "kept ours"
    if not dry_run:
        entry = build_entry(context, Scope(tenant=tenant, agent=""), "imported", operation="set_rules")
        await journal.write(Act(edition=replace(edition, tenant=tenant), entries=(entry,)))
        context.require_governance().rulebook.forget()
    return "imported"


class HeldChanges:
    """The held changes of an import, and their memories that later changes of the import ended.

    Changes with the same text share one proposal. Reviewers need not decide about ended memories.
    """

    def __init__(self, resolver: ConflictResolver) -> None:
        self._resolver = resolver
        self._memories: dict[str, set[str]] = {}  # by proposal
        self._changes: Counter[str] = Counter()  # by proposal
        self._proposals: dict[str, str] = {}  # by memory
        self._ends: dict[str, tuple[EndReason, tuple[str, ...]]] = {}  # by memory, with its successors

    def add(self, change: Change, proposal_id: str | None) -> None:
        """Record a held change; a dry run has no proposals, so each change counts as one."""
        key = proposal_id or change.id
        self._changes[key] += 1
        for put in change.put:
            self._memories.setdefault(key, set()).add(put.record.id)
            self._proposals[put.record.id] = key

    def record_ends(self, changes: Iterable[Change]) -> None:
        """Record which held memories these changes end; call it in order, after `add` of the same group."""
        if not self._proposals:
            return
        for change in changes:
            puts = tuple(self._resolver.new_id(put.record.id) for put in change.put)
            for id in puts:
                self._ends.pop(id, None)
            for end in change.end:
                if (id := self._resolver.new_id(end.id)) in self._proposals:
                    self._ends[id] = (end.reason, puts)

    def count_ended(self) -> int:
        """Return the number of held changes that need no review any more."""
        return sum(self._changes[key] for key in self._memories if not self._list_live(key))

    def _list_live(self, key: str) -> set[str]:
        return {id for id in self._memories[key] if self._end_reason(id) is None}

    def _end_reason(self, id: str) -> EndReason | None:
        """Return why the memory ended; None if it did not, or if its successor was not applied."""
        reason, successors = self._ends.get(id, (None, ()))
        return None if any(map(self._resolver.is_dropped, successors)) else reason

    async def close_ended(self, context: Context, tenant: str) -> None:
        """Remove ended memories from their proposals; reject a proposal that becomes empty."""
        journal = context.require_governance().journal
        for key in dict.fromkeys(self._proposals[id] for id in self._ends):
            proposal = await journal.find_proposal(tenant, key)
            if proposal is not None and proposal.state is State.PENDING:
                await self._close(proposal, context)

    async def _close(self, proposal: Proposal, context: Context) -> None:
        change, governance, now = proposal.change, context.require_governance(), context.clock()
        if change is None or self._list_live(proposal.id) - proposal.touched:
            return  # another memory with the same text still needs the review
        ends = {put.record.id: self._end_reason(put.record.id) for put in change.put}
        reasons = [reason for reason in ends.values() if reason is not None]
        if not reasons:
            return
        puts = tuple(put for put in change.put if ends[put.record.id] is None)
        why = f"{reasons[0]} where it comes from"
        if puts:
            pending = move_proposal(proposal, State.PENDING, None)
            after = replace(pending, change=replace(change, put=puts), request=build_request(puts[0].record))
        else:
            decision = Decision(by=governance.caller, at=now, reason=why, automatic=True)
            after = move_proposal(proposal, State.REJECTED, decision)
        entry = entry_about(after, after.state.value, governance.caller, now, why=why)
        await governance.journal.write(Act(proposals=(after,), entries=(entry,)))
