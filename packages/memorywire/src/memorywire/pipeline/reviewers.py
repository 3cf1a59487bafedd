"""Reviewers of the host program: asked one after the other about a held change, until it is decided."""

import asyncio
from inspect import isawaitable, iscoroutinefunction

from msgspec.structs import replace

from memorywire.model.errors import Conflict, InvalidRequest, Refused
from memorywire.model.governance import GovernanceClient, ReviewRequest, ReviewResponse, build_review
from memorywire.model.proposal import VOUCHING, Decided, HostDecision, Proposal, Reach, State, Verb, is_agent
from memorywire.pipeline.context import Context
from memorywire.pipeline.decide import decide
from memorywire.pipeline.review import difference, find, seen_digest

HOST = f"{VOUCHING}host"
"""The credential of a reviewer that the host program provides."""


async def ask_reviewers(proposal: Proposal, context: Context) -> Decided | None:
    """Ask the reviewers in turn; returns the approval, or None while the proposal still waits.

    Raises Refused for a rejection. If a reviewer times out or cannot be reached (TimeoutError, OSError), or
    its answer causes a Conflict, because another reviewer decided or memory has changed, the next one is
    asked. Other errors are raised, and the proposal waits.
    """
    reach = Reach(tenant=proposal.scope.tenant, agent=proposal.scope.agent)
    for client in context.require_governance().reviewers:
        message = await build_message(proposal, context)
        try:
            answer = await _ask(client, message)
            if answer is None:
                continue
            receipt = await apply_review(answer, proposal.id, message.seen, reach, HOST, context)
        except (TimeoutError, OSError, Conflict):
            continue
        if receipt.state is State.REJECTED:
            reason = context.without_secrets(answer.reason) or "no reason given"
            detail = f"{receipt.by} rejected proposal {proposal.id}: {reason}"
            raise Refused(detail, fix="ask for something else, or ask that person")
        if receipt.state is State.APPROVED:
            return receipt
        proposal = await find(reach, proposal.id, context)
    return None


async def build_message(proposal: Proposal, context: Context) -> ReviewRequest:
    """Build the message about a proposal, with its effect on current memory."""
    return build_review(proposal, await difference(proposal, context), seen_digest(proposal))


async def apply_review(
    answer: ReviewResponse, proposal_id: str, seen: str, reach: Reach, via: str, context: Context
) -> Decided:
    """Carry out a reviewer's decision on the state `seen`, in their name; `via` is their credential."""
    answer.check()
    if is_agent(answer.reviewer):
        raise Refused("an agent does not decide what enters memory", fix="name the person who decided")
    governance = replace(context.require_governance(), caller=answer.reviewer, principal=via)
    decision = HostDecision(
        reach=reach,
        proposal_ids=(proposal_id,),
        verb=Verb.APPROVE if answer.approved else Verb.REJECT,
        reason=answer.reason,
        seen=seen,
        confirm=answer.confirm,
        reviewed_at=answer.reviewed_at,
    )
    return await decide(decision, replace(context, governance=governance))


async def _ask(client: GovernanceClient, message: ReviewRequest) -> ReviewResponse | None:
    if iscoroutinefunction(client.review):
        answer = await client.review(message)
    else:
        answer = await asyncio.to_thread(client.review, message)
        answer = await answer if isawaitable(answer) else answer
    if not isinstance(answer, ReviewResponse | None):
        detail = f"a reviewer answers with a ReviewResponse or None, not {type(answer).__name__}"
        raise InvalidRequest(detail, field="reviewers", fix="return memorywire.ReviewResponse(...)")
    return answer
