"""The map of memories: projects their vectors to a plane, and finds regions and their words.

The axes are the two principal components of the oldest 2^k memories of an agent, at most `_FIT_MOST`.
So all visits, processes and servers get the same axes without storing them; the axes change only
when the number of memories doubles, and no longer from `_FIT_MOST` on.
"""

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from memorywire.model.record import Record
from memorywire.search.text import STOP_WORDS, split_words

Points: TypeAlias = NDArray[np.float32]
Whole: TypeAlias = NDArray[np.intp]

SIDE = 65_535
"""Coordinates of a picture range from 0 to this on both axes."""

_FIT_MOST = 4_096
_MARGIN = 0.06  # share of the side, on each side of the fitted range
_EDGE_PERCENT = 1.0  # percentile of the fitted points, on each side, that may be in the margin
_ROUNDS = 12
_FEWEST_WORDS = 2
_WORD_CHARS = 4
_WORDS = 3
_TEXTS_MOST = 20_000


class Axes(Struct, frozen=True):
    """The projection of vectors to points: the mean, two directions, and the displayed range of each."""

    fit: int
    middle: Points
    directions: Points
    low: Points
    high: Points

    def place(self, vectors: Points) -> Points:
        """Project vectors to points from 0 to 1; points beyond the range are moved to the edge."""
        raw = (vectors - self.middle) @ self.directions.T
        share = (raw - self.low) / np.maximum(self.high - self.low, 1e-6)
        points: Points = np.clip(_MARGIN + (1 - 2 * _MARGIN) * share, 0.0, 1.0).astype(np.float32)
        return points


class Region(Struct, frozen=True, kw_only=True):
    """A cluster of memories: its centre, its size, and its characteristic words."""

    number: int
    x: float
    y: float
    count: int
    words: tuple[str, ...]


class Colouring(Struct, frozen=True):
    """A colour for each memory, as an index into the names."""

    names: tuple[str, ...]
    codes: NDArray[np.uint8]

    @property
    def counts(self) -> list[int]:
        """Count the memories of each colour."""
        counts: list[int] = np.bincount(self.codes, minlength=len(self.names)).tolist()
        return counts


class Picture(Struct, frozen=True, kw_only=True):
    """The memories of an agent on a plane, oldest first; `regions_of` holds the region of each."""

    ids: Sequence[str]
    points: Points
    created: Whole
    colours: Mapping[str, Colouring]
    regions: tuple[Region, ...]
    regions_of: Whole
    axes: Axes | None

    def find_inside(self, shape: Sequence[tuple[float, float]]) -> Whole:
        """Return the indexes of the points inside a polygon, by the even-odd rule."""
        x, y = self.points[:, 0], self.points[:, 1]
        inside = np.zeros(len(self.ids), dtype=bool)
        for (x1, y1), (x2, y2) in zip(shape, [*shape[1:], *shape[:1]], strict=True):
            if y1 == y2:
                continue
            crosses = (y1 > y) != (y2 > y)
            inside ^= crosses & (x < (x2 - x1) * (y - y1) / (y2 - y1) + x1)
        return np.flatnonzero(inside)


def count_for_fit(total: int) -> int:
    """Return the number of oldest memories to fit the axes to."""
    return min(_FIT_MOST, 1 << max(0, total.bit_length() - 1))


def fit_axes(vectors: Points) -> Axes:
    """Return the two principal directions of the vectors, with a positive largest component."""
    middle = vectors.mean(axis=0)
    apart = vectors - middle
    if len(vectors) < vectors.shape[1]:  # decompose the smaller of the two matrices: the result is the same
        sizes, along = np.linalg.eigh(apart @ apart.T)
        chosen = (apart.T @ along[:, ::-1][:, :2]).T
        chosen /= np.maximum(np.sqrt(np.maximum(sizes[::-1][:2], 0.0)), 1e-6)[: len(chosen), None]
    else:
        chosen = np.linalg.eigh(apart.T @ apart)[1][:, ::-1][:, :2].T
    if len(chosen) < 2:  # a single memory
        chosen = np.vstack([chosen, np.zeros((2 - len(chosen), vectors.shape[1]), np.float32)])
    signs = np.sign(chosen[np.arange(2), np.abs(chosen).argmax(axis=1)])
    chosen = chosen * np.where(signs == 0, 1, signs)[:, None]
    raw = apart @ chosen.T
    low, high = np.percentile(raw, [_EDGE_PERCENT, 100 - _EDGE_PERCENT], axis=0)
    return Axes(len(vectors), middle, chosen, low, high)


def build_picture(
    records: Sequence[Record],
    points: Points,
    axes: Axes | None,
    colours: Mapping[str, Colouring],
) -> Picture:
    """Build the picture of records that are sorted by age."""
    middles = _find_middles(points[: axes.fit]) if axes is not None and len(records) else points[:0]
    regions_of = _find_nearest(points, middles)
    return Picture(
        ids=[one.id for one in records],
        points=points,
        created=np.array([one.created_at for one in records], dtype=np.intp),
        colours=colours,
        regions=tuple(_describe_regions(records, points, regions_of, len(middles))),
        regions_of=regions_of,
        axes=axes,
    )


def _find_middles(points: Points) -> Points:
    """Cluster the points (k-means); the initial centres are as far apart as possible."""
    number = max(1, min(12, round(math.sqrt(len(points) / 3))))
    middles = points[[int(((points - points.mean(axis=0)) ** 2).sum(axis=1).argmin())]]
    while len(middles) < number:
        distances = _measure(points, middles).min(axis=1)
        if not distances.max() > 0:
            break
        middles = np.vstack([middles, points[[int(distances.argmax())]]])
    for _ in range(_ROUNDS):
        nearest = _find_nearest(points, middles)
        middles = np.vstack(
            [
                points[nearest == at].mean(axis=0) if (nearest == at).any() else middles[at]
                for at in range(len(middles))
            ]
        )
    return middles


def _measure(points: Points, middles: Points) -> Points:
    distances: Points = ((points[:, None, :] - middles[None, :, :]) ** 2).sum(axis=2)
    return distances


def _find_nearest(points: Points, middles: Points) -> Whole:
    if not len(middles) or not len(points):
        return np.zeros(len(points), dtype=np.intp)
    nearest: Whole = _measure(points, middles).argmin(axis=1)
    return nearest


def _describe_regions(
    records: Sequence[Record], points: Points, regions_of: Whole, number: int
) -> list[Region]:
    """Return the regions with words that many of their memories contain, and few others."""
    step = max(1, len(records) // _TEXTS_MOST)
    words_of: list[Counter[str]] = [Counter() for _ in range(number)]
    looked_at = [0] * number
    for at in range(0, len(records), step):
        words_of[regions_of[at]].update(_list_words(records[at].text))
        looked_at[regions_of[at]] += 1
    everywhere = sum(words_of, Counter[str]())
    regions = []
    for at in range(number):
        members = points[regions_of == at]
        if len(members):
            x, y = members.mean(axis=0).tolist()
            words = _choose_words(words_of[at], everywhere, looked_at[at], sum(looked_at))
            regions.append(Region(number=at, x=x, y=y, count=len(members), words=words))
    return regions


def _list_words(text: str) -> set[str]:
    words = {word.lower() for word in split_words(text[:400])}
    return {word for word in words if len(word) >= _WORD_CHARS and word.isalpha() and word not in STOP_WORDS}


def _choose_words(
    inside: Mapping[str, int], everywhere: Mapping[str, int], members: int, total: int
) -> tuple[str, ...]:
    """Return the words that distinguish a region, best first (by log-likelihood)."""
    others = max(1, total - members)

    def gain(word: str) -> float:
        share = inside[word] / max(1, members)
        other = (everywhere[word] - inside[word] + 0.5) / others
        return inside[word] * math.log(share / other) if share > other else 0.0

    common = [word for word, count in inside.items() if count >= _FEWEST_WORDS and gain(word) > 0]
    return tuple(sorted(common, key=lambda word: (-gain(word), word))[:_WORDS])


def pack_view(
    picture: Picture, colouring: Colouring, box: tuple[float, float, float, float], *, most: int, cells: int
) -> bytes:
    """Encode a part of the picture: its points, or a density grid if there are more than `most`.

    The first two numbers (32 bits, little endian) say which: 0 and the number of points, then the index of
    each (32 bits), x and y of each (16 bits) and its colour (8 bits); or 1 and the number of cells on a side,
    then the number of points of each cell (16 bits) and its most frequent colour (8 bits), by rows.
    """
    x1, y1, x2, y2 = box
    x, y = picture.points[:, 0], picture.points[:, 1]
    inside = np.flatnonzero((x >= x1) & (x <= x2) & (y >= y1) & (y <= y2))
    colours = colouring.codes[inside]
    if len(inside) <= most:
        head = np.array([0, len(inside)], "<u4").tobytes()
        whole = np.rint(picture.points[inside] * SIDE).astype("<u2")
        return head + inside.astype("<u4").tobytes() + whole.T.tobytes() + colours.tobytes()
    column = np.minimum((x[inside] - x1) / (x2 - x1) * cells, cells - 1).astype(np.intp)
    row = np.minimum((y[inside] - y1) / (y2 - y1) * cells, cells - 1).astype(np.intp)
    number = len(colouring.names)
    counts: Any = np.bincount((row * cells + column) * number + colours, minlength=cells * cells * number)
    by_colour = counts.reshape(cells * cells, number)
    totals = np.minimum(by_colour.sum(axis=1), 65_535).astype("<u2")
    frequent = by_colour.argmax(axis=1).astype(np.uint8)
    head = np.array([1, cells], "<u4").tobytes()
    return head + bytes(totals.tobytes()) + bytes(frequent.tobytes())


def decode_vectors(blobs: Sequence[bytes | None], dimension: int) -> Points:
    """Decode vectors to rows; a missing one becomes a row of zeros."""
    zeros = bytes(4 * dimension)
    whole = [blob if blob is not None and len(blob) == 4 * dimension else zeros for blob in blobs]
    rows: Points = np.frombuffer(b"".join(whole), "<f4").reshape(len(blobs), dimension)
    return rows
