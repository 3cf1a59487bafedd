"""Answers a search in one trip to the server when nothing was written since the last one; in two by a filter.

The answer is worked out on what is held in memory. Then the server is asked at once for its records and for
the agent's newest change: when that is the one the answer was worked out on, the answer is current.
"""

from collections.abc import Mapping

from memorywire.model.query import Query, Scored
from memorywire.model.where import EVERYTHING
from memorywire.stores.postgres.database import Database
from memorywire.stores.postgres.filters import conditions
from memorywire.stores.postgres.migrate import refuse_if_reembedded
from memorywire.stores.postgres.queries import QUERIES
from memorywire.stores.postgres.reading import records_at
from memorywire.stores.postgres.rows import kept, scope_row
from memorywire.stores.postgres.searching import Searcher, hits_of
from memorywire.stores.sqlite.pushdown import needs_rows


async def glance(
    database: Database, searcher: Searcher, query: Query, limit: int, settings: Mapping[str, str]
) -> list[Scored] | None:
    """The best `limit` hits; None when that cannot be told in one trip."""
    where, tenant = query.where, kept(query.where.scope.tenant)
    if where.as_of is not None or not searcher.holds(where.scope):
        return None
    allowed: list[int] | None = None
    if needs_rows(where):
        asked = conditions(where)
        if asked.rest != EVERYTHING:
            return None
        which = QUERIES["positions"].format(conditions=asked.sql)
        [matching] = await database.at_once(tenant, [(which, asked.bindings)], settings)
        allowed = [int(position) for (position,) in matching]
    seen, ranked = searcher.ranked_by_heart(query, limit, allowed)
    now = (QUERIES["agent_now"], scope_row(where.scope))
    records = records_at(where.scope.tenant, [hit.position for hit in ranked])
    news, found = await database.at_once(tenant, [now, records], settings)
    for live, _, head, reembedded in news:
        refuse_if_reembedded(reembedded, searcher.space)
        if head == seen and live <= searcher.exact:
            return hits_of(query, ranked, {int(row[0]): row for row in found})
    return None
