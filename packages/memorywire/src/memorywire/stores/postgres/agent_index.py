"""The current versions of an agent, held in memory as the embedded store holds them: the same ranking.

A shelf is a cache. It catches up by commit sequence before each search, so an answer is never older than the
moment it was asked for.
"""

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from memorywire.stores.postgres.database import Connection, Row, fetch
from memorywire.stores.postgres.queries import QUERIES
from memorywire.stores.postgres.rows import term_key
from memorywire.stores.sqlite.agent_index import AgentIndex, Source
from memorywire.stores.sqlite.batch import ENTRY, Batch
from memorywire.stores.sqlite.exact import Exact, Vectors
from memorywire.stores.sqlite.float16 import widened
from memorywire.stores.sqlite.growing import Growing

# As the server sends arrays: behind a header, each number behind its own size.
_ARRAY_HEADER = 20
_KEYS = np.dtype([("size", ">i4"), ("value", ">i8")])
_COUNTS = np.dtype([("size", ">i4"), ("value", ">i4")])
_MOST = 0xFFFF
_VECTOR_HEADER = 4

# What a shelf reads of a version; one that older releases wrote has no counts of its own.
INDEXED = (
    "position, id, user_id, type, standing, created_at, expires_at, length, occurred_at, moment, session,"
    " machine_said, vector, array_send(terms), array_send(coalesce(counts, ARRAY("
    "SELECT posting.count FROM unnest(version.terms) WITH ORDINALITY AS term (key, place)"
    " JOIN posting ON posting.tenant = version.tenant AND posting.key = term.key"
    " AND posting.position = version.position ORDER BY place)))"
)


class PostgresShelf(AgentIndex):
    """A shelf that also keeps ids and vectors: once it has caught up, ranking needs no server."""

    def __init__(self, tenant: str, agent: str, dimension: int) -> None:
        super().__init__(tenant, agent, dimension)
        self._tenant, self._agent = tenant, agent
        self._exact: _Halves = _Halves(dimension)

    def key(self, term: str) -> int:
        return term_key(self._tenant, self._agent, term)

    def ids(self, db: Source, rows: NDArray[Any]) -> Sequence[str]:
        return self._exact.named(rows)

    def vectors(self, db: Source, rows: NDArray[np.int32]) -> Vectors:
        return self._exact.at(rows)

    def take(self, rows: Iterable[Row]) -> None:
        """Add versions, in columns of INDEXED."""
        self._fill(iter([_as_in_a_file(row) for row in rows]))

    def move_to(self, head: int, ended: Sequence[int], begun: Iterable[Row]) -> None:
        """Show what is current after the change `head`: without what ended since `seen`, with what began."""
        self._remove(ended)
        self.take(begun)
        self.seen = head

    def _keep_exact(self, batch: Batch) -> None:
        if batch.ids is not None and batch.halves is not None:
            self._exact.extend(batch.ids, batch.halves)


class _Halves(Exact):
    """Vectors in 16 bits, made wide when they are asked for."""

    def __init__(self, dimension: int) -> None:
        super().__init__(dimension)
        self._matrix = Growing("u2", dimension)

    def extend(self, ids: Sequence[str], halves: NDArray[np.uint16]) -> None:
        self._ids += ids
        self._matrix.extend(halves)

    def named(self, rows: NDArray[Any]) -> list[str]:
        return [self._ids[row] for row in rows.tolist()]

    def at(self, rows: NDArray[Any]) -> Vectors:
        return Vectors(self.named(rows), widened(self._matrix.values[rows]).astype(np.float64))


class Since:
    """What happened to an agent between two of its changes."""

    def __init__(self, seen: int, head: int) -> None:
        self.seen, self.head = seen, head
        self._ended: list[int] = []
        self._begun: list[Row] = []

    async def read(self, db: Connection, name: dict[str, Any]) -> None:
        asked = name | {"seen": self.seen, "head": self.head}
        if self.seen:
            self._ended = [int(at) for (at,) in await fetch(db, QUERIES["shelf_ended"], asked)]
        query = QUERIES["shelf_begun" if self.seen else "shelf_all"]
        self._begun = await fetch(db, query.format(indexed=INDEXED), asked)

    def apply(self, agent_index: PostgresShelf) -> None:
        """Bring the shelf up to date, unless another search has already moved it elsewhere."""
        if agent_index.seen == self.seen:
            agent_index.move_to(self.head, self._ended, self._begun)


def _as_in_a_file(row: Row) -> Row:
    """The row as the embedded store has it: bytes the other way round, terms beside their counts."""
    *columns, vector, terms, counts = row
    halves = (
        None if vector is None else np.frombuffer(vector, ">u2", offset=_VECTOR_HEADER).byteswap().tobytes()
    )
    keys = np.frombuffer(terms[_ARRAY_HEADER:], _KEYS)["value"]
    entries = np.empty(len(keys), ENTRY)
    entries["term"] = keys
    entries["count"] = np.minimum(np.frombuffer(counts[_ARRAY_HEADER:], _COUNTS)["value"], _MOST)
    return (*columns, halves, entries.tobytes())
