"""Reviewing: the inbox, one proposal with everything needed to decide it, notes, and expiry."""

import asyncio
import hashlib
from collections.abc import Sequence

from msgspec.structs import replace

from memorywire.journal.acts import Act, Wanted
from memorywire.model.clock import DAY_MS
from memorywire.model.codec import dumps
from memorywire.model.errors import Conflict, InvalidRequest, NotFound
from memorywire.model.proposal import (
    WAITING,
    Annotate,
    Comment,
    Decision,
    Examine,
    Inbox,
    Proposal,
    ProposalPage,
    Queue,
    Reach,
    Reviewed,
    State,
)
from memorywire.model.query import Query, Scored, Where
from memorywire.model.record import Json, Record
from memorywire.pipeline.context import Context
from memorywire.pipeline.plan import entry_about
from memorywire.policy.diff import diff_change
from memorywire.search.admit import admit

_MOST = 3


async def find_similar(record: Record, context: Context) -> Sequence[Scored]:
    """Find the live memories of the record's scope with the closest content, except the record itself."""
    now = context.clock()
    query = Query(
        where=Where(scope=record.scope, alive_at=now),
        text=record.text,
        vector=(await context.embedder.embed([record.meaning]))[0],
        times=(),
    )
    candidates = await context.store.search(query, _MOST + 1)
    hits = admit(candidates, "auto", context.floors).admitted
    return [hit for hit in hits if hit.record.id != record.id][:_MOST]


async def inbox(request: Inbox, context: Context, queue: Queue | None = None) -> ProposalPage:
    """Return a page of the inbox or of one queue, after closing overdue proposals."""
    await tidy(context)
    journal, reach = context.require_governance().journal, request.reach
    filter = Wanted(
        tenant=reach.tenant,
        agent=reach.agent,
        user=reach.user,
        states=request.states,
        batch=request.batch,
        rule=request.held_by,
        text=request.text,
        queue=queue,
        by_risk=request.by_risk,
        after=request.after,
        limit=request.limit + 1,
    )
    proposals = await journal.list_proposals(filter)
    items = tuple(proposals[: request.limit])
    return ProposalPage(
        items=items,
        total=await journal.count_proposals(filter),
        next=items[-1].id if len(proposals) > request.limit else None,
    )


async def examine(request: Examine, context: Context) -> Reviewed:
    """Return everything needed to decide on a proposal; `seen` binds the decision to this state."""
    proposal = await find(request.reach, request.proposal_id, context)
    return Reviewed(
        proposal=proposal,
        diff=await difference(proposal, context),
        similar=await _similar(proposal, context),
        seen=seen_digest(proposal),
        age_ms=max(0, context.clock() - proposal.at),
    )


async def find(reach: Reach, id: str, context: Context) -> Proposal:
    """Return the proposal; raises the same NotFound whether it is missing or out of reach."""
    proposal = await context.require_governance().journal.find_proposal(reach.tenant, id)
    if proposal is None or not reach.covers(proposal.scope):
        raise NotFound("there is no such proposal", field="proposal_id")
    return proposal


COMMENT_CHARS = 2_000
_COMMENTS = 100
_NAME_CHARS = 80


async def annotate(request: Annotate, context: Context) -> None:
    """Update the notes of waiting proposals: assignee, snooze time, a new comment.

    The plan does not change. All proposals are updated or none; raises Conflict for a settled one.
    """
    governance, at = context.require_governance(), context.clock()
    kind = "commented" if request.comment else "assigned" if request.assignee is not None else "snoozed"
    text = (context.without_secrets(request.comment) or "").strip()
    _check_notes(request, text)
    noted = []
    for id in request.proposal_ids:
        proposal = await find(request.reach, id, context)
        if proposal.state not in WAITING:
            raise Conflict(f"proposal {id} is {proposal.state}", field="proposal_id")
        if len(proposal.comments) >= _COMMENTS and text:
            raise InvalidRequest(f"a proposal has at most {_COMMENTS} comments", field="comment")
        comments = (*proposal.comments, *([Comment(by=governance.caller, at=at, text=text)] if text else []))
        until = proposal.snoozed_until if request.snoozed_until is None else request.snoozed_until
        assignee = proposal.assignee if request.assignee is None else request.assignee or None
        counts = {"revision": proposal.revision + 1, "notes": proposal.notes + 1}
        noted.append(replace(proposal, assignee=assignee, snoozed_until=until, comments=comments, **counts))
    details = {"assignee": request.assignee, "until": request.snoozed_until}
    entries = tuple(entry_about(one, kind, governance.caller, at, **details) for one in noted)
    await governance.journal.write(Act(proposals=tuple(noted), entries=entries))


def _check_notes(request: Annotate, text: str) -> None:
    if len(text) > COMMENT_CHARS:
        raise InvalidRequest(
            "this comment is too long", field="comment", fix=f"at most {COMMENT_CHARS} characters"
        )
    name = request.assignee or ""
    if len(name) > _NAME_CHARS or not name.isprintable():
        fix = f"at most {_NAME_CHARS} printable characters, such as operator:ana"
        raise InvalidRequest("this is no name of a reviewer", field="assignee", fix=fix)


async def difference(proposal: Proposal, context: Context) -> dict[str, Json]:
    """Return the difference that the change would make to current memory."""
    change = proposal.change
    if change is None:
        return {"added": [], "removed": [], "modified": []}
    current = await context.store.get(change.scope, sorted(proposal.touched))
    before = {record.id: record for record in current}
    return dict(await asyncio.to_thread(diff_change, change, before))  # slow with long texts


def seen_digest(proposal: Proposal) -> str:
    """Return a digest of what a reviewer saw; a decision with the digest of an outdated plan is refused."""
    text = dumps((proposal.id, proposal.request, proposal.change))
    return hashlib.blake2b(text.encode(), digest_size=16).hexdigest()


async def _similar(proposal: Proposal, context: Context) -> tuple[Record, ...]:
    puts = proposal.change.put if proposal.change is not None else ()
    records = [hit.record for put in puts[:1] for hit in await find_similar(put.record, context)]
    return tuple(records)


async def tidy(context: Context) -> None:
    """Apply retention: close overdue proposals, and drop the queries of old recalls."""
    await expire_overdue(context)
    policy = context.require_governance().rulebook.base  # rules in the journal do not affect retention
    await context.require_governance().journal.drop_queries(context.clock() - policy.pending_days * DAY_MS)


async def expire_overdue(context: Context) -> None:
    """Close the proposals that were not decided in time, and record it.

    Proposals that were closed early, by a clock that ran ahead, are reopened.
    """
    governance, now = context.require_governance(), context.clock()
    early = [
        move_proposal(proposal, State.PENDING, None)
        for proposal in await governance.journal.list_expired_early(now)
    ]
    if early:
        reason = "a clock that was ahead closed it"
        reopening_entries = tuple(
            entry_about(proposal, "reopened", "policy", now, why=reason) for proposal in early
        )
        await governance.journal.write(Act(proposals=tuple(early), entries=reopening_entries))
    overdue = await governance.journal.list_overdue(now)
    if overdue:
        why = Decision(by="policy", at=now, reason="nobody decided in time", automatic=True)
        closed_proposals = tuple(move_proposal(proposal, State.EXPIRED, why) for proposal in overdue)
        entries = tuple(entry_about(proposal, "expired", "policy", now) for proposal in closed_proposals)
        await governance.journal.write(Act(proposals=closed_proposals, entries=entries))


def move_proposal(proposal: Proposal, state: State, decision: Decision | None) -> Proposal:
    """Return the proposal in another state; a move to a waiting state drops its approvals."""
    approvals = () if state in WAITING else proposal.approvals
    revision = proposal.revision + 1
    return replace(proposal, state=state, decision=decision, revision=revision, approvals=approvals)
