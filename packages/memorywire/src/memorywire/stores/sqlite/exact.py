"""The ids and vectors of a few rows, as the file has them, ready to be computed with."""

import json
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import apsw
import numpy as np
from numpy.typing import NDArray

from memorywire.model.values import dataclass
from memorywire.stores.sqlite.float16 import sound_vectors, widened
from memorywire.stores.sqlite.growing import Growing
from memorywire.stores.sqlite.rows import Row
from memorywire.stores.sqlite.sql import QUERIES

_MANY = 4096


@dataclass(frozen=True, slots=True)
class Vectors:
    """The ids and vectors of some versions, as the file has them; zeros for a vector that is missing."""

    ids: Sequence[str]
    matrix: NDArray[np.floating[Any]]

    def cosines(self, asked: NDArray[np.float32] | None) -> NDArray[np.float64]:
        """The cosine of each row with `asked`, in double precision; rounded, so that equal vectors tie."""
        if asked is None:
            return np.zeros(len(self.ids))
        wide = asked.astype(np.float64)
        if self.matrix.dtype == wide.dtype:
            whole: NDArray[np.float64] = np.einsum("ij,j->i", self.matrix, wide)
            return whole.round(12)
        found = np.empty(len(self.ids))
        for start in range(0, len(found), _MANY):
            some = self.matrix[start : start + _MANY].astype(np.float64, copy=False)
            np.einsum("ij,j->i", some, wide, out=found[start : start + _MANY])
        return found.round(12)


def vectors_at(db: apsw.Connection, positions: Sequence[int], dimension: int) -> Vectors:
    """The ids and vectors of these versions, in this order."""
    rows: Iterable[Row] = db.execute(QUERIES["vectors_at"], {"positions": json.dumps(positions)})
    found = {position: (id, vector) for position, id, vector in rows}
    _, vectors, _ = sound_vectors([found[position][1] for position in positions], dimension)
    return Vectors([found[position][0] for position in positions], vectors)


class Exact:
    """The ids and vectors of a small shelf, kept so that a search need not read them from the file."""

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


class Recent:
    """Vectors that recent searches of a large shelf have read, kept until there are too many.

    A user with few rows among many would otherwise read the same vectors for every question.
    """

    def __init__(self, dimension: int, most: int) -> None:
        self._most = most
        self._places: dict[int, int] = {}
        self._ids: list[str] = []
        self._matrix = Growing("f8", dimension)

    @property
    def nbytes(self) -> int:
        return self._matrix.nbytes

    def forget(self) -> None:
        """Drop everything, because rows have ended or were renumbered."""
        self._places, self._ids = {}, []
        self._matrix.clear()

    def has(self, rows: NDArray[Any]) -> bool:
        """Whether the vectors of all these rows are known."""
        return self._places.keys() >= set(rows.tolist())

    def at(self, rows: NDArray[Any], read: Callable[[NDArray[Any]], Vectors]) -> Vectors:
        """The vectors of these rows; `read` gives those that are not known."""
        if len(rows) > self._most:
            return read(rows)
        missing = np.array([row for row in rows.tolist() if row not in self._places], rows.dtype)
        if len(missing) + len(self._ids) > self._most:
            self.forget()
            missing = rows
        if len(missing):
            self._learn(missing, read(missing))
        places = [self._places[row] for row in rows.tolist()]
        return Vectors([self._ids[place] for place in places], self._matrix.values[places])

    def _learn(self, rows: NDArray[Any], vectors: Vectors) -> None:
        self._places.update(
            zip(rows.tolist(), range(len(self._ids), len(self._ids) + len(rows)), strict=True)
        )
        self._ids += vectors.ids
        self._matrix.extend(vectors.matrix)
