"""Summarises rows: means by system, view and category, admission, intervals, timing."""

from collections.abc import Iterable, Sequence
from typing import TypeAlias

from msgspec.structs import asdict

from memorywire.model.record import Json
from memorywire_evals import compare, metrics
from memorywire_evals.datasets.longmemeval import USER_GOLD
from memorywire_evals.results import OURS, Examined, Row, values
from memorywire_evals.sets import Kind

Rows: TypeAlias = Sequence[Row]


def views(rows: Rows) -> dict[str, list[Row]]:
    """Return the views `all` (own questions), `answerable`, `said-by-user` (their evidence), `pairs`."""
    own = [row for row in rows if row.asked == "own"]
    results = {
        "all": own,
        "answerable": [row for row in own if row.answerable],
        "said-by-user": [row for row in own if row.answerable and USER_GOLD in row.marks],
        "pairs": [row for row in rows if row.asked == "pair"],
    }
    return {name: chosen for name, chosen in results.items() if chosen}


def by_category(rows: Rows) -> dict[str, list[Row]]:
    results: dict[str, list[Row]] = {}
    for row in rows:
        if row.asked != "foreign":
            results.setdefault(row.category, []).append(row)
    return dict(sorted(results.items()))


_DIGITS = 4


def summarise(kind: Kind, cases: Sequence[Examined], headlines: Iterable[str]) -> dict[str, Json]:
    """Return the summary of a run; `headlines` are the metrics with intervals and paired differences."""
    rows = [row for case in cases for row in case.rows]
    shortfall = [f"{case.case}/{fault}" for case in cases for fault in case.shortfall]
    seen = views(rows)
    return {
        "views": {name: _table(chosen) for name, chosen in seen.items()},
        "categories": {name: _table(chosen) for name, chosen in by_category(rows).items()},
        "admission": _admission(rows),
        "view": kind.view,
        "intervals": _intervals(seen.get(kind.view, []), sorted(set(headlines)), clustered=kind.clustered),
        "ceilings": _ceilings(seen.get(kind.view, [])),
        "ingest": {
            "items": sum(case.items for case in cases),
            "without words": sum(case.skipped for case in cases),
            "shortfall": shortfall[:50],
            "shortfall count": len(shortfall),
            **_count_repetitions(cases),
        },
        "void": bool(shortfall),
    }


def _count_repetitions(cases: Sequence[Examined]) -> dict[str, Json]:
    """Return the dedup rate: the share of writes that were answered as duplicates of another memory."""
    writes, repeated = sum(case.writes for case in cases), sum(case.repeated for case in cases)
    rate = {"dedup rate": round(repeated / writes, _DIGITS)} if writes else {}
    return {"writes": writes, "repeated": repeated, **rate}


def timing(cases: Sequence[Examined]) -> dict[str, Json]:
    """Return latencies, of recalls with the query already embedded. Never part of a digest."""
    cost = [row.ms for case in cases for row in case.rows if row.ms is not None]
    ingest = sum(case.ingest_ms for case in cases)
    results: dict[str, Json] = {"ingest_s": round(ingest / 1000, 2)}
    if cost:
        results["recall_ms"] = _spread(cost)
        results["by size"] = _by_size(cases)
    return results


def _spread(cost: Sequence[float]) -> dict[str, Json]:
    shares = (("p50", 0.5), ("p95", 0.95))
    return {name: round(metrics.percentile(cost, share), 2) for name, share in shares}


def _by_size(cases: Sequence[Examined]) -> list[Json]:
    """Return the latencies of cases grouped by size, by powers of two."""
    sizes: dict[int, list[Examined]] = {}
    for case in cases:
        sizes.setdefault(case.items.bit_length(), []).append(case)
    results: list[Json] = []
    for _, alike in sorted(sizes.items()):
        cost = [row.ms for case in alike for row in case.rows if row.ms is not None]
        memories = round(sum(case.items for case in alike) / len(alike))
        if cost and memories:
            results.append({"memories": memories, "recalls": len(cost), **_spread(cost)})
    return results


def _table(rows: Sequence[Row]) -> dict[str, Json]:
    systems = sorted({system for row in rows for system in row.figures})
    return {
        "n": len(rows),
        "systems": {system: _means(rows, system) for system in systems},
        "counts": {metric: len(values(rows, OURS, metric)) for metric in _metrics(rows, OURS)},
    }


def _metrics(rows: Sequence[Row], system: str) -> list[str]:
    return sorted({metric for row in rows for metric in row.figures.get(system, {})})


def _means(rows: Sequence[Row], system: str) -> dict[str, float]:
    return {metric: _mean(values(rows, system, metric)) for metric in _metrics(rows, system)}


def _mean(numbers: Sequence[float]) -> float:
    return round(sum(numbers) / len(numbers), _DIGITS)


def _admission(rows: Sequence[Row]) -> dict[str, Json]:
    """Measure how well the best hit's relevance separates answerable questions from others."""
    measures = [row for row in rows if row.relevance is not None]
    own = [row for row in measures if row.asked == "own" and row.answerable]
    hard = [row for row in measures if row.asked == "own" and not row.answerable]
    foreign = [row for row in measures if row.asked == "foreign"]
    results: dict[str, Json] = {}
    if own:
        results["own kept"] = _mean([float(bool(row.kept)) for row in own])
    for name, negatives in (("foreign", foreign), ("unanswerable", hard)):
        if own and negatives:
            good, bad = _relevances(own), _relevances(negatives)
            results[f"{name} n"] = len(negatives)
            results[f"{name} auroc"] = round(metrics.auroc(good, bad), _DIGITS)
            results[f"{name} empty"] = _mean([float(not row.kept) for row in negatives])
            results[f"{name} refused at 2% loss"] = round(metrics.abstention_at(good, bad), _DIGITS)
            results[f"{name} precision-recall"] = _curve(good, bad)
    return results


def _relevances(rows: Sequence[Row]) -> list[float]:
    return [row.relevance for row in rows if row.relevance is not None]


def _curve(good: Sequence[float], bad: Sequence[float]) -> list[list[float]]:
    """Return about a hundred points of the precision-recall curve."""
    points = metrics.precision_recall(good, bad)
    step = max(1, len(points) // 100)
    return [[round(x, _DIGITS), round(y, _DIGITS)] for x, y in [*points[::step], points[-1]]]


def _intervals(rows: Sequence[Row], headlines: Sequence[str], *, clustered: bool) -> dict[str, Json]:
    results: dict[str, Json] = {}
    for metric in headlines:
        having = [row for row in rows if metric in row.figures.get(OURS, {})]
        if len(having) > 1:
            clusters = [row.case for row in having] if clustered else None
            ours = values(having, OURS, metric)
            results[metric] = {OURS: _select_shown(compare.interval(ours, clusters))}
            for system in sorted({system for row in having for system in row.figures} - {OURS}):
                theirs = values(having, system, metric)
                if len(theirs) == len(ours):
                    results[metric][f"minus {system}"] = _select_shown(
                        compare.difference(ours, theirs, clusters)
                    )
    return results


def _select_shown(interval: compare.Interval) -> dict[str, float]:
    return {name: round(value, _DIGITS) for name, value in asdict(interval).items()}


def _ceilings(rows: Sequence[Row]) -> dict[str, float]:
    """Return the best mean rec@k that the number of evidence turns allows."""
    sizes = [len(row.gold) for row in rows if row.gold]
    return {f"turn.rec@{k}": round(metrics.ceiling(sizes, k), _DIGITS) for k in (1, 5, 10) if sizes}
