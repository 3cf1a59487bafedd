"""The current versions of one agent, held in memory as arrays: what a search looks at.

A shelf is a cache of the file. It catches up by commit sequence, inside the same snapshot as the
query that uses it, so it never shows anything the file does not hold.
"""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import islice
from typing import Any, TypeAlias

import apsw
import numpy as np
from numpy.typing import NDArray

from memorywire.model.record import Standing
from memorywire.model.where import Where
from memorywire.stores.sqlite.batch import NEVER, STANDINGS, TYPES, Batch, Columns
from memorywire.stores.sqlite.best import FEW
from memorywire.stores.sqlite.exact import Exact, Recent, Vectors, vectors_at
from memorywire.stores.sqlite.growing import Growing
from memorywire.stores.sqlite.postings import Postings
from memorywire.stores.sqlite.quantized import Codes
from memorywire.stores.sqlite.reading import ids_at
from memorywire.stores.sqlite.rows import Bindings, Row, damaged_row, term_hash
from memorywire.stores.sqlite.segments import ROWS, began, segments, stretches
from memorywire.stores.sqlite.selection import Selection
from memorywire.stores.sqlite.sessions import Sessions
from memorywire.stores.sqlite.sql import QUERIES

Source: TypeAlias = Any
"""What a shelf reads the rest from: here a connection; each kind of shelf has its own."""

_BATCH = 4096
_MOST_GAPS = 1024
_CORNER, _MOST_CORNERS = 2048, 8

SMALL = 1024
"""Up to this many rows the exact vectors are held in memory, and a search reads nothing from the file."""

_DEMOTED = STANDINGS[Standing.DEMOTED.value]


class AgentIndex:
    """The rows of one (tenant, agent). Not safe for two threads: its caller takes care of that."""

    def __init__(self, tenant: str, agent: str, dimension: int) -> None:
        self._name: Bindings = {"tenant": tenant, "agent": agent}
        self.seen, self.rising, self.loose = 0, 0, 0  # the last: rows that were not read from a pack
        self.longest, self.machines = 0, False  # the most index terms of a row; whether a machine said any
        self._gaps, self._last_id, self.damaged = 0, "", 0  # the last: vectors not of length one, left out
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
        self._soonest = NEVER
        self._standings: set[int] = set()
        self._exact: Exact | None = Exact(dimension)
        self._recent = Recent(dimension, 2 * SMALL)
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
        self._of_user, self.postings = Postings(), Postings()
        self._all = Selection.of_all(0)
        self._corners: dict[str, Selection] = {}  # of users that asked since anything changed here

    def __len__(self) -> int:
        return len(self._position)

    @property
    def small(self) -> bool:
        """Whether it is filled, and small enough that a search reads no vector from the file."""
        return self.seen > 0 and self._exact is not None

    @property
    def alike(self) -> bool:
        """Whether one rule admits all rows: none is demoted, and all or none are turns of sessions."""
        return _DEMOTED not in self._standings and self.sessions.all_or_none

    @property
    def nbytes(self) -> int:
        parts = (*self._columns, self._of_user, self.postings, self.sessions)
        exact = self._recent if self._exact is None else self._exact
        return sum(part.nbytes for part in (*parts, exact, *self._corners.values()))

    @property
    def positions(self) -> NDArray[np.int64]:
        return self._position.values

    @property
    def lengths(self) -> NDArray[np.int32]:
        return self._length.values

    @property
    def occurred(self) -> NDArray[np.int64]:
        """When each memory happened, as it was told; the smallest number where it was not."""
        return self._occurred.values

    @property
    def moments(self) -> NDArray[np.int64]:
        return self.sessions.moments.values

    @property
    def machine_said(self) -> NDArray[np.bool_]:
        return self._machine.values

    def demoted(self, among: Selection) -> NDArray[np.bool_] | None:
        """Which of the selected rows are demoted, as an array beside them; None when no row ever was."""
        return among.pick(self._standing.values) == _DEMOTED if _DEMOTED in self._standings else None

    def catch_up(self, db: apsw.Connection, most: int | None = None) -> bool:
        """Show exactly the versions that are current in the caller's snapshot.

        With `most`, a shelf that is more than so many changes behind stays as it is, and False is given.
        """
        head = int(db.execute(QUERIES["head"]).get)
        if head == self.seen:
            return True
        if most is not None and head - self.seen > most:
            return False
        if self.seen:
            ended = db.execute(QUERIES["index_ended"], self._name | {"seen": self.seen})
            self._remove([position for (position,) in ended])
            self._fill(began(db, self._name, self.seen, head))
        else:
            self._load(db, head)
        self.seen = head
        return True

    def _load(self, db: apsw.Connection, head: int) -> None:
        """Load everything that is current: from packs where there are any, else from rows."""
        self._expect(self._about(db))
        reached, oldest = 0, head
        for pack in segments(db, self._name):
            self._fill(began(db, self._name, reached, pack.since))
            if (batch := pack.batch) is not None:
                self._append(batch)
            reached, oldest = pack.upto, min(oldest, pack.seen)
        if not reached:
            self._fill(db.execute(QUERIES["index_live"], self._name))
            return
        self._fill(began(db, self._name, reached, head))
        ended = db.execute(QUERIES["index_ended_since"], self._name | {"seen": oldest})
        self._remove([position for (position,) in ended])

    def _about(self, db: apsw.Connection) -> int:
        """An estimate of how many rows will be loaded: what the packs can hold, and what came since."""
        packed = stretches(db, self._name)
        if not packed:
            return int(db.execute(QUERIES["index_size"], self._name).get)
        behind = db.execute(QUERIES["puts_behind"], self._name | {"upto": packed[-1][1]}).get
        return ROWS * len(packed) + int(behind)

    def load(self, db: apsw.Connection, positions: Sequence[int]) -> None:
        """Add the versions at these places of the file."""
        self._fill(db.execute(QUERIES["index_at"], {"positions": json.dumps(positions)}))

    def matching(self, where: Where) -> Selection:
        """The rows that match, as far as the shelf can tell: it knows no filter, idleness or confidence."""
        found = self._of(where.scope.user)
        if self._gaps or self._soonest <= where.alive_at:
            found = found.where(
                found.pick(self._current.values) & (found.pick(self._expires.values) > where.alive_at)
            )
        if where.types:
            found = found.where(_listed(TYPES, where.types)[found.pick(self._type.values)])
        if not self._standings <= {STANDINGS[standing] for standing in where.standings}:
            found = found.where(_listed(STANDINGS, where.standings)[found.pick(self._standing.values)])
        if where.created_since is not None:
            found = found.where(found.pick(self._created.values) >= where.created_since)
        if where.created_until is not None:
            found = found.where(found.pick(self._created.values) <= where.created_until)
        return found

    def is_at_hand(self, where: Where) -> bool:
        """Whether a search of the present has few rows to look at, and all of them in memory."""
        if self.small:
            return True
        rows = self.matching(where).rows
        if rows is None or len(rows) > FEW:
            return False
        in_order = not len(rows) or rows[-1] < self.rising  # else sessions may have to be sorted
        return bool(in_order) and self._recent.has(rows)

    def key(self, term: str) -> int:
        """The number of a term in the text index."""
        return term_hash(term)

    def ids(self, db: Source, rows: NDArray[Any]) -> Sequence[str]:
        """The ids of these rows, as the caller's snapshot has them."""
        return ids_at(db, self.positions[rows].tolist())

    def vectors(self, db: Source, rows: NDArray[np.int32]) -> Vectors:
        """The ids and vectors of these rows (ascending), as the caller's snapshot has them."""
        if self._exact is not None:
            return self._exact.at(rows)
        return self._recent.at(
            rows, lambda some: vectors_at(db, self.positions[some].tolist(), self.codes.dimension)
        )

    def _of(self, user: str | None) -> Selection:
        if user is None:
            if self._all.size != len(self):
                self._all = Selection.of_all(len(self))
            return self._all
        if user not in self._corners:
            rows, _ = self._of_user.holding(self._users.get(user, -1))
            found = Selection.of_rows(rows, len(self))
            if found.rows is None or len(rows) > _CORNER:
                return found
            if len(self._corners) >= _MOST_CORNERS:
                self._corners.clear()
            self._corners[user] = replace(found, picked={})
        return self._corners[user]

    def _expect(self, rows: int) -> None:
        for column in self._columns:
            column.expect(rows)

    def _fill(self, rows: Iterator[Row]) -> None:
        while some := list(islice(rows, _BATCH)):
            try:
                batch = Batch.of(some, self.codes.dimension)
            except (KeyError, ValueError, TypeError) as error:
                raise damaged_row(some[0][1], error) from error
            self._append(batch)
            self.loose += len(some)

    def _append(self, batch: Batch) -> None:
        first, columns = len(self), batch.columns
        self._corners.clear()
        self._rise(batch)
        users = np.array([self._users.setdefault(name, len(self._users)) for name in batch.users])[
            columns.user
        ]
        numbers = np.arange(first, first + len(batch), dtype=np.int32)
        self._of_user.add(users, numbers, np.ones(len(batch), np.uint16))
        self.postings.add(batch.entries.term, batch.entries.document + first, batch.entries.count)
        self._user.extend(users)
        self._type.extend(columns.type)
        self._standing.extend(columns.standing)
        self._created.extend(columns.created)
        self._expires.extend(columns.expires)
        self._position.extend(columns.position)
        self._length.extend(columns.length)
        self._occurred.extend(columns.occurred)
        self._machine.extend(columns.machine)
        self._current.extend(np.ones(len(batch), bool))
        self.sessions.extend(batch.sessions, columns.session, columns.moment)
        if isinstance(batch.vectors, tuple):
            self.codes.add(*batch.vectors)
        else:
            self.codes.extend(batch.vectors)
        self.damaged += batch.damaged
        self._note(columns)
        self._keep_exact(batch)

    def _note(self, columns: Columns) -> None:
        """Note what holds for all rows together, so that a search need not look at each."""
        self._soonest = min(self._soonest, int(columns.expires.min()))
        self.longest = max(self.longest, int(columns.length.max()))
        self.machines = self.machines or bool(columns.machine.any())
        self._standings.update(columns.standing.tolist())

    def _keep_exact(self, batch: Batch) -> None:
        if len(self) > SMALL or batch.ids is None or batch.halves is None:
            self._exact = None
        elif self._exact is not None:
            self._exact.extend(batch.ids, batch.halves)

    def _rise(self, batch: Batch) -> None:
        """Note how far the rows stand in order of id."""
        if self.rising == len(self) and batch.first_id > self._last_id:
            self.rising += len(batch)
            self._last_id = batch.last_id

    def _remove(self, positions: Sequence[int]) -> None:
        """Mark these rows as gaps and clear their vectors; when there are many gaps, close them."""
        if not positions:
            return
        self._corners.clear()
        gone = np.flatnonzero(np.isin(self._position.values, positions))
        self._current.values[gone] = False
        self.codes.clear(gone)
        self._recent.forget()
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
