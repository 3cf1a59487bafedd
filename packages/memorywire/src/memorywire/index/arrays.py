"""Building blocks of the index: growable columns, selections of rows, top-k selection,
and the candidates of a ranking.

An array is "aligned with" a selection when it has one element for each selected row, or one for each row of
the index where the selection is a mask. The index of an element in such an array is its offset.
"""

from collections.abc import Sequence
from operator import attrgetter
from typing import Any, Self, TypeAlias

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from memorywire.model.record import DEMOTED_FACTOR
from memorywire.search.relevance import BRIEF, LENGTHY, relevance

Rows: TypeAlias = NDArray[np.int32]
Mask: TypeAlias = NDArray[np.bool_]
Floats: TypeAlias = NDArray[np.floating[Any]]
Offsets: TypeAlias = NDArray[np.signedinteger[Any]]

SMALL_SELECTION = 256
"""Up to this many rows, scoring all of them is faster than choosing candidates first."""

# A full column grows by a quarter: doubling a large one would waste too much memory.
_GROWTH = 4

# A selection of less than a quarter of the rows is copied out; a larger one is faster to read as a mask.
_COPY_SHARE = 4

_EXCLUDED = -1.0  # weights are never negative
_GROUP = 64


class GrowableArray:
    """An array with appends in amortised constant time.

    A full array moves to a buffer that is larger by the fraction 1 / `growth`.
    """

    def __init__(self, dtype: str, *shape: int, growth: int = _GROWTH) -> None:
        self._buffer: NDArray[Any] = np.empty((0, *shape), dtype)
        self._size = 0
        self._growth = growth

    def __len__(self) -> int:
        return self._size

    @property
    def values(self) -> NDArray[Any]:
        return self._buffer[: self._size]

    @property
    def nbytes(self) -> int:
        return self._buffer.nbytes

    def reserve(self, more: int) -> None:
        """Allocate room for `more` elements."""
        size = self._size + more
        if size > len(self._buffer):
            buffer = np.empty((size, *self._buffer.shape[1:]), self._buffer.dtype)
            buffer[: self._size] = self._buffer[: self._size]
            self._buffer = buffer

    def extend(self, values: NDArray[Any]) -> None:
        size = self._size + len(values)
        if size > len(self._buffer):
            more = max(len(values), self._size // self._growth)
            room = np.empty((more, *self._buffer.shape[1:]), self._buffer.dtype)
            self._buffer = np.concatenate((self._buffer[: self._size], room))
        self._buffer[self._size : size] = values
        self._size = size

    def clear(self) -> None:
        """Overwrite and remove all elements; the buffer stays allocated."""
        self.values[:] = 0
        self._size = 0

    def compact(self, live: Mask) -> None:
        """Keep only the elements where `live` is true."""
        self._buffer = self.values[live]
        self._size = len(self._buffer)


class Selection(Struct, frozen=True):
    """The rows of a query: `rows` in ascending order, or a `mask` over all rows if `rows` is None.

    A selection with a `cache` stores the parts of columns that it copied out, by the id of the buffer.
    """

    size: int
    rows: Rows | None
    mask: Mask
    cache: dict[int, tuple[NDArray[Any], NDArray[Any]]] | None = None

    @classmethod
    def of_all(cls, width: int) -> Self:
        return cls(width, None, np.ones(width, bool))

    @classmethod
    def of_rows(cls, rows: Rows, width: int) -> Self:
        if len(rows) * _COPY_SHARE < width:
            return cls(len(rows), rows, np.ones(0, bool))
        mask = np.zeros(width, bool)
        mask[rows] = True
        return cls(len(rows), None, mask)

    @property
    def width(self) -> int:
        """The length of an array aligned with this selection."""
        return len(self.mask) if self.rows is None else len(self.rows)

    @property
    def is_whole(self) -> bool:
        """Whether every element of an aligned array belongs to a selected row."""
        return self.size == len(self.mask if self.rows is None else self.rows)

    @property
    def offsets(self) -> NDArray[np.intp]:
        """The offsets of the selected rows in an aligned array."""
        return np.arange(self.size) if self.is_whole else self.mask.nonzero()[0]

    @property
    def nbytes(self) -> int:
        return sum(part.nbytes for _, part in (self.cache or {}).values())

    def align(self, column: NDArray[Any]) -> NDArray[Any]:
        """Return the part of a column that is aligned with this selection; do not modify it."""
        if self.rows is None:
            return column
        if self.cache is None or column.base is None:
            return column[self.rows]
        if id(column.base) not in self.cache:
            self.cache[id(column.base)] = (column.base, column[self.rows])
        return self.cache[id(column.base)][1]

    def rows_at(self, offsets: NDArray[Any]) -> Rows:
        """Return the row numbers at these offsets."""
        return offsets.astype(np.int32) if self.rows is None else self.rows[offsets]

    def filter(self, matches: Mask) -> "Selection":
        """Return the selection of the rows for which `matches`, an aligned array, is true."""
        if self.rows is not None:
            rows = self.rows[matches]
            return Selection(len(rows), rows, self.mask)
        mask = self.mask & matches
        size = int(np.count_nonzero(mask))
        if size * _COPY_SHARE < len(mask):
            return Selection(size, np.flatnonzero(mask).astype(np.int32), mask[:0])
        return Selection(size, None, mask)

    def intersect(self, rows: Rows, *, is_sorted: bool = True) -> tuple[NDArray[Any], NDArray[Any] | slice]:
        """Return the offsets of the selected ones of `rows`, and their indexes in `rows`.

        Sorted `rows` are faster to look up.
        """
        if self.rows is None:
            if self.is_whole:
                return rows, slice(None)
            selected = self.mask[rows]
            return rows[selected], selected
        if is_sorted and len(self.rows) < len(rows):
            return find_sorted(self.rows, rows)
        indexes, offsets = find_sorted(rows, self.rows)
        return offsets, indexes


def find_sorted(rows: Rows, sorted_rows: Rows) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return the indexes of those of `rows` that are in `sorted_rows`, and their indexes there."""
    if not len(sorted_rows):
        return np.empty(0, np.intp), np.empty(0, np.intp)
    at = np.minimum(np.searchsorted(sorted_rows, rows), len(sorted_rows) - 1)
    hits = (sorted_rows[at] == rows).nonzero()[0]
    return hits, at[hits]


def is_in_sorted(rows: Rows, sorted_rows: Rows) -> Mask:
    """Return for each of `rows` whether it is in `sorted_rows`."""
    mask = np.zeros(len(rows), bool)
    mask[find_sorted(rows, sorted_rows)[0]] = True
    return mask


def find_largest(weights: Floats, mask: Mask | None, count: int, slack: float) -> Offsets:
    """Return the offsets of the `count` largest weights, and of all within `slack` of the last of them.

    Avoids a sort: the smallest of the `count` largest group maxima is a lower bound.
    """
    values = weights if mask is None else np.where(mask, weights, _EXCLUDED)
    if len(values) <= count:
        return np.flatnonzero(values > _EXCLUDED)
    if len(values) <= SMALL_SELECTION:
        return np.flatnonzero(values >= max(_nth_largest(values, count) - slack, 0.0))
    bound = _nth_largest(_group_maxima(values, count), count)
    likely = np.flatnonzero(values >= max(bound - slack, 0.0))
    return likely[values[likely] >= max(_nth_largest(values[likely], count) - slack, 0.0)]


def _nth_largest(values: Floats, count: int) -> float:
    """Return the `count`-th largest value; less than any weight if there are fewer values."""
    if len(values) < count:
        return _EXCLUDED
    return float(np.partition(values, len(values) - count)[len(values) - count])


def _group_maxima(values: Floats, count: int) -> Floats:
    groups = max(count, len(values) // _GROUP)
    whole = len(values) // groups * groups
    largest: Floats = values[:whole].reshape(-1, groups).max(axis=0)
    return largest


def has_repeats(states: NDArray[np.int32] | None) -> bool:
    """Return whether two of these states are equal (-1 means no state)."""
    if states is None:
        return False
    some = states[states >= 0].tolist()
    return len(set(some)) < len(some)  # for few values, ten times as fast as `np.unique`


def scatter(offsets: Offsets, values: Floats, width: int) -> Floats | None:
    """Return a column of zeros with these values at these offsets; None if there are no offsets."""
    if not len(offsets):
        return None
    column = np.zeros(width)
    column[offsets] = values
    return column


def take(column: Floats, offsets: Offsets) -> Floats:
    """Return the values at these ascending offsets; the column itself if all offsets are given."""
    return column if len(offsets) == len(column) else column[offsets]


def is_within(moments: NDArray[np.int64], times: Sequence[tuple[int, int]]) -> Mask:
    inside = np.zeros(len(moments), bool)
    for start, end in times:
        inside |= (moments >= start) & (moments < end)
    return inside


def compute_brevities(lengths: NDArray[Any]) -> Floats:
    """Return `relevance.brevity` for an array of numbers of index terms."""
    return 1 / (1 + np.clip((lengths.astype(np.float64) - BRIEF) / LENGTHY, 0, 1))


class Candidate(Struct):
    """One row of the ranking; `index` is its index in the members, `offset` in the selection."""

    index: int
    offset: int
    row: int
    id: str
    weight: float
    cosine: float
    borrowed: float = 0.0
    own: float = 0.0  # the evidence without the borrowed part, if some is borrowed
    demoted: bool = False
    newest: bool = False
    older_state: bool = False
    words: float | None = None  # the match of the query's words, compared one by one
    revised: float = 0.0  # the probability that a newer candidate is its new value
    _score: tuple[float, float] = (-1.0, 0.0)  # (weight, score): cached, because it is read often

    @property
    def score(self) -> float:
        if self._score[0] != self.weight:
            factor = DEMOTED_FACTOR if self.demoted else 1.0
            self._score = (self.weight, relevance(self.weight) * factor)
        return self._score[1]

    @property
    def sort_key(self) -> tuple[float, float, str]:
        return -self.score, -self.weight, self.id


def sort(candidates: list[Candidate]) -> None:
    """Sort by score, weight and id. Without demoted rows, weight and id give that order, faster."""
    if any(candidate.demoted for candidate in candidates):
        candidates.sort(key=lambda candidate: candidate.sort_key)
        return
    candidates.sort(key=attrgetter("id"))
    candidates.sort(key=attrgetter("weight"), reverse=True)


def build_candidates(
    ids: Sequence[str], columns: Sequence[NDArray[Any] | None], which: NDArray[Any]
) -> list[Candidate]:
    """Build candidates from columns; a None column means 0, 1, 2, ... or the default value."""
    numbers = which.tolist()
    *required, borrowed, own, demoted = [
        None if column is None else column[which].tolist() for column in columns
    ]
    index, offset, row, weight, cosine = [numbers if values is None else values for values in required]
    candidates = [*map(Candidate, index, offset, row, [ids[at] for at in index], weight, cosine)]
    if borrowed is not None and own is not None:
        for candidate, lent, alone in zip(candidates, borrowed, own, strict=True):
            candidate.borrowed, candidate.own = lent, alone
    if demoted is not None:
        for candidate, is_demoted in zip(candidates, demoted, strict=True):
            candidate.demoted = is_demoted
    return candidates
