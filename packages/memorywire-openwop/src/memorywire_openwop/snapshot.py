"""Memory as of a commit, by the sequence of commits rather than by the times of records.

A record may be approved, merged or overwritten long after its time; only the sequence in which changes
were committed tells when they became visible.
"""

from collections.abc import Sequence
from typing import Final

from msgspec.structs import replace

from memorywire.model.change import Footprint, Version
from memorywire.model.errors import StoreUnavailable
from memorywire.model.query import Where
from memorywire.model.record import Record, Scope
from memorywire.pipeline.context import PAGE, Context
from memorywire.stores.contract import SupportsChangeLog, SupportsHistory

BEFORE_ALL: Final = ""
"""In place of a change id: before the first change."""

_WANTED_FOR = "memory snapshots"
_NO_COMMIT = 0  # sequences start at 1


async def find_newest_change(scope: Scope, context: Context) -> str:
    """Return the id of the newest change to the memory of a scope.

    Callers store the id, since each store that has the change gives it another sequence.
    """
    newest = await context.historian(_WANTED_FOR).changes(replace(scope, user=None), 1)
    return newest[0].id if newest else BEFORE_ALL


async def find_moment(scope: Scope, behind: str | None, context: Context) -> int | None:
    """Return the time of that change; None for the current state."""
    if not behind:
        return None
    footprint = await context.historian(_WANTED_FOR).footprint(replace(scope, user=None), behind)
    return None if footprint is None else footprint.change.at


async def list_matching(where: Where, behind: str | None, context: Context) -> list[Record]:
    """Return the memories that matched right after that change; with None, those that match now."""
    # Read live records first: changes committed between the two reads are then among the later ones.
    live = [record async for record in context.all_matching(where)]
    if behind is None:
        return live
    at = await _find_sequence(where.scope, behind, context)
    later = await _list_later(where.scope, at, context)
    changed_ids = _list_ids(later)
    earlier = [
        version.record for footprint in later for version in footprint.ended if _was_current(version, at)
    ]
    return [
        *(record for record in live if record.id not in changed_ids),
        *(record for record in earlier if record is not None and where.matches(record)),
    ]


async def get_matching(where: Where, id: str, behind: str | None, context: Context) -> Record | None:
    """Return the memory if it matched right after that change; with None, if it matches now."""
    if behind is None:
        records = await context.store.get(where.scope, [id])
    else:
        at = await _find_sequence(where.scope, behind, context)
        chain = await context.historian(_WANTED_FOR).history(where.scope, id)
        records = [
            version.record for version in chain if _was_current(version, at) and version.record is not None
        ]
    return next((record for record in records if where.matches(record)), None)


async def find_version(scope: Scope, id: str, number: int, context: Context) -> Record | None:
    """Return one version of a memory, even if it has ended; None if it was erased."""
    chain = await context.historian(_WANTED_FOR).history(scope, id)
    return next((version.record for version in chain if version.number == number), None)


def _was_current(version: Version, at: int) -> bool:
    return version.began <= at and (version.ended is None or version.ended > at)


async def list_all_ids(scope: Scope, context: Context) -> set[str]:
    """Return the ids of all memories ever stored in the scope."""
    return _list_ids(await _list_later(scope, _NO_COMMIT, context))


def _list_ids(footprints: Sequence[Footprint]) -> set[str]:
    return {version.id for one in footprints for version in (*one.began, *one.ended)}


async def _find_sequence(scope: Scope, change: str, context: Context) -> int:
    if change == BEFORE_ALL:
        return _NO_COMMIT
    footprint = await context.historian(_WANTED_FOR).footprint(replace(scope, user=None), change)
    if footprint is None:
        raise StoreUnavailable("the store is behind the commit that the run reads", fix="retry later")
    return footprint.sequence


async def _list_later(scope: Scope, at: int, context: Context) -> list[Footprint]:
    """Return the footprints of the agent's changes after that commit, in any order."""
    whole = replace(scope, user=None)
    if not isinstance(context.store, SupportsChangeLog):
        return await _list_later_by_change(whole, at, context.historian(_WANTED_FOR))
    footprints: list[Footprint] = []
    while page := await context.store.log(whole, at, PAGE):
        footprints += page
        at = page[-1].sequence
    return footprints


async def _list_later_by_change(scope: Scope, at: int, historian: SupportsHistory) -> list[Footprint]:
    """Do the same as `_list_later` with one query per change, for stores without SupportsChangeLog."""
    footprints: list[Footprint] = []
    offset, limit = 0, PAGE
    while True:
        changes = await historian.changes(scope, limit)
        for change in changes[offset:]:
            footprint = await historian.footprint(scope, change.id)
            if footprint is not None and footprint.sequence <= at:
                return footprints
            footprints += [] if footprint is None else [footprint]
        if len(changes) < limit:
            return footprints
        offset, limit = len(changes), limit * 2
