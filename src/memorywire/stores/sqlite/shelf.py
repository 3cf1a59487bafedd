"""The current versions of one agent, held in memory as arrays: what a search looks at.

A shelf is a cache of the file. It catches up by commit sequence, inside the same snapshot as the
query that uses it, so it never shows anything the file does not hold.
"""

import json
from collections.abc import Iterator, Sequence
from itertools import islice

import apsw
import numpy as np
from numpy.typing import NDArray

from memorywire.model.record import MemoryType, Standing
from memorywire.model.where import Where
from memorywire.stores.sqlite.neighbourhood import Neighbourhood
from memorywire.stores.sqlite.postings import Growing, Postings
from memorywire.stores.sqlite.rows import Row
from memorywire.stores.sqlite.sql import QUERIES

_BATCH = 4096
_NEVER = 2**63 - 1
_UNSAID = -(2**63)
_MOST_GAPS = 1024
_ID_BYTES = 100  # of a Python string and its place in a list; an estimate

_TYPES = {kind.value: code for code, kind in enumerate(MemoryType)}
_STANDINGS = {standing.value: code for code, standing in enumerate(Standing)}
_DEMOTED = _STANDINGS[Standing.DEMOTED.value]


class Shelf:
    """Rows of one (tenant, agent); its caller sees to it that one thread uses it at a time."""

    def __init__(self, tenant: str, agent: str, dimension: int) -> None:
        self._name = {"tenant": tenant, "agent": agent}
        self._seen = 0
        self._gaps = 0
        self._no_vector = bytes(2 * dimension)
        self._users: dict[str | None, int] = {}
        self._user = Growing("i4")
        self._type = Growing("i1")
        self._standing = Growing("i1")
        self._created = Growing("i8")
        self._expires = Growing("i8")
        self._position = Growing("i8")
        self._length = Growing("f8")
        self._occurred = Growing("i8")
        self._moment = Growing("i8")
        self._session = Growing("i4")
        self._machine = Growing("?")
        self._current = Growing("?")
        self._matrix = Growing("f4", dimension)
        self._columns = (
            self._user,
            self._type,
            self._standing,
            self._created,
            self._expires,
            self._position,
            self._length,
            self._occurred,
            self._moment,
            self._session,
            self._machine,
            self._current,
            self._matrix,
        )
        self._sessions: dict[tuple[str | None, str], int] = {}
        self._in_order: NDArray[np.int64] | None = None
        self.ids: list[str] = []
        self.postings = Postings()

    def __len__(self) -> int:
        return len(self.ids)

    @property
    def nbytes(self) -> int:
        arrays = sum(column.nbytes for column in self._columns)
        return arrays + self.postings.nbytes + _ID_BYTES * len(self.ids)

    @property
    def positions(self) -> NDArray[np.int64]:
        return self._position.values

    @property
    def lengths(self) -> NDArray[np.float64]:
        return self._length.values

    @property
    def matrix(self) -> NDArray[np.float32]:
        return self._matrix.values

    @property
    def occurred(self) -> NDArray[np.int64]:
        """When each happened, as somebody said; before all time where nobody did."""
        return self._occurred.values

    @property
    def moments(self) -> NDArray[np.int64]:
        return self._moment.values

    @property
    def machine_said(self) -> NDArray[np.bool_]:
        return self._machine.values

    def neighbourhood(self, mask: NDArray[np.bool_], rows: NDArray[np.int64]) -> Neighbourhood:
        """Who stands beside whom in a session, among the masked rows."""
        if self._in_order is None:
            self._in_order = self._session_order()
        ordered = self._in_order[mask[self._in_order]]
        number = np.cumsum(mask) - 1
        return Neighbourhood(number[ordered], self._session.values[ordered], len(rows))

    def _session_order(self) -> NDArray[np.int64]:
        """Rows that belong to a session, by session, moment and id."""
        belonging = np.flatnonzero(self._session.values >= 0)
        ids = np.array([self.ids[row] for row in belonging.tolist()], dtype=object)
        by_id = belonging[np.argsort(ids, kind="stable")] if len(ids) else belonging
        keys = (self._moment.values[by_id], self._session.values[by_id])
        return by_id[np.lexsort(keys)]

    @property
    def demoted(self) -> NDArray[np.bool_]:
        demoted: NDArray[np.bool_] = self._standing.values == _DEMOTED
        return demoted

    def catch_up(self, db: apsw.Connection) -> None:
        """Show exactly the versions that are current in the caller's snapshot."""
        head = int(db.execute(QUERIES["head"]).get)
        if head == self._seen:
            return
        since = self._name | {"seen": self._seen}
        if self._seen:
            self._remove([row[0] for row in db.execute(QUERIES["index_ended"], since)])
        query = "index_began" if self._seen else "index_live"
        self._fill(db.execute(QUERIES[query], since))
        self._seen = head

    def load(self, db: apsw.Connection, positions: Sequence[int]) -> None:
        """Add the versions at these places of the file."""
        self._fill(db.execute(QUERIES["index_at"], {"positions": json.dumps(positions)}))

    def matching(self, where: Where) -> NDArray[np.bool_]:
        """Which rows match, as far as the shelf can tell: all but filter, idleness and confidence."""
        mask = self._current.values & (self._expires.values > where.alive_at)
        if where.scope.user is not None:
            mask &= self._user.values == self._users.get(where.scope.user, -1)
        if where.types:
            mask &= np.isin(self._type.values, [_TYPES[kind] for kind in where.types])
        if where.standings != frozenset(Standing):
            mask &= np.isin(self._standing.values, [_STANDINGS[standing] for standing in where.standings])
        if where.created_since is not None:
            mask &= self._created.values >= where.created_since
        if where.created_until is not None:
            mask &= self._created.values <= where.created_until
        return mask

    def _fill(self, rows: Iterator[Row]) -> None:
        while batch := list(islice(rows, _BATCH)):
            self._append(batch)

    def _append(self, rows: Sequence[Row]) -> None:
        (
            position,
            id,
            user,
            type_,
            standing,
            created,
            expires,
            length,
            occurred,
            session,
            role,
            vector,
            terms,
        ) = zip(*rows, strict=True)
        self._in_order = None
        self.postings.append(len(self), list(terms))
        self.ids.extend(id)
        codes = [self._users.setdefault(name, len(self._users)) for name in user]
        self._user.extend(np.array(codes))
        self._type.extend(np.array([_TYPES[name] for name in type_]))
        self._standing.extend(np.array([_STANDINGS[name] for name in standing]))
        self._created.extend(np.array(created))
        self._expires.extend(np.array([_NEVER if moment is None else moment for moment in expires]))
        self._position.extend(np.array(position))
        self._length.extend(np.array(length))
        self._occurred.extend(np.array([_UNSAID if moment is None else moment for moment in occurred]))
        self._moment.extend(
            np.array([made if said is None else said for said, made in zip(occurred, created, strict=True)])
        )
        self._session.extend(
            np.array([self._session_code(*pair) for pair in zip(user, session, strict=True)])
        )
        self._machine.extend(np.array([name == "assistant" for name in role]))
        self._current.extend(np.ones(len(rows), bool))
        halves = np.frombuffer(b"".join(blob or self._no_vector for blob in vector), "<f2")
        self._matrix.extend(halves.reshape(len(rows), -1))

    def _session_code(self, user: str | None, session: str | None) -> int:
        return -1 if session is None else self._sessions.setdefault((user, session), len(self._sessions))

    def _remove(self, positions: Sequence[int]) -> None:
        """Leave gaps where these stood, without their vectors; too many gaps are closed."""
        gone = np.flatnonzero(np.isin(self._position.values, positions))
        self._current.values[gone] = False
        self._matrix.values[gone] = 0
        self._gaps += len(gone)
        if self._gaps > max(_MOST_GAPS, len(self) // 2):
            self._close_gaps()

    def _close_gaps(self) -> None:
        kept = self._current.values.copy()
        self.postings.keep(kept)
        self.ids = [id for id, stays in zip(self.ids, kept, strict=True) if stays]
        for column in self._columns:
            column.keep(kept)
        self._gaps = 0
        self._in_order = None
