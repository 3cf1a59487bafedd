"""Answers a query from the agent's shelf and the file, as of one moment."""

from collections.abc import Callable
from dataclasses import replace

import apsw
import numpy as np

from memorywire.model.errors import InvalidRequest
from memorywire.model.query import DAMAGED_VECTORS, Query, Scored
from memorywire.model.space import Space
from memorywire.model.values import maker
from memorywire.model.where import Where
from memorywire.stores.contract import Enough
from memorywire.stores.sqlite.agent_index import AgentIndex
from memorywire.stores.sqlite.connection import snapshot
from memorywire.stores.sqlite.index_cache import IndexCache
from memorywire.stores.sqlite.migrate import refuse_if_reembedded
from memorywire.stores.sqlite.pushdown import needs_rows
from memorywire.stores.sqlite.ranking import rank
from memorywire.stores.sqlite.reading import at_positions, positions
from memorywire.stores.sqlite.rows import Seen, as_written
from memorywire.stores.sqlite.selection import Selection

_FEW_CHANGES = 32
_scored: Callable[..., Scored] = maker(Scored)


def search(
    db: apsw.Connection,
    index_cache: IndexCache,
    space: Space,
    query: Query,
    limit: int,
    seen: Seen = as_written,
) -> list[Scored]:
    """The best hits; `seen` tells when each was last recalled."""
    _refuse_if_foreign(query, space)
    if query.where.as_of is not None:
        with snapshot(db):
            refuse_if_reembedded(db, space)
            return _answer(db, _past(db, space, query.where), query, limit, seen)
    while True:
        whose = index_cache.whose(query.where.scope)
        with index_cache.take(*whose) as agent_index, snapshot(db):
            refuse_if_reembedded(db, space)
            if agent_index.catch_up(db):
                return _answer(db, agent_index, query, limit, seen)
        index_cache.note_crowd(whose)


def search_here(
    db: apsw.Connection,
    index_cache: IndexCache,
    space: Space,
    question: Query,
    ask: Callable[[], Query],
    wanted: tuple[int, Enough | None],
    seen: Seen,
) -> list[Scored] | None:
    """As `search` for the present, on this thread; `ask` completes the question when vectors are needed.

    `wanted` is the limit, and what is enough of a shelf whose rows are alike. None when it would take too
    long while somebody waits on this thread: the shelf is far behind, or too much matches, or rows must be
    read.
    """

    def asked() -> Query:
        query = ask()
        _refuse_if_foreign(query, space)
        return query

    with index_cache.take(*index_cache.whose(question.where.scope)) as agent_index, snapshot(db):
        refuse_if_reembedded(db, space)
        if not agent_index.catch_up(db, _FEW_CHANGES if agent_index.small else 0):
            return None
        if not agent_index.is_at_hand(question.where):
            return None
        limit, enough = wanted
        return _answer(db, agent_index, question, limit, seen, asked, enough if agent_index.alike else None)


def _refuse_if_foreign(query: Query, space: Space) -> None:
    if query.vector is not None and len(query.vector) != 4 * space.dimension:
        raise InvalidRequest(f"the vector is not of the space {space}", field="vector")


def _past(db: apsw.Connection, space: Space, where: Where) -> AgentIndex:
    """A shelf of what matched at a moment in the past, for this query alone."""
    agent_index = AgentIndex(where.scope.tenant, where.scope.agent, space.dimension)
    agent_index.load(db, positions(db, where))
    return agent_index


def _answer(
    db: apsw.Connection,
    agent_index: AgentIndex,
    query: Query,
    limit: int,
    seen: Seen,
    ask: Callable[[], Query] | None = None,
    enough: Enough | None = None,
) -> list[Scored]:
    selection = _selection(db, agent_index, query.where)
    ranked = rank(db, agent_index, selection, query, limit, ask=ask, enough=enough)
    records = at_positions(db, [hit.position for hit in ranked], seen)
    hits = [_scored(records[hit.position], hit.score, hit.signals) for hit in ranked]
    if agent_index.damaged:
        hits = [_told_damaged(hit, agent_index.damaged) for hit in hits]
    if query.where.as_of is None and not needs_rows(query.where):  # then the shelf knows
        return hits
    return [hit for hit in hits if query.where.matches(hit.record)]


def _told_damaged(hit: Scored, damaged: int) -> Scored:
    return replace(hit, signals={**hit.signals, DAMAGED_VECTORS: float(damaged)})


def _selection(db: apsw.Connection, agent_index: AgentIndex, where: Where) -> Selection:
    found = agent_index.matching(where)
    if where.as_of is None and needs_rows(where) and found.size:
        found = found.where(np.isin(found.pick(agent_index.positions), positions(db, where)))
    return found
