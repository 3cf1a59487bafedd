"""Memory as it was after a commit: by the sequence of commits, never by the time on a record.

A record may be approved, merged or overwritten long after the time it carries; the sequence in which changes
were committed is the only order in which they became visible.
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
"""Stands for the change when there was none yet."""

_WANTED_FOR = "memory snapshots"
_NO_COMMIT = 0  # the sequence begins behind it


async def find_newest_change(scope: Scope, context: Context) -> str:
    """The newest change to the memory of a scope.

    A change has its own sequence in each store that holds it, so the change is what is kept.
    """
    newest = await context.historian(_WANTED_FOR).changes(replace(scope, user=None), 1)
    return newest[0].id if newest else BEFORE_ALL


async def find_moment(scope: Scope, behind: str | None, context: Context) -> int | None:
    """When that change was committed; None for now."""
    if not behind:
        return None
    footprint = await context.historian(_WANTED_FOR).footprint(replace(scope, user=None), behind)
    return None if footprint is None else footprint.change.at


async def list_matching(where: Where, behind: str | None, context: Context) -> list[Record]:
    """The memories that matched right after that change; with None, those that match now."""
    # What is live is read first: a change that comes between the two looks is then among the later ones.
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
    """The memory of that id, if it matched right after that change; with None, if it matches now."""
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
    """One version of a memory, also if it has ended since; None once it is erased."""
    chain = await context.historian(_WANTED_FOR).history(scope, id)
    return next((version.record for version in chain if version.number == number), None)


def _was_current(version: Version, at: int) -> bool:
    return version.began <= at and (version.ended is None or version.ended > at)


async def list_all_ids(scope: Scope, context: Context) -> set[str]:
    """The ids of everything that a memory ever held."""
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
    """What was done to the agent's memory after that commit, in any order."""
    whole = replace(scope, user=None)
    if not isinstance(context.store, SupportsChangeLog):
        return await _list_later_by_change(whole, at, context.historian(_WANTED_FOR))
    footprints: list[Footprint] = []
    while page := await context.store.log(whole, at, PAGE):
        footprints += page
        at = page[-1].sequence
    return footprints


async def _list_later_by_change(scope: Scope, at: int, historian: SupportsHistory) -> list[Footprint]:
    """As `_later`, change by change, for a store that hands out its past only that way."""
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
