"""Several seeds: the same run in other orders, and the means of its figures.

Seed 0 keeps the order of the data. Other seeds shuffle the order in which memories are written and questions
are asked. If a model samples the answers, each seed is a sample.
"""

import math
from collections.abc import Mapping, Sequence
from statistics import fmean, stdev

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from memorywire.model.record import Json
from memorywire_evals.cases import Case
from memorywire_evals.results import OURS, Examined

_DIGITS = 4

_T = (
    12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228,
    2.201, 2.179, 2.160, 2.145, 2.131, 2.120, 2.110, 2.101, 2.093, 2.086,
    2.080, 2.074, 2.069, 2.064, 2.060, 2.056, 2.052, 2.048, 2.045, 2.042,
)  # fmt: skip
"""Student's t for 95 %, for 1 to 30 degrees of freedom."""

_NORMAL = 1.960


class Spread(Struct, frozen=True, kw_only=True):
    """The mean of a figure over the seeds, and its 95 % confidence interval."""

    mean: float
    low: float
    high: float
    values: tuple[float, ...]

    def to_json(self) -> dict[str, Json]:
        numbers = {"mean": self.mean, "low": self.low, "high": self.high}
        rounded: dict[str, Json] = {name: round(value, _DIGITS) for name, value in numbers.items()}
        return {**rounded, "values": [round(value, _DIGITS) for value in self.values]}


def spread(values: Sequence[float]) -> Spread:
    """Return the mean and Student's interval of one value per seed; of a single one, just the value."""
    mean, count = fmean(values), len(values)
    freedom = count - 1
    wide = 0.0
    if freedom:
        factor = _T[freedom - 1] if freedom <= len(_T) else _NORMAL
        wide = factor * stdev(values) / math.sqrt(count)
    return Spread(mean=mean, low=mean - wide, high=mean + wide, values=tuple(values))


def arrange(case: Case, seed: int) -> Case:
    """Return the case in the order of a seed. Items that supersede others keep their order, which matters."""
    if seed == 0:
        return case
    dice = np.random.default_rng([seed, *case.id.encode()])
    plain = [item for item in case.items if not item.supersedes]
    chained = [item for item in case.items if item.supersedes]
    items = [plain[place] for place in dice.permutation(len(plain))]
    questions = [case.questions[place] for place in dice.permutation(len(case.questions))]
    return replace(case, items=(*items, *chained), questions=tuple(questions))


def restore(done: Examined, case: Case) -> Examined:
    """Return the rows in the order of the data."""
    places = {question.id: place for place, question in enumerate(case.questions)}
    own = sorted((row for row in done.rows if row.asked == "own"), key=lambda row: places[row.question])
    return replace(done, rows=(*own, *(row for row in done.rows if row.asked != "own")))


def combine(documents: Sequence[Mapping[str, Json]]) -> dict[str, Json]:
    """Combine runs with different seeds: the spread of each figure, and whether all runs agree.

    Runs are deterministic if our ranks, hits and figures are the same for every seed.
    """
    seeds = [document["run"].get("seed", 0) for document in documents]
    answers = [_list_answers(document["rows"]) for document in documents]
    return {
        "seeds": seeds,
        "deterministic": all(one == answers[0] for one in answers),
        "views": _spread_each([document["summary"]["views"] for document in documents]),
        "categories": _spread_each([document["summary"]["categories"] for document in documents]),
        "admission": _spread_numbers([document["summary"]["admission"] for document in documents]),
        "ingest": _spread_numbers([_pick_dedup_rate(document["summary"]) for document in documents]),
        "void": any(document["summary"]["void"] for document in documents),
        "digests": [document["digest"] for document in documents],
    }


def _pick_dedup_rate(summary: Mapping[str, Json]) -> dict[str, Json]:
    return {name: value for name, value in summary["ingest"].items() if name == "dedup rate"}


def _list_answers(rows: Sequence[Mapping[str, Json]]) -> list[Json]:
    return [
        [row["asked"], row["question"], row["ranks"], row["kept"], row["figures"].get(OURS)] for row in rows
    ]


def _spread_each(tables: Sequence[Mapping[str, Json]]) -> dict[str, Json]:
    """Return the spreads by name of a table and of a system."""
    return {
        name: {
            system: _spread_numbers([one[name]["systems"].get(system, {}) for one in tables])
            for system in table["systems"]
        }
        for name, table in tables[0].items()
    }


def _spread_numbers(figures: Sequence[Mapping[str, Json]]) -> dict[str, Json]:
    """Return the spreads of the numbers that every seed has, without curves."""
    return {
        name: spread([one[name] for one in figures]).to_json()
        for name, value in figures[0].items()
        if not isinstance(value, list) and all(name in one for one in figures)
    }
