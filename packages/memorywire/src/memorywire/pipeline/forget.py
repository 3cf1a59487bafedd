"""Forget, expire and archive: end memories, erase their content, or exclude them from recalls."""

from msgspec.structs import replace

from memorywire.model.answers import Expired, Forgotten
from memorywire.model.change import Base, Change, End, EndReason, Put
from memorywire.model.clock import DAY_MS
from memorywire.model.errors import TooManyAffected
from memorywire.model.query import Where
from memorywire.model.record import RECALLABLE, Record, Standing
from memorywire.model.requests import Action, Expire, Forget
from memorywire.model.text import counted
from memorywire.pipeline.commit import build_case, commit_one, hold
from memorywire.pipeline.context import Context
from memorywire.pipeline.plan import Plan, build_untouched
from memorywire.policy.judge import Judgement
from memorywire.policy.rules import Verdict

_EVER = 0  # alive at the epoch: expired memories are forgotten like any other


async def forget(request: Forget, context: Context) -> Forgotten:
    """End or erase the memories that the ids and the filter select; with both, a memory must match both."""
    plan = await plan_forget(request, context)
    ids = _list_ids(plan.change)
    is_idle = request.dry_run or not ids
    result = build_untouched(context) if is_idle else await commit_one(plan, context)
    waiting = ids if result.proposed is None else _list_ids(result.proposed)
    receipt = result.receipt()
    receipt["stores"] = receipt.pop("outcomes")
    return Forgotten(
        forgotten_ids=() if result.is_staged else ids,
        missing_ids=tuple(id for id in request.ids if id not in set(ids)),
        hard_delete=request.hard_delete,
        dry_run=request.dry_run,
        **receipt,
        would_forget_ids=waiting if result.is_staged or request.dry_run else None,
    )


async def propose_forget(request: Forget, context: Context) -> str | None:
    """Propose to forget these memories, for a person to decide; returns the id of the proposal.

    Returns None without a journal, or if none of the memories is live.
    """
    plan = await plan_forget(request, context)
    if context.governance is None or not plan.change.end:
        return None
    policy = await context.governance.rulebook.policy(request.scope.tenant)
    doubt = Judgement(verdict=Verdict.HOLD, rule=DOUBT, reason="it is not certain that this was meant")
    result = await hold(plan, await build_case(plan, context, policy), doubt, policy, context)
    return result.proposal_id


DOUBT = "doubtful-retraction"
"""The rule named in a proposal if it is uncertain which memory was retracted."""


async def plan_forget(request: Forget, context: Context) -> Plan:
    """Plan the change that forgets the selected memories; raises TooManyAffected above `max_affected`."""
    # A proposal stores the request, so its texts are redacted.
    request = replace(
        request,
        reason=context.without_secrets(request.reason),
        reasoning=context.without_secrets(request.reasoning),
    )
    records = await _select(request, context)
    ids = [record.id for record in records]
    if request.hard_delete:
        ids += await _find_proposed(request, context, ids)
        ids += await _find_ended(request, context, ids)
    refuse_too_many(len(ids), request.max_affected)
    ends = [End(id=one.id, version=one.version, reason=EndReason.FORGOTTEN) for one in records]
    change = Change(
        id=context.mint(),
        operation="forget",
        scope=request.scope,
        at=context.clock(),
        end=() if request.hard_delete else tuple(ends),
        erase=tuple(ids) if request.hard_delete else (),
        reason=_join_reasons(request),
    )
    return Plan(change=change, request=request, by_filter=not request.ids)


def _join_reasons(request: Forget) -> str | None:
    """Join the reason and the reasoning for the change; an erasure stores only the reason.

    The reasoning may quote erased content, so it must not outlive it.
    """
    reasons = (request.reason, None if request.hard_delete else request.reasoning)
    return "\n".join(filter(None, reasons)) or None


def _list_ids(change: Change) -> tuple[str, ...]:
    """List the ids that the change ends or erases."""
    return (*(end.id for end in change.end), *change.erase)


async def _select(request: Forget, context: Context) -> list[Record]:
    """Read the live records to forget: the ids that match the filter, or all matches if no ids are given."""
    if request.ids or request.filter is None:
        records = await context.store.get(request.scope, request.ids)
        return [record for record in records if request.filter is None or request.filter.matches(record)]
    where = Where(scope=request.scope, alive_at=_EVER, standings=frozenset(Standing), filter=request.filter)
    return [record async for record in context.all_matching(where)]


async def _find_proposed(request: Forget, context: Context, live_ids: list[str]) -> list[str]:
    """Return the requested ids that no memory ever had, only waiting proposals."""
    rest = _list_missing(request, live_ids)
    if not rest or context.governance is None:
        return []
    proposed_ids = await context.governance.journal.find_proposed(request.scope, rest)
    return [id for id in rest if id in proposed_ids]


async def _find_ended(request: Forget, context: Context, live_ids: list[str]) -> list[str]:
    """Return the requested ids whose versions have all ended but still have readable content."""
    rest = _list_missing(request, live_ids)
    if not rest:
        return []
    historian = context.historian("hard_delete")
    return [
        id for id in rest if any(version.record for version in await historian.history(request.scope, id))
    ]


def _list_missing(request: Forget, live_ids: list[str]) -> list[str]:
    """Return the requested ids not found yet; empty with a filter, which matches only live memories."""
    return [] if request.filter is not None else [id for id in request.ids if id not in live_ids]


def refuse_too_many(count: int, limit: int | None) -> None:
    """Raise TooManyAffected if the plan affects more memories than the caller allowed."""
    if limit is not None and count > limit:
        raise TooManyAffected(
            f"{counted(count, 'memory')} would be affected; at most {limit} are allowed",
            field="max_affected",
            fix="narrow the request, raise max_affected, or try it with dry_run",
        )


# Only memories that the action would change are selected, so repeating a policy has no further effect.
_ELIGIBLE = {
    Action.FORGET: frozenset(Standing),
    Action.ARCHIVE: RECALLABLE,
    Action.DEMOTE: frozenset({Standing.ACTIVE}),
}
_BECOMES = {Action.ARCHIVE: Standing.ARCHIVED, Action.DEMOTE: Standing.DEMOTED}


async def expire(request: Expire, context: Context) -> Expired:
    """Apply the action to every live memory that meets all conditions of the policy."""
    plan = await plan_expire(request, context)
    ids = (*(end.id for end in plan.change.end), *(put.record.id for put in plan.change.put))
    is_idle = request.dry_run or not ids
    result = build_untouched(context) if is_idle else await commit_one(plan, context)
    return Expired(
        matched_count=len(ids),
        matched_ids=ids,
        action_taken=None if result.is_staged else request.action,
        dry_run=request.dry_run,
        **result.receipt(),
        action_requested=request.action if result.is_staged or request.dry_run else None,
    )


async def plan_expire(request: Expire, context: Context) -> Plan:
    """Plan the change that applies the action to the memories the policy selects."""
    request = replace(request, reasoning=context.without_secrets(request.reasoning))
    if request.policy.no_recall_in_days is not None:
        context.tracker("policy.no_recall_in_days")
    now = context.clock()
    records = [record async for record in context.all_matching(_select_expired(request, now))]
    refuse_too_many(len(records), request.max_affected)
    change = Change(
        id=context.mint(), operation="expire", scope=request.scope, at=now, reason=request.reasoning
    )
    if request.action is Action.FORGET:
        ends = [End(id=one.id, version=one.version, reason=EndReason.EXPIRED) for one in records]
        change = replace(change, end=tuple(ends))
    else:
        standing = _BECOMES[request.action]
        change = replace(change, put=tuple(with_standing(record, standing, now) for record in records))
    return Plan(change=change, request=request, by_filter=True)


async def archive(record: Record, context: Context) -> None:
    """Archive this version, judged like a forget; raises Conflict if it is no longer current."""
    await commit_one(plan_archive(record, context), context)


def plan_archive(record: Record, context: Context) -> Plan:
    """Plan the change that archives this version, with a forget as its request."""
    now = context.clock()
    change = Change(
        id=context.mint(),
        operation="forget",
        scope=record.scope,
        at=now,
        put=(with_standing(record, Standing.ARCHIVED, now),),
    )
    return Plan(change=change, request=Forget(scope=record.scope, ids=(record.id,)))


def with_standing(record: Record, standing: Standing, now: int) -> Put:
    """Return the put of the record's next version with another standing: active, demoted or archived."""
    following = replace(record, standing=standing, version=record.version + 1, updated_at=now)
    return Put(record=following, base=Base.LIVE, like=record.version)


def _select_expired(request: Expire, now: int) -> Where:
    policy = request.policy
    return Where(
        scope=request.scope,
        alive_at=now,
        types=frozenset() if policy.type is None else frozenset({policy.type}),
        created_until=_days_before(now, policy.older_than_days),
        idle_since=_days_before(now, policy.no_recall_in_days),
        confidence_below=policy.confidence_below,
        standings=_ELIGIBLE[request.action],
    )


def _days_before(now: int, days: int | None) -> int | None:
    """Return the time that many days before `now`, at least -1; None if `days` is None."""
    return None if days is None else max(now - days * DAY_MS, -1)
