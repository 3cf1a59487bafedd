"""Answers queries from an agent's index and the file, in one snapshot."""

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import apsw
import numpy as np
from msgspec.structs import replace
from numpy.typing import NDArray

from memorywire.index.agent_index import SMALL_INDEX, AgentIndex
from memorywire.index.arrays import Rows, Selection
from memorywire.index.cache import IndexCache, needs_rows
from memorywire.index.ranking import rank
from memorywire.index.vectors import Vectors, decode_vectors
from memorywire.model.errors import InvalidRequest
from memorywire.model.query import DAMAGED_VECTORS, Enough, Query, Scored, Where
from memorywire.model.space import Space
from memorywire.stores.sqlite.connection import refuse_if_reembedded, snapshot
from memorywire.stores.sqlite.reads import at_positions, ids_at, positions
from memorywire.stores.sqlite.rows import Bindings, LastRecalled, Row, hash_term, use_stored
from memorywire.stores.sqlite.segments import SEGMENT_ROWS, read_begun, read_ranges, read_segments
from memorywire.stores.sqlite.sql import QUERIES

_FEW_CHANGES = 32  # the most changes that a search on the event loop's thread reads to catch up


class SqliteIndex(AgentIndex):
    """An agent's index, loaded from the file."""

    def __init__(self, tenant: str, agent: str, dimension: int) -> None:
        super().__init__(dimension)
        self._name: Bindings = {"tenant": tenant, "agent": agent}

    def key(self, term: str) -> int:
        return hash_term(term)

    def ids(self, source: apsw.Connection, rows: NDArray[Any]) -> Sequence[str]:
        return ids_at(source, self.positions[rows].tolist())

    def vectors(self, source: apsw.Connection, rows: Rows) -> Vectors:
        if self._exact is not None:
            return self._exact.at(rows)
        return self._vector_cache.at(
            rows, lambda some: _read_vectors(source, self.positions[some].tolist(), self.quantized.dimension)
        )

    def read_tokens(self, source: apsw.Connection, positions: Sequence[int]) -> Mapping[int, bytes]:
        return dict(source.execute(QUERIES["tokens_at"], {"positions": json.dumps(positions)}))

    def catch_up(self, db: apsw.Connection, max_changes: int | None = None) -> bool:
        """Update the index to exactly the versions that are current in the caller's snapshot.

        Returns False, without a change, if the index is more than `max_changes` changes behind.
        """
        head = int(db.execute(QUERIES["head"]).get)
        if head == self.head:
            return True
        if max_changes is not None and head - self.head > max_changes:
            return False
        if self.head:
            rows = db.execute(QUERIES["index_ended"], self._name | {"seen": self.head})
            self._remove([position for (position,) in rows])
            self._add_rows(read_begun(db, self._name, self.head, head))
        else:
            self._load_all(db, head)
        self.head = head
        return True

    def load(self, db: apsw.Connection, positions: Sequence[int]) -> None:
        """Add the versions at these positions of the file."""
        self._add_rows(db.execute(QUERIES["index_at"], {"positions": json.dumps(positions)}))

    def _load_all(self, db: apsw.Connection, head: int) -> None:
        """Load all current versions: from segments where they exist, else from rows."""
        self._reserve(self._estimate_size(db))
        upto, oldest = 0, head
        for segment in read_segments(db, self._name):
            self._add_rows(read_begun(db, self._name, upto, segment.since))
            if (batch := segment.batch) is not None:
                self._add_batch(batch)
            upto, oldest = segment.upto, min(oldest, segment.seen)
        if not upto:
            self._add_rows(db.execute(QUERIES["index_live"], self._name))
            return
        self._add_rows(read_begun(db, self._name, upto, head))
        rows = db.execute(QUERIES["index_ended_since"], self._name | {"seen": oldest})
        self._remove([position for (position,) in rows])

    def _estimate_size(self, db: apsw.Connection) -> int:
        """Estimate how many rows will be loaded: the capacity of the segments, and the rows after them."""
        ranges = read_ranges(db, self._name)
        if not ranges:
            return int(db.execute(QUERIES["index_size"], self._name).get)
        behind = db.execute(QUERIES["puts_behind"], self._name | {"upto": ranges[-1][1]}).get
        return SEGMENT_ROWS * len(ranges) + int(behind)


class UserIndex(SqliteIndex):
    """A small index of some users, such as one user and the memories without a user (None).

    Other users of the agent do not make it slower to fill or to search.

    A search looks only at the rows it selects, so the answer is the same as from the agent's index.
    """

    def __init__(self, tenant: str, agent: str, users: frozenset[str | None], dimension: int) -> None:
        super().__init__(tenant, agent, dimension)
        self._owner: Bindings = {
            "tenant": tenant,
            "agent": agent,
            "users": json.dumps([user for user in users if user is not None]),
            "own": None in users,
            "most": SMALL_INDEX + 1,
        }
        self._extent: Row = (0, 0)  # the number of the users' versions, and the position of the last

    def catch_up(self, db: apsw.Connection, max_changes: int | None = None) -> bool:
        """Update the index to exactly the users' versions that are current in the caller's snapshot.

        Returns False, without a change, if there are more than a small index holds, or if more than
        `max_changes` differ.
        """
        head = int(db.execute(QUERIES["head"]).get)
        if head == self.head:
            return True
        [extent] = db.execute(QUERIES["extent_of_users"], self._owner)
        if extent[0] > SMALL_INDEX:
            return False
        # Positions rise and are never reused: if count and last position are the same, nothing changed.
        if extent != self._extent:
            live = {position for (position,) in db.execute(QUERIES["positions_of_users"], self._owner)}
            present = set(self.positions[self._current.values].tolist())
            if max_changes is not None and len(live ^ present) > max_changes:
                return False
            self._remove([*(present - live)])
            self.load(db, [*(live - present)])
        self._extent, self.head = extent, head
        return True


def make_index(tenant: str, agent: str, users: frozenset[str | None] | None, dimension: int) -> SqliteIndex:
    """Return an empty index of the agent or of some of its users."""
    if users is None:
        return SqliteIndex(tenant, agent, dimension)
    return UserIndex(tenant, agent, users, dimension)


def search(
    db: apsw.Connection,
    indexes: IndexCache[SqliteIndex],
    space: Space,
    query: Query,
    limit: int,
    last_recalled: LastRecalled = use_stored,
) -> list[Scored]:
    """Return the best hits; `last_recalled` returns when each was last recalled."""
    _refuse_if_foreign(query, space)
    if query.where.as_of is not None:
        with snapshot(db):
            refuse_if_reembedded(db, space)
            return _answer(db, _load_past(db, space, query.where), query, limit, last_recalled)
    while True:
        owner = indexes.choose_owner(query.where)
        with indexes.take(*owner) as index, snapshot(db):
            refuse_if_reembedded(db, space)
            if index.catch_up(db):
                return _answer(db, index, query, limit, last_recalled)
        indexes.mark_large(owner)


def search_here(
    db: apsw.Connection,
    indexes: IndexCache[SqliteIndex],
    space: Space,
    question: Query,
    ask: Callable[[], Query],
    bounds: tuple[int, Enough | None],
    last_recalled: LastRecalled,
) -> list[Scored] | None:
    """Like `search` of the present, on this thread; calls `ask` for the query with vectors when needed.

    `bounds` are the limit, and `enough` for an index with uniform rows. Returns None if it would block
    the event loop: if the index is far behind, too many rows match, or rows must be read.
    """

    def complete() -> Query:
        query = ask()
        _refuse_if_foreign(query, space)
        return query

    with indexes.take(*indexes.choose_owner(question.where)) as index, snapshot(db):
        refuse_if_reembedded(db, space)
        if not index.catch_up(db, _FEW_CHANGES if index.is_small else 0):
            return None
        if not index.is_in_memory(question.where):
            return None
        limit, enough = bounds
        return _answer(
            db, index, question, limit, last_recalled, complete, enough if index.is_uniform else None
        )


def _refuse_if_foreign(query: Query, space: Space) -> None:
    if query.vector is not None and len(query.vector) != 4 * space.dimension:
        raise InvalidRequest(f"the vector is not of the space {space}", field="vector")


def _load_past(db: apsw.Connection, space: Space, where: Where) -> SqliteIndex:
    """Load a temporary index of the versions that matched at a time in the past."""
    index = SqliteIndex(where.scope.tenant, where.scope.agent, space.dimension)
    index.load(db, positions(db, where))
    return index


def _answer(
    db: apsw.Connection,
    index: SqliteIndex,
    query: Query,
    limit: int,
    last_recalled: LastRecalled,
    complete: Callable[[], Query] | None = None,
    enough: Enough | None = None,
) -> list[Scored]:
    ranking = rank(db, index, _select(db, index, query.where), query, limit, complete=complete, enough=enough)
    records = at_positions(db, [hit.position for hit in ranking], last_recalled)
    hits = [
        Scored(record=records[hit.position], score=hit.score, signals=hit.signals, tokens=hit.tokens)
        for hit in ranking
    ]
    if index.damaged:
        hits = [_add_damaged(hit, index.damaged) for hit in hits]
    if query.where.as_of is None and not needs_rows(query.where):  # the index has checked the whole condition
        return hits
    return [hit for hit in hits if query.where.matches(hit.record)]


def _add_damaged(hit: Scored, count: int) -> Scored:
    return replace(hit, signals={**hit.signals, DAMAGED_VECTORS: float(count)})


def _select(db: apsw.Connection, index: SqliteIndex, where: Where) -> Selection:
    selection = index.select(where)
    if where.as_of is None and needs_rows(where) and selection.size:
        selection = selection.filter(np.isin(selection.align(index.positions), positions(db, where)))
    return selection


def _read_vectors(db: apsw.Connection, positions: Sequence[int], dimension: int) -> Vectors:
    """Return the ids and vectors of these versions, in this order."""
    rows = db.execute(QUERIES["vectors_at"], {"positions": json.dumps(positions)})
    by_position = {position: (id, vector) for position, id, vector in rows}
    _, vectors, _ = decode_vectors([by_position[position][1] for position in positions], dimension)
    return Vectors([by_position[position][0] for position in positions], vectors)
