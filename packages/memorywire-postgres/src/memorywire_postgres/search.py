"""Answers searches: loads the rows that could rank best and ranks them in memory like the SQLite store.

The index of an agent with few memories is cached between searches, and the answer is exact. For a larger
agent the server's indexes choose the candidates, and the statistics cover all of the agent's memories.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from msgspec import Struct
from msgspec.structs import replace
from numpy.typing import NDArray

from memorywire.index import (
    ENTRY,
    SMALL_INDEX,
    AgentIndex,
    Batch,
    Float16Vectors,
    IndexCache,
    Ranked,
    Rows,
    Selection,
    Source,
    Statistics,
    Vectors,
    needs_rows,
    rank,
)
from memorywire.model.query import EVERYTHING, Query, Scored, Where, find_owners, owned_by
from memorywire.model.record import Scope
from memorywire.model.space import Space
from memorywire.search.relevance import K1, NEIGHBOURS, TOP, idf
from memorywire.search.text import name_words, query_terms, spoken_by
from memorywire_postgres.database import Connection, Database, Row, fetch
from memorywire_postgres.filters import Conditions, conditions
from memorywire_postgres.migrate import refuse_if_reembedded
from memorywire_postgres.reads import at_positions, positions, records_at
from memorywire_postgres.rows import (
    QUERIES,
    bind_scope,
    encode_optional,
    encode_text,
    format_vector,
    hash_term,
    read_record,
    read_vector,
)

# Candidates of each kind for each hit of the answer.
_CANDIDATES_PER_HIT = 4

# At most this many entries of a term are read: a term that is so common says little.
_MAX_ENTRIES = 50_000
_REACH = max(distance for distance, _ in NEIGHBOURS)

# The HNSW scan continues until enough rows satisfy the conditions, nearest first. After `max_scan_tuples`
# rows it stops, and testing the matching rows one by one is cheaper. Sorts and bitmap scans are disabled:
# with a low row estimate the planner would otherwise sort the whole scope.
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
    """Return the positions of the candidates and of the turns around them, and the agent's statistics.

    `size` is the number of the agent's memories and words. Returns None if few match the conditions.
    """
    live, words = size
    quota = _CANDIDATES_PER_HIT * max(limit, TOP)
    near = await _find_nearest(db, query, filters, space, quota)
    if near is None or len(near) < quota:
        return None
    containing = await _count_containing(db, query)
    scope = query.where.scope
    boilerplate = {hash_term(scope.tenant, scope.agent, term) for term in query.boilerplate}
    weights = {
        key: idf(live, min(count, live))  # ended versions have entries too
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
    """Count the versions that contain each of the query's terms, by the term's key."""
    scope = query.where.scope
    keys = [hash_term(scope.tenant, scope.agent, term) for term in query_terms(query.text)]
    bindings = bind_scope(scope) | {"keys": keys, "most": _MAX_ENTRIES}
    counts = await fetch(db, QUERIES["containing"], bindings)
    return {key: int(count) for key, (count,) in zip(keys, counts, strict=True)}


async def _find_nearest(
    db: Connection, query: Query, filters: Conditions, space: Space, count: int
) -> list[int] | None:
    """Return the versions nearest to the vector that the ranking will use; None without a vector."""
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
    """Return whether the query names the speaker of one of the matching versions."""
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
    """Return the versions with the highest scores for these terms and their weights."""
    if not weights:
        return []
    bindings = {"keys": [*weights], "weights": [*weights.values()], "k1": K1, "most": _MAX_ENTRIES}
    query = QUERIES["wordiest"].format(conditions=filters.sql)
    return [int(row[0]) for row in await fetch(db, query, filters.bindings | bindings | {"wanted": count})]


async def _find_neighbours(db: Connection, filters: Conditions, positions: Sequence[int]) -> set[int]:
    bindings = {"positions": list(positions), "reach": _REACH}
    rows = await fetch(db, QUERIES["neighbours"].format(conditions=filters.sql), filters.bindings | bindings)
    return {int(position) for (position,) in rows}


# Binary form of an array: a header, then each number preceded by its size.
_ARRAY_HEADER = 20
_KEYS = np.dtype([("size", ">i4"), ("value", ">i8")])
_COUNTS = np.dtype([("size", ">i4"), ("value", ">i4")])
_MAX_COUNT = 0xFFFF
_VECTOR_HEADER = 4

# The columns of a version that an index reads. It has a session only if it is a turn of that session
# (`Record.conversation`). Counts of versions that older releases wrote come from `posting`.
INDEXED = (
    "position, id, user_id, type, standing, created_at, expires_at, length, occurred_at, moment,"
    " CASE WHEN jsonb_typeof(facts #> '{metadata,layer,kind}') = 'string'"
    " THEN CASE WHEN facts #>> '{metadata,layer,kind}' = 'turn' THEN session END"
    " WHEN jsonb_typeof(facts #> '{metadata,speaker}') = 'string'"
    " OR jsonb_typeof(facts #> '{metadata,role}') = 'string' THEN session END,"
    " CASE WHEN facts #>> '{metadata,fact,kind}' IS NOT NULL"
    " THEN jsonb_build_array(facts #> '{metadata,fact,subject}', facts #> '{metadata,fact,slot}',"
    " facts #> '{metadata,fact,given}')::text END,"
    " machine_said, vector, array_send(terms), array_send(coalesce(counts, ARRAY("
    "SELECT posting.count FROM unnest(version.terms) WITH ORDINALITY AS term (key, place)"
    " JOIN posting ON posting.tenant = version.tenant AND posting.key = term.key"
    " AND posting.position = version.position ORDER BY place)))"
)


class PostgresIndex(AgentIndex):
    """An index that also holds ids and vectors: while it is current, ranking needs no server."""

    def __init__(self, tenant: str, agent: str, dimension: int) -> None:
        super().__init__(dimension)
        self._tenant, self._agent = tenant, agent
        self._exact: Float16Vectors = Float16Vectors(dimension)
        self.missing: list[int] = []  # the positions whose tokens the last ranking lacked

    def key(self, term: str) -> int:
        return hash_term(self._tenant, self._agent, term)

    def ids(self, source: Source, rows: NDArray[Any]) -> Sequence[str]:
        return self._exact.ids_at(rows)

    def vectors(self, source: Source, rows: Rows) -> Vectors:
        return self._exact.at(rows)

    def read_tokens(self, source: Source, positions: Sequence[int]) -> Mapping[int, bytes]:
        """Return nothing: the caller fetches `missing` tokens, then ranks the rows again."""
        return {}

    def tokens(self, source: Source, rows: Sequence[int]) -> list[bytes | None]:
        """Return the cached tokens; the positions without any become `missing`."""
        positions = self.positions[rows].tolist()
        self.missing = [position for position in positions if position not in self._token_cache]
        return [*map(self._token_cache.get, positions)]

    def expect_words(self, *, compared: bool) -> None:
        super().expect_words(compared=compared)
        self.missing = []

    def learn_tokens(self, positions: Sequence[int], tokens: Mapping[int, bytes]) -> None:
        """Cache the tokens of the versions at these positions; positions without an entry have no tokens."""
        if len(self._token_cache) + len(positions) > 2 * SMALL_INDEX:
            self._clear_tokens()
        self._learn_tokens(positions, tokens)
        self.missing = []

    def add(self, rows: Iterable[Row]) -> None:
        """Add versions, given as rows with the columns of INDEXED."""
        self._add_rows(iter([_to_index_row(row) for row in rows]))

    def move_to(self, head: int, removals: Sequence[int], additions: Iterable[Row]) -> None:
        """Update the index to the change `head`: remove what has ended since and add what has begun."""
        self._remove(removals)
        self.add(additions)
        self.head = head

    def _add_exact(self, batch: Batch) -> None:
        if batch.ids is not None and not isinstance(batch.vectors, tuple):
            self._exact.extend(batch.ids, batch.vectors)


def _to_index_row(row: Row) -> Row:
    """Convert a row for the index: swaps the byte order of vectors and pairs terms with their counts."""
    *columns, vector, terms, counts = row
    bits = (
        None if vector is None else np.frombuffer(vector, ">u2", offset=_VECTOR_HEADER).byteswap().tobytes()
    )
    keys = np.frombuffer(terms[_ARRAY_HEADER:], _KEYS)["value"]
    entries = np.empty(len(keys), ENTRY)
    entries["term"] = keys
    entries["count"] = np.minimum(np.frombuffer(counts[_ARRAY_HEADER:], _COUNTS)["value"], _MAX_COUNT)
    return (*columns, bits, entries.tobytes())


class Searcher(Struct, frozen=True, kw_only=True):
    """Answers searches; `indexes` caches the agents with at most `exact` memories."""

    space: Space
    indexes: IndexCache[PostgresIndex]
    exact: int

    @classmethod
    def of(cls, space: Space, exact: int) -> "Searcher":
        def make(tenant: str, agent: str, users: frozenset[str | None] | None) -> PostgresIndex:
            return PostgresIndex(tenant, agent, space.dimension)

        return cls(space=space, indexes=IndexCache(make), exact=exact)

    async def search(self, db: Connection, query: Query, limit: int) -> list[Scored]:
        """Return the best `limit` hits."""
        ranking = await self._rank(db, query, limit)
        rows = await at_positions(db, query.where.scope.tenant, [hit.position for hit in ranking])
        return _build_hits(query, ranking, rows)

    async def search_cached(
        self, database: Database, query: Query, limit: int, settings: Mapping[str, str]
    ) -> list[Scored] | None:
        """Return the best `limit` hits from a cached index; None if the index cannot give a current answer.

        Ranks in memory, then fetches the records and the agent's newest change in one round trip (a filter
        takes a second one): if the index includes that change, the answer is current.
        """
        where, tenant = query.where, encode_text(query.where.scope.tenant)
        if where.as_of is not None or not self.indexes.head(where.scope.tenant, where.scope.agent):
            return None
        matches: list[int] | None = None
        if needs_rows(where):
            filters = conditions(where)
            if filters.rest != EVERYTHING:
                return None
            statement = QUERIES["positions"].format(conditions=filters.sql)
            [matching] = await database.at_once(tenant, [(statement, filters.bindings)], settings)
            matches = [int(position) for (position,) in matching]
        with self.indexes.take(where.scope.tenant, where.scope.agent) as index:
            index_head = index.head
            ranking = rank(None, index, _select(index, where, matches), query, limit)
            missing = index.missing
        if missing:
            request = (QUERIES["tokens_at"], {"tenant": tenant, "positions": missing})
            [tokens] = await database.at_once(tenant, [request], settings)
            with self.indexes.take(where.scope.tenant, where.scope.agent) as index:
                if index.head != index_head:
                    return None
                index.learn_tokens(missing, _read_tokens(tokens))
                ranking = rank(None, index, _select(index, where, matches), query, limit)
        newest = (QUERIES["agent_now"], bind_scope(where.scope))
        records = records_at(where.scope.tenant, [hit.position for hit in ranking])
        state, rows = await database.at_once(tenant, [newest, records], settings)
        for live, _, head, current_space in state:
            refuse_if_reembedded(current_space, self.space)
            if head == index_head and live <= self.exact:
                return _build_hits(query, ranking, {int(row[0]): row for row in rows})
        return None

    def refuse_others(self, query: Query) -> None:
        """Raise InvalidRequest if the query's vector is of another embedding space."""
        if query.vector is not None:
            read_vector(query.vector, self.space)

    async def _rank(self, db: Connection, query: Query, limit: int) -> list[Ranked]:
        scope = query.where.scope
        state = await fetch(db, QUERIES["agent_now"], bind_scope(scope)) or [(0, 0, 0, None)]
        [(live, words, head, current_space)] = state
        refuse_if_reembedded(current_space, self.space)
        if query.where.as_of is not None:
            return await self._rank_all(db, query, limit)
        if live <= self.exact:
            return await self._rank_cached(db, query, limit, int(head))
        if await self._is_small(db, scope):
            return await self._rank_all(db, query, limit)
        filters = conditions(query.where)
        candidates = None
        if filters.rest == EVERYTHING:
            size = (int(live), int(words))
            candidates = await choose_candidates(db, query, filters, self.space, size, limit)
        if candidates is None:  # few rows match the conditions, so all of them are ranked
            return await self._rank_all(db, query, limit)
        return await self._rank_some(db, query, limit, *candidates)

    async def _is_small(self, db: Connection, scope: Scope) -> bool:
        if scope.user is None:
            return False
        bindings = bind_scope(scope) | {"most": self.exact + 1}
        [(of_user,)] = await fetch(db, QUERIES["user_size"], bindings)
        return int(of_user) <= self.exact

    async def _rank_cached(self, db: Connection, query: Query, limit: int, head: int) -> list[Ranked]:
        where = query.where
        matches = await positions(db, conditions(where)) if needs_rows(where) else None
        name = (where.scope.tenant, where.scope.agent)
        while True:
            with self.indexes.take(*name) as index:
                index_head = index.head
                if index_head >= head:
                    ranking = rank(db, index, _select(index, where, matches), query, limit)
                    if not index.missing:
                        return ranking
                missing = index.missing
            if missing:
                tokens = await self._fetch_tokens(db, where.scope.tenant, missing)
                with self.indexes.take(*name) as index:
                    index.learn_tokens(missing, tokens)
                continue
            removals, additions = await _read_changes(db, where.scope, index_head, head)
            with self.indexes.take(*name) as index:
                if index.head == index_head:  # else another search has updated it meanwhile
                    index.move_to(head, removals, additions)

    async def _rank_all(self, db: Connection, query: Query, limit: int) -> list[Ranked]:
        matching = await positions(db, conditions(query.where))
        return await self._rank_some(db, query, limit, matching, None)

    async def _rank_some(
        self,
        db: Connection,
        query: Query,
        limit: int,
        chosen: Sequence[int],
        statistics: Statistics | None,
    ) -> list[Ranked]:
        """Rank these versions in an index that is built for this query alone."""
        scope = query.where.scope
        bindings = {"tenant": encode_text(scope.tenant), "positions": list(chosen)}
        index = PostgresIndex(scope.tenant, scope.agent, self.space.dimension)
        index.add(await fetch(db, QUERIES["shelf_at"].format(indexed=INDEXED), bindings))
        ranking = rank(db, index, Selection.of_all(len(index)), query, limit, statistics)
        if index.missing:
            index.learn_tokens(index.missing, await self._fetch_tokens(db, scope.tenant, index.missing))
            ranking = rank(db, index, Selection.of_all(len(index)), query, limit, statistics)
        return ranking

    async def _fetch_tokens(
        self, db: Connection, tenant: str, positions: Sequence[int]
    ) -> Mapping[int, bytes]:
        bindings = {"tenant": encode_text(tenant), "positions": list(positions)}
        return _read_tokens(await fetch(db, QUERIES["tokens_at"], bindings))


def _read_tokens(rows: Iterable[Row]) -> Mapping[int, bytes]:
    return {int(position): bytes(tokens) for position, tokens in rows}


async def _read_changes(db: Connection, scope: Scope, since: int, head: int) -> tuple[list[int], list[Row]]:
    """Return the positions that ended between two changes of an agent, and the rows that began."""
    bindings = bind_scope(scope) | {"seen": since, "head": head}
    rows = await fetch(db, QUERIES["shelf_ended"], bindings) if since else []
    statement = QUERIES["shelf_begun" if since else "shelf_all"].format(indexed=INDEXED)
    return [int(position) for (position,) in rows], await fetch(db, statement, bindings)


def _build_hits(query: Query, ranking: Sequence[Ranked], rows: Mapping[int, Row]) -> list[Scored]:
    """Return the ranked versions with their records; skips those that are gone or no longer match."""
    hits = [
        Scored(
            record=read_record(rows[hit.position]), score=hit.score, signals=hit.signals, tokens=hit.tokens
        )
        for hit in ranking
        if hit.position in rows
    ]
    return [hit for hit in hits if query.where.matches(hit.record)]


def _select(index: PostgresIndex, where: Where, matches: Sequence[int] | None) -> Selection:
    """Select the rows that a query may see; the index has user names as the server stores them."""
    scope = replace(where.scope, user=encode_optional(where.scope.user))
    owners, _ = find_owners(where.filter)
    filter = EVERYTHING if owners is None else owned_by(*map(encode_optional, owners))
    selection = index.select(replace(where, scope=scope, filter=filter))
    if matches is None:
        return selection
    return selection.filter(np.isin(selection.align(index.positions), matches))
