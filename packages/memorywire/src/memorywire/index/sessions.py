"""The rows of sessions in order of session, time and id, and the weights that neighbours lend."""

from bisect import bisect
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from memorywire.index.arrays import Floats, GrowableArray, Offsets, Rows, Selection
from memorywire.search.relevance import NEIGHBOURS, SIDES

ReadIds: TypeAlias = Callable[[NDArray[Any]], Sequence[str]]
"""Reads the ids of rows from the store."""

STEPS = tuple((sign * distance, share) for distance, share in NEIGHBOURS for sign in SIDES)
TOTAL_LENT = sum(share for _, share in STEPS)

# Up to this many new rows are inserted one by one; with more, all rows are sorted again.
_MAX_INSERTS = 64


class Neighbours(Struct, frozen=True):
    """The order of the selected rows in their sessions.

    `order` has the offsets of the rows that belong to a session, in session order; `session` is aligned with
    it. `width` is the width of the selection; as an offset it means a missing neighbour.
    """

    order: Offsets
    session: NDArray[np.int32]
    width: int

    def __bool__(self) -> bool:
        return bool(len(self.order))

    def sum_lent(self, weights: Floats) -> Floats:
        """Return the weight that each row of `order` borrows from its neighbours."""
        lends = weights[self.order]
        lent = np.zeros_like(lends)
        for distance, share in NEIGHBOURS:
            same = self.session[:-distance] == self.session[distance:]
            before, after = np.zeros((2, len(lends)), bool)
            before[distance:], after[:-distance] = same, same
            shares = np.where(before & after, share, share * len(SIDES)).astype(lends.dtype)
            lent[distance:] += shares[distance:] * (lends[:-distance] * same)
            lent[:-distance] += shares[:-distance] * (lends[distance:] * same)
        return lent

    def around(self, offsets: Offsets) -> list[Offsets]:
        """Return for each of STEPS the neighbours at that step of these ascending offsets."""
        mask = np.zeros(self.width, bool)
        mask[offsets] = True
        positions = np.flatnonzero(mask[self.order])
        here = np.full(len(offsets), -1)
        here[np.searchsorted(offsets, self.order[positions])] = positions
        return [self._at_step(here, step) for step, _ in STEPS]

    def shares(self, around: Sequence[Offsets]) -> list[Floats]:
        """Return for each of STEPS the share that the neighbours at that step lend; it is doubled if there is
        no neighbour on the other side."""
        pairs = zip(around[::2], around[1::2], strict=True)
        alone = [(left == self.width) | (right == self.width) for left, right in pairs]
        factors = [np.where(one, len(SIDES), 1.0) for one in alone for _ in SIDES]
        return [share * factor for (_, share), factor in zip(STEPS, factors, strict=True)]

    def _at_step(self, here: Offsets, step: int) -> Offsets:
        there = here + step
        valid = (here >= 0) & (there >= 0) & (there < len(self.order))
        safe_there, safe_here = np.where(valid, there, 0), np.where(valid, here, 0)
        if not len(self.order):
            return np.full(len(here), self.width)
        valid &= self.session[safe_there] == self.session[safe_here]
        return np.where(valid, self.order[safe_there], self.width)


class Sessions:
    """The session and time of each row; the rows of sessions stay sorted as rows are added.

    Rows below `sorted_prefix` are in order of id, so ids are read only to break ties among later rows.
    """

    def __init__(self) -> None:
        self.numbers = GrowableArray("i4")
        self.moments = GrowableArray("i8")
        self._names: dict[tuple[str | None, str], int] = {}
        self._order: Rows = np.empty(0, np.int32)
        self._ordered_numbers: NDArray[np.int32] = np.empty(0, np.int32)  # aligned with `_order`
        self._ordered = 0  # number of rows processed for the order

    def __bool__(self) -> bool:
        """Return whether any row belongs to a session."""
        return bool(self._names)

    @property
    def nbytes(self) -> int:
        return self._order.nbytes + self._ordered_numbers.nbytes

    @property
    def is_all_or_none(self) -> bool:
        """Whether all rows belong to a session, or none does."""
        return not self._names or bool(self.numbers.values.min() >= 0)

    def extend(
        self, names: Sequence[tuple[str | None, str]], which: NDArray[Any], moments: NDArray[np.int64]
    ) -> None:
        """Add rows; `names` are (user, session) pairs, `which` has an index into them per row, or -1."""
        numbers = [self._names.setdefault(name, len(self._names)) for name in names]
        self.numbers.extend(np.array([*numbers, -1])[which])
        self.moments.extend(moments)

    def clear_order(self) -> None:
        """Drop the order, because the rows were renumbered."""
        self._order, self._ordered_numbers, self._ordered = self._order[:0], self._ordered_numbers[:0], 0

    def find_neighbours(self, selection: Selection, sorted_prefix: int, read_ids: ReadIds) -> Neighbours:
        """Return the order of the selected rows in their sessions."""
        if not self._names:
            return Neighbours(np.empty(0, np.int32), self.numbers.values[:0], selection.width)
        rows = selection.rows
        if rows is not None and (not len(rows) or rows[-1] < sorted_prefix):
            offsets = np.flatnonzero(self.numbers.values[rows] >= 0)
            offsets = offsets[self._sort_by_row(rows[offsets])]
            return Neighbours(offsets, self.numbers.values[rows[offsets]], len(rows))
        self._update_order(sorted_prefix, read_ids)
        if rows is None:
            part = slice(None) if selection.is_whole else selection.mask[self._order]
            return Neighbours(self._order[part], self._ordered_numbers[part], selection.width)
        mask = np.zeros(len(self.numbers), bool)
        mask[rows] = True
        order = self._order[mask[self._order]]
        return Neighbours(np.searchsorted(rows, order), self.numbers.values[order], len(rows))

    def _sort_by_row(self, rows: Rows) -> NDArray[np.intp]:
        return np.lexsort((rows, self.moments.values[rows], self.numbers.values[rows]))

    def _update_order(self, sorted_prefix: int, read_ids: ReadIds) -> None:
        new = self._ordered + np.flatnonzero(self.numbers.values[self._ordered :] >= 0)
        self._ordered = len(self.numbers)
        if len(new) > _MAX_INSERTS:
            self._sort(sorted_prefix, read_ids)
            return
        for row in new.tolist():
            self._insert(row, sorted_prefix, read_ids)

    def _sort(self, sorted_prefix: int, read_ids: ReadIds) -> None:
        rows = np.flatnonzero(self.numbers.values >= 0).astype(np.int32)
        if rows[-1] >= sorted_prefix:
            rows = rows[np.argsort(np.array(read_ids(rows), dtype=object), kind="stable")]
        keys = (self.moments.values[rows], self.numbers.values[rows])
        self._order = rows[np.lexsort(keys)]
        self._ordered_numbers = self.numbers.values[self._order]

    def _insert(self, row: int, sorted_prefix: int, read_ids: ReadIds) -> None:
        number, moment = self.numbers.values[row], self.moments.values[row]
        first, last = (
            int(np.searchsorted(self._ordered_numbers, number, side)) for side in ("left", "right")
        )
        moments = self.moments.values[self._order[first:last]]
        low, high = (first + int(np.searchsorted(moments, moment, side)) for side in ("left", "right"))
        if row >= sorted_prefix and low < high:
            *tied, own = read_ids(np.append(self._order[low:high], row))
            high = low + bisect(tied, own)
        self._order = np.insert(self._order, high, row)
        self._ordered_numbers = np.insert(self._ordered_numbers, high, number)
