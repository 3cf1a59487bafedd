"""Fits a floor, or the threshold of duplicates, to measured relevances."""

import math
from collections.abc import Sequence

from msgspec import Struct

from memorywire.search.admit import derive_match

KEEP = 0.98
"""The minimum share of answerable questions that a fitted floor still answers."""

_GRID = tuple(step / 20 for step in range(20))
_STEPS = 1000


class Cut(Struct, frozen=True, kw_only=True):
    """The effect of a floor: the share of answerable questions it keeps, and of the others it cuts."""

    floor: float
    kept: float
    cut: float


def fit_floor(answerable: Sequence[float], others: Sequence[float]) -> float:
    """Fit a floor to the best relevance of each question; neither list may be empty.

    Among the floors that keep enough of the answerable questions, take the range that cuts most of the
    others, and return its middle.
    """
    highest = _find_least(answerable)
    below = [relevance for relevance in (*answerable, *others) if relevance < highest]
    floor = (highest + max(below)) / 2 if below else highest
    return math.floor(floor * _STEPS) / _STEPS


def fit_match(floor: float, answerable: Sequence[float]) -> float | None:
    """Return the relevance from which an answer is a match: the default for the floor, but at most the lowest
    relevance to keep. None if the floor is useless."""
    default = derive_match(floor)
    if default is None:
        return None
    return math.floor(min(default, _find_least(answerable)) * _STEPS) / _STEPS


def fit_threshold(same: Sequence[float]) -> float:
    """Return the highest threshold, to two digits, that still recognises enough of the equal pairs."""
    return math.floor(_find_least(same) * 100) / 100


def _find_least(values: Sequence[float]) -> float:
    return sorted(values)[int(len(values) * (1 - KEEP) + 1e-9)]


def measure_cut(floor: float, answerable: Sequence[float], others: Sequence[float]) -> Cut:
    return Cut(
        floor=floor,
        kept=sum(relevance >= floor for relevance in answerable) / len(answerable),
        cut=sum(relevance < floor for relevance in others) / len(others),
    )


def build_table(floor: float, answerable: Sequence[float], others: Sequence[float]) -> list[Cut]:
    """Return the effect of the fitted floor and of others, from low to high."""
    return [measure_cut(step, answerable, others) for step in sorted({*_GRID, floor})]
