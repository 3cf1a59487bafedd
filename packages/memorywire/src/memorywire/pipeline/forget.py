"""Forget: end memories, or erase them so that nothing of their content remains."""

from memorywire.model.answers import Forgotten
from memorywire.model.change import Change, End, EndReason
from memorywire.model.counting import counted
from memorywire.model.errors import TooManyAffected
from memorywire.model.record import Record, Standing
from memorywire.model.requests import Forget
from memorywire.model.where import Where
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
        change = _plan(request, context, selected, ids)
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


def _plan(request: Forget, context: Context, selected: list[Record], ids: list[str]) -> Change:
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
