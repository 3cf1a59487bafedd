"""Chooses, in a scope too large to look at whole, the versions that could be among the best."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from memorywire.model.record import Scope
from memorywire.stores.postgres.database import Connection, fetch
from memorywire.stores.postgres.filters import Conditions
from memorywire.stores.postgres.queries import QUERIES
from memorywire.stores.postgres.rows import scope_row
from memorywire.stores.relevance import K1, NEIGHBOURS, idf

# For each place in the answer so many contenders of each kind.
_GENEROSITY = 4

# A list of a term's entries is read no further than this: what is so common says little.
_MOST_ENTRIES = 50_000
_REACH = max(distance for distance, _ in NEIGHBOURS)

# The walk through the index goes on until enough rows satisfied the conditions, nearest first; after so many
# others it is cheaper to look at what satisfies them one by one. The planner may not prefer another way: with
# a small estimate it would sort the whole scope.
_BY_INDEX = (
    "SET LOCAL hnsw.iterative_scan = strict_order; SET LOCAL hnsw.ef_search = 200;"
    " SET LOCAL hnsw.max_scan_tuples = 20000;"
    " SET LOCAL enable_sort = off; SET LOCAL enable_bitmapscan = off"
)
_BY_OTHER_MEANS = "SET LOCAL enable_sort = on; SET LOCAL enable_bitmapscan = on"


@dataclass(frozen=True, slots=True, kw_only=True)
class Contenders:
    """Where they stand, which of them only lend weight to others, and the statistics to weigh them by.

    Without statistics those of the contenders themselves are meant.
    """

    positions: list[int] = field(default_factory=list)
    lenders: list[int] = field(default_factory=list)
    documents: int | None = None
    average: float | None = None
    containing: list[int] | None = None


async def contenders(
    db: Connection, scope: Scope, asked: Conditions, bindings: dict[str, Any], exact: int
) -> Contenders | None:
    """Those of a large scope; None when everything that matches should be looked at."""
    named = scope_row(scope)
    [(live, words)] = await fetch(db, QUERIES["agent_size"], named) or [(0, 0)]
    if live <= exact:
        return None
    if scope.user is not None:
        [(of_user,)] = await fetch(db, QUERIES["user_size"], named | {"most": exact + 1})
        if of_user <= exact:
            return None
    wanted = _GENEROSITY * bindings["wanted"]
    near = await _nearest(db, asked, bindings, wanted)
    if bindings["asked"] is None or len(near) < wanted:
        return None  # the conditions let few through: those are looked at one by one
    counted = await fetch(db, QUERIES["containing"], named | bindings | {"most": _MOST_ENTRIES})
    containing = [int(count) for (count,) in counted]
    telling = {
        key: idf(live, min(count, live))  # versions that ended have entries too
        for key, count in zip(bindings["keys"], containing, strict=True)
        if count < _MOST_ENTRIES or min(containing) == _MOST_ENTRIES
    }
    wordy = await _wordiest(db, asked, telling, wanted)
    best = sorted({*near, *wordy})
    around = await _neighbours(db, asked, best)
    return Contenders(
        positions=sorted({*best, *around}),
        lenders=sorted(around - set(best)),
        documents=live,
        average=words / live,
        containing=containing,
    )


async def _nearest(db: Connection, asked: Conditions, bindings: dict[str, Any], wanted: int) -> list[int]:
    if bindings["asked"] is None:
        return []
    await db.execute(_BY_INDEX)
    query = QUERIES["nearest"].format(conditions=asked.sql)
    rows = await fetch(db, query, asked.bindings | bindings | {"wanted": wanted})
    await db.execute(_BY_OTHER_MEANS)
    return [int(position) for (position,) in rows]


async def _wordiest(
    db: Connection, asked: Conditions, telling: Mapping[int, float], wanted: int
) -> list[int]:
    """The versions that earn most by these terms and their weights."""
    if not telling:
        return []
    given = {"keys": [*telling], "weights": [*telling.values()], "k1": K1, "most": _MOST_ENTRIES}
    query = QUERIES["wordiest"].format(conditions=asked.sql)
    return [int(row[0]) for row in await fetch(db, query, asked.bindings | given | {"wanted": wanted})]


async def _neighbours(db: Connection, asked: Conditions, positions: Sequence[int]) -> set[int]:
    given = {"positions": list(positions), "reach": _REACH}
    rows = await fetch(db, QUERIES["neighbours"].format(conditions=asked.sql), asked.bindings | given)
    return {int(position) for (position,) in rows}
