"""All results as one self-contained HTML page: tables, charts, conditions."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from html import escape
from typing import TypeAlias

from memorywire.model.record import Json
from memorywire_evals import charts
from memorywire_evals.metrics import BUDGETS
from memorywire_evals.results import OURS
from memorywire_evals.sets import KINDS
from memorywire_evals.tables import (
    ANSWERS,
    FIGURES,
    HEADERS,
    answer_cells,
    answer_notes,
    cells,
    figures,
    notes,
    parity_lines,
    reached,
)

Document: TypeAlias = Mapping[str, Json]

# The bars of a set show the first of these metrics that it has.
_BY_CATEGORY = ("turn.rec@5", "session.all@5", "subem@1", "precision", "merged")

# The measure of `memorywire bench` that is comparable: the query is already embedded.
BENCHED = "recall without embedding"

_STYLE = """
body { font: 15px/1.5 system-ui, sans-serif; max-width: 62rem; margin: 2rem auto; padding: 0 1rem; }
body { color: #1b1b1b; }
table { border-collapse: collapse; margin: 1rem 0; font-variant-numeric: tabular-nums; }
th, td { padding: .2rem .7rem; text-align: right; border-bottom: 1px solid #ddd; }
th:first-child, td:first-child { text-align: left; }
td:nth-child(2) { font-weight: 600; }
th, td:nth-child(n+2) { white-space: nowrap; }
.wide { overflow-x: auto; }
svg { overflow: visible; width: 100%; height: auto; margin: .5rem 0; }
svg text { font-size: 11px; fill: #333; } svg .title { font-size: 13px; font-weight: 600; }
svg .grid { stroke: #e3e3e3; } .note { color: #555; }
@media (prefers-color-scheme: dark) {
  body { background: #16181c; color: #e8e8e8; } th, td { border-color: #333; }
  svg text { fill: #ccc; } svg .grid { stroke: #333; } .note { color: #aaa; }
}
"""


def page(
    documents: Sequence[Document],
    benches: Sequence[Document] = (),
    answered: Sequence[Document] = (),
    parities: Sequence[Document] = (),
) -> str:
    """Return one HTML document that needs no network.

    It shows every run, the checks of shared memories, every grid of answers, and the latencies of runs
    and benches.
    """
    runs, shared, grids = map(_section, documents), map(_find_shared, parities), map(_answers, answered)
    body = "".join([*_list_targets(documents, parities), *runs, *shared, *grids, *_speed(documents, benches)])
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8"><title>memorywire eval</title>'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<style>{_STYLE}</style></head><body><h1>How well recall works</h1>"
        '<p class="note">Every baseline ran in the same run on the same texts. Retrieval figures are not '
        "answer accuracy; turn, session and budget figures are not comparable with each other.</p>"
        f"{body}</body></html>\n"
    )


def _section(document: Document) -> str:
    name = document["run"]["set"]
    parts = [f"<h2>{escape(KINDS[name].about)}</h2>", _table(HEADERS, cells(document))]
    parts += [_note(note) for note in notes(document)]
    parts += _charts(document)
    return "".join([*parts, _conditions(document)])


def _list_targets(documents: Sequence[Document], parities: Sequence[Document]) -> Iterator[str]:
    """Yield one table with all targets."""
    lines = reached(documents, parities)
    if lines:
        yield f"<h2>All that is to be reached</h2>{_table(FIGURES, figures(lines))}"


def _find_shared(document: Document) -> str:
    """Return the section on whether one shared, filtered memory answers as separate ones do."""
    about = f"<h2>{escape(KINDS[document['run']['set']].about)}: one shared memory</h2>"
    said = "".join(f"<p>{escape(line)}</p>" for line in parity_lines(document))
    return "".join([about, said, _conditions(document)])


def _answers(document: Document) -> str:
    """Return the section of a grid: the figures of each cell, in total and by category."""
    name = document["run"]["set"]
    parts = [f"<h2>{escape(KINDS[name].about)}: answered and judged</h2>"]
    parts.append(_table(ANSWERS, answer_cells(document)))
    parts += [_note(note) for note in answer_notes(document)]
    judged: dict[str, dict[str, list[bool]]] = {}
    for row in document["rows"]:
        judged.setdefault(row["category"], {}).setdefault(row["cell"], []).append(row["correct"])
    shares = {
        category: {cell: sum(verdicts) / len(verdicts) for cell, verdicts in cells.items()}
        for category, cells in sorted(judged.items())
    }
    parts.append(charts.bars("accuracy by category", shares, list(document["answers"]["cells"])))
    return "".join([*parts, _conditions(document)])


def _conditions(document: Document) -> str:
    run = ", ".join(f"{key} {value}" for key, value in sorted(document["run"].items()))
    machine = ", ".join(f"{key} {value}" for key, value in sorted(document["machine"].items()))
    return _note("; ".join([document["date"], run, machine]))


def _note(text: str) -> str:
    return f'<p class="note">{escape(text)}</p>'


def _speed(documents: Sequence[Document], benches: Sequence[Document]) -> Iterator[str]:
    """Yield one chart with the medians of all sets and of the benchmark."""
    curves = {
        f"{document['run']['set']} {document['run']['split']}": [
            (one["memories"], one["p50"]) for one in sizes
        ]
        for document in documents
        if (sizes := document["timing"].get("by size"))
    }
    for bench in benches:
        rows = [row for row in bench["latencies_ms"] if row["measure"] == BENCHED and row["other"]]
        curves["bench"] = sorted((row["size"], row["ours"]["p50"]) for row in rows)
        curves["reference design"] = sorted((row["size"], row["other"]["p50"]) for row in rows)
    curves = {name: [point for point in points if min(point) > 0] for name, points in curves.items()}
    if any(curves.values()):
        yield "<h2>How long a recall takes</h2>"
        shown = {name: points for name, points in curves.items() if points}
        yield charts.latencies("median milliseconds by memories, query embedded beforehand", shown)


def _table(headers: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    head = "".join(f"<th>{escape(header)}</th>" for header in headers)
    body = "".join("<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>" for row in rows)
    return f'<div class="wide"><table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>'


def _charts(document: Document) -> Iterator[str]:
    summary = document["summary"]
    for metric in _BY_CATEGORY:
        groups = _groups(summary, metric)
        if len(groups) > 1:
            yield charts.bars(f"{metric} by category", groups, _systems(groups))
            break
    yield from _budget_chart(summary)
    curves = {
        name.removesuffix(" precision-recall"): [(x, y) for x, y in points]
        for name, points in summary["admission"].items()
        if name.endswith("precision-recall")
    }
    if curves:
        ticks = [0.0, 0.2, 0.4, 0.6, 0.8, 1.0]
        title = "admission: precision over recall, own questions against the others"
        yield charts.lines(title, curves, ticks, "share of own questions kept", log=False)


def _groups(summary: Mapping[str, Json], metric: str) -> dict[str, dict[str, float]]:
    results = {}
    for category, table in summary["categories"].items():
        figures = {name: means[metric] for name, means in table["systems"].items() if metric in means}
        if OURS in figures:
            results[category] = figures
    return results


def _systems(groups: Mapping[str, Mapping[str, float]]) -> list[str]:
    """Return the names of the systems, ours first."""
    return sorted(
        {name for figures in groups.values() for name in figures}, key=lambda one: (one != OURS, one)
    )


def _budget_chart(summary: Mapping[str, Json]) -> Iterator[str]:
    table = summary["views"].get(summary["view"], {"systems": {}})
    curves = {
        name: [(float(budget), means[f"evidence@{budget}"]) for budget in BUDGETS]
        for name, means in sorted(table["systems"].items(), key=lambda one: (one[0] != OURS, one[0]))
        if f"evidence@{BUDGETS[0]}" in means
    }
    if curves:
        ticks = [float(budget) for budget in BUDGETS]
        yield charts.lines("evidence recall by token budget", curves, ticks, "tokens", log=True)
