"""Undoes an import: ends what it began and restores what it replaced, except memories changed since."""

from collections.abc import Sequence

from msgspec import Struct
from msgspec.structs import replace

from memorywire.journal.acts import Act
from memorywire.model.change import Base, Change, End, EndReason, Put, Version
from memorywire.model.errors import NotFound
from memorywire.model.record import Scope
from memorywire.pipeline.context import Context
from memorywire.pipeline.plan import entry_of
from memorywire.pipeline.transaction import Transaction

_MEMORIES_MAX = 1000  # memories per change, because its transaction blocks other writers


class UndoResult(Struct, frozen=True, kw_only=True):
    """Counts of an undo: `moved` memories were changed since and stay; `change_ids` can be undone."""

    batch: str
    ended: int
    restored: int
    moved: tuple[str, ...]
    change_ids: tuple[str, ...]


async def undo_import(batch: str, context: Context, tenant: str) -> UndoResult:
    """Undo the import with this batch id, except memories that were changed since."""
    entries = await context.require_governance().journal.find_entries(tenant, batch)
    pairs = [tuple(one) for entry in reversed(entries) for one in entry.get("details", {}).get("changes", ())]
    if not pairs:
        fix = "the import printed its batch"
        raise NotFound(f"there is no import with batch {batch}", field="undo", fix=fix)
    members = list(dict.fromkeys((str(agent), str(id)) for agent, id in pairs))
    ours = frozenset(id for _, id in members)
    parts: dict[str, list[Put | End]] = {}
    moved: list[str] = []
    memories: dict[str, dict[str, None]] = {}  # that these changes began or ended, by agent
    for agent, change_id in members:
        footprint = await context.historian("undo").footprint(Scope(tenant=tenant, agent=agent), change_id)
        versions = () if footprint is None else (*footprint.began, *footprint.ended)
        memories.setdefault(agent, {}).update(dict.fromkeys(version.id for version in versions))
    for agent, ids in memories.items():
        for id in ids:
            chain = await context.historian("undo").history(Scope(tenant=tenant, agent=agent), id)
            part = _build_part(chain, ours, context.clock())
            if part is not None:
                parts.setdefault(agent, []).append(part)
            elif chain[-1].began_by not in ours and chain[-1].ended is None:
                moved.append(id)
    change_ids = [
        id
        for agent, some in parts.items()
        for id in await _write_parts(Scope(tenant=tenant, agent=agent), batch, some, context)
    ]
    all_parts = [part for some in parts.values() for part in some]
    return UndoResult(
        batch=batch,
        ended=sum(isinstance(part, End) for part in all_parts),
        restored=sum(isinstance(part, Put) for part in all_parts),
        moved=tuple(moved),
        change_ids=tuple(change_ids),
    )


def _build_part(chain: Sequence[Version], ours: frozenset[str], now: int) -> Put | End | None:
    latest = chain[-1]
    before = [version for version in chain if version.began_by not in ours and version.record is not None]
    if latest.began_by not in ours:
        return None  # another change has written it since
    if before and before[-1].ended_by in ours and before[-1].record is not None:
        old = before[-1].record
        return Put(
            record=replace(old, version=latest.number + 1, updated_at=now),
            base=Base.LIVE if latest.ended is None else Base.ENDED,
            like=old.version,
        )
    if latest.ended is not None:
        return None
    return End(id=latest.id, version=latest.number, reason=EndReason.UNDONE)


async def _write_parts(scope: Scope, batch: str, parts: Sequence[Put | End], context: Context) -> list[str]:
    change_ids: list[str] = []
    for at in range(0, len(parts), _MEMORIES_MAX):
        some = parts[at : at + _MEMORIES_MAX]
        change = Change(
            id=context.mint(),
            operation="undo",
            scope=scope,
            at=context.clock(),
            put=tuple(part for part in some if isinstance(part, Put)),
            end=tuple(part for part in some if isinstance(part, End)),
            reason=f"import {batch} was undone",
        )
        entry = entry_of(change, "committed", context, batch=batch)
        await Transaction(context).commit_one(change, Act(entries=(entry,)))
        change_ids.append(change.id)
    return change_ids
