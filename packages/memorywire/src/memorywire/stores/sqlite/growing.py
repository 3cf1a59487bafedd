"""An array that grows."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

# Room to spare, a fourth of what is there: a large array must not double.
_SPARE = 4


class Growing:
    """An array that is appended to, in amortised constant time.

    When it is full it moves to where there is room for one `spare`-th more.
    """

    def __init__(self, dtype: str, *shape: int, spare: int = _SPARE) -> None:
        self._room: NDArray[Any] = np.empty((0, *shape), dtype)
        self._size = 0
        self._spare = spare

    def __len__(self) -> int:
        return self._size

    @property
    def values(self) -> NDArray[Any]:
        return self._room[: self._size]

    @property
    def nbytes(self) -> int:
        return self._room.nbytes

    def expect(self, more: int) -> None:
        """Make room for so many more."""
        wanted = self._size + more
        if wanted > len(self._room):
            room = np.empty((wanted, *self._room.shape[1:]), self._room.dtype)
            room[: self._size] = self.values
            self._room = room

    def extend(self, values: NDArray[Any]) -> None:
        wanted = self._size + len(values)
        if wanted > len(self._room):
            self.expect(max(len(values), self._size // self._spare))
        self._room[self._size : wanted] = values
        self._size = wanted

    def clear(self) -> None:
        """Empty it, leaving nothing of what it held; there is still room for as much."""
        self.values[:] = 0
        self._size = 0

    def keep(self, kept: NDArray[np.bool_]) -> None:
        self._room = self.values[kept]
        self._size = len(self._room)
