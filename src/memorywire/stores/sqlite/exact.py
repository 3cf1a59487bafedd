"""The ids and vectors of a few rows, as the file has them, ready to be computed with."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from memorywire.stores.sqlite.growing import Growing
from memorywire.stores.sqlite.halves import widened

_MANY = 4096


@dataclass(frozen=True, slots=True)
class Vectors:
    """The ids and vectors of some versions, as the file has them; zeros for a vector that is missing."""

    ids: Sequence[str]
    matrix: NDArray[np.floating[Any]]

    def cosines(self, asked: NDArray[np.float32] | None) -> NDArray[np.float64]:
        """Row by row in double precision; rounded, so that equal vectors tie wherever they stand."""
        found = np.zeros(len(self.ids))
        if asked is None:
            return found
        wide = asked.astype(np.float64)
        for start in range(0, len(found), _MANY):
            some = self.matrix[start : start + _MANY].astype(np.float64, copy=False)
            np.einsum("ij,j->i", some, wide, out=found[start : start + _MANY])
        return np.round(found, 12)


class Exact:
    """Kept for a shelf as long as it is small, so that a search need not read them again."""

    def __init__(self, dimension: int) -> None:
        self._ids: list[str] = []
        self._matrix = Growing("f8", dimension)

    @property
    def nbytes(self) -> int:
        return self._matrix.nbytes

    def extend(self, ids: Sequence[str], halves: NDArray[np.uint16]) -> None:
        self._ids += ids
        self._matrix.extend(widened(halves))

    def clear(self, rows: NDArray[Any]) -> None:
        self._matrix.values[rows] = 0

    def keep(self, kept: NDArray[np.bool_]) -> None:
        self._ids = [self._ids[row] for row in np.flatnonzero(kept).tolist()]
        self._matrix.keep(kept)

    def at(self, rows: NDArray[Any]) -> Vectors:
        if len(rows) == len(self._ids):  # in ascending order, so they are all
            return Vectors(self._ids, self._matrix.values)
        return Vectors([self._ids[row] for row in rows.tolist()], self._matrix.values[rows])
