"""One row on its way through a ranking, and who comes before whom."""

from collections.abc import Sequence
from operator import attrgetter
from typing import Any

from numpy.typing import NDArray

from memorywire.model.record import DEMOTED_FACTOR
from memorywire.model.values import dataclass
from memorywire.stores.relevance import relevance
from memorywire.stores.sqlite.best import Floats, Places
from memorywire.stores.sqlite.exact import Vectors
from memorywire.stores.sqlite.selection import Rows


@dataclass(frozen=True, slots=True)
class Gathered:
    """Who may win, their neighbours, and of all of these, the known, what can be told without the query's
    vectors: their rows, their vectors, and what the words earn each."""

    chosen: Places
    around: Sequence[Places]
    known: Places
    rows: Rows
    vectors: Vectors
    told: Floats


@dataclass(slots=True)
class Runner:
    """One row on its way through the ranking; `at` is its number among the known, `place` in the field."""

    at: int
    place: int
    row: int
    id: str
    weight: float
    cosine: float
    borrowed: float = 0.0
    demoted: bool = False
    newest: bool = False
    fuller: bool = False
    _scored: tuple[float, float] = (-1.0, 0.0)  # a weight and its score: it is asked for again and again

    @property
    def score(self) -> float:
        if self._scored[0] != self.weight:
            factor = DEMOTED_FACTOR if self.demoted else 1.0
            self._scored = (self.weight, relevance(self.weight) * factor)
        return self._scored[1]

    @property
    def standing(self) -> tuple[float, float, str]:
        return -self.score, -self.weight, self.id


def put_best_first(runners: list[Runner]) -> None:
    """By their standing. Relevance rises with weight, so it is only worked out where demotion changes it."""
    if any(runner.demoted for runner in runners):
        runners.sort(key=lambda runner: runner.standing)
        return
    runners.sort(key=attrgetter("id"))
    runners.sort(key=attrgetter("weight"), reverse=True)


def made(ids: Sequence[str], columns: Sequence[NDArray[Any] | None], which: NDArray[Any]) -> list[Runner]:
    """Runners, of what stands in the columns; one that is None has just their numbers, or what is usual."""
    numbers = which.tolist()
    *known, borrowed, demoted = [None if column is None else column[which].tolist() for column in columns]
    at, place, row, weight, cosine = [numbers if values is None else values for values in known]
    runners = [*map(Runner, at, place, row, [ids[number] for number in at], weight, cosine)]
    if borrowed is not None:
        for runner, lent in zip(runners, borrowed, strict=True):
            runner.borrowed = lent
    if demoted is not None:
        for runner, is_demoted in zip(runners, demoted, strict=True):
            runner.demoted = is_demoted
    return runners
