"""Answers a query: the rows that could win are held in memory, and ranked as the embedded store ranks.

The index of an agent with few memories is kept from one search to the next, and the answer is exact. In a
larger one the contenders are chosen by the server's indexes, and statistics are the agent's.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import cast

import numpy as np

from memorywire.model.query import Query, Scored
from memorywire.model.record import Scope
from memorywire.model.space import Space
from memorywire.model.where import EVERYTHING, Where
from memorywire.stores.postgres.agent_index import INDEXED, PostgresShelf, Since
from memorywire.stores.postgres.contenders import contenders
from memorywire.stores.postgres.database import Connection, Row, fetch
from memorywire.stores.postgres.filters import conditions
from memorywire.stores.postgres.migrate import refuse_if_reembedded
from memorywire.stores.postgres.queries import QUERIES
from memorywire.stores.postgres.reading import at_positions, positions
from memorywire.stores.postgres.rows import floats, kept, record_of, scope_row, some
from memorywire.stores.sqlite.agent_index import AgentIndex
from memorywire.stores.sqlite.candidate import Ranked
from memorywire.stores.sqlite.index_cache import IndexCache
from memorywire.stores.sqlite.pushdown import needs_rows
from memorywire.stores.sqlite.ranking import Statistics, rank
from memorywire.stores.sqlite.selection import Selection


@dataclass(frozen=True, slots=True, kw_only=True)
class Searcher:
    """Answers searches; `shelves` hold the agents that have at most `exact` memories."""

    space: Space
    index_cache: IndexCache
    exact: int

    @classmethod
    def of(cls, space: Space, exact: int) -> "Searcher":
        return cls(space=space, index_cache=IndexCache(space.dimension, make=PostgresShelf), exact=exact)

    async def search(self, db: Connection, query: Query, limit: int) -> list[Scored]:
        """The best `limit`."""
        ranked = await self._ranked(db, query, limit)
        found = await at_positions(db, query.where.scope.tenant, [hit.position for hit in ranked])
        return hits_of(query, ranked, found)

    def refuse_others(self, query: Query) -> None:
        """Raises InvalidRequest for a vector of another space."""
        if query.vector is not None:
            floats(query.vector, self.space)

    def holds(self, scope: Scope) -> bool:
        """Whether a shelf of the agent is in memory, however old it is."""
        return self.index_cache.seen(scope.tenant, scope.agent) > 0

    def ranked_by_heart(
        self, query: Query, limit: int, allowed: Sequence[int] | None
    ) -> tuple[int, list[Ranked]]:
        """The best by what is in memory, among those allowed, and the change up to which that was current."""
        where = query.where
        with self.index_cache.take(where.scope.tenant, where.scope.agent) as agent_index:
            return agent_index.seen, rank(
                None, agent_index, _selection(agent_index, where, allowed), query, limit
            )

    async def _ranked(self, db: Connection, query: Query, limit: int) -> list[Ranked]:
        scope = query.where.scope
        found = await fetch(db, QUERIES["agent_now"], scope_row(scope)) or [(0, 0, 0, None)]
        [(live, words, head, reembedded)] = found
        refuse_if_reembedded(reembedded, self.space)
        if query.where.as_of is not None:
            return await self._among_few(db, query, limit)
        if live <= self.exact:
            return await self._on_shelf(db, query, limit, int(head))
        if await self._is_small(db, scope):
            return await self._among_few(db, query, limit)
        asked = conditions(query.where)
        chosen = None
        if asked.rest == EVERYTHING:
            chosen = await contenders(db, query, asked, self.space, (int(live), int(words)), limit)
        if chosen is None:  # the conditions let few through: those are looked at one by one
            return await self._among_few(db, query, limit)
        return await self._beside(db, query, limit, chosen.positions, chosen.crowd)

    async def _is_small(self, db: Connection, scope: Scope) -> bool:
        if scope.user is None:
            return False
        asked = scope_row(scope) | {"most": self.exact + 1}
        [(of_user,)] = await fetch(db, QUERIES["user_size"], asked)
        return int(of_user) <= self.exact

    async def _on_shelf(self, db: Connection, query: Query, limit: int, head: int) -> list[Ranked]:
        where = query.where
        allowed = await positions(db, conditions(where)) if needs_rows(where) else None
        name = (where.scope.tenant, where.scope.agent)
        while True:
            with self.index_cache.take(*name) as agent_index:
                seen = agent_index.seen
                if seen >= head:
                    return rank(db, agent_index, _selection(agent_index, where, allowed), query, limit)
            since = Since(seen, head)
            await since.read(db, scope_row(where.scope))
            with self.index_cache.take(*name) as agent_index:
                since.apply(cast(PostgresShelf, agent_index))

    async def _among_few(self, db: Connection, query: Query, limit: int) -> list[Ranked]:
        asked = conditions(query.where)
        return await self._beside(db, query, limit, await positions(db, asked), None)

    async def _beside(
        self, db: Connection, query: Query, limit: int, chosen: Sequence[int], crowd: Statistics | None
    ) -> list[Ranked]:
        """Rank these versions on a shelf for this query alone."""
        scope = query.where.scope
        asked = {"tenant": kept(scope.tenant), "positions": list(chosen)}
        agent_index = PostgresShelf(scope.tenant, scope.agent, self.space.dimension)
        agent_index.take(await fetch(db, QUERIES["shelf_at"].format(indexed=INDEXED), asked))
        return rank(db, agent_index, Selection.of_all(len(agent_index)), query, limit, crowd)


def hits_of(query: Query, ranked: Sequence[Ranked], found: Mapping[int, Row]) -> list[Scored]:
    """The ranked versions with their records; without those that are gone or no longer match."""
    hits = [
        Scored(record=record_of(found[hit.position]), score=hit.score, signals=hit.signals)
        for hit in ranked
        if hit.position in found
    ]
    return [hit for hit in hits if query.where.matches(hit.record)]


def _selection(agent_index: AgentIndex, where: Where, allowed: Sequence[int] | None) -> Selection:
    """What a query may see; a shelf knows users by the names the server keeps."""
    scope = where.scope
    found = agent_index.matching(replace(where, scope=replace(scope, user=some(scope.user))))
    return found if allowed is None else found.where(np.isin(found.pick(agent_index.positions), allowed))
