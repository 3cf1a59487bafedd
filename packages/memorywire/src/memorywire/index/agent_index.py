"""The current versions of one agent, held in memory as arrays that a search reads.

An index is a cache of the store's tables. It is updated by commit sequence, in the same snapshot as the query
that uses it, so it never contains rows that are not in the tables.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any, TypeAlias

import numpy as np
from msgspec.structs import replace
from numpy.typing import NDArray

from memorywire.index.arrays import SMALL_SELECTION, GrowableArray, Rows, Selection
from memorywire.index.batch import NEVER, STANDINGS, TYPES, Batch, Columns, Row, State
from memorywire.index.postings import Postings
from memorywire.index.sessions import Sessions
from memorywire.index.vectors import ExactVectors, QuantizedVectors, VectorCache, Vectors
from memorywire.model.errors import corrupt_row
from memorywire.model.query import Where, find_owners
from memorywire.model.record import Standing

Source: TypeAlias = Any
"""The object from which an index reads further rows, such as a connection."""

SMALL_INDEX = 1024
"""Up to this many rows, the exact vectors are in memory, and a search reads none from the store."""

_BATCH = 4096
_MAX_TOMBSTONES = 1024  # before compaction; or half of the rows, if that is more
_FEW_TOKENS = 32  # the most rows whose tokens a search on the event loop's thread may read
_MAX_USER_ROWS, _MAX_USER_SELECTIONS = 2048, 8

_DEMOTED = STANDINGS[Standing.DEMOTED.value]


class AgentIndex(ABC):
    """The rows of one (tenant, agent). Not thread-safe: the caller must ensure exclusive use."""

    def __init__(self, dimension: int) -> None:
        self.head = 0  # the commit sequence of the last change in it
        self.sorted_prefix = 0  # rows below this are in order of id
        self.unsegmented = 0  # rows that were not read from a segment
        self.longest = 0  # the largest number of index terms of a row
        self.has_machine = False  # whether any row was said by an assistant
        self.damaged = 0  # number of vectors whose length is not one; they are ignored
        self._tombstones, self._last_id = 0, ""
        self._users: dict[str | None, int] = {}
        self._states: dict[State, int] = {}
        self._user, self._length = GrowableArray("i4"), GrowableArray("i4")
        self._type, self._standing = GrowableArray("i1"), GrowableArray("i1")
        self._created, self._expires = GrowableArray("i8"), GrowableArray("i8")
        self._position, self._occurred = GrowableArray("i8"), GrowableArray("i8")
        self._machine, self._current = GrowableArray("?"), GrowableArray("?")
        self._state = GrowableArray("i4")
        self._first_expiry = NEVER
        self._standings: set[int] = set()
        self._exact: ExactVectors | None = ExactVectors(dimension)
        self._vector_cache = VectorCache(dimension, 2 * SMALL_INDEX)
        self._token_cache: dict[int, bytes | None] = {}  # by position; a small index has all tokens here
        self._token_bytes = 0
        self._compares_words = True  # whether the last query compared words
        self.quantized = QuantizedVectors(dimension)
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
            self._state,
            self.sessions.numbers,
            self.sessions.moments,
            *self.quantized.columns,
        )
        self._of_user, self.postings = Postings(), Postings()
        self._all = Selection.of_all(0)
        self._user_selections: dict[str, Selection] = {}  # of the users of searches since the last change

    @abstractmethod
    def key(self, term: str) -> int:
        """Return the number of a term in the text index."""

    @abstractmethod
    def ids(self, source: Source, rows: NDArray[Any]) -> Sequence[str]:
        """Return the ids of these rows in the caller's snapshot."""

    @abstractmethod
    def vectors(self, source: Source, rows: Rows) -> Vectors:
        """Return the ids and exact vectors of these rows (ascending) in the caller's snapshot."""

    @abstractmethod
    def read_tokens(self, source: Source, positions: Sequence[int]) -> Mapping[int, bytes]:
        """Return the tokens of the versions at these positions; versions without tokens are left out."""

    def tokens(self, source: Source, rows: Sequence[int]) -> list[bytes | None]:
        """Return the tokens of these rows, from the cache if possible."""
        positions, cache = self.positions[rows].tolist(), self._token_cache
        missing = [position for position in positions if position not in cache]
        if missing and self._exact is not None:
            missing = [position for position in self.positions.tolist() if position not in cache]
        elif len(cache) + len(missing) > 2 * SMALL_INDEX:
            self._clear_tokens()
            missing = positions
        if missing:
            self._learn_tokens(missing, self.read_tokens(source, missing))
        return [*map(cache.__getitem__, positions)]

    def _learn_tokens(self, positions: Sequence[int], tokens: Mapping[int, bytes]) -> None:
        self._token_cache.update(zip(positions, map(tokens.get, positions), strict=True))
        self._token_bytes += sum(map(len, tokens.values()))

    def _clear_tokens(self) -> None:
        self._token_cache.clear()
        self._token_bytes = 0

    def expect_words(self, *, compared: bool) -> None:
        """Store whether searches compare words, which requires tokens."""
        self._compares_words = compared

    def __len__(self) -> int:
        return len(self._position)

    @property
    def is_small(self) -> bool:
        """Whether the index is filled, and so small that a search reads no vectors from the store."""
        return self.head > 0 and self._exact is not None

    @property
    def is_uniform(self) -> bool:
        """Whether no row is demoted, and all or none of the rows are turns of sessions."""
        return _DEMOTED not in self._standings and self.sessions.is_all_or_none

    @property
    def nbytes(self) -> int:
        parts = (*self._columns, self._of_user, self.postings, self.sessions)
        exact = self._vector_cache if self._exact is None else self._exact
        arrays = sum(part.nbytes for part in (*parts, exact, *self._user_selections.values()))
        return arrays + self._token_bytes

    @property
    def positions(self) -> NDArray[np.int64]:
        return self._position.values

    @property
    def lengths(self) -> NDArray[np.int32]:
        return self._length.values

    @property
    def occurred(self) -> NDArray[np.int64]:
        """When the event of each memory occurred; the smallest number if unknown."""
        return self._occurred.values

    @property
    def moments(self) -> NDArray[np.int64]:
        return self.sessions.moments.values

    @property
    def machine_said(self) -> NDArray[np.bool_]:
        return self._machine.values

    @property
    def users(self) -> NDArray[np.int32]:
        """The user number of each row."""
        return self._user.values

    @property
    def states(self) -> NDArray[np.int32] | None:
        """The state number of each row, -1 for none; None if no row has a state."""
        return self._state.values if self._states else None

    def find_demoted(self, selection: Selection) -> NDArray[np.bool_] | None:
        """Return an aligned mask of the demoted rows; None if no row was ever demoted."""
        return selection.align(self._standing.values) == _DEMOTED if _DEMOTED in self._standings else None

    def select(self, where: Where) -> Selection:
        """Select the matching rows; conditions on fields outside the index are ignored (see `needs_rows`)."""
        selection = self._select_user(where.scope.user)
        owners, _ = find_owners(where.filter)
        if owners is not None:
            numbers = [self._users[name] for name in owners if name in self._users]
            if len(numbers) < len(self._users):  # otherwise they own all rows
                users = selection.align(self._user.values)
                selection = selection.filter(
                    users == numbers[0] if len(numbers) == 1 else np.isin(users, numbers)
                )
        if self._tombstones or self._first_expiry <= where.alive_at:
            alive = selection.align(self._expires.values) > where.alive_at
            selection = selection.filter(selection.align(self._current.values) & alive)
        if where.types:
            selection = selection.filter(_mark(TYPES, where.types)[selection.align(self._type.values)])
        if not self._standings <= {STANDINGS[standing] for standing in where.standings}:
            standings = _mark(STANDINGS, where.standings)
            selection = selection.filter(standings[selection.align(self._standing.values)])
        if where.created_since is not None:
            selection = selection.filter(selection.align(self._created.values) >= where.created_since)
        if where.created_until is not None:
            selection = selection.filter(selection.align(self._created.values) <= where.created_until)
        return selection

    def is_in_memory(self, where: Where) -> bool:
        """Return whether a search of the present compares few rows, all of which are in memory."""
        if self.is_small:
            return not self._compares_words or len(self) - len(self._token_cache) <= _FEW_TOKENS
        if self._compares_words:
            return False
        rows = self.select(where).rows
        if rows is None or len(rows) > SMALL_SELECTION:
            return False
        in_order = not len(rows) or rows[-1] < self.sorted_prefix  # otherwise sessions may have to be sorted
        return bool(in_order) and self._vector_cache.has(rows)

    def _select_user(self, user: str | None) -> Selection:
        if user is None:
            if self._all.size != len(self):
                self._all = Selection.of_all(len(self))
            return self._all
        if user not in self._user_selections:
            rows, _ = self._of_user.find(self._users.get(user, -1))
            selection = Selection.of_rows(rows, len(self))
            if selection.rows is None or len(rows) > _MAX_USER_ROWS:
                return selection
            if len(self._user_selections) >= _MAX_USER_SELECTIONS:
                self._user_selections.clear()
            self._user_selections[user] = replace(selection, cache={})
        return self._user_selections[user]

    def _reserve(self, rows: int) -> None:
        for column in self._columns:
            column.reserve(rows)

    def _add_rows(self, rows: Iterator[Row]) -> None:
        while some := list(islice(rows, _BATCH)):
            try:
                batch = Batch.from_rows(some, self.quantized.dimension)
            except (KeyError, ValueError, TypeError) as error:
                raise corrupt_row(some[0][1], error) from error
            self._add_batch(batch)
            self.unsegmented += len(some)

    def _add_batch(self, batch: Batch) -> None:
        first, columns = len(self._position), batch.columns
        self._user_selections.clear()
        self._extend_sorted_prefix(batch, first)
        users = np.array([self._users.setdefault(name, len(self._users)) for name in batch.users])[
            columns.user
        ]
        numbers = np.arange(first, first + len(batch), dtype=np.int32)
        self._of_user.add(users, numbers, np.ones(len(batch), np.uint16))
        self.postings.add(batch.entries.term, batch.entries.row + first, batch.entries.count)
        self._user.extend(users)
        self._type.extend(columns.type)
        self._standing.extend(columns.standing)
        self._created.extend(columns.created)
        self._expires.extend(columns.expires)
        self._position.extend(columns.position)
        self._length.extend(columns.length)
        self._occurred.extend(columns.occurred)
        self._machine.extend(columns.machine)
        states = [self._states.setdefault(state, len(self._states)) for state in batch.states]
        self._state.extend(np.array([*states, -1])[columns.state])
        self._current.extend(np.ones(len(batch), bool))
        self.sessions.extend(batch.sessions, columns.session, columns.moment)
        if isinstance(batch.vectors, tuple):
            self.quantized.extend_quantized(batch.vectors)
        else:
            self.quantized.extend(batch.vectors)
        self.damaged += batch.damaged
        self._update_summary(columns)
        self._add_exact(batch)

    def _update_summary(self, columns: Columns) -> None:
        """Update facts about all rows together, so that a search need not scan them."""
        self._first_expiry = min(self._first_expiry, int(columns.expires.min()))
        self.longest = max(self.longest, int(columns.length.max()))
        self.has_machine = self.has_machine or bool(columns.machine.any())
        self._standings.update(columns.standing.tolist())

    def _add_exact(self, batch: Batch) -> None:
        if len(self) > SMALL_INDEX or batch.ids is None or isinstance(batch.vectors, tuple):
            self._exact = None
        elif self._exact is not None:
            self._exact.extend(batch.ids, batch.vectors)

    def _extend_sorted_prefix(self, batch: Batch, first: int) -> None:
        if self.sorted_prefix == first and batch.first_id > self._last_id:
            self.sorted_prefix += len(batch)
            self._last_id = batch.last_id

    def _remove(self, positions: Sequence[int]) -> None:
        """Turn these rows into tombstones and clear their vectors; compact if there are many tombstones."""
        if not positions:
            return
        self._user_selections.clear()
        ended = np.flatnonzero(np.isin(self._position.values, positions))
        self._current.values[ended] = False
        self.quantized.clear(ended)
        self._vector_cache.clear()
        for position in positions:
            self._token_cache.pop(position, None)
        if self._exact is not None:
            self._exact.clear(ended)
        self._tombstones += len(ended)
        if self._tombstones > max(_MAX_TOMBSTONES, len(self) // 2):
            self._compact()

    def _compact(self) -> None:
        live = self._current.values.copy()
        self.sorted_prefix = int(np.count_nonzero(live[: self.sorted_prefix]))
        self.postings.compact(live)
        self._of_user.compact(live)
        for column in self._columns:
            column.compact(live)
        if self._exact is not None:
            self._exact.compact(live)
        self._tombstones = 0
        self.sessions.clear_order()


def _mark(codes: Mapping[str, int], names: Iterable[str]) -> NDArray[np.bool_]:
    """Return for each code whether its name is in `names`."""
    marks = np.zeros(len(codes), bool)
    marks[[codes[name] for name in names]] = True
    return marks
