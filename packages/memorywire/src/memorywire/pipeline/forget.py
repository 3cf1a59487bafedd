"""Forget: end memories, or erase them so that nothing of their content remains."""

from msgspec.structs import replace

from memorywire.model.answers import Expired, Forgotten
from memorywire.model.change import Base, Change, End, EndReason, Put
from memorywire.model.clock import DAY_MS
from memorywire.model.errors import TooManyAffected
from memorywire.model.query import Where
from memorywire.model.record import RECALLABLE, Record, Standing
from memorywire.model.requests import Action, Expire, Forget
from memorywire.model.text import counted
from memorywire.pipeline.commit import Plan, untouched
from memorywire.pipeline.context import Context

_EVER = 0  # alive at the epoch: expired memories are forgotten like any other


async def forget(request: Forget, context: Context) -> Forgotten:
    """End or erase what the ids and the filter select: both, when both are given."""
    selected = await _selected(request, context)
    ids = [record.id for record in selected]
    if request.hard_delete:
        ids += await _held(request, context, ids)
        ids += await _ended(request, context, ids)
    refuse_too_many(len(ids), request.max_affected)
    done = untouched(context)
    if ids and not request.dry_run:
        change = _plan_forget(request, context, selected, ids)
        done = await context.submit(Plan(change=change, request=request, by_filter=not request.ids))
    waiting = ids if done.held is None else [*(end.id for end in done.held.end), *done.held.erase]
    return Forgotten(
        forgotten_ids=() if done.staged else tuple(ids),
        missing_ids=tuple(id for id in request.ids if id not in set(ids)),
        hard_delete=request.hard_delete,
        stores=done.outcomes,
        status=done.ended,
        change_id=done.change_id,
        dry_run=request.dry_run,
        pending_approval=done.staged,
        approval_url=done.approval_url,
        proposal_id=done.proposal_id,
        rule=done.rule,
        degraded=done.degraded,
        would_forget_ids=tuple(waiting) if done.staged or request.dry_run else None,
    )


def _plan_forget(request: Forget, context: Context, selected: list[Record], ids: list[str]) -> Change:
    ends = tuple(End(id=r.id, version=r.version, reason=EndReason.FORGOTTEN) for r in selected)
    return Change(
        id=context.mint(),
        operation="forget",
        scope=request.scope,
        at=context.clock(),
        end=() if request.hard_delete else ends,
        erase=tuple(ids) if request.hard_delete else (),
        reason=context.without_secrets(request.reason),
    )


async def _selected(request: Forget, context: Context) -> list[Record]:
    """The live records to forget: all that the filter matches, or those of the ids that it matches."""
    if request.ids:
        found = await context.store.get(request.scope, request.ids)
        return [r for r in found if request.filter is None or request.filter.matches(r)]
    assert request.filter is not None, "the schema demands ids or filter"  # noqa: S101 - narrows the type
    where = Where(scope=request.scope, alive_at=_EVER, standings=frozenset(Standing), filter=request.filter)
    return [record async for record in context.all_matching(where)]


async def _held(request: Forget, context: Context, found: list[str]) -> list[str]:
    """The named ids that no memory ever had: only a proposal that waits would make them one."""
    rest = _others(request, found)
    if not rest or context.office is None:
        return []
    proposed = await context.office.journal.proposed(request.scope, rest)
    return [id for id in rest if id in proposed]


async def _ended(request: Forget, context: Context, found: list[str]) -> list[str]:
    """The named ids whose versions have all ended, but whose content can still be read."""
    rest = _others(request, found)
    if not rest:
        return []
    historian = context.historian("hard_delete")
    return [
        id for id in rest if any(version.record for version in await historian.history(request.scope, id))
    ]


def _others(request: Forget, found: list[str]) -> list[str]:
    """The ids that were asked for and not found yet; a filter means live memories only."""
    return [] if request.filter is not None else [id for id in request.ids if id not in found]


def refuse_too_many(count: int, limit: int | None) -> None:
    """Stop before anything is changed when the plan touches more than the caller allowed."""
    if limit is not None and count > limit:
        raise TooManyAffected(
            f"{counted(count, 'memory')} would be affected, {limit} are allowed",
            field="max_affected",
            fix="narrow the request, raise max_affected, or look first with dry_run",
        )


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
    matched = [record async for record in context.all_matching(_select_expired(request, now))]
    refuse_too_many(len(matched), request.max_affected)
    done = untouched(context)
    if matched and not request.dry_run:
        change = _plan_change(request, context, matched, now)
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


def _plan_change(request: Expire, context: Context, matched: list[Record], now: int) -> Change:
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
    """The moment that many days before `now`, never below the smallest integer a store can hold."""
    return None if days is None else max(now - days * DAY_MS, -1)
