"""Formats runs as tables: our figures, the baselines of the same run, and the targets."""

import tomllib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from msgspec import Struct

from memorywire.model.record import Json
from memorywire_evals.baselines import NAMES
from memorywire_evals.results import OURS
from memorywire_evals.sets import KINDS

_FILE = Path(__file__).with_name("targets.toml")


class Target(Struct, frozen=True, kw_only=True):
    """One line of a set's table; `less` means that smaller is better."""

    label: str
    where: str
    floor: float | None = None
    aim: float | None = None
    less: bool = False

    @property
    def metric(self) -> str:
        return self.where.rpartition("/")[2]

    def figure(self, summary: Mapping[str, Json], system: str = OURS) -> float | None:
        """Return the figure of the system, or None if it was not measured."""
        room, _, rest = self.where.partition("/")
        if room == "admission":
            return summary[room].get(rest) if system == OURS else None
        table = summary[room].get(rest.rpartition("/")[0], {"systems": {}})
        results: float | None = table["systems"].get(system, {}).get(self.metric)
        return results

    def spread(self, document: Mapping[str, Json], system: str = OURS) -> Mapping[str, Json] | None:
        """Return the mean of the figure over the seeds with its interval, or None if it was not measured."""
        room, _, rest = self.where.partition("/")
        if room == "admission":
            alone: Mapping[str, Json] | None = document[room].get(rest) if system == OURS else None
            return alone
        table = document[room].get(rest.rpartition("/")[0], {})
        results: Mapping[str, Json] | None = table.get(system, {}).get(self.metric)
        return results

    def verdict(self, figure: float | None) -> str:
        """Return how a figure compares: aim reached, above the floor, or how far below it."""
        if figure is None:
            return ""
        if self.aim is not None and self._reaches(figure, self.aim):
            return "aim"
        if self.floor is not None and self._reaches(figure, self.floor):
            return "floor"
        least = self.aim if self.floor is None else self.floor
        return "" if least is None else f"{abs(figure - least):.3f} short"

    def _reaches(self, figure: float, wanted: float) -> bool:
        return figure <= wanted if self.less else figure >= wanted


def targets(set_name: str) -> list[Target]:
    document = tomllib.loads(_FILE.read_text(encoding="utf-8"))
    return [Target(**line) for line in document.get(set_name, ())]


HEADERS = ("", OURS, "95 %", *NAMES, "at least", "aim", "stands")
FIGURES = ("", "at least", "aim", OURS, "stands")
SEEDS = ("", OURS, "95 %", "least-most", *NAMES)
ANSWERS = (
    "cell",
    "reader",
    "judge",
    "accuracy",
    "treatment minus it",
    "efficiency",
    "questions",
    "tokens",
    "cost",
)

_FEW = 20
"""The number of differences that are printed."""


def cells(document: Mapping[str, Json]) -> Iterator[list[str]]:
    """Yield a row for each line of the set's table that was measured."""
    summary = document["summary"]
    for target in [*targets(document["run"]["set"]), *_by_category(document)]:
        if target.figure(summary) is not None:
            yield _cells(target, summary)


def _by_category(document: Mapping[str, Json]) -> Iterator[Target]:
    """Yield lines for each category of a set without a fixed table of categories."""
    names = document["summary"]["categories"] if KINDS[document["run"]["set"]].by_category else ()
    if len(names) > 1:
        for name in names:
            yield Target(label=f"{name}: R@5", where=f"categories/{name}/turn.rec@5")
            yield Target(label=f"{name}: answer in the first 5", where=f"categories/{name}/subem@5")


def reached(
    runs: Sequence[Mapping[str, Json]], parities: Sequence[Mapping[str, Json]]
) -> list[dict[str, Json]]:
    """Return every figure with a target, of several runs, with its verdict."""
    results = [
        _figure(target, f"{document['run']['set']}: {target.label}", target.figure(document["summary"]))
        for document in runs
        for target in targets(document["run"]["set"])
        if (target.floor, target.aim) != (None, None)
    ]
    return [one for one in results if one[OURS] is not None] + [_parity_figure(one) for one in parities]


def _figure(target: Target, label: str, ours: float | None) -> dict[str, Json]:
    return {
        "figure": label,
        "at least": target.floor,
        "aim": target.aim,
        OURS: ours,
        "less": target.less,
        "stands": target.verdict(ours),
    }


def _parity_figure(found: Mapping[str, Json]) -> dict[str, Json]:
    """Return the line of the shared memory: no answer may differ."""
    differing = len(found["differences"]) + found["leaks"]
    label = f"shared memory with a filter, answers that differ ({found['questions']} questions)"
    return {
        **_figure(Target(label=label, where="", floor=0, aim=0, less=True), label, differing),
        "stands": f"{differing} too many" if differing else "aim",
    }


def parity_lines(found: Mapping[str, Json]) -> Iterator[str]:
    """Yield how many answers differed, and the first of them."""
    differences = found["differences"]
    yield (
        f"{found['questions']} questions, {found['memories']} memories shared by {found['cases']} cases: "
        f"{len(differences)} answered differently, {found['leaks']} hits from another case"
    )
    yield from (f"  {difference}" for difference in differences[:_FEW])
    if len(differences) > _FEW:
        yield f"  and {len(differences) - _FEW} more"


def figures(lines: Sequence[Mapping[str, Json]]) -> Iterator[list[str]]:
    """Yield the figures with targets as rows of a table."""
    for one in lines:
        bounds = [_bound(one["less"], one[name]) for name in ("at least", "aim")]
        yield [one["figure"], *bounds, _format_figure(one[OURS]), one["stands"]]


def seed_cells(document: Mapping[str, Json]) -> Iterator[list[str]]:
    """Yield a row for each line of the set's table: means over the seeds, ours with its interval."""
    for target in targets(document["run"]["set"]):
        ours = target.spread(document)
        if ours is not None:
            rivals = [target.spread(document, name) for name in NAMES]
            yield [
                target.label,
                _format_figure(ours["mean"]),
                f"{ours['low']:.3f}-{ours['high']:.3f}",
                f"{min(ours['values']):.3f}-{max(ours['values']):.3f}",
                *("" if rival is None else _format_figure(rival["mean"]) for rival in rivals),
            ]


def seed_notes(document: Mapping[str, Json]) -> Iterator[str]:
    """Yield notes on the seeds: whether they differ, and the means that a single run also prints."""
    run, count = document["run"], len(document["seeds"])
    yield (
        f"{run['set']}, {run['split']}: means of {count} seeds, each another order of writing and asking, "
        "and Student's 95 % interval"
    )
    if document["deterministic"]:
        yield f"deterministic: all {count} seeds gave the same ranks and figures, so that the interval is nil"
    if "dedup rate" in document.get("ingest", {}):  # what earlier versions wrote has none
        rate = document["ingest"]["dedup rate"]["mean"]
        yield f"dedup rate {rate:.3f}: the share of writes that were answered as repetitions of what is there"
    views = document["views"]
    ours = views.get("answerable", views.get("all", {})).get(OURS, {})
    yield from _four({name: figure["mean"] for name, figure in ours.items()})
    if document["void"]:
        yield "VOID: memories were not kept"


def answer_cells(document: Mapping[str, Json]) -> Iterator[list[str]]:
    """Yield a row for each cell of a grid, with its difference to the treatment."""
    gaps = document["answers"]["treatment minus"]
    for name, cell in document["answers"]["cells"].items():
        gap = gaps.get(name)
        yield [
            name,
            _name_line(cell["reader"], cell.get("served", [])),  # documents of earlier versions lack it
            _name_line(cell["judge"], cell.get("judged by", [])),
            _format_accuracy(cell),
            "" if gap is None else f"{gap['mean']:+.3f} ({gap['low']:+.3f} to {gap['high']:+.3f})",
            _format_figure(cell.get("efficiency")),
            str(cell["questions"]),
            str(cell["tokens"]),
            "" if cell.get("cost") is None else f"{cell['cost']:.4g}",
        ]


def _format_accuracy(cell: Mapping[str, Json]) -> str:
    """Format the accuracy, with the interval over several seeds."""
    several = cell.get("seeds")
    span = f" ({several['low']:.3f} to {several['high']:.3f})" if several else ""
    return f"{cell['accuracy']:.3f}{span}"


def _name_line(asked: str, served: Sequence[str]) -> str:
    """Format the requested model, and the served models where the endpoint reports others."""
    return asked if served in ([], [asked]) else f"{asked} ({', '.join(served)})"


def answer_notes(document: Mapping[str, Json]) -> Iterator[str]:
    """Yield notes on the answers."""
    answers, spent = document["answers"], document.get("spent")
    if spent:
        cost = "" if spent["cost"] is None else f", which cost {spent['cost']:.4g}"
        yield f"this run made {spent['calls']} calls and took {spent['tokens']} tokens{cost}"
    if answers["left out"]:
        yield f"{answers['left out']} questions have no right answer to judge by and were left out"
    if answers["void"]:
        yield f"VOID: memories were not kept, the first: {answers['not kept'][0]}"
    for name, cell in answers["cells"].items():
        if cell.get("seeds", {}).get("deterministic"):
            yield f"{name}: deterministic, every seed gave the same answers"
        if any(len(cell.get(served, [])) > 1 for served in ("served", "judged by")):
            yield f"{name}: another model was served in between, so that its accuracy is of no single one"


def notes(document: Mapping[str, Json]) -> Iterator[str]:
    """Yield notes on the table."""
    summary, run, cases = document["summary"], document["run"], document["cases"]
    yield (
        f"{run['set']}, {run['split']}: {cases['done']} of {cases['of']} cases, "
        f"{summary['views'].get('all', {'n': 0})['n']} questions, {summary['ingest']['items']} memories, "
        f"store {run['store']}, embedder {run['embedder']} (each text embedded once), "
        f"digest {document['digest']}"
    )
    if summary["void"]:
        count, first = summary["ingest"]["shortfall count"], summary["ingest"]["shortfall"][0]
        yield f"VOID: {count} memories were not kept, the first: {first}"
    yield from _describe_repetitions(summary["ingest"])
    ceilings = {name: value for name, value in summary["ceilings"].items() if value < 0.9995}
    if ceilings:
        best = ", ".join(f"{name} {value:.3f}" for name, value in ceilings.items())
        yield f"no ranking can exceed {best}: some questions have more evidence than places"
    views = summary["views"]
    yield from _four(views.get("answerable", views.get("all", {"systems": {}}))["systems"].get(OURS, {}))
    if "recall_ms" in document["timing"]:
        cost = document["timing"]["recall_ms"]
        yield f"recall p50 {cost['p50']} ms, p95 {cost['p95']} ms, query embedded beforehand"


def _describe_repetitions(ingest: Mapping[str, Json]) -> Iterator[str]:
    if "dedup rate" in ingest:  # documents of earlier versions lack it
        yield (
            f"dedup rate {ingest['dedup rate']:.3f}: {ingest['repeated']} of {ingest['writes']} writes "
            "were answered as a repetition of what is there"
        )


def _four(means: Mapping[str, Json]) -> Iterator[str]:
    said = {
        "recency": "freshest relevant memory first",
        "efficiency": "tokens of memory over all tokens of a prompt with nothing but the question beside it",
        "returned-tokens": "what the default recall returns",
        "returned-share": "that over all tokens of the memory",
        "relevancy": "mean cosine of what it returns",
        "accuracy-bound": "all evidence within 1,024 tokens",
    }
    parts = [f"{name} {means[name]:.3f} ({what})" for name, what in said.items() if name in means]
    if parts:
        yield "; ".join(parts)


def _cells(target: Target, summary: Mapping[str, Json]) -> list[str]:
    ours = target.figure(summary)
    rivals = [_format_figure(target.figure(summary, name)) for name in NAMES]
    headline = target.where == f"views/{summary['view']}/{target.metric}"
    sure = summary["intervals"].get(target.metric, {}) if headline else {}
    span = f"{sure[OURS]['low']:.3f}-{sure[OURS]['high']:.3f}" if sure else ""
    return [
        target.label,
        _format_figure(ours),
        span,
        *rivals,
        _format_figure(target.floor),
        _format_figure(target.aim),
        target.verdict(ours),
    ]


def _bound(less: bool, value: float | None) -> str:
    return f"<= {_format_figure(value)}" if less and value is not None else _format_figure(value)


def _format_figure(figure: float | None) -> str:
    if figure is None:
        return ""
    return str(figure) if isinstance(figure, int) else f"{figure:.3f}"
