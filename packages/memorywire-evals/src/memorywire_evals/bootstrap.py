"""How sure a mean is: resampled questions, paired where two systems answered the same ones."""

from collections.abc import Sequence

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

RESAMPLES = 10_000
SEED = 1337

_CHUNK = 500


class Interval(Struct, frozen=True, kw_only=True):
    """A mean, the range that holds it in 95 of 100 resamples, and the two-sided p of it being zero."""

    mean: float
    low: float
    high: float
    p: float


def interval(
    values: Sequence[float],
    clusters: Sequence[str] | None = None,
    *,
    resamples: int = RESAMPLES,
    seed: int = SEED,
) -> Interval:
    """The mean of the values, drawn one by one; and in whole clusters as well, where those are given.

    The wider range and the larger p are told: a few clusters that happen to agree are no certainty.
    """
    ways = [None] if clusters is None else [None, clusters]
    drawn = [resampled_means(values, way, resamples=resamples, seed=seed) for way in ways]
    ranges = [np.quantile(means, [0.025, 0.975]) for means in drawn]
    beyond = max(min(float((means <= 0).mean()), float((means >= 0).mean())) for means in drawn)
    return Interval(
        mean=float(np.mean(values)),
        low=float(min(low for low, _ in ranges)),
        high=float(max(high for _, high in ranges)),
        p=min(1.0, 2 * beyond),
    )


def difference(
    ours: Sequence[float],
    theirs: Sequence[float],
    clusters: Sequence[str] | None = None,
    *,
    resamples: int = RESAMPLES,
) -> Interval:
    """Ours minus theirs, question by question."""
    gaps = [mine - other for mine, other in zip(ours, theirs, strict=True)]
    return interval(gaps, clusters, resamples=resamples)


def resampled_means(
    values: Sequence[float], clusters: Sequence[str] | None, *, resamples: int, seed: int
) -> NDArray[np.float64]:
    names = [str(place) for place in range(len(values))] if clusters is None else list(clusters)
    _, group = np.unique(names, return_inverse=True)
    sums = np.bincount(group, weights=np.asarray(values, dtype=np.float64))
    sizes = np.bincount(group)
    random = np.random.default_rng(seed)
    means = []
    for start in range(0, resamples, _CHUNK):
        drawn = random.integers(len(sums), size=(min(_CHUNK, resamples - start), len(sums)))
        means.append(sums[drawn].sum(axis=1) / sizes[drawn].sum(axis=1))
    return np.concatenate(means)
