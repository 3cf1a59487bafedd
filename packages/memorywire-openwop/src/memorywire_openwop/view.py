"""Memory as it stood behind a commit: by the sequence of commits, never by the time on a record.

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


async def now_at(scope: Scope, context: Context) -> str:
    """The newest change to the memory of a scope.

    A change has its own sequence in each store that holds it, so the change is what is kept.
    """
    newest = await context.historian(_WANTED_FOR).changes(replace(scope, user=None), 1)
    return newest[0].id if newest else BEFORE_ALL


async def standing(where: Where, behind: str | None, context: Context) -> list[Record]:
    """The memories that matched right after that change; with None, those that match now."""
    # What is live is read first: a change that comes between the two looks is then among the later ones.
    live = [record async for record in context.all_matching(where)]
    if behind is None:
        return live
    at = await _sequence(where.scope, behind, context)
    later = await _later(where.scope, at, context)
    moved = _touched(later)
    then = [version.record for footprint in later for version in footprint.ended if _stood(version, at)]
    return [
        *(record for record in live if record.id not in moved),
        *(record for record in then if record is not None and where.matches(record)),
    ]


async def one_standing(where: Where, id: str, behind: str | None, context: Context) -> Record | None:
    """The memory of that id, if it matched right after that change; with None, if it matches now."""
    if behind is None:
        found = await context.store.get(where.scope, [id])
    else:
        at = await _sequence(where.scope, behind, context)
        chain = await context.historian(_WANTED_FOR).history(where.scope, id)
        found = [version.record for version in chain if _stood(version, at) and version.record is not None]
    return next((record for record in found if where.matches(record)), None)


async def version_of(scope: Scope, id: str, number: int, context: Context) -> Record | None:
    """One version of a memory, whatever became of it since; None once it is erased."""
    chain = await context.historian(_WANTED_FOR).history(scope, id)
    return next((version.record for version in chain if version.number == number), None)


def _stood(version: Version, at: int) -> bool:
    return version.began <= at and (version.ended is None or version.ended > at)


async def ever_there(scope: Scope, context: Context) -> set[str]:
    """The ids of everything that a memory ever held."""
    return _touched(await _later(scope, _NO_COMMIT, context))


def _touched(footprints: Sequence[Footprint]) -> set[str]:
    return {version.id for one in footprints for version in (*one.began, *one.ended)}


async def _sequence(scope: Scope, change: str, context: Context) -> int:
    if change == BEFORE_ALL:
        return _NO_COMMIT
    found = await context.historian(_WANTED_FOR).footprint(replace(scope, user=None), change)
    if found is None:
        raise StoreUnavailable(
            "the store has not come as far as the run that looks at it", fix="ask again in a while"
        )
    return found.sequence


async def _later(scope: Scope, at: int, context: Context) -> list[Footprint]:
    """What was done to the agent's memory after that commit, in any order."""
    whole = replace(scope, user=None)
    if not isinstance(context.store, SupportsChangeLog):
        return await _newer(whole, at, context.historian(_WANTED_FOR))
    found: list[Footprint] = []
    while page := await context.store.log(whole, at, PAGE):
        found += page
        at = page[-1].sequence
    return found


async def _newer(scope: Scope, at: int, historian: SupportsHistory) -> list[Footprint]:
    """As `_later`, change by change, for a store that hands out its past only that way."""
    found: list[Footprint] = []
    seen, limit = 0, PAGE
    while True:
        changes = await historian.changes(scope, limit)
        for change in changes[seen:]:
            footprint = await historian.footprint(scope, change.id)
            if footprint is not None and footprint.sequence <= at:
                return found
            found += [] if footprint is None else [footprint]
        if len(changes) < limit:
            return found
        seen, limit = len(changes), limit * 2
