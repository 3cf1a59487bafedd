"""The text index: the rows and frequencies of each term, in sorted runs and an unsorted tail.

New entries go to the tail, which a lookup scans. A long tail becomes a run sorted by term, and runs of
similar size are merged, as in a log-structured merge tree: each entry is sorted O(log n) times.
"""

from collections.abc import Callable, Sequence
from typing import Any, Self, TypeAlias

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from memorywire.index.arrays import GrowableArray, Mask, Rows, Selection

Terms: TypeAlias = NDArray[np.int64]
Counts: TypeAlias = NDArray[np.uint16]

# A lookup scans the whole tail, so it stays short.
_MAX_TAIL = 4096
# A run is merged when the run after it has half its size.
_RUN_SHARE = 2

_NO_ROWS, _NO_COUNTS = np.empty(0, np.int32), np.empty(0, np.uint16)


class _Run(Struct, frozen=True):
    """Entries sorted by term: those of `terms[i]` are from `starts[i]` to `starts[i + 1]`."""

    terms: Terms
    starts: Terms
    rows: Rows
    counts: Counts

    @classmethod
    def of(cls, terms: Terms, rows: Rows, counts: Counts) -> Self:
        order = np.argsort(terms, kind="stable")
        terms = terms[order]
        first = np.ones(len(terms), bool)
        np.not_equal(terms[1:], terms[:-1], out=first[1:])
        starts = np.flatnonzero(first)
        return cls(terms[starts], np.append(starts, len(terms)), rows[order], counts[order])

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def nbytes(self) -> int:
        return sum(part.nbytes for part in (self.terms, self.starts, self.rows, self.counts))

    @property
    def entries(self) -> tuple[Terms, Rows, Counts]:
        return np.repeat(self.terms, np.diff(self.starts)), self.rows, self.counts

    def find(self, term: int) -> slice:
        at = int(np.searchsorted(self.terms, term))
        if at == len(self.terms) or self.terms[at] != term:
            return slice(0)
        return slice(int(self.starts[at]), int(self.starts[at + 1]))


class Postings:
    """The rows of each term, in ascending order."""

    def __init__(self) -> None:
        self._runs: list[_Run] = []  # each has higher rows than the one before
        self._start_tail()

    @property
    def nbytes(self) -> int:
        tail = (self._tail_terms, self._tail_rows, self._tail_counts)
        return sum(run.nbytes for run in self._runs) + sum(column.nbytes for column in tail)

    def add(self, terms: Terms, rows: Rows, counts: Counts) -> None:
        """Add entries; their rows must be higher than all existing rows."""
        self._tail_terms.extend(terms)
        self._tail_rows.extend(rows)
        self._tail_counts.extend(counts)

    def find(self, term: int) -> tuple[Rows, Counts]:
        """Return the rows that contain a term, in ascending order, and its frequency in each."""
        if len(self._tail_terms) > _MAX_TAIL:
            self._sort_tail()
        parts = [(run.rows[part], run.counts[part]) for run in self._runs if (part := run.find(term)).stop]
        recent = np.flatnonzero(self._tail_terms.values == term)
        if len(recent) or not parts:
            parts.append((self._tail_rows.values[recent], self._tail_counts.values[recent]))
        if len(parts) == 1:
            return parts[0]
        rows, counts = zip(*parts, strict=True)
        return np.concatenate(rows), np.concatenate(counts)

    def find_all(self, terms: Sequence[int]) -> tuple[NDArray[np.intp], Rows, Counts] | None:
        """Like `find`, for all terms in one scan of the tail; None if there are runs.

        Returns parallel arrays in order of terms: the index of the term, a row, and the frequency.
        """
        if self._runs or len(self._tail_terms) > _MAX_TAIL:
            return None
        tail = self._tail_terms.values
        same = np.array(terms, np.int64)[:, None] == tail
        which, at = np.divmod(same.ravel().nonzero()[0], max(len(tail), 1))
        return which, self._tail_rows.values[at], self._tail_counts.values[at]

    def compact(self, live: Mask) -> None:
        """Drop all rows that are not live, and renumber the live ones in the same order."""
        self._sort_tail()
        terms, rows, counts = _concatenate(self._runs)
        stays = live[rows]
        numbers = np.cumsum(live, dtype=np.int32) - np.int32(1)
        self._runs = [_Run.of(terms[stays], numbers[rows[stays]], counts[stays])]

    def _sort_tail(self) -> None:
        """Turn the tail into a run, and merge runs of similar size."""
        tail = (self._tail_terms.values, self._tail_rows.values, self._tail_counts.values)
        self._runs.append(_Run.of(*tail))
        self._start_tail()
        while len(self._runs) > 1 and len(self._runs[-2]) <= _RUN_SHARE * len(self._runs[-1]):
            self._runs[-2:] = [_Run.of(*_concatenate(self._runs[-2:]))]

    def _start_tail(self) -> None:
        # Doubles, because it is soon emptied: loading a large index makes one long tail first.
        self._tail_terms, self._tail_rows = GrowableArray("i8", growth=1), GrowableArray("i4", growth=1)
        self._tail_counts = GrowableArray("u2", growth=1)


def _concatenate(runs: list[_Run]) -> tuple[Terms, Rows, Counts]:
    terms, rows, counts = zip(*(run.entries for run in runs), strict=True)
    return np.concatenate(terms), np.concatenate(rows), np.concatenate(counts)


class TermMatches(Struct, frozen=True):
    """Parallel arrays with an entry for each pair of a query term and a selected row that contains it.

    `which` is the index of the term, `offsets` the offset of the row in the selection, `counts` the frequency
    of the term in it; entries are in order of terms. `rows(term)` are all rows that contain a term, selected
    or not, in ascending order.
    """

    which: NDArray[np.intp]
    offsets: NDArray[Any]
    counts: Counts
    rows: Callable[[int], Rows]

    def tabulate(self, terms: int, width: int) -> Mask:
        """Return a table of which rows contain each of the first `terms`; for small selections."""
        table = np.zeros((terms, width), bool)
        count = self.which.searchsorted(terms)
        table[self.which[:count], self.offsets[:count]] = True
        return table


def match_terms(postings: Postings, selection: Selection, terms: Sequence[int]) -> TermMatches:
    """Find the occurrences of these terms in the selected rows."""
    scan = postings.find_all(terms)
    if scan is not None:
        which, rows, counts = scan
        offsets, selected = selection.intersect(rows, is_sorted=False)
        return TermMatches(which[selected], offsets, counts[selected], lambda term: rows[which == term])
    entries = [postings.find(term) for term in terms]
    matches = [selection.intersect(rows) for rows, _ in entries]
    often = [counts[selected] for (_, counts), (_, selected) in zip(entries, matches, strict=True)]
    return TermMatches(
        np.repeat(np.arange(len(terms)), [len(offsets) for offsets, _ in matches]),
        np.concatenate([_NO_ROWS, *(offsets for offsets, _ in matches)]),
        np.concatenate([_NO_COUNTS, *often]),
        lambda term: entries[term][0],
    )
