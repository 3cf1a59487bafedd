"""An array that grows."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

# Room to spare, beside what is there: a large array must not double.
_ROOM_SHARE = 4


class Growing:
    """An array that is appended to, in amortised constant time."""

    def __init__(self, dtype: str, *shape: int) -> None:
        self._room: NDArray[Any] = np.empty((0, *shape), dtype)
        self._size = 0

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
            self.expect(max(len(values), self._size // _ROOM_SHARE))
        self._room[self._size : wanted] = values
        self._size = wanted

    def clear(self) -> None:
        """Empty it, leaving nothing of what it held; there is still room for as much."""
        self.values[:] = 0
        self._size = 0

    def keep(self, kept: NDArray[np.bool_]) -> None:
        self._room = self.values[kept]
        self._size = len(self._room)
