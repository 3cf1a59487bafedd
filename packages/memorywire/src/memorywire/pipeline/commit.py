"""commit(plans): judges plans, embeds their puts, and writes them; a single write is a batch of one.

Theory of operation
-------------------
What it must guarantee: every plan is judged by the policy before it touches a store, and each outcome
(committed, held, refused) is in the ledger before it is returned. A plan in a group has the same outcome as
it would have alone, and a failure affects only its own plan.

How: operations only plan; `plan_forget`, `plan_merge` and the others read the store and return a `Plan`.
`commit` takes any number of plans that do not touch the same memory, and processes them in four steps:

1. *Cases.* The facts that the policy judges are looked up, but only those that a rule uses. The texts of all
   plans are screened for instructions in one pass; a group that shows a sign is screened again in parts.
2. *Judgement.* `judge` caches its judgements by the fields that the conditions in force declare, so that
   a thousand similar plans are judged once.
3. *Writing.* Plans that the policy allows go to `Transaction.commit` as one group. Missing vectors come from
   one call to the embedder, rows and ledger entries from few statements, durability from one sync of the
   database's log. Below this, the group commit of `stores/sqlite/writer.py` also joins the single writes
   of concurrent callers.
4. *Holding and refusing.* A plan that a rule holds becomes a proposal that stores the whole plan. A refusal
   becomes a ledger entry and an error.

Without governance (policy off) only step 3 remains.

What was tried: a second path for bulk writes, which duplicated the planning, redaction and judgement of the
single path. Its cache of judgements listed the fields of a memory by hand: a condition missing from that
list would have let bulk writes bypass the policy.
"""

import hashlib
from collections.abc import Coroutine, Sequence
from itertools import chain
from operator import attrgetter
from typing import Any

from msgspec.structs import replace

from memorywire.journal.acts import Act
from memorywire.model.change import Change
from memorywire.model.clock import DAY_MS
from memorywire.model.codec import dumps
from memorywire.model.errors import Conflict, Duplicate, MemorywireError, Refused, SecretLeakage
from memorywire.model.proposal import WAITING, Proposal, State, is_agent
from memorywire.model.record import Json, Scope
from memorywire.model.requests import Remember
from memorywire.pipeline.context import Context, refuse_unreviewed
from memorywire.pipeline.plan import (
    CommitResult,
    Plan,
    build_entry,
    build_staged,
    entry_about,
    entry_of,
    list_loans,
    summarize_effect,
)
from memorywire.pipeline.review import find_similar, move_proposal
from memorywire.pipeline.transaction import Result, Transaction, Write, find_retractions, gather_results
from memorywire.policy.injection import screen_each
from memorywire.policy.judge import Case, Judgement, Policy, judge
from memorywire.policy.learned import features, features_to
from memorywire.policy.rules import SECRETS, Verdict

_NO_ACT = Act()


async def commit_one(plan: Plan, context: Context) -> CommitResult:
    """Commit one plan; raises the error that prevents it."""
    (result,) = await commit([plan], context)
    if isinstance(result, Exception):
        raise result
    return result


async def commit(plans: Sequence[Plan], context: Context) -> list[Result]:
    """Commit the plans and return, in order, the result of each or the error that prevents it.

    No two plans may touch the same memory, and all belong to one tenant. Raises when the embedder fails; then
    nothing is written.
    """
    if not plans:
        return []
    transaction = Transaction(context)
    if context.governance is None:
        for plan in plans:
            refuse_unreviewed(plan.request)
        return await transaction.commit([Write(plan.change, _NO_ACT) for plan in plans])
    policy = await context.governance.rulebook.policy(plans[0].change.scope.tenant)
    cases = await build_cases(plans, context, policy)
    passing: list[tuple[Plan, Judgement]] = []
    others: dict[int, Coroutine[Any, Any, CommitResult]] = {}
    for at, (plan, case) in enumerate(zip(plans, cases, strict=True)):
        judgement = judge(case, policy)
        if judgement.verdict is Verdict.ALLOW:
            passing.append((plan, judgement))
        else:
            others[at] = _hold_or_refuse(plan, case, judgement, policy, context)
    results = await transaction.commit(await _build_writes(passing, context)) if passing else []
    if not others:
        return results
    outcomes = iter(await gather_results(others.values()))
    rest = iter(results)
    return [next(outcomes) if at in others else next(rest) for at in range(len(plans))]


async def build_case(plan: Plan, context: Context, policy: Policy) -> Case:
    """Build the case that the policy judges for one plan."""
    (case,) = await build_cases([plan], context, policy)
    return case


async def build_cases(plans: Sequence[Plan], context: Context, policy: Policy) -> list[Case]:
    """Build the case that the policy judges for each plan; looks up only what its rules use."""
    governance, looks_for_similar = context.require_governance(), "similar_to_existing" in policy.asked
    groups = [tuple(map(attrgetter("record"), plan.change.put)) for plan in plans]
    signs = iter(screen_each([*chain.from_iterable(groups)]))
    rejected = [False] * len(plans)
    if "rejected_before" in policy.asked:
        rejected = await governance.rejected.find_any(groups)
    cases = []
    for plan, records, is_rejected in zip(plans, groups, rejected, strict=True):
        change, request = plan.change, plan.request
        instructions = next(signs) if len(records) == 1 else tuple(s for _ in records for s in next(signs))
        case = Case(
            operation=change.operation,
            scope=change.scope,
            caller=governance.caller,
            records=records,
            by_filter=plan.by_filter,
            secrets=plan.secrets,
            instructions=instructions,
            rejected=is_rejected,
        )
        if change.end or change.erase or change.undoes is not None:
            case = await _add_ending(case, change, context)
        if isinstance(request, Remember):
            if looks_for_similar:
                hits = [hit for record in records for hit in await find_similar(record, context)]
                case = replace(case, similar=tuple([hit.record.id for hit in hits]))
            if request.privacy_intent is not None:
                case = replace(case, privacy_intent=request.privacy_intent)
        if request.approval_required:
            case = replace(case, approval_required=True)
        cases.append(case)
    return cases


async def _add_ending(case: Case, change: Change, context: Context) -> Case:
    """Add to the case what the change ends, erases or undoes."""
    ids = [*(end.id for end in change.end), *change.erase]
    return replace(
        case,
        ended=len(change.end),
        erased=len(change.erase),
        ending=tuple(await context.store.get(change.scope, ids)) if ids else (),
        undoes_person=change.undoes is not None and await _undoes_person(change, context),
    )


async def _undoes_person(change: Change, context: Context) -> bool:
    """Whether an agent would undo a change that a person made: an agent may not overrule people."""
    governance = context.require_governance()
    if not is_agent(governance.caller) or change.undoes is None:
        return False
    entries = await governance.journal.find_entries(change.scope.tenant, change.undoes)
    actors = [str(entry["actor"]) for entry in entries if entry["kind"] == "committed"]
    return not actors or not all(is_agent(actor) for actor in actors)


async def _build_writes(items: Sequence[tuple[Plan, Judgement]], context: Context) -> list[Write]:
    """Build the writes of the allowed plans: each change with its journal act."""
    actor, writes = context.require_governance().caller, []
    for plan, judgement in items:
        change = plan.change
        details: dict[str, Json] = {"rule": judgement.rule}
        if plan.secrets:
            details["secrets"] = [list(finding) for finding in plan.secrets]
        act = Act(entries=(build_entry(change, "committed", actor, details),))
        if judgement.learned:
            act = replace(act, ruled=((change.scope, judgement.rule, change.id),))
        if change.operation == "share":
            act = replace(act, loans=list_loans(change))
        if change.erase:
            erased_ids = tuple([(change.scope, id) for id in change.erase])
            act = replace(act, erased=erased_ids, unsaid=await find_retractions(change, context))
        writes.append(Write(change, act))
    return writes


async def _hold_or_refuse(
    plan: Plan, case: Case, judgement: Judgement, policy: Policy, context: Context
) -> CommitResult:
    if judgement.verdict is Verdict.HOLD:
        return await hold(plan, case, judgement, policy, context)
    entry = replace(entry_of(plan.change, "refused", context, rule=judgement.rule), contents=())
    await context.require_governance().journal.write(Act(entries=(entry,)))
    raise _build_refusal(judgement)


def _build_refusal(judgement: Judgement) -> MemorywireError:
    if judgement.rule == SECRETS:
        return SecretLeakage(judgement.refusal, fix="remove the secret and send the request again")
    return Refused(judgement.refusal, fix="ask the operator of the policy, or change the request")


async def hold(
    plan: Plan, case: Case, judgement: Judgement, policy: Policy, context: Context
) -> CommitResult:
    """Store the plan as a proposal until a person decides."""
    governance = context.require_governance()
    change = replace(plan.change, put=tuple(replace(put, vector=None) for put in plan.change.put))
    key = change.key or _build_repeat_key(plan, context)
    waiting = await _find_waiting(change, context) or await _find_repeated(change, key, context)
    if waiting is not None:
        return await _review(waiting, context)
    proposal = Proposal(
        id=context.mint(),
        scope=change.scope,
        operation=change.operation,
        at=change.at,
        caller=governance.caller,
        rule=judgement.rule,
        why=judgement.reason,
        request=plan.request,
        change=change,
        secrets=plan.secrets,
        instructions=case.instructions,
        similar=case.similar,
        features=features_to(features(case)),
        key=key,
        batch=governance.batch,
        expires_at=change.at + policy.pending_days * DAY_MS,
        proposer=governance.principal,
        reviewers=max(judgement.reviewers, judge(case, policy).reviewers),  # the policy may require more
    )
    entry = entry_about(proposal, "staged", governance.caller, change.at)
    try:
        await governance.journal.write(Act(proposals=(proposal,), entries=(entry,)))
    except Conflict:  # the same request was held by another caller at the same moment
        waiting = await _find_repeated(change, key, context)
        if waiting is None:
            raise
        proposal = waiting
    return await _review(proposal, context)


async def _review(proposal: Proposal, context: Context) -> CommitResult:
    """Ask the host's reviewers about a held change; returns the result, or raises Refused on rejection."""
    if not context.require_governance().reviewers:
        return build_staged(proposal, context)
    from memorywire.pipeline.reviewers import ask_reviewers  # circular: it imports this module

    receipt = await ask_reviewers(proposal, context)
    if receipt is None or receipt.status is None:
        return build_staged(proposal, context)
    return CommitResult(
        status=receipt.status,
        outcomes=receipt.outcomes,
        change_id=receipt.change_id,
        proposal_id=proposal.id,
        rule=proposal.rule,
        proposed=proposal.change,
    )


async def _find_waiting(change: Change, context: Context) -> Proposal | None:
    """Find a waiting proposal with the same text; raises Duplicate if a live memory has it."""
    if len(change.put) != 1 or not change.put[0].unique:
        return None
    record = change.put[0].record
    twin = await context.store.duplicate(record, change.at)
    if twin is not None:
        raise Duplicate(twin.id)
    return await context.require_governance().journal.find_waiting(record.scope, record.digest)


def _build_repeat_key(plan: Plan, context: Context) -> str:
    """Build a key that is equal for a caller's repeated request, to find the waiting proposal.

    The key ignores the reasoning, because a model words it differently each time.
    """
    text = f"{context.require_governance().caller}\n{dumps(replace(plan.request, reasoning=None))}"
    return f"{plan.change.operation}:{hashlib.blake2b(text.encode(), digest_size=16).hexdigest()}"


async def _find_repeated(change: Change, key: str, context: Context) -> Proposal | None:
    """Find the waiting proposal of the same request, updated to the request's current plan."""
    governance = context.require_governance()
    agent = Scope(agent=change.scope.agent, tenant=change.scope.tenant)
    waiting = await governance.journal.find_by_key(agent, key)
    if waiting is None or waiting.change is None or waiting.state not in WAITING:
        return None
    if summarize_effect(change) == summarize_effect(waiting.change) and waiting.state is State.PENDING:
        return waiting
    proposal = replace(
        move_proposal(waiting, State.PENDING, None),
        change=replace(change, id=waiting.change.id, key=waiting.change.key),
    )
    entry = entry_about(proposal, "rebased", governance.caller, change.at, why="the request was repeated")
    await governance.journal.write(Act(proposals=(proposal,), entries=(entry,)))
    return proposal
