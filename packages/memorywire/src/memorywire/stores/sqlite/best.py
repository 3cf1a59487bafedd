"""The places of the largest of many numbers, without sorting them."""

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

Floats: TypeAlias = NDArray[np.floating[Any]]
Places: TypeAlias = NDArray[np.signedinteger[Any]]
Mask: TypeAlias = NDArray[np.bool_]

FEW = 256
"""Up to this many values it is faster to look at all than to find out which can be left out."""

_NOBODY = -1.0
_GROUP = 64


def best(weights: Floats, among: Mask | None, wanted: int, slack: float) -> Places:
    """The places of the `wanted` largest weights, and of all that are within `slack` of the last of them."""
    values = weights if among is None else np.where(among, weights, _NOBODY)
    if len(values) <= wanted:
        return np.flatnonzero(values > _NOBODY)
    if len(values) <= FEW:
        return np.flatnonzero(values >= max(_edge(values, wanted) - slack, 0.0))
    likely = np.flatnonzero(values >= max(_edge(_largest_of_each_group(values, wanted), wanted) - slack, 0.0))
    return likely[values[likely] >= max(_edge(values[likely], wanted) - slack, 0.0)]


def _edge(values: Floats, wanted: int) -> float:
    """The smallest of the `wanted` largest values; _NOBODY when there are fewer."""
    if len(values) < wanted:
        return _NOBODY
    return float(np.partition(values, len(values) - wanted)[len(values) - wanted])


def _largest_of_each_group(values: Floats, wanted: int) -> Floats:
    """The largest value of each group: the smallest of the best `wanted` of these is a safe lower bound."""
    groups = max(wanted, len(values) // _GROUP)
    whole = len(values) // groups * groups
    largest: Floats = values[:whole].reshape(-1, groups).max(axis=0)
    return largest
