"""Two results side by side: which differences are more than chance."""

from collections.abc import Mapping
from typing import TypeAlias

from memorywire.evals.bootstrap import difference
from memorywire.evals.rows import OURS
from memorywire.evals.sets import KINDS
from memorywire.model.errors import InvalidRequest
from memorywire.model.record import Json

Document: TypeAlias = Mapping[str, Json]

SURE = 0.05


def compared(before: Document, after: Document) -> list[dict[str, Json]]:
    """Every metric both have, over the questions both asked; the surest differences first."""
    if before["run"]["set"] != after["run"]["set"]:
        raise InvalidRequest("the two results are of different sets", field="after")
    kind = KINDS[before["run"]["set"]]
    old, new = _rows(before), _rows(after)
    shared = [name for name in old if name in new]
    if not shared:
        raise InvalidRequest("the two results have no question in common", field="after")
    metrics = sorted({metric for name in shared for metric in _ours(old[name])})
    found = []
    for metric in metrics:
        names = [name for name in shared if metric in _ours(old[name]) and metric in _ours(new[name])]
        if len(names) > 1:
            clusters = [old[name]["case"] for name in names] if kind.clustered else None
            was, now = ([_ours(side[name])[metric] for name in names] for side in (old, new))
            change = difference(now, was, clusters)
            found.append(
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
    return sorted(found, key=lambda one: (one["p"], one["metric"]))


def lines(differences: list[dict[str, Json]]) -> tuple[tuple[str, ...], list[list[str]]]:
    """Headers and rows of a table."""
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
            _said(one),
        ]
        for one in differences
    ]


def _said(one: Mapping[str, Json]) -> str:
    if one["p"] >= SURE:
        return "may be chance"
    return "higher" if one["difference"] > 0 else "lower"


def _rows(document: Document) -> dict[str, Json]:
    return {f"{row['asked']}/{row['case']}/{row['question']}": row for row in document["rows"]}


def _ours(row: Json) -> dict[str, float]:
    found: dict[str, float] = row["figures"].get(OURS, {})
    return found
