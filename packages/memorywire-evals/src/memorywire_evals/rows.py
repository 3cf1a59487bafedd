"""One answered question, as it is published: ids and figures, no text of the data."""

from collections.abc import Mapping, Sequence

from msgspec import Struct, field, to_builtins

from memorywire.model.record import Json

OURS = "memorywire"
PUBLISHED = 50
"""How many ranks of a question are published."""

_LISTS = ("marks", "gold", "ranks", "kept")

Figures = Mapping[str, float]


class Row(Struct, frozen=True, kw_only=True):
    """What became of one question.

    `asked` is `own`, or `foreign` for a question about another case, or `pair` for two memories compared.
    `figures` holds each system's metrics; one that does not apply is absent. `kept` is what the default
    recall returned, `relevance` how sure the best hit without a floor was.
    """

    case: str
    question: str
    category: str
    asked: str = "own"
    answerable: bool = True
    marks: tuple[str, ...] = ()
    gold: tuple[str, ...] = ()
    ranks: tuple[str, ...] = ()
    kept: tuple[str, ...] = ()
    relevance: float | None = None
    ms: float | None = None
    figures: Mapping[str, Figures] = field(default_factory=dict)


class Examined(Struct, frozen=True, kw_only=True):
    """A finished case: its rows, how much was to be kept and what was not."""

    case: str
    rows: tuple[Row, ...]
    items: int
    skipped: int = 0
    shortfall: tuple[str, ...] = ()
    ingest_ms: float = 0.0


def to_json(examined: Examined) -> dict[str, Json]:
    document: dict[str, Json] = to_builtins(examined) | {"shortfall": list(examined.shortfall)}
    document["rows"] = [row | {name: list(row[name]) for name in _LISTS} for row in document["rows"]]
    for row in document["rows"]:
        row["figures"] = {name: _rounded(values) for name, values in row["figures"].items()}
        row["ms"] = None if row["ms"] is None else round(row["ms"], 3)
    return document


def from_json(document: Mapping[str, Json]) -> Examined:
    rows = tuple(_row(row) for row in document["rows"])
    return Examined(**{**document, "rows": rows, "shortfall": tuple(document["shortfall"])})


def _row(document: Mapping[str, Json]) -> Row:
    lists = {name: tuple(document[name]) for name in _LISTS}
    return Row(**{**document, **lists})


def _rounded(values: Figures) -> dict[str, float]:
    return {name: round(value, 4) for name, value in values.items()}


def values(rows: Sequence[Row], system: str, metric: str) -> list[float]:
    """The metric of every row that has it."""
    return [row.figures[system][metric] for row in rows if metric in row.figures.get(system, {})]
