"""Reading is governed too: who may recall, how much, and what was handed out."""

import hashlib
from collections.abc import Sequence

from msgspec.structs import replace

from memorywire.journal.contract import Act
from memorywire.journal.entries import Entry
from memorywire.model.answers import Hit
from memorywire.model.answers import Verdict as Found
from memorywire.model.clock import DAY_MS
from memorywire.model.codec import dumps
from memorywire.model.errors import ApprovalPending, Refused
from memorywire.model.proposal import Proposal, RecallNote, State
from memorywire.model.record import Scope
from memorywire.model.requests import Recall
from memorywire.pipeline.context import Context
from memorywire.pipeline.plan import entry_about
from memorywire.policy.judge import Case, Judgement, Policy, judge
from memorywire.policy.rules import Operation, Verdict

GRANTED_MS = 3_600_000
"""How long a recall that a person approved may be repeated."""


async def permit(request: Recall, context: Context) -> None:
    """Pass, or raise: refused by policy, waiting for a person, or over budget.

    A rule speaks of recalls only when it names them, so that a policy about writes cannot make an agent
    forget by accident.
    """
    if context.office is None:
        return
    policy = await context.office.rulebook.policy(request.scope.tenant)
    if policy.speaks_of_recalls:
        about = tuple(rule for rule in policy.rules if Operation.RECALL in rule.when.operation)
        case = Case(operation="recall", scope=request.scope, caller=context.office.caller)
        judgement = judge(case, replace(policy, rules=about, default=Verdict.ALLOW))
        if judgement.verdict is Verdict.REFUSE:
            await _refuse(request, judgement, context)
        if judgement.verdict is Verdict.HOLD:
            await _ask(request, judgement, policy, context)
    await context.office.purse.check(request, policy, context.office.caller, context.clock())


def worded(request: Recall, context: Context) -> str:
    """The query as it may be written down."""
    query, office = request.query, context.office
    if office is None or office.redactor.finds_nothing((), (query,)):
        return query
    return office.redactor.text(query)[0]


def write_down(
    id: str, query: str, request: Recall, hits: Sequence[Hit], verdict: Found, context: Context
) -> None:
    """Note what was handed out for a query, as that is `worded`; what cannot be noted is not answered."""
    if context.office is None:
        return
    office = context.office
    note = RecallNote(
        id=id,
        at=context.clock(),
        scope=request.scope,
        caller=office.caller,
        query=query,
        verdict=verdict.value,
        hits=tuple([(hit.id, hit.record.version, round(hit.score, 6)) for hit in hits]),
        details={"as_of": request.as_of} if request.as_of is not None else None,
    )
    office.journal.note(note)
    office.purse.spend(note)


async def _refuse(request: Recall, judgement: Judgement, context: Context) -> None:
    entry = Entry(
        at=context.clock(),
        operation="recall",
        scope=request.scope,
        actor=context.governance.caller,
        kind="refused",
        details={"rule": judgement.rule},
    )
    await context.governance.journal.write(Act(entries=(entry,)))
    raise Refused(judgement.refusal, field="query", fix="ask the person who keeps the policy")


async def _ask(request: Recall, judgement: Judgement, policy: Policy, context: Context) -> None:
    """Let a recall pass that a person approved lately; otherwise hold it for a person."""
    office, now = context.governance, context.clock()
    key = f"recall:{hashlib.blake2b(dumps(request).encode(), digest_size=16).hexdigest()}"
    agent = Scope(agent=request.scope.agent, tenant=request.scope.tenant)
    known = await office.journal.keyed(agent, key)
    if known is not None and known.state is State.APPROVED and known.decision is not None:
        if now - known.decision.at <= GRANTED_MS:
            return
        known = None
    if known is None or known.state not in (State.PENDING, State.STALE):
        known = await _propose(request, key, judgement, policy, context)
    raise ApprovalPending(
        f"this recall waits for a person: {judgement.reason}",
        proposal_id=known.id,
        fix=f"send it again once proposal {known.id} is approved",
    )


async def _propose(
    request: Recall, key: str, judgement: Judgement, policy: Policy, context: Context
) -> Proposal:
    office, now = context.governance, context.clock()
    proposal = Proposal(
        id=context.mint(),
        scope=request.scope,
        operation="recall",
        at=now,
        caller=office.caller,
        rule=judgement.rule,
        why=judgement.reason,
        request=request,
        change=None,
        key=key,
        expires_at=now + policy.pending_days * DAY_MS,
        proposer=office.principal,
    )
    await office.journal.write(
        Act(proposals=(proposal,), entries=(entry_about(proposal, "staged", office.caller, now),))
    )
    return proposal
