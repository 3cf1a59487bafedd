"""A run as lines to read: our figure, the baselines of the same run, and what is to be reached."""

from collections.abc import Iterator, Mapping, Sequence

from memorywire.evals.baselines import NAMES
from memorywire.evals.parity import Parity
from memorywire.evals.rows import OURS
from memorywire.evals.targets import Target, targets
from memorywire.model.record import Json

HEADERS = ("", OURS, "95 %", *NAMES, "at least", "aim", "stands")
FIGURES = ("", "at least", "aim", OURS, "stands")
ANSWERS = ("cell", "reader", "judge", "accuracy", "treatment minus it", "questions", "tokens")


def cells(document: Mapping[str, Json]) -> Iterator[list[str]]:
    """A row for every line of the set's table that was measured."""
    summary = document["summary"]
    for target in [*targets(document["run"]["set"]), *_by_category(document)]:
        if target.figure(summary) is not None:
            yield _cells(target, summary)


def _by_category(document: Mapping[str, Json]) -> Iterator[Target]:
    """Of one's own data, whose categories no table knows: a line for each."""
    names = document["summary"]["categories"] if document["run"]["set"] == "own" else ()
    if len(names) > 1:
        for name in names:
            yield Target(label=f"{name}: R@5", where=f"categories/{name}/turn.rec@5")


def figures(documents: Sequence[Mapping[str, Json]]) -> Iterator[list[str]]:
    """A row for every figure that is to be reached, of several runs."""
    for document in documents:
        run = document["run"]
        for target in targets(run["set"]):
            ours = target.figure(document["summary"])
            if ours is not None and (target.floor, target.aim) != (None, None):
                least, aim = (_bound(target, value) for value in (target.floor, target.aim))
                yield [f"{run['set']}: {target.label}", least, aim, _shown(ours), target.verdict(ours)]


def answer_cells(document: Mapping[str, Json]) -> Iterator[list[str]]:
    """A row for every cell of a grid, with what the treatment has over it."""
    gaps = document["answers"]["treatment minus"]
    for name, cell in document["answers"]["cells"].items():
        gap = gaps.get(name)
        yield [
            name,
            cell["reader"],
            cell["judge"],
            f"{cell['accuracy']:.3f}",
            "" if gap is None else f"{gap['mean']:+.3f} ({gap['low']:+.3f} to {gap['high']:+.3f})",
            str(cell["questions"]),
            str(cell["tokens"]),
        ]


def answer_notes(document: Mapping[str, Json]) -> Iterator[str]:
    """What must be known to read the answers."""
    answers = document["answers"]
    if answers["left out"]:
        yield f"{answers['left out']} questions have no right answer to judge by and were left out"
    if answers["void"]:
        yield f"VOID: memories were not kept, the first: {answers['not kept'][0]}"


def parity_figure(found: Parity) -> list[str]:
    """The row of the shared memory: no answer may differ."""
    differing = len(found.differences) + found.leaks
    label = f"shared memory with a filter, answers that differ ({found.questions} questions)"
    return [label, "<= 0", "<= 0", str(differing), f"{differing} too many" if differing else "aim"]


def notes(document: Mapping[str, Json]) -> Iterator[str]:
    """What must be known to read the table."""
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
    ceilings = {name: value for name, value in summary["ceilings"].items() if value < 0.9995}
    if ceilings:
        best = ", ".join(f"{name} {value:.3f}" for name, value in ceilings.items())
        yield f"no ranking can exceed {best}: some questions have more evidence than places"
    yield from _four(summary)
    if "recall_ms" in document["timing"]:
        spent = document["timing"]["recall_ms"]
        yield f"recall p50 {spent['p50']} ms, p95 {spent['p95']} ms, query embedded beforehand"


def _four(summary: Mapping[str, Json]) -> Iterator[str]:
    ours = summary["views"].get("answerable", summary["views"].get("all", {"systems": {}}))["systems"]
    means = ours.get(OURS, {})
    said = {
        "recency": "freshest relevant memory first",
        "efficiency": "share of all tokens that the default recall returns",
        "relevancy": "mean cosine of what it returns",
        "accuracy-bound": "all evidence within 1,024 tokens",
    }
    parts = [f"{name} {means[name]:.3f} ({what})" for name, what in said.items() if name in means]
    if parts:
        yield "; ".join(parts)


def _cells(target: Target, summary: Mapping[str, Json]) -> list[str]:
    ours = target.figure(summary)
    rivals = [_shown(target.figure(summary, name)) for name in NAMES]
    headline = target.where == f"views/{summary['view']}/{target.metric}"
    sure = summary["intervals"].get(target.metric, {}) if headline else {}
    span = f"{sure[OURS]['low']:.3f}-{sure[OURS]['high']:.3f}" if sure else ""
    return [
        target.label,
        _shown(ours),
        span,
        *rivals,
        _shown(target.floor),
        _shown(target.aim),
        target.verdict(ours),
    ]


def _bound(target: Target, value: float | None) -> str:
    return f"<= {_shown(value)}" if target.less and value is not None else _shown(value)


def _shown(figure: float | None) -> str:
    return "" if figure is None else f"{figure:.3f}"
