"""Numbers of 16 bits, as the file keeps them, and made wide again."""

from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

_TOLERANCE = 0.02  # of the squared length: rounding to 16 bits moves it by less than a thousandth


def narrowed(vector: bytes) -> bytes:
    """A vector of 32 bit numbers as the file keeps it."""
    return np.frombuffer(vector, "<f4").astype("<f2").tobytes()


def widened(halves: NDArray[np.uint16]) -> NDArray[np.float32]:
    """The numbers that these bits stand for. Looking them up is faster than converting each."""
    return _table().take(halves)


def sound_vectors(
    blobs: Sequence[bytes | None], dimension: int
) -> tuple[NDArray[np.uint16], NDArray[np.float32], NDArray[np.bool_]]:
    """Vectors as the file keeps them, made wide, and which are damaged: not finite, or not of length one.

    A row of zeros stands for a vector that is missing or damaged, so that no answer is made of it.
    """
    size = 2 * dimension
    none = bytes(size)
    whole = [blob if blob is not None and len(blob) == size else none for blob in blobs]
    halves = np.frombuffer(b"".join(whole), "<u2").reshape(len(blobs), dimension)
    vectors = widened(halves)
    with np.errstate(invalid="ignore", over="ignore"):
        squares = np.einsum("ij,ij->i", vectors, vectors)
        unsound = ~(np.abs(squares - 1) <= _TOLERANCE)
    if unsound.any():
        halves, vectors = halves.copy(), vectors.copy()
        halves[unsound], vectors[unsound] = 0, 0
        unsound &= np.array([blob is not None for blob in blobs])
    return halves, vectors, unsound


@cache
def _table() -> NDArray[Any]:
    return np.arange(2**16, dtype=np.uint16).view(np.float16).astype(np.float32)
