"""Planning again what was held: for an edit, or because memory has moved since."""

from collections.abc import Sequence

from msgspec.structs import replace

from memorywire.journal.acts import Act
from memorywire.model.change import Change
from memorywire.model.errors import Conflict, MemorywireError
from memorywire.model.proposal import Proposal, State
from memorywire.model.requests import Expire, Forget, Merge, Remember, Request, Undo
from memorywire.pipeline.context import Context
from memorywire.pipeline.forget import plan_expire, plan_forget
from memorywire.pipeline.merge import plan_merge
from memorywire.pipeline.plan import entry_about, summarize_effect
from memorywire.pipeline.remember import RememberPlan, plan_remember, sanitize
from memorywire.pipeline.review import move_proposal
from memorywire.pipeline.undo import plan_undo


async def plan_anew(proposal: Proposal, request: Request, context: Context) -> Change:
    """What the request would do now, under the ids it had; nothing is committed."""
    before = proposal.change
    if isinstance(request, Remember) and before is not None and before.put:
        # Without its key: under it the request would be found waiting.
        request = replace(request, id=request.id or before.put[0].record.id, idempotency_key=None)
    change = await _plan_change(request, await context.serving(request.scope))
    if change is None:
        raise Conflict("memory is already as this would make it", field="proposal_id", fix="reject it")
    if before is None:
        return change
    return replace(change, id=before.id, key=before.key, fingerprint=before.fingerprint)


async def _plan_change(request: Request, context: Context) -> Change | None:
    """The change that the request asks for; None when there is nothing to do."""
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
        case _:
            return None
    change = plan.change
    return change if change.put or change.end or change.erase else None


async def plan_again(proposals: Sequence[Proposal], conflict: Conflict, context: Context) -> list[str]:
    """Plan held changes anew, because memory has moved since; names those that are stale for good."""
    journal = context.governance.journal
    stale: list[str] = []
    for proposal in proposals:
        current = await journal.find_proposal(proposal.scope.tenant, proposal.id)
        if current is None or current.revision != proposal.revision:
            continue  # somebody else decided meanwhile
        new_plan = await _renew(proposal, context)
        if new_plan is not proposal:
            if new_plan.state is State.STALE:
                stale.append(new_plan.id)
            kind = "stale" if new_plan.state is State.STALE else "rebased"
            entry = entry_about(
                new_plan, kind, context.governance.caller, context.clock(), why=conflict.detail
            )
            await journal.write(Act(proposals=(new_plan,), entries=(entry,)))
    return stale


async def _renew(proposal: Proposal, context: Context) -> Proposal:
    """The proposal with a plan that fits memory as it is now, or marked stale when there is none."""
    if proposal.request is None or proposal.change is None:
        return move_proposal(proposal, State.STALE, None)
    try:
        change = await plan_anew(proposal, proposal.request, context)
    except MemorywireError:
        return move_proposal(proposal, State.STALE, None)
    if summarize_effect(change) == summarize_effect(proposal.change):
        return proposal
    return replace(move_proposal(proposal, State.PENDING, None), change=change)
