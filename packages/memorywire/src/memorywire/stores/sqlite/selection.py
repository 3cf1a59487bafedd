"""The rows of a shelf that a query may see: a list of row numbers where few, a mask where many."""

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from memorywire.model.values import dataclass

Rows = NDArray[np.int32]
Mask = NDArray[np.bool_]

# A smaller share of a shelf is cheaper to copy out than to look at among the rest.
_FEW = 4


@dataclass(frozen=True, slots=True)
class Selection:
    """The selected rows: `rows` in ascending order, or, when that is None, a `mask` over the whole shelf.

    An array "beside" a selection has one place for each of `rows`, or one for each row of the shelf.
    """

    size: int
    rows: Rows | None
    mask: Mask
    picked: dict[int, tuple[NDArray[Any], NDArray[Any]]] | None = None
    """Of a selection that is asked for again and again: the parts of columns, with whose they are."""

    @classmethod
    def of_all(cls, width: int) -> Self:
        return cls(width, None, np.ones(width, bool))

    @classmethod
    def of_rows(cls, rows: Rows, width: int) -> Self:
        if len(rows) * _FEW < width:
            return cls(len(rows), rows, np.ones(0, bool))
        mask = np.zeros(width, bool)
        mask[rows] = True
        return cls(len(rows), None, mask)

    @property
    def width(self) -> int:
        """The length of an array beside this selection."""
        return len(self.mask) if self.rows is None else len(self.rows)

    @property
    def whole(self) -> bool:
        """Whether each place of such an array belongs to a selected row."""
        return self.size == self.width

    @property
    def places(self) -> NDArray[np.intp]:
        """The places of the selected rows in such an array."""
        return np.arange(self.size) if self.whole else self.mask.nonzero()[0]

    def pick(self, column: NDArray[Any]) -> NDArray[Any]:
        """The part of a column beside this selection; do not write to it."""
        if self.rows is None:
            return column
        if self.picked is None or column.base is None:
            return column[self.rows]
        if id(column.base) not in self.picked:
            self.picked[id(column.base)] = (column.base, column[self.rows])
        return self.picked[id(column.base)][1]

    @property
    def nbytes(self) -> int:
        return sum(part.nbytes for _, part in (self.picked or {}).values())

    def numbers(self, places: NDArray[Any]) -> Rows:
        """The row numbers at these places."""
        return places.astype(np.int32) if self.rows is None else self.rows[places]

    def where(self, holds: Mask) -> "Selection":
        """The selected rows for which `holds`, an array beside this selection, is true."""
        if self.rows is not None:
            kept = self.rows[holds]
            return Selection(len(kept), kept, self.mask)
        mask = self.mask & holds
        size = int(np.count_nonzero(mask))
        if size * _FEW < len(mask):
            return Selection(size, np.flatnonzero(mask).astype(np.int32), mask[:0])
        return Selection(size, None, mask)

    def among(self, found: Rows, *, rising: bool = True) -> tuple[NDArray[Any], NDArray[Any] | slice]:
        """The places of the rows of `found` that are selected, and the indexes of these in `found`.

        Whether `found` is `rising`, in ascending order, matters only for the time it takes.
        """
        if self.rows is None:
            if self.whole:
                return found, slice(None)
            seen = self.mask[found]
            return found[seen], seen
        if rising and len(self.rows) < len(found):
            places, at = holding(self.rows, found)
            return places, at
        at, places = holding(found, self.rows)
        return places, at


def holding(wanted: Rows, sorted_: Rows) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """The indexes of `wanted` that are in the sorted rows, and their indexes there."""
    if not len(sorted_):
        return np.empty(0, np.intp), np.empty(0, np.intp)
    at = np.minimum(np.searchsorted(sorted_, wanted), len(sorted_) - 1)
    hits = (sorted_[at] == wanted).nonzero()[0]
    return hits, at[hits]


def held(wanted: Rows, sorted_: Rows) -> Mask:
    """For each of `wanted`, whether it is in the sorted rows."""
    found = np.zeros(len(wanted), bool)
    found[holding(wanted, sorted_)[0]] = True
    return found
