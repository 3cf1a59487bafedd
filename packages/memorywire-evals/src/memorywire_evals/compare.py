"""Compares two results, and tests by resampling which differences are more than chance."""

from collections.abc import Iterator, Mapping, Sequence
from typing import TypeAlias

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from memorywire.model.errors import InvalidRequest
from memorywire.model.record import Json
from memorywire_evals.results import OURS
from memorywire_evals.sets import KINDS

RESAMPLES = 10_000
SEED = 1337

_CHUNK = 500


class Interval(Struct, frozen=True, kw_only=True):
    """A mean, its 95 % range over resamples, and the two-sided p of it being zero."""

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
    """Return the mean with an interval from resampled values and, if given, from resampled clusters as well.

    Returns the wider range and the larger p: a few clusters that agree by chance prove nothing.
    """
    ways = [None] if clusters is None else [None, clusters]
    draws = [resample_means(values, way, resamples=resamples, seed=seed) for way in ways]
    ranges = [np.quantile(means, [0.025, 0.975]) for means in draws]
    beyond = max(min(float((means <= 0).mean()), float((means >= 0).mean())) for means in draws)
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
    """Return the interval of ours minus theirs, question by question."""
    gaps = [mine - other for mine, other in zip(ours, theirs, strict=True)]
    return interval(gaps, clusters, resamples=resamples)


def resample_means(
    values: Sequence[float], clusters: Sequence[str] | None, *, resamples: int, seed: int
) -> NDArray[np.float64]:
    names = [str(place) for place in range(len(values))] if clusters is None else list(clusters)
    _, group = np.unique(names, return_inverse=True)
    sums = np.bincount(group, weights=np.asarray(values, dtype=np.float64))
    sizes = np.bincount(group)
    random = np.random.default_rng(seed)
    means = []
    for start in range(0, resamples, _CHUNK):
        draws = random.integers(len(sums), size=(min(_CHUNK, resamples - start), len(sums)))
        means.append(sums[draws].sum(axis=1) / sizes[draws].sum(axis=1))
    return np.concatenate(means)


Document: TypeAlias = Mapping[str, Json]

SURE = 0.05
FEWEST = 6
"""With fewer questions, chance explains even a difference that all of them share."""

_DATA = ("data", "split", "roles")

_EMPTY = {"foreign": "foreign question", "own": "unanswerable question"}


def compared(before: Document, after: Document) -> list[dict[str, Json]]:
    """Compare every metric that both have, over their common questions; sorted by p."""
    if before["run"]["set"] != after["run"]["set"]:
        raise InvalidRequest("the two results are of different sets", field="after")
    kind = KINDS[before["run"]["set"]]
    old, new = _rows(before), _rows(after)
    shared = [name for name in old if name in new]
    if not shared:
        raise InvalidRequest("the two results have no question in common", field="after")
    metrics = sorted({metric for name in shared for metric in _ours(old[name])})
    results = []
    for metric in metrics:
        names = [name for name in shared if metric in _ours(old[name]) and metric in _ours(new[name])]
        if len(names) > 1:
            cases = [old[name]["case"] for name in names] if kind.clustered else None
            was, now = ([_ours(side[name])[metric] for name in names] for side in (old, new))
            change = difference(now, was, cases)
            results.append(
                {
                    "metric": metric,
                    "questions": len(names),
                    "before": round(sum(was) / len(was), 4),
                    "after": round(sum(now) / len(now), 4),
                    "difference": round(change.mean, 4),
                    "low": round(change.low, 4),
                    "high": round(change.high, 4),
                    "p": round(change.p, 4),
                }
            )
    return sorted(results, key=lambda one: (one["p"], one["metric"]))


def cautions(before: Document, after: Document) -> Iterator[str]:
    """Yield warnings about the comparison."""
    for place, document in (("first", before), ("second", after)):
        if document["summary"]["void"]:
            yield f"the {place} result is VOID: not every memory was kept"
    apart = [name for name in _DATA if before["run"].get(name) != after["run"].get(name)]
    if apart:
        yield f"not the same {', '.join(apart)}: two questions of the same name may not be the same question"
    single = len(_rows(before).keys() ^ _rows(after).keys())
    if single:
        yield f"{single} questions are in one of the results only, and left out"


def lines(differences: list[dict[str, Json]]) -> tuple[tuple[str, ...], list[list[str]]]:
    """Return the headers and rows of a table."""
    headers = ("metric", "questions", "before", "after", "difference", "95 %", "p", "")
    return headers, [
        [
            one["metric"],
            str(one["questions"]),
            f"{one['before']:.3f}",
            f"{one['after']:.3f}",
            f"{one['difference']:+.3f}",
            f"{one['low']:+.3f} to {one['high']:+.3f}",
            f"{one['p']:.3f}",
            _describe(one),
        ]
        for one in differences
    ]


def _describe(one: Mapping[str, Json]) -> str:
    if one["p"] >= SURE:
        return "may be chance"
    if one["questions"] < FEWEST:
        return "too few questions"
    return "higher" if one["difference"] > 0 else "lower"


def _rows(document: Document) -> dict[str, Json]:
    return {f"{row['asked']}/{row['case']}/{row['question']}": row for row in document["rows"]}


def _ours(row: Json) -> dict[str, float]:
    """Return the figures of a row, and for a question without an answer whether the recall was empty."""
    results: dict[str, float] = dict(row["figures"].get(OURS, {}))
    if row["asked"] == "foreign" or (row["asked"] == "own" and not row["answerable"]):
        results[f"{_EMPTY[row['asked']]} left empty"] = float(not row["kept"])
    return results
