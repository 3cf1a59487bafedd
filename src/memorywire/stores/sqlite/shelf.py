"""The current versions of one agent, held in memory as arrays: what a search looks at.

A shelf is a cache of the file. It catches up by commit sequence, inside the same snapshot as the
query that uses it, so it never shows anything the file does not hold.
"""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice

import apsw
import numpy as np
from numpy.typing import NDArray

from memorywire.model.record import MemoryType, Standing
from memorywire.model.where import Where
from memorywire.stores.sqlite.codes import Codes
from memorywire.stores.sqlite.exact import Exact, Vectors
from memorywire.stores.sqlite.growing import Growing
from memorywire.stores.sqlite.postings import Postings
from memorywire.stores.sqlite.reading import vectors_at
from memorywire.stores.sqlite.rows import Row
from memorywire.stores.sqlite.selection import Selection
from memorywire.stores.sqlite.sessions import Sessions
from memorywire.stores.sqlite.sql import QUERIES

_BATCH = 4096
_NEVER = 2**63 - 1
_UNSAID = -(2**63)
_MOST_GAPS = 1024
_SMALL = 1024

_TYPES = {kind.value: code for code, kind in enumerate(MemoryType)}
_STANDINGS = {standing.value: code for code, standing in enumerate(Standing)}
_DEMOTED = _STANDINGS[Standing.DEMOTED.value]


class Shelf:
    """Rows of one (tenant, agent); its caller sees to it that one thread uses it at a time."""

    def __init__(self, tenant: str, agent: str, dimension: int) -> None:
        self._name = {"tenant": tenant, "agent": agent}
        self.seen = 0
        self._gaps = 0
        self._last_id = ""
        self._no_vector = bytes(2 * dimension)
        self._users: dict[str | None, int] = {}
        self._user = Growing("i4")
        self._type = Growing("i1")
        self._standing = Growing("i1")
        self._created = Growing("i8")
        self._expires = Growing("i8")
        self._position = Growing("i8")
        self._length = Growing("i4")
        self._occurred = Growing("i8")
        self._machine = Growing("?")
        self._current = Growing("?")
        self._soonest = _NEVER
        self._standings: set[str] = set()
        self._exact: Exact | None = Exact(dimension)
        self.codes = Codes(dimension)
        self.sessions = Sessions()
        self._columns = (
            self._user,
            self._type,
            self._standing,
            self._created,
            self._expires,
            self._position,
            self._length,
            self._occurred,
            self._machine,
            self._current,
            self.sessions.codes,
            self.sessions.moments,
            *self.codes.columns,
        )
        self._of_user = Postings()
        self.postings = Postings()
        self.rising = 0

    def __len__(self) -> int:
        return len(self._position)

    @property
    def nbytes(self) -> int:
        parts = (*self._columns, self._of_user, self.postings, self.sessions)
        return sum(part.nbytes for part in parts) + (0 if self._exact is None else self._exact.nbytes)

    @property
    def positions(self) -> NDArray[np.int64]:
        return self._position.values

    @property
    def lengths(self) -> NDArray[np.int32]:
        return self._length.values

    @property
    def occurred(self) -> NDArray[np.int64]:
        """When each happened, as somebody said; before all time where nobody did."""
        return self._occurred.values

    @property
    def moments(self) -> NDArray[np.int64]:
        return self.sessions.moments.values

    @property
    def machine_said(self) -> NDArray[np.bool_]:
        return self._machine.values

    @property
    def demoted(self) -> NDArray[np.bool_]:
        demoted: NDArray[np.bool_] = self._standing.values == _DEMOTED
        return demoted

    def catch_up(self, db: apsw.Connection) -> None:
        """Show exactly the versions that are current in the caller's snapshot."""
        head = int(db.execute(QUERIES["head"]).get)
        if head == self.seen:
            return
        since = self._name | {"seen": self.seen}
        if self.seen:
            self._remove([row[0] for row in db.execute(QUERIES["index_ended"], since)])
            self._fill(db.execute(QUERIES["index_began"], since))
        else:
            self._expect(int(db.execute(QUERIES["index_size"], since).get))
            self._fill(db.execute(QUERIES["index_live"], since))
        self.seen = head

    def load(self, db: apsw.Connection, positions: Sequence[int]) -> None:
        """Add the versions at these places of the file."""
        self._fill(db.execute(QUERIES["index_at"], {"positions": json.dumps(positions)}))

    def matching(self, where: Where) -> Selection:
        """Which rows match, as far as the shelf can tell: all but filter, idleness and confidence."""
        found = self._of(where.scope.user)
        if self._gaps or self._soonest <= where.alive_at:
            found = found.where(
                found.pick(self._current.values) & (found.pick(self._expires.values) > where.alive_at)
            )
        if where.types:
            found = found.where(_listed(_TYPES, where.types)[found.pick(self._type.values)])
        if not self._standings <= where.standings:
            found = found.where(_listed(_STANDINGS, where.standings)[found.pick(self._standing.values)])
        if where.created_since is not None:
            found = found.where(found.pick(self._created.values) >= where.created_since)
        if where.created_until is not None:
            found = found.where(found.pick(self._created.values) <= where.created_until)
        return found

    def vectors(self, db: apsw.Connection, rows: NDArray[np.int32]) -> Vectors:
        """The ids and vectors of these rows (ascending), as the caller's snapshot has them."""
        if self._exact is not None:
            return self._exact.at(rows)
        return vectors_at(db, self.positions[rows].tolist(), self.codes.dimension)

    def _of(self, user: str | None) -> Selection:
        if user is None:
            return Selection.of_all(len(self))
        rows, _ = self._of_user.holding(self._users.get(user, -1))
        return Selection.of_rows(rows, len(self))

    def _expect(self, rows: int) -> None:
        for column in self._columns:
            column.expect(rows)

    def _fill(self, rows: Iterator[Row]) -> None:
        while batch := list(islice(rows, _BATCH)):
            self._append(batch)

    def _append(self, rows: Sequence[Row]) -> None:
        # fmt: off
        (position, id, user, type_, standing, created, expires, length, occurred, moment, session, machine,
         vector, terms) = zip(*rows, strict=True)
        # fmt: on
        self._rise(id)
        first = len(self)
        users = np.array([self._users.setdefault(name, len(self._users)) for name in user])
        self._of_user.add(
            users, np.arange(first, first + len(rows), dtype=np.int32), np.ones(len(rows), np.uint16)
        )
        self.postings.append(first, terms)
        self._user.extend(users)
        self._type.extend(np.array([_TYPES[name] for name in type_]))
        self._standing.extend(np.array([_STANDINGS[name] for name in standing]))
        self._created.extend(np.array(created))
        self._expires.extend(np.array([_NEVER if moment is None else moment for moment in expires]))
        self._soonest = min(self._soonest, *(moment for moment in expires if moment is not None), _NEVER)
        self._standings.update(standing)
        self._position.extend(np.array(position))
        self._length.extend(np.array(length))
        self._occurred.extend(np.array([_UNSAID if moment is None else moment for moment in occurred]))
        self._machine.extend(np.array(machine))
        self._current.extend(np.ones(len(rows), bool))
        self.sessions.extend(user, session, moment)
        halves = np.frombuffer(b"".join([blob or self._no_vector for blob in vector]), "<u2")
        self._keep_exact(id, halves.reshape(len(rows), -1))
        self.codes.extend(halves.reshape(len(rows), -1))

    def _keep_exact(self, ids: Sequence[str], halves: NDArray[np.uint16]) -> None:
        if len(self) > _SMALL:
            self._exact = None
        elif self._exact is not None:
            self._exact.extend(ids, halves)

    def _rise(self, ids: Sequence[str]) -> None:
        """Note as far as the rows stand in order of id."""
        if self.rising == len(self):
            for id in ids:
                if id <= self._last_id:
                    return
                self._last_id = id
                self.rising += 1

    def _remove(self, positions: Sequence[int]) -> None:
        """Leave gaps where these stood, without their vectors; too many gaps are closed."""
        if not positions:
            return
        gone = np.flatnonzero(np.isin(self._position.values, positions))
        self._current.values[gone] = False
        self.codes.clear(gone)
        if self._exact is not None:
            self._exact.clear(gone)
        self._gaps += len(gone)
        if self._gaps > max(_MOST_GAPS, len(self) // 2):
            self._close_gaps()

    def _close_gaps(self) -> None:
        kept = self._current.values.copy()
        self.rising = int(np.count_nonzero(kept[: self.rising]))
        self.postings.keep(kept)
        self._of_user.keep(kept)
        for column in self._columns:
            column.keep(kept)
        if self._exact is not None:
            self._exact.keep(kept)
        self._gaps = 0
        self.sessions.forget_order()


def _listed(codes: Mapping[str, int], names: Iterable[str]) -> NDArray[np.bool_]:
    """For each code, whether its name is among these."""
    listed = np.zeros(len(codes), bool)
    listed[[codes[name] for name in names]] = True
    return listed
