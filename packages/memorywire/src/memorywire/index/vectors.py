"""Vectors in three precisions: float16 as stored, 8-bit to choose candidates, float64 to rank them.

The quantized vectors of all rows fit into memory (384 bytes a row with the default embedder). They give an
approximate cosine and a bound on its error; only rows that could win within that bound are ranked, with
the exact vectors.
"""

import math
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any, TypeAlias

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from memorywire.index.arrays import GrowableArray, Mask, Selection

Float16Bits: TypeAlias = NDArray[np.uint16]
Float32s: TypeAlias = NDArray[np.float32]
Int8s: TypeAlias = NDArray[np.int8]
Quantized: TypeAlias = tuple[Int8s, Float32s, float]
"""8-bit rows, the scale of each row, and the norm of the largest rounding error."""

_LENGTH_TOLERANCE = 0.02  # tolerance of the squared length: rounding to float16 changes it by less than 0.001
_LARGEST = 127
_BATCH = 256  # rows converted at a time, so that they stay in the CPU cache
_COSINE_BATCH = 4096  # rows converted to double precision at a time: 12 MB at 384 dimensions

# The rounding error of a vector has a random direction: its component along the query is within four
# standard deviations in all but one of 16,000 cases, and `tests/sqlite/test_quantized.py` finds no exception.
_DEVIATIONS = 4.0


def to_float16(vector: bytes) -> bytes:
    """Convert a float32 vector to float16, as stored."""
    return np.frombuffer(vector, "<f4").astype("<f2").tobytes()


def to_float32(bits: Float16Bits) -> Float32s:
    """Convert float16 bits to float32; a table lookup is faster than a conversion."""
    return _float16_table().take(bits)


@cache
def _float16_table() -> NDArray[Any]:
    return np.arange(2**16, dtype=np.uint16).view(np.float16).astype(np.float32)


def decode_vectors(
    blobs: Sequence[bytes | None], dimension: int
) -> tuple[Float16Bits, Float32s, NDArray[np.bool_]]:
    """Return stored vectors as bits and as float32, and which are damaged: not finite or not of length one.

    A missing or damaged vector becomes a row of zeros, so that it matches nothing. One stored as zeros
    is of a text that the embedder cannot read.
    """
    size = 2 * dimension
    zeros = bytes(size)
    whole = [blob if blob is not None and len(blob) == size else zeros for blob in blobs]
    bits = np.frombuffer(b"".join(whole), "<u2").reshape(len(blobs), dimension)
    vectors = to_float32(bits)
    with np.errstate(invalid="ignore", over="ignore"):
        squares = np.einsum("ij,ij->i", vectors, vectors)
        damaged = ~(np.abs(squares - 1) <= _LENGTH_TOLERANCE)
    if damaged.any():
        bits, vectors = bits.copy(), vectors.copy()
        bits[damaged], vectors[damaged] = 0, 0
        damaged &= np.array([blob not in (None, zeros) for blob in blobs])
    return bits, vectors, damaged


class QuantizedVectors:
    """Vectors quantized to 8 bits, each row with its scale.

    A few new rows stay unquantized until a search needs them: a search in few rows never does.
    """

    def __init__(self, dimension: int) -> None:
        self._bytes = GrowableArray("i1", dimension)
        self._scales = GrowableArray("f4")
        self.dimension = dimension
        self._max_error = 0.0
        self._unquantized: list[Float16Bits] = []

    @property
    def columns(self) -> tuple[GrowableArray, GrowableArray]:
        return self._bytes, self._scales

    def extend(self, bits: Float16Bits) -> None:
        """Add rows of float16 bits; a row of zeros means a missing vector."""
        self._unquantized.append(bits)
        if sum(map(len, self._unquantized)) > _BATCH:
            self._quantize_rest()

    def extend_quantized(self, quantized: Quantized) -> None:
        """Add rows that are already quantized."""
        self._quantize_rest()
        self._append(quantized)

    def clear(self, rows: NDArray[Any]) -> None:
        self._quantize_rest()
        self._bytes.values[rows] = 0
        self._scales.values[rows] = 0

    def approximate_cosines(self, query: Float32s, selection: Selection) -> tuple[Float32s, float]:
        """Return the approximate cosine of each selected row, and a bound on its error.

        The bound is certain for few dimensions; for many it exceeds the errors that occur in practice.
        """
        self._quantize_rest()
        rows, scales = selection.align(self._bytes.values), selection.align(self._scales.values)
        [query_bytes], [scale], error = _quantize(query[None])
        cosines = _dot_products(query_bytes, rows)
        cosines *= scales
        cosines *= scale
        certain = self._max_error + error
        likely = _DEVIATIONS * math.hypot(self._max_error, error) / math.sqrt(self.dimension)
        return cosines, min(certain, likely)

    def _quantize_rest(self) -> None:
        if self._unquantized:
            bits, self._unquantized = np.concatenate(self._unquantized), []
            self._append(quantize(bits))

    def _append(self, quantized: Quantized) -> None:
        rows, scales, error = quantized
        self._max_error = max(self._max_error, error)
        self._bytes.extend(rows)
        self._scales.extend(scales)


def quantize(bits: Float16Bits) -> Quantized:
    """Quantize rows of float16 bits to 8 bits."""
    if len(bits) <= _BATCH:
        return _quantize(to_float32(bits))
    starts = range(0, len(bits), _BATCH)
    parts = [_quantize(to_float32(bits[start : start + _BATCH])) for start in starts]
    rows, scales, errors = zip(*parts, strict=True)
    return np.concatenate(rows), np.concatenate(scales), max(errors)


def _quantize(vectors: Float32s) -> Quantized:
    scales = np.abs(vectors).max(axis=1) / np.float32(_LARGEST)
    scaled = vectors / np.where(scales > 0, scales, 1)[:, None]
    whole = np.rint(scaled)
    scaled -= whole
    errors = np.sqrt(np.einsum("ij,ij->i", scaled, scaled)) * scales
    return whole.astype(np.int8), scales, float(errors.max(initial=0.0))


def _dot_products(query: Int8s, rows: Int8s) -> Float32s:
    if not len(rows):
        return np.zeros(0, np.float32)
    try:
        from simsimd import cdist
    except ImportError:  # no build for this platform: the same products, slower
        return _slow_dot_products(query, rows)
    products = cdist(query[None], rows, metric="dot", out_dtype="float32")
    return np.asarray(products, np.float32).reshape(-1)


def _slow_dot_products(query: Int8s, rows: Int8s) -> Float32s:
    wide = query.astype(np.float32)
    starts = range(0, len(rows), _BATCH)
    return np.concatenate([rows[start : start + _BATCH].astype(np.float32) @ wide for start in starts])


class Vectors(Struct, frozen=True):
    """The ids and exact vectors of some versions; zeros for a missing vector."""

    ids: Sequence[str]
    matrix: NDArray[np.floating[Any]]

    def cosines(self, query: Float32s | None) -> NDArray[np.float64]:
        """Return the float64 cosine of each row with the query, rounded so that equal vectors tie."""
        if query is None:
            return np.zeros(len(self.ids))
        wide = query.astype(np.float64)
        if self.matrix.dtype == wide.dtype:
            whole: NDArray[np.float64] = np.einsum("ij,j->i", self.matrix, wide)
            return whole.round(12)
        cosines = np.empty(len(self.ids))
        for start in range(0, len(cosines), _COSINE_BATCH):
            part = self.matrix[start : start + _COSINE_BATCH].astype(np.float64, copy=False)
            np.einsum("ij,j->i", part, wide, out=cosines[start : start + _COSINE_BATCH])
        return cosines.round(12)


class ExactVectors:
    """The ids and vectors of a small index in double precision, so that a search reads no rows."""

    def __init__(self, dimension: int) -> None:
        self._ids: list[str] = []
        self._matrix = GrowableArray("f8", dimension)

    @property
    def nbytes(self) -> int:
        return self._matrix.nbytes

    def extend(self, ids: Sequence[str], bits: Float16Bits) -> None:
        self._ids += ids
        self._matrix.extend(to_float32(bits))

    def clear(self, rows: NDArray[Any]) -> None:
        self._matrix.values[rows] = 0

    def compact(self, live: Mask) -> None:
        self._ids = [self._ids[row] for row in np.flatnonzero(live).tolist()]
        self._matrix.compact(live)

    def ids_at(self, rows: NDArray[Any]) -> list[str]:
        return [self._ids[row] for row in rows.tolist()]

    def at(self, rows: NDArray[Any]) -> Vectors:
        if len(rows) == len(self._ids):  # ascending, so these are all rows
            return Vectors(self._ids, self._matrix.values)
        return Vectors(self.ids_at(rows), self._matrix.values[rows])


class Float16Vectors(ExactVectors):
    """Like `ExactVectors` in a quarter of the memory; each search converts the rows that it compares."""

    def __init__(self, dimension: int) -> None:
        super().__init__(dimension)
        self._matrix = GrowableArray("u2", dimension)

    def extend(self, ids: Sequence[str], bits: Float16Bits) -> None:
        self._ids += ids
        self._matrix.extend(bits)

    def at(self, rows: NDArray[Any]) -> Vectors:
        return Vectors(self.ids_at(rows), to_float32(self._matrix.values[rows]).astype(np.float64))


class VectorCache:
    """A cache of vectors that recent searches of a large index have read; cleared when it is full.

    Without it, every search of a user with few rows among many would read the same vectors again.
    """

    def __init__(self, dimension: int, max_rows: int) -> None:
        self._max_rows = max_rows
        self._offsets: dict[int, int] = {}
        self._ids: list[str] = []
        self._matrix = GrowableArray("f8", dimension)

    @property
    def nbytes(self) -> int:
        return self._matrix.nbytes

    def clear(self) -> None:
        """Drop all vectors, because rows have ended or were renumbered."""
        self._offsets, self._ids = {}, []
        self._matrix.clear()

    def has(self, rows: NDArray[Any]) -> bool:
        """Return whether the vectors of all these rows are cached."""
        return self._offsets.keys() >= set(rows.tolist())

    def at(self, rows: NDArray[Any], read: Callable[[NDArray[Any]], Vectors]) -> Vectors:
        """Return the vectors of these rows; calls `read` for those that are not cached."""
        if len(rows) > self._max_rows:
            return read(rows)
        missing = np.array([row for row in rows.tolist() if row not in self._offsets], rows.dtype)
        if len(missing) + len(self._ids) > self._max_rows:
            self.clear()
            missing = rows
        if len(missing):
            self._add(missing, read(missing))
        offsets = [self._offsets[row] for row in rows.tolist()]
        return Vectors([self._ids[offset] for offset in offsets], self._matrix.values[offsets])

    def _add(self, rows: NDArray[Any], vectors: Vectors) -> None:
        first = len(self._ids)
        self._offsets.update(zip(rows.tolist(), range(first, first + len(rows)), strict=True))
        self._ids += vectors.ids
        self._matrix.extend(vectors.matrix)
