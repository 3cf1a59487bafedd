"""Decisions of people on held proposals: approve, edit, reject, combine. A batch is all or nothing."""

from collections.abc import Sequence

from msgspec.structs import replace

from memorywire.journal.acts import Act
from memorywire.journal.entries import Entry
from memorywire.model.change import Base, Change, End, EndReason, Footprint, Put
from memorywire.model.errors import Conflict, Forbidden, InvalidRequest, MemorywireError, NotFound
from memorywire.model.proposal import (
    ERASE,
    FOLLOWING,
    UNVERIFIED,
    Approval,
    Decide,
    Decided,
    Decision,
    HostDecision,
    Proposal,
    Quorum,
    State,
    Verb,
    people_behind,
)
from memorywire.model.record import MemoryType, Record, Scope, Trust
from memorywire.model.requests import (
    Expire,
    Forget,
    Merge,
    Remember,
    Request,
    Share,
    Strategy,
    Undo,
    Unshare,
)
from memorywire.pipeline.context import Context
from memorywire.pipeline.forget import plan_expire, plan_forget
from memorywire.pipeline.merge import merged_record, plan_merge
from memorywire.pipeline.plan import CommitResult, entry_about, entry_of, list_loans, summarize_effect
from memorywire.pipeline.remember import RememberPlan, plan_remember, sanitize
from memorywire.pipeline.review import find, move_proposal, seen_digest
from memorywire.pipeline.share import plan_share, plan_unshare
from memorywire.pipeline.transaction import Transaction, find_retractions
from memorywire.pipeline.undo import build_reversal, plan_undo


async def plan_anew(proposal: Proposal, request: Request, context: Context) -> Change:
    """Plan the request against current memory, under the ids of the proposal; commits nothing."""
    before = proposal.change
    if isinstance(request, Remember) and before is not None and before.put:
        # Without its key: planning would find the proposal itself under the key.
        request = replace(request, id=request.id or before.put[0].record.id, idempotency_key=None)
    change = await _plan_change(request, await context.serving(request.scope))
    if change is None:
        raise Conflict("the memory already has this state", field="proposal_id", fix="reject it")
    if before is None:
        return change
    return replace(change, id=before.id, key=before.key, fingerprint=before.fingerprint)


async def _plan_change(request: Request, context: Context) -> Change | None:
    """Plan the change that the request asks for; None if there is nothing to do."""
    match request:
        case Remember():
            planned = await plan_remember(sanitize(request, context), context, context.clock())
            return planned.plan.change if isinstance(planned, RememberPlan) else None
        case Forget():
            plan = await plan_forget(request, context)
        case Expire():
            plan = await plan_expire(request, context)
        case Merge():
            plan = await plan_merge(request, context)
        case Undo():
            plan = await plan_undo(request, context)
        case Share():
            plan = await plan_share(request, context)
        case Unshare():
            plan = await plan_unshare(request, context)
        case _:
            return None
    change = plan.change
    return change if change.put or change.end or change.erase else None


async def plan_again(proposals: Sequence[Proposal], conflict: Conflict, context: Context) -> list[str]:
    """Plan held changes again after memory has changed; returns the ids of those that became stale."""
    journal = context.require_governance().journal
    stale: list[str] = []
    for proposal in proposals:
        current = await journal.find_proposal(proposal.scope.tenant, proposal.id)
        if current is None or current.revision != proposal.revision:
            continue  # another reviewer decided meanwhile
        new_plan = await _renew(proposal, context)
        if new_plan is not proposal:
            if new_plan.state is State.STALE:
                stale.append(new_plan.id)
            kind = "stale" if new_plan.state is State.STALE else "rebased"
            entry = entry_about(
                new_plan, kind, context.require_governance().caller, context.clock(), why=conflict.detail
            )
            await journal.write(Act(proposals=(new_plan,), entries=(entry,)))
    return stale


async def _renew(proposal: Proposal, context: Context) -> Proposal:
    """Return the proposal with a plan for current memory, or marked stale if none is possible."""
    if proposal.request is None or proposal.change is None:
        return move_proposal(proposal, State.STALE, None)
    try:
        change = await plan_anew(proposal, proposal.request, context)
    except MemorywireError:
        return move_proposal(proposal, State.STALE, None)
    if summarize_effect(change) == summarize_effect(proposal.change):
        return proposal
    return replace(move_proposal(proposal, State.PENDING, None), change=change)


_DECIDED = frozenset({State.APPROVED, State.REJECTED})


async def reopen(proposals: Sequence[Proposal], request: Decide, context: Context) -> Decided:
    """Revert one decision, for all proposals it covered; if it raises, nothing has changed."""
    done_by = {_change_id(proposal) for proposal in proposals}
    if len(done_by) > 1:
        raise InvalidRequest(
            "these proposals were not decided together",
            field="proposal_ids",
            fix="reopen decision by decision",
        )
    [change_id] = done_by
    change = None if change_id is None else await _plan_reversal(proposals, change_id, context)
    decision = build_decision(request, None if change is None else change.id, context)
    waiting = tuple(_wait_again(proposal, context) for proposal in proposals)
    entries = tuple(
        entry_about(one, "reopened", decision.by, decision.at, why=decision.reason) for one in waiting
    )
    accepted_words = await context.require_governance().rejected.accepting(proposals)
    act = Act(proposals=waiting, entries=entries, accepted=accepted_words)
    context.require_governance().rejected.forget()
    if change is None:
        await context.require_governance().journal.write(act)
        return build_receipt(request, State.PENDING, decision, None)
    entry = entry_of(change, "committed", context, proposals=[proposal.id for proposal in proposals])
    result = await Transaction(context).commit_one(change, replace(act, entries=(entry, *entries)))
    return build_receipt(request, State.PENDING, decision, result)


def build_decision(request: Decide, change_id: str | None, context: Context) -> Decision:
    return Decision(
        by=context.require_governance().caller,
        at=context.clock(),
        verb=request.verb.value,
        reason=context.without_secrets(request.reason),
        change_id=change_id,
        via=context.require_governance().principal,
        reviewed_at=request.reviewed_at if isinstance(request, HostDecision) else None,
    )


def build_receipt(request: Decide, state: State, decision: Decision, result: CommitResult | None) -> Decided:
    return Decided(
        proposal_ids=request.proposal_ids,
        state=state,
        by=decision.by,
        at=decision.at,
        status=None if result is None else result.status,
        change_id=None if result is None else result.change_id,
        outcomes=() if result is None else result.outcomes,
    )


def _change_id(proposal: Proposal) -> str | None:
    """Return the id of the change that the decision committed, if any."""
    if proposal.state not in _DECIDED or proposal.decision is None:
        raise Conflict(f"proposal {proposal.id} is {proposal.state}", field="proposal_id")
    if proposal.request is None:
        raise Conflict("its content was erased", field="proposal_id")
    return proposal.decision.change_id


async def _plan_reversal(proposals: Sequence[Proposal], change_id: str, context: Context) -> Change:
    scope = proposals[0].scope
    wide = replace(scope, user=None) if len({proposal.scope for proposal in proposals}) > 1 else scope
    footprint = await context.historian("reopen").footprint(wide, change_id)
    if footprint is None:
        raise Conflict("its change can no longer be found", field="proposal_id")
    _refuse_a_part(proposals, footprint)
    undo = Undo(scope=wide, change_id=change_id)
    return await build_reversal(undo, footprint, context)


def _refuse_a_part(proposals: Sequence[Proposal], footprint: Footprint) -> None:
    """Raise Conflict if only part of a batch is reopened: a decision is reverted as a whole."""
    first = proposals[0].decision
    if first is None or first.verb != Verb.APPROVE:
        return  # other verbs decide one proposal at a time
    ids = {id for proposal in proposals for id in proposal.touched}
    if {version.id for version in (*footprint.began, *footprint.ended)} - ids:
        raise Conflict(
            "other proposals were decided together with it",
            field="proposal_ids",
            fix="name all proposals of the decision, or undo its change",
        )


def _wait_again(proposal: Proposal, context: Context) -> Proposal:
    """Return the proposal as pending, with new change and memory ids, so that it can be committed again."""
    again = move_proposal(proposal, State.PENDING, None)
    if proposal.change is None:
        return again
    has_id = isinstance(proposal.request, Remember) and proposal.request.id is not None
    puts = tuple(put if has_id else _afresh(put, context) for put in proposal.change.put)
    change = replace(proposal.change, id=context.mint(), put=puts, key=None, fingerprint=None)
    return replace(again, change=change)


def _afresh(put: Put, context: Context) -> Put:
    """Give the put a new id if it creates a memory: the first id already has a history."""
    if put.base is not Base.NOTHING:
        return put
    return replace(put, record=replace(put.record, id=context.mint()))


_ALONE = frozenset({Verb.EDIT, Verb.MERGE, Verb.SUPERSEDE, Verb.FORGET_SIMILAR})
_LOOK_AGAIN = "look at what it would do now, and decide again"
_NOTHING = Act()
_TARGETED = frozenset({Verb.MERGE, Verb.SUPERSEDE, Verb.FORGET_SIMILAR})


async def decide(request: Decide, context: Context) -> Decided:
    """Carry out the decision; if it raises, nothing has changed."""
    _refuse_nonsense(request)
    proposals = [await find(request.reach, id, context) for id in request.proposal_ids]
    if request.verb is Verb.REOPEN:
        return await reopen(proposals, request, context)
    state = State.REJECTED if request.verb is Verb.REJECT else State.APPROVED
    for proposal in proposals:
        _refuse_if_settled(proposal, state, request.seen)
    if state is State.REJECTED:
        return await _close(proposals, state, request, context)
    await _refuse_own_proposals(proposals, context)
    _refuse_unconfirmed(proposals, request)
    recalls = [proposal for proposal in proposals if proposal.change is None]
    if recalls:
        _refuse_as_a_change(recalls, request)
    context = await context.serving(proposals[0].scope)
    approval = _build_approval(request, context)
    complete = [proposal for proposal in proposals if _is_last(proposal, request, context)]
    others = [proposal for proposal in proposals if proposal not in complete]
    incomplete = [await _endorse(proposal, approval, request, context) for proposal in others]
    act = Act(proposals=tuple(incomplete), entries=_build_entries(incomplete, context, kind="endorsed"))
    complete = [replace(one, approvals=(*one.approvals, approval)) for one in complete]
    if not complete:
        await context.require_governance().journal.write(act)
        receipt = build_receipt(request, State.PENDING, build_decision(request, None, context), None)
    elif recalls:
        receipt = await _close(complete, state, request, context, act)
    else:
        receipt = await _approve(complete, request, context, act)
    counts = [(one.id, len(one.approvals), one.reviewers) for one in incomplete]
    waiting = [Quorum(proposal_id=id, approvals=count, reviewers=quorum) for id, count, quorum in counts]
    return replace(receipt, waiting=tuple(waiting) or None)


def _build_approval(request: Decide, context: Context) -> Approval:
    governance = context.require_governance()
    reason = context.without_secrets(request.reason)
    return Approval(by=governance.caller, at=context.clock(), reason=reason, via=governance.principal)


def _is_last(proposal: Proposal, request: Decide, context: Context) -> bool:
    """Whether this approval is the last one needed; raises Conflict if the reviewer has already approved."""
    if proposal.reviewers == 1:
        return True
    if request.verb is not Verb.APPROVE:
        return False  # the decision changes the plan, and other reviewers have not seen the new one
    governance, fix = context.require_governance(), "let another person decide, with a token of their own"
    people = people_behind(governance.caller, governance.principal)
    if governance.caller.startswith(UNVERIFIED):
        detail = f"{proposal.reviewers} people have to approve proposal {proposal.id}, and nobody checked who"
        raise Forbidden(f"{detail} this one is", field="proposal_ids", fix=fix)
    if any(people & people_behind(one.by, one.via) for one in proposal.approvals):
        detail = f"{governance.caller} has approved proposal {proposal.id} already"
        raise Conflict(f"{detail}; {proposal.reviewers} people have to", field="proposal_ids", fix=fix)
    return len(proposal.approvals) + 1 >= proposal.reviewers


async def _endorse(proposal: Proposal, approval: Approval, request: Decide, context: Context) -> Proposal:
    """Add an approval and keep the proposal pending; a changed plan loses its earlier approvals."""
    again = move_proposal(proposal, State.PENDING, None)
    if request.verb is Verb.APPROVE or proposal.change is None:
        return replace(again, approvals=(*proposal.approvals, approval))
    change = await _plan_choice(proposal, proposal.change, request, context)
    if isinstance(proposal.request, Remember):
        again = replace(again, request=_choose_request(proposal.request, request))
    return replace(again, change=change, approvals=(approval,))


async def _close(
    proposals: Sequence[Proposal], state: State, request: Decide, context: Context, more: Act = _NOTHING
) -> Decided:
    """Close proposals that commit no change: rejected proposals and approved recalls."""
    decision = build_decision(request, None, context)
    closed_proposals = tuple(move_proposal(proposal, state, decision) for proposal in proposals)
    governance = context.require_governance()
    words = await governance.rejected.rejecting(proposals) if state is State.REJECTED else ()
    entries = (*more.entries, *_build_entries(closed_proposals, context))
    await governance.journal.write(
        Act(proposals=(*more.proposals, *closed_proposals), entries=entries, rejected=words)
    )
    governance.rejected.forget()
    return build_receipt(request, state, decision, None)


async def _approve(proposals: Sequence[Proposal], request: Decide, context: Context, more: Act) -> Decided:
    """Commit the proposals as one change, in one act with the proposals and entries of `more`."""
    try:
        pairs = [(proposal, proposal.change) for proposal in proposals if proposal.change is not None]
        chosen_changes = [
            await _plan_choice(proposal, change, request, context) for proposal, change in pairs
        ]
        change = await _lower_trust(_combine(chosen_changes, context), context)
        decision = build_decision(request, change.id, context)
        approved_proposals = tuple(
            move_proposal(proposal, State.APPROVED, decision) for proposal in proposals
        )
        act = Act(
            proposals=(*more.proposals, *approved_proposals),
            entries=(
                entry_of(change, "committed", context, proposals=[one.id for one in proposals]),
                *_build_entries(approved_proposals, context),
                *more.entries,
            ),
            erased=tuple((change.scope, id) for id in change.erase),
            unsaid=await find_retractions(change, context),
            accepted=await context.require_governance().rejected.accepting(proposals),
            loans=list_loans(change),
        )
        result = await Transaction(context).commit_one(change, act)
        context.require_governance().rejected.forget()
        if act.loans:
            context.require_governance().rulebook.forget()
    except Conflict as conflict:
        stale = await plan_again(proposals, conflict, context)
        raise Conflict(
            f"memory has changed since this was planned: {conflict.detail}",
            field="proposal_id",
            fix=f"reject {', '.join(stale)}, and ask for the write again" if stale else _LOOK_AGAIN,
        ) from conflict
    is_erasure = True if change.erase else None
    return replace(build_receipt(request, State.APPROVED, decision, result), erased=is_erasure)


async def _plan_choice(proposal: Proposal, change: Change, request: Decide, context: Context) -> Change:
    """Return the change to commit for a proposal under this decision."""
    match request.verb:
        case Verb.EDIT | Verb.SUPERSEDE:
            return await plan_anew(proposal, _choose_request(_read_request(proposal), request), context)
        case Verb.MERGE:
            return _fold_into(change, await _target(change, request, context), context)
        case Verb.FORGET_SIMILAR:
            old = await _target(change, request, context)
            end = End(id=old.id, version=old.version, reason=EndReason.FORGOTTEN)
            return replace(change, end=(*change.end, end))
    return change


def _choose_request(original: Remember, request: Decide) -> Remember:
    """Return the original request as modified by the decision, to be planned again."""
    if request.verb is Verb.SUPERSEDE:
        return replace(original, supersedes=(*original.supersedes, request.target or ""))
    edited_request = replace(original, **request.edit)
    if not isinstance(edited_request.content, str) and edited_request.type is not MemoryType.PROCEDURAL:
        raise InvalidRequest("only a procedural memory can be an object", field="edit.content")
    return edited_request


def _fold_into(change: Change, canonical: Record, context: Context) -> Change:
    """Return the change that merges the proposed memory into an existing one."""
    new_record = change.put[0].record
    merger = merged_record(canonical, [new_record], Strategy.MERGE_CONTENT, context.clock())
    record = replace(merger, merged_from=canonical.merged_from)  # the proposed record was never a memory
    return replace(change, put=(Put(record=record, base=Base.LIVE),), end=change.end)


async def _target(change: Change, request: Decide, context: Context) -> Record:
    records = await context.store.get(change.scope, [request.target or ""])
    if not records or not records[0].alive(context.clock()):
        raise NotFound(f"there is no live memory {request.target}", field="target")
    if len(change.put) != 1:
        raise InvalidRequest("only a held memory can be combined with another", field="verb")
    return records[0]


def _read_request(proposal: Proposal) -> Remember:
    if not isinstance(proposal.request, Remember):
        raise InvalidRequest(f"a held {proposal.operation} has no content to change", field="verb")
    return proposal.request


def _combine(changes: Sequence[Change], context: Context) -> Change:
    """Combine all changes into one, dated now, which is committed and undone as a whole.

    The combined change gets a new id. The planned change may have been committed since, by an import of the
    same bundle: under the same id a store would treat this one as a repetition and write nothing.
    """
    now, first = context.clock(), changes[0]
    agents = {(change.scope.tenant, change.scope.agent) for change in changes}
    if len(agents) > 1:
        raise InvalidRequest("a batch cannot mix agents", field="proposal_ids", fix="decide agent by agent")
    users = {change.scope.user for change in changes}
    operations = {change.operation for change in changes}
    reasons = {change.reason for change in changes}
    return replace(
        first,
        id=context.mint(),
        operation=first.operation if len(operations) == 1 else "decide",
        scope=first.scope if len(users) == 1 else Scope(agent=first.scope.agent, tenant=first.scope.tenant),
        at=now,
        put=tuple(_date_put(put, now) for change in changes for put in change.put),
        end=tuple(end for change in changes for end in change.end),
        erase=tuple(id for change in changes for id in change.erase),
        reason=first.reason if len(reasons) == 1 else None,  # each proposal keeps its own reason
        key=first.key if len(changes) == 1 else None,
        fingerprint=first.fingerprint if len(changes) == 1 else None,
    )


async def _lower_trust(change: Change, context: Context) -> Change:
    """Cap the trust of each memory at the current trust of its origins, which may have dropped since."""
    source_ids = {id for put in change.put for id in put.record.derived_from}
    if not source_ids:
        return change
    origins = {
        record.id: record.trust for record in await context.store.get(change.scope, sorted(source_ids))
    }

    def lower_put(put: Put) -> Put:
        sources = [origins[id] for id in put.record.derived_from if id in origins]
        return replace(put, record=replace(put.record, trust=Trust.lowest(put.record.trust, *sources)))

    return replace(change, put=tuple(lower_put(put) for put in change.put))


def _date_put(put: Put, now: int) -> Put:
    """Date the put at its approval, because the memory could not be recalled before; raises if it expired."""
    record = put.record
    if not record.alive(now):
        raise Conflict("it would already have expired", field="proposal_id", fix="reject it")
    born = now if put.base is Base.NOTHING else record.created_at
    return replace(put, record=replace(record, created_at=born, updated_at=now))


def _refuse_nonsense(request: Decide) -> None:
    if len(set(request.proposal_ids)) != len(request.proposal_ids):
        raise InvalidRequest("a proposal is named twice", field="proposal_ids")
    if len(request.proposal_ids) > 1 and request.verb in _ALONE:
        raise InvalidRequest(f"{request.verb} decides one proposal at a time", field="proposal_ids")
    if len(request.proposal_ids) > 1 and request.seen is not None:
        raise InvalidRequest(
            "`seen` applies to one proposal", field="seen", fix="decide one at a time, or leave it"
        )
    if (request.target is None) is (request.verb in _TARGETED):
        needs = "needs a memory as target" if request.verb in _TARGETED else "has no target"
        raise InvalidRequest(f"{request.verb} {needs}", field="target")
    if bool(request.edit) is not (request.verb is Verb.EDIT):
        raise InvalidRequest("only an edit takes changes, and it needs at least one", field="edit")


def _refuse_as_a_change(recalls: Sequence[Proposal], request: Decide) -> None:
    """Raise InvalidRequest if a held recall is edited, combined, or mixed with changes in one batch."""
    if request.verb in _ALONE:
        raise InvalidRequest(
            "a held recall can only be approved or rejected", field="verb", fix="approve it or reject it"
        )
    if len(recalls) != len(request.proposal_ids):
        raise InvalidRequest(
            "a batch cannot mix recalls and changes",
            field="proposal_ids",
            fix="approve the recalls separately",
        )


def _refuse_unconfirmed(proposals: Sequence[Proposal], request: Decide) -> None:
    """Require a typed confirmation for permanent erasure: a single key or click can be a mistake."""
    erasing = [proposal.id for proposal in proposals if proposal.erases]
    if erasing and request.confirm != ERASE:
        raise InvalidRequest(
            f"approving {erasing[0]} erases content for good, and nothing brings it back",
            field="confirm",
            fix=f"a person types the word {ERASE}: send it as confirm, on the command line --confirm {ERASE}",
        )


async def _refuse_own_proposals(proposals: Sequence[Proposal], context: Context) -> None:
    """Under `four_eyes`, refuse an approval by the proposer or by a caller whose identity is unverified."""
    governance = context.require_governance()
    if not governance.rulebook.base.four_eyes:
        return
    identities = {governance.caller, governance.principal or governance.caller}
    for proposal in proposals:
        own = {proposal.caller, proposal.proposer or proposal.caller} & identities
        if own or governance.caller.startswith(UNVERIFIED):
            who = "the one who asked for it" if own else "a person whose identity was not checked"
            raise Forbidden(
                f"policy asks for two people: {who} cannot approve proposal {proposal.id}",
                field="proposal_ids",
                fix="let another person decide, in the console or with `memorywire review`; "
                "the policy option is four_eyes",
            )


def _refuse_if_settled(proposal: Proposal, state: State, digest: str | None) -> None:
    if state not in FOLLOWING[proposal.state]:
        raise Conflict(
            f"proposal {proposal.id} is {proposal.state}",
            field="proposal_id",
            fix="reject it and send the write again" if proposal.state is State.STALE else None,
        )
    if digest is not None and digest != seen_digest(proposal):
        raise Conflict(
            f"proposal {proposal.id} has changed since it was read",
            field="seen",
            fix="read it again and decide on its present state",
        )


def _build_entries(
    proposals: Sequence[Proposal], context: Context, *, kind: str | None = None
) -> tuple[Entry, ...]:
    now, by = context.clock(), context.require_governance().caller
    return tuple(entry_about(one, kind or one.state.value, by, now) for one in proposals)
