"""Two results side by side: which differences are more than chance."""

from collections.abc import Iterator, Mapping
from typing import TypeAlias

from memorywire.model.errors import InvalidRequest
from memorywire.model.record import Json
from memorywire_evals.bootstrap import difference
from memorywire_evals.rows import OURS
from memorywire_evals.sets import KINDS

Document: TypeAlias = Mapping[str, Json]

SURE = 0.05
FEWEST = 6
"""Of fewer questions that all went one way, chance explains so much still."""

_DATA = ("data", "split", "roles")

_EMPTY = {"foreign": "foreign question", "own": "unanswerable question"}


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
            cases = [old[name]["case"] for name in names] if kind.clustered else None
            was, now = ([_ours(side[name])[metric] for name in names] for side in (old, new))
            change = difference(now, was, cases)
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


def cautions(before: Document, after: Document) -> Iterator[str]:
    """What must be known before a difference is believed."""
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
    if one["questions"] < FEWEST:
        return "too few questions"
    return "higher" if one["difference"] > 0 else "lower"


def _rows(document: Document) -> dict[str, Json]:
    return {f"{row['asked']}/{row['case']}/{row['question']}": row for row in document["rows"]}


def _ours(row: Json) -> dict[str, float]:
    """Its figures; and of a question that has no answer here, whether it was left empty, as it should be."""
    found: dict[str, float] = dict(row["figures"].get(OURS, {}))
    if row["asked"] == "foreign" or (row["asked"] == "own" and not row["answerable"]):
        found[f"{_EMPTY[row['asked']]} left empty"] = float(not row["kept"])
    return found
