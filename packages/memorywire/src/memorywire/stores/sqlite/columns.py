"""Small functions of arrays that have one place for each row of a shelf or a selection."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from memorywire.search.relevance import BRIEF, LENGTHY
from memorywire.stores.sqlite.best import Floats, Mask, Places


def spread(places: Places, values: Floats, width: int) -> Floats | None:
    """A column of this width with these values at these places; None where there are none."""
    if not len(places):
        return None
    column = np.zeros(width)
    column[places] = values
    return column


def standing_at(column: Floats, places: Places) -> Floats:
    """The values at these ascending places; the column itself if they are all of its places."""
    return column if len(places) == len(column) else column[places]


def shortened(lengths: NDArray[Any]) -> Floats:
    return 1 / (1 + np.clip((lengths.astype(np.float64) - BRIEF) / LENGTHY, 0, 1))


def floats(vector: bytes | None) -> NDArray[np.float32] | None:
    return None if vector is None else np.frombuffer(vector, "<f4")


def within(moments: NDArray[np.int64], times: Sequence[tuple[int, int]]) -> Mask:
    inside = np.zeros(len(moments), bool)
    for start, end in times:
        inside |= (moments >= start) & (moments < end)
    return inside
