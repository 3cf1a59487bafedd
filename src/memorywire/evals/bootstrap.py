"""How sure a mean is: resampled questions, paired where two systems answered the same ones."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

RESAMPLES = 10_000
SEED = 1337

_CHUNK = 500


@dataclass(frozen=True, slots=True, kw_only=True)
class Interval:
    """A mean, the range that holds it in 95 of 100 resamples, and the two-sided p of it being zero."""

    mean: float
    low: float
    high: float
    p: float


def clusters(cases: Sequence[str]) -> Sequence[str] | None:
    """What is drawn whole: the cases, unless there is but one, whose mean would look certain."""
    return cases if len(set(cases)) > 1 else None


def interval(
    values: Sequence[float],
    clusters: Sequence[str] | None = None,
    *,
    resamples: int = RESAMPLES,
    seed: int = SEED,
) -> Interval:
    """The mean of the values; clusters, when given, are drawn whole."""
    means = resampled_means(values, clusters, resamples=resamples, seed=seed)
    low, high = np.quantile(means, [0.025, 0.975])
    beyond = min(float((means <= 0).mean()), float((means >= 0).mean()))
    return Interval(mean=float(np.mean(values)), low=float(low), high=float(high), p=min(1.0, 2 * beyond))


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
