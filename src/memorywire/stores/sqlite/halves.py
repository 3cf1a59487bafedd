"""Numbers of 16 bits, as the file keeps them, and made wide again."""

from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray


def narrowed(vector: bytes) -> bytes:
    """A vector of 32 bit numbers as the file keeps it."""
    return np.frombuffer(vector, "<f4").astype("<f2").tobytes()


def widened(halves: NDArray[np.uint16]) -> NDArray[np.float32]:
    """The numbers that these bits stand for. Looking them up is faster than converting each."""
    return _table().take(halves)


@cache
def _table() -> NDArray[Any]:
    return np.arange(2**16, dtype=np.uint16).view(np.float16).astype(np.float32)
