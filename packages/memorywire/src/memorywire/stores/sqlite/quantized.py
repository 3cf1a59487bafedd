"""Vectors as one byte a component: small enough to keep them all, near enough to choose by."""

import math
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from memorywire.stores.sqlite.float16 import widened
from memorywire.stores.sqlite.growing import Growing
from memorywire.stores.sqlite.selection import Selection

Floats: TypeAlias = NDArray[np.float32]
Bytes: TypeAlias = NDArray[np.int8]

_LARGEST = 127
# Rows that are worked on together stay in the processor's cache.
_BATCH = 256
# An error of rounding points anywhere: so many standard deviations of its share along one direction.
_DEVIATIONS = 4.0


class Codes:
    """Vectors as rows of bytes, each row with the length of one unit.

    A few new rows are kept unrounded until somebody asks: a search among few rows never does.
    """

    def __init__(self, dimension: int) -> None:
        self._codes = Growing("i1", dimension)
        self._units = Growing("f4")
        self.dimension = dimension
        self._worst = 0.0
        self._late: list[NDArray[np.uint16]] = []

    @property
    def columns(self) -> tuple[Growing, Growing]:
        return self._codes, self._units

    def extend(self, halves: NDArray[np.uint16]) -> None:
        """Add rows of 16-bit numbers; a row of zeros stands for no vector."""
        self._late.append(halves)
        if sum(map(len, self._late)) > _BATCH:
            self._settle()

    def add(self, codes: Bytes, units: Floats, worst: float) -> None:
        """Add rows that are rounded already."""
        self._settle()
        self._keep(codes, units, worst)

    def _settle(self) -> None:
        if self._late:
            late, self._late = self._late, []
            self._keep(*rounded(np.concatenate(late)))

    def _keep(self, codes: Bytes, units: Floats, worst: float) -> None:
        self._worst = max(self._worst, worst)
        self._codes.extend(codes)
        self._units.extend(units)

    def clear(self, rows: NDArray[Any]) -> None:
        self._settle()
        self._codes.values[rows] = 0
        self._units.values[rows] = 0

    def near(self, asked: Floats, among: Selection) -> tuple[Floats, float]:
        """The approximate cosine of each selected row, and the largest error it may have.

        The bound is certain for few dimensions; for many it is more than rounding does in practice.
        """
        self._settle()
        codes, units = among.pick(self._codes.values), among.pick(self._units.values)
        [asked_codes], [unit], error = _rounded(asked[None])
        near = _products(asked_codes, codes)
        near *= units
        near *= unit
        certain = self._worst + error
        likely = _DEVIATIONS * math.hypot(self._worst, error) / math.sqrt(self.dimension)
        return near, min(certain, likely)


def rounded(halves: NDArray[np.uint16]) -> tuple[Bytes, Floats, float]:
    """The bytes of rows of 16-bit numbers, their units, and the length of the worst error."""
    if len(halves) <= _BATCH:
        return _rounded(widened(halves))
    starts = range(0, len(halves), _BATCH)
    parts = [_rounded(widened(halves[start : start + _BATCH])) for start in starts]
    codes, units, errors = zip(*parts, strict=True)
    return np.concatenate(codes), np.concatenate(units), max(errors)


def _rounded(vectors: Floats) -> tuple[Bytes, Floats, float]:
    """The bytes of each row, its unit, and the length of the worst row's rounding error."""
    units = np.abs(vectors).max(axis=1) / np.float32(_LARGEST)
    scaled = vectors / np.where(units > 0, units, 1)[:, None]
    whole = np.rint(scaled)
    scaled -= whole
    errors = np.sqrt(np.einsum("ij,ij->i", scaled, scaled)) * units
    return whole.astype(np.int8), units, float(errors.max(initial=0.0))


def _products(asked: Bytes, codes: Bytes) -> Floats:
    if not len(codes):
        return np.zeros(0, np.float32)
    try:
        from simsimd import cdist
    except ImportError:  # no build for this platform: slower, not different
        return _slow_products(asked, codes)
    found = cdist(asked[None], codes, metric="dot", out_dtype="float32")
    return np.asarray(found, np.float32).reshape(-1)


def _slow_products(asked: Bytes, codes: Bytes) -> Floats:
    wide = asked.astype(np.float32)
    starts = range(0, len(codes), _BATCH)
    return np.concatenate([codes[start : start + _BATCH].astype(np.float32) @ wide for start in starts])
