"""Planning again what was held: for an edit, or because memory has moved since."""

from collections.abc import Sequence

from msgspec.structs import replace

from memorywire.journal.contract import Act
from memorywire.model.answers import Status
from memorywire.model.change import Change
from memorywire.model.errors import Conflict, MemorywireError
from memorywire.model.proposal import Proposal, State
from memorywire.model.requests import Remember, Request
from memorywire.pipeline.commit import Plan, Submitted, effect
from memorywire.pipeline.context import Context
from memorywire.pipeline.ledger import entry_about
from memorywire.pipeline.perform import perform
from memorywire.pipeline.review import moved


async def plan_anew(proposal: Proposal, request: Request, context: Context) -> Change:
    """What the request would do now, under the ids it had; nothing is committed."""
    caught: list[Change] = []

    async def catch(plan: Plan, _: Context) -> Submitted:
        caught.append(plan.change)
        return Submitted(status=Status.STAGED, outcomes=(), proposal_id=proposal.id)

    before = proposal.change
    if isinstance(request, Remember) and before is not None and before.put:
        # The key is kept aside: under it the request would be found waiting.
        request = replace(request, id=request.id or before.put[0].record.id, idempotency_key=None)
    await perform(request, replace(context, corridor=catch))
    if not caught:
        raise Conflict("memory is already as this would make it", field="proposal_id", fix="reject it")
    if before is None:
        return caught[0]
    return replace(caught[0], id=before.id, key=before.key, fingerprint=before.fingerprint)


async def plan_again(proposals: Sequence[Proposal], conflict: Conflict, context: Context) -> list[str]:
    """Plan held changes anew, because memory has moved since; names those that are stale for good."""
    journal = context.governance.journal
    stale: list[str] = []
    for proposal in proposals:
        current = await journal.proposal(proposal.scope.tenant, proposal.id)
        if current is None or current.revision != proposal.revision:
            continue  # somebody else decided meanwhile
        renewed = await _renewed(proposal, context)
        if renewed is not proposal:
            if renewed.state is State.STALE:
                stale.append(renewed.id)
            kind = "stale" if renewed.state is State.STALE else "rebased"
            entry = entry_about(
                renewed, kind, context.governance.caller, context.clock(), why=conflict.detail
            )
            await journal.write(Act(proposals=(renewed,), entries=(entry,)))
    return stale


async def _renewed(proposal: Proposal, context: Context) -> Proposal:
    """The proposal with a plan that fits memory as it is now, or marked stale when there is none."""
    if proposal.request is None or proposal.change is None:
        return moved(proposal, State.STALE, None)
    try:
        change = await plan_anew(proposal, proposal.request, context)
    except MemorywireError:
        return moved(proposal, State.STALE, None)
    if effect(change) == effect(proposal.change):
        return proposal
    return replace(moved(proposal, State.PENDING, None), change=change)
