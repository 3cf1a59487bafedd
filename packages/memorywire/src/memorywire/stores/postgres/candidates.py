"""Chooses the versions that could be among the best, in a scope too large to rank as a whole."""

from collections.abc import Mapping, Sequence

from memorywire.index.ranking import Statistics
from memorywire.model.query import Query
from memorywire.model.space import Space
from memorywire.search.relevance import K1, NEIGHBOURS, TOP, idf
from memorywire.search.text import name_words, query_terms, spoken_by
from memorywire.stores.postgres.database import Connection, fetch
from memorywire.stores.postgres.filters import Conditions
from memorywire.stores.postgres.rows import QUERIES, bind_scope, format_vector, hash_term

# For each place in the answer so many contenders of each kind.
_CANDIDATES_PER_HIT = 4

# A list of a term's entries is read no further than this: what is so common says little.
_MAX_ENTRIES = 50_000
_REACH = max(distance for distance, _ in NEIGHBOURS)

# The walk through the index goes on until enough rows satisfied the conditions, nearest first; after so many
# others it is cheaper to look at what satisfies them one by one. The planner may not prefer another way: with
# a small estimate it would sort the whole scope.
_BY_INDEX = (
    "SET LOCAL hnsw.iterative_scan = strict_order",
    "SET LOCAL hnsw.ef_search = 200",
    "SET LOCAL hnsw.max_scan_tuples = 20000",
    "SET LOCAL enable_sort = off",
    "SET LOCAL enable_bitmapscan = off",
)
_BY_SCAN = ("SET LOCAL enable_sort = on", "SET LOCAL enable_bitmapscan = on")


async def choose_candidates(
    db: Connection, query: Query, filters: Conditions, space: Space, size: tuple[int, int], limit: int
) -> tuple[list[int], Statistics] | None:
    """The positions of the candidates and of the turns around them, and the agent's statistics.

    `size` is the number of the agent's memories and words. Returns None if few match the conditions.
    """
    live, words = size
    quota = _CANDIDATES_PER_HIT * max(limit, TOP)
    near = await _find_nearest(db, query, filters, space, quota)
    if near is None or len(near) < quota:
        return None
    containing = await _count_containing(db, query)
    scope = query.where.scope
    boilerplate = {hash_term(scope.tenant, scope.agent, term) for term in query.aside}
    weights = {
        key: idf(live, min(count, live))  # versions that ended have entries too
        for key, count in containing.items()
        if key not in boilerplate and (count < _MAX_ENTRIES or min(containing.values()) == _MAX_ENTRIES)
    }
    best = sorted({*near, *await _find_by_words(db, filters, weights, quota)})
    around = await _find_neighbours(db, filters, best)
    statistics = Statistics(
        documents=live,
        average=words / live or 1.0,
        containing={key: min(count, live) for key, count in containing.items()},
    )
    return sorted({*best, *around}), statistics


async def _count_containing(db: Connection, query: Query) -> dict[int, int]:
    """How many versions have each of the query's terms, by the term's key."""
    scope = query.where.scope
    keys = [hash_term(scope.tenant, scope.agent, term) for term in query_terms(query.text)]
    bindings = bind_scope(scope) | {"keys": keys, "most": _MAX_ENTRIES}
    counts = await fetch(db, QUERIES["containing"], bindings)
    return {key: int(count) for key, (count,) in zip(keys, counts, strict=True)}


async def _find_nearest(
    db: Connection, query: Query, filters: Conditions, space: Space, count: int
) -> list[int] | None:
    """The versions nearest to the vector that the ranking will use; None without a vector."""
    vector = query.vector
    if query.nameless is not None and await _has_named_speaker(db, query, filters):
        vector = query.nameless
    if vector is None:
        return None
    for setting in _BY_INDEX:
        await db.execute(setting)
    bindings = filters.bindings | {"asked": format_vector(vector, space), "wanted": count}
    rows = await fetch(db, QUERIES["nearest"].format(conditions=filters.sql), bindings)
    for setting in _BY_SCAN:
        await db.execute(setting)
    return [int(position) for (position,) in rows]


async def _has_named_speaker(db: Connection, query: Query, filters: Conditions) -> bool:
    """Whether the query names somebody who speaks in one of the matching versions."""
    scope = query.where.scope
    words = {word for name in query.names for word in name_words(name)}
    if not words:
        return False
    names = [hash_term(scope.tenant, scope.agent, spoken_by(word)) for word in sorted(words)]
    statement = QUERIES["spoken"].format(conditions=filters.sql)
    [(exists,)] = await fetch(db, statement, filters.bindings | {"names": names})
    return bool(exists)


async def _find_by_words(
    db: Connection, filters: Conditions, weights: Mapping[int, float], count: int
) -> list[int]:
    """The versions that earn most by these terms and their weights."""
    if not weights:
        return []
    bindings = {"keys": [*weights], "weights": [*weights.values()], "k1": K1, "most": _MAX_ENTRIES}
    query = QUERIES["wordiest"].format(conditions=filters.sql)
    return [int(row[0]) for row in await fetch(db, query, filters.bindings | bindings | {"wanted": count})]


async def _find_neighbours(db: Connection, filters: Conditions, positions: Sequence[int]) -> set[int]:
    bindings = {"positions": list(positions), "reach": _REACH}
    rows = await fetch(db, QUERIES["neighbours"].format(conditions=filters.sql), filters.bindings | bindings)
    return {int(position) for (position,) in rows}
