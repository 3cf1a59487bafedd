"""Expire: what a policy selects is forgotten, archived or demoted, all in one change."""

from dataclasses import replace

from memorywire.model.answers import Expired
from memorywire.model.change import Base, Change, End, EndReason, Put
from memorywire.model.clock import DAY_MS
from memorywire.model.record import RECALLABLE, Record, Standing
from memorywire.model.requests import Action, Expire
from memorywire.model.where import Where
from memorywire.pipeline.commit import Plan, untouched
from memorywire.pipeline.context import Context
from memorywire.pipeline.forget import refuse_too_many

# Only what the action would change is selected, so running a policy twice changes nothing twice.
_ELIGIBLE = {
    Action.FORGET: frozenset(Standing),
    Action.ARCHIVE: RECALLABLE,
    Action.DEMOTE: frozenset({Standing.ACTIVE}),
}
_BECOMES = {Action.ARCHIVE: Standing.ARCHIVED, Action.DEMOTE: Standing.DEMOTED}


async def expire(request: Expire, context: Context) -> Expired:
    """Apply the action to every live memory that meets all conditions of the policy."""
    if request.policy.no_recall_in_days is not None:
        context.tracker("policy.no_recall_in_days")
    now = context.clock()
    matched = [record async for record in context.all_matching(_where(request, now))]
    refuse_too_many(len(matched), request.max_affected)
    done = untouched(context)
    if matched and not request.dry_run:
        change = _plan(request, context, matched, now)
        done = await context.submit(Plan(change=change, request=request, by_filter=True))
    return Expired(
        matched_count=len(matched),
        matched_ids=tuple(record.id for record in matched),
        action_taken=None if done.staged else request.action,
        stores=done.stores,
        status=done.ended,
        outcomes=done.outcomes,
        change_id=done.change_id,
        dry_run=request.dry_run,
        pending_approval=done.staged,
        approval_url=done.approval_url,
        proposal_id=done.proposal_id,
        rule=done.rule,
        degraded=done.degraded,
        action_requested=request.action if done.staged or request.dry_run else None,
    )


def _plan(request: Expire, context: Context, matched: list[Record], now: int) -> Change:
    change = Change(id=context.mint(), operation="expire", scope=request.scope, at=now)
    if request.action is Action.FORGET:
        ends = (End(id=r.id, version=r.version, reason=EndReason.EXPIRED) for r in matched)
        return replace(change, end=tuple(ends))
    standing = _BECOMES[request.action]
    return replace(change, put=tuple(with_standing(record, standing, now) for record in matched))


def with_standing(record: Record, standing: Standing, now: int) -> Put:
    """The next version of a record, with another standing: active, demoted or archived."""
    following = replace(record, standing=standing, version=record.version + 1, updated_at=now)
    return Put(record=following, base=Base.LIVE, like=record.version)


def _where(request: Expire, now: int) -> Where:
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
    """The moment that many days before `now`, never below the smallest integer a store can hold."""
    return None if days is None else max(now - days * DAY_MS, -1)
