"""The rows of a shelf that belong to a session, in order of session, moment and id."""

from bisect import bisect
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from memorywire.stores.sqlite.growing import Growing
from memorywire.stores.sqlite.neighbourhood import Neighbourhood
from memorywire.stores.sqlite.selection import Rows, Selection

Ids: TypeAlias = Callable[[NDArray[Any]], Sequence[str]]
"""The ids of rows, read from the file."""

# So many new rows are put into their places one by one; more are sorted together with the rest.
_FEW = 64


class Sessions:
    """The rows of sessions, kept in order as rows are added, so that a new row costs no sorting.

    Rows below `rising` stand in order of id, so that an id is only read where it decides.
    """

    def __init__(self) -> None:
        self.codes = Growing("i4")
        self.moments = Growing("i8")
        self._names: dict[tuple[str | None, str], int] = {}
        self._order: Rows = np.empty(0, np.int32)
        self._sorted: NDArray[np.int32] = np.empty(0, np.int32)  # the sessions beside that order
        self._placed = 0

    def __bool__(self) -> bool:
        """Whether any row belongs to one."""
        return bool(self._names)

    @property
    def nbytes(self) -> int:
        return self._order.nbytes + self._sorted.nbytes

    @property
    def all_or_none(self) -> bool:
        """Whether all rows belong to a session, or none does."""
        return not self._names or bool(self.codes.values.min() >= 0)

    def extend(
        self, names: Sequence[tuple[str | None, str]], which: NDArray[Any], moments: NDArray[np.int64]
    ) -> None:
        """Add rows: `names` are (user, session) pairs, `which` the index into them for each row, or -1."""
        codes = [self._names.setdefault(name, len(self._names)) for name in names]
        self.codes.extend(np.array([*codes, -1])[which])
        self.moments.extend(moments)

    def forget_order(self) -> None:
        """Drop the order, because the rows were numbered anew."""
        self._order, self._sorted, self._placed = self._order[:0], self._sorted[:0], 0

    def neighbourhood(self, selection: Selection, rising: int, ids: Ids) -> Neighbourhood:
        """Who stands beside whom in a session, among the selected rows."""
        if not self._names:
            return Neighbourhood(np.empty(0, np.int32), self.codes.values[:0], selection.width)
        rows = selection.rows
        if rows is not None and (not len(rows) or rows[-1] < rising):
            places = np.flatnonzero(self.codes.values[rows] >= 0)
            places = places[self._by_row(rows[places])]
            return Neighbourhood(places, self.codes.values[rows[places]], len(rows))
        self._settle(rising, ids)
        if rows is None:
            seen = slice(None) if selection.whole else selection.mask[self._order]
            return Neighbourhood(self._order[seen], self._sorted[seen], selection.width)
        mask = np.zeros(len(self.codes), bool)
        mask[rows] = True
        order = self._order[mask[self._order]]
        return Neighbourhood(np.searchsorted(rows, order), self.codes.values[order], len(rows))

    def _by_row(self, rows: Rows) -> NDArray[np.intp]:
        return np.lexsort((rows, self.moments.values[rows], self.codes.values[rows]))

    def _settle(self, rising: int, ids: Ids) -> None:
        new = self._placed + np.flatnonzero(self.codes.values[self._placed :] >= 0)
        self._placed = len(self.codes)
        if len(new) > _FEW:
            self._sort(rising, ids)
            return
        for row in new.tolist():
            self._insert(row, rising, ids)

    def _sort(self, rising: int, ids: Ids) -> None:
        rows = np.flatnonzero(self.codes.values >= 0).astype(np.int32)
        if rows[-1] >= rising:
            rows = rows[np.argsort(np.array(ids(rows), dtype=object), kind="stable")]
        keys = (self.moments.values[rows], self.codes.values[rows])
        self._order = rows[np.lexsort(keys)]
        self._sorted = self.codes.values[self._order]

    def _insert(self, row: int, rising: int, ids: Ids) -> None:
        code, moment = self.codes.values[row], self.moments.values[row]
        first, last = (int(np.searchsorted(self._sorted, code, side)) for side in ("left", "right"))
        moments = self.moments.values[self._order[first:last]]
        low, high = (first + int(np.searchsorted(moments, moment, side)) for side in ("left", "right"))
        if row >= rising and low < high:
            *tied, own = ids(np.append(self._order[low:high], row))
            high = low + bisect(tied, own)
        self._order = np.insert(self._order, high, row)
        self._sorted = np.insert(self._sorted, high, code)
