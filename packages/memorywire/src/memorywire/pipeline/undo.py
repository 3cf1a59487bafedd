"""Undo: a change that reverts another change, and can itself be undone."""

from msgspec.structs import replace

from memorywire.model.answers import Undone
from memorywire.model.change import Base, Change, End, EndReason, Footprint, Put, Version
from memorywire.model.errors import Conflict, NotFound
from memorywire.model.requests import Undo
from memorywire.pipeline.commit import commit_one
from memorywire.pipeline.context import Context
from memorywire.pipeline.plan import Plan


async def undo(request: Undo, context: Context) -> Undone:
    """Restore what the change ended and end what it began; raises Conflict if memory changed since."""
    plan = await plan_undo(request, context)
    result = await commit_one(plan, context)
    restored_ids = tuple(put.record.id for put in plan.change.put)
    ended_ids = tuple(end.id for end in plan.change.end)
    return Undone(
        undone=plan.change.undoes or request.change_id,
        restored_ids=() if result.is_staged else restored_ids,
        ended_ids=() if result.is_staged else ended_ids,
        **result.receipt(),
        would_restore_ids=restored_ids if result.is_staged else None,
        would_end_ids=ended_ids if result.is_staged else None,
    )


async def plan_undo(request: Undo, context: Context) -> Plan:
    """Plan the change that undoes the requested one; raises NotFound for an unknown change."""
    request = replace(request, reasoning=context.without_secrets(request.reasoning))
    footprint = await context.historian("undo").footprint(request.scope, request.change_id)
    if footprint is None:
        fix = "see: memorywire changes"
        raise NotFound(f"no change {request.change_id} here", field="change_id", fix=fix)
    return Plan(change=await build_reversal(request, footprint, context), request=request)


async def build_reversal(request: Undo, footprint: Footprint, context: Context) -> Change:
    """Build the change that undoes the other; raises Conflict if memory has changed since."""
    now = context.clock()
    new_versions = {version.id: version for version in footprint.began}
    old_versions = {version.id: version for version in footprint.ended}
    if not new_versions and not old_versions:
        raise Conflict(
            "that change erased its memories, or changed none: it cannot be taken back", field="change_id"
        )
    await _refuse_if_moved(request, new_versions, old_versions, context)
    return Change(
        id=context.mint(),
        operation="undo",
        scope=footprint.change.scope,
        at=now,
        put=tuple(_restore(old, new_versions.get(id), now) for id, old in old_versions.items()),
        end=tuple(
            End(id=id, version=new.number, reason=EndReason.UNDONE)
            for id, new in new_versions.items()
            if id not in old_versions
        ),
        reason=request.reasoning,
        undoes=footprint.change.id,
    )


def _restore(old: Version, replaced_by: Version | None, now: int) -> Put:
    """Return the put of a new version with the content of the ended one."""
    if old.record is None:
        raise Conflict(f"{old.id} was erased since", field="change_id")
    latest = replaced_by or old
    return Put(
        record=replace(old.record, version=latest.number + 1, updated_at=now),
        base=Base.LIVE if replaced_by else Base.ENDED,
        like=old.number,
        unique=replaced_by is None,
    )


async def _refuse_if_moved(
    request: Undo, new_versions: dict[str, Version], old_versions: dict[str, Version], context: Context
) -> None:
    """Raise Conflict unless every record is still exactly as the change left it."""
    historian = context.historian("undo")
    for id in {**new_versions, **old_versions}:
        latest = (await historian.history(request.scope, id))[-1]
        version = new_versions.get(id) or old_versions[id]
        if latest.record is None:
            raise Conflict(f"{id} was erased since", field="change_id")
        has_moved = latest.number != version.number or latest.ended_by != version.ended_by
        if has_moved or (id in new_versions and latest.ended is not None):
            raise await _explain_move(request, id, latest, context)


async def _explain_move(request: Undo, id: str, latest: Version, context: Context) -> Conflict:
    """Build the Conflict that names the later change, with a hint if that already undid this one."""
    later = latest.ended_by or latest.began_by
    footprint = await context.historian("undo").footprint(request.scope, later)
    if footprint is not None and footprint.change.undoes == request.change_id:
        return Conflict(
            f"it was taken back already, by {later}", field="change_id", fix=f"undo {later} to do it again"
        )
    what = "changed" if latest.ended_by is None else "ended"
    return Conflict(f"{id} has {what} since, by {later}", field="change_id", fix=f"undo {later} first")
