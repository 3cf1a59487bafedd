"""One row on its way through a ranking, and the order in which rows are compared."""

from collections.abc import Callable, Mapping, Sequence
from operator import attrgetter
from typing import Any

from numpy.typing import NDArray

from memorywire.model.record import DEMOTED_FACTOR
from memorywire.model.values import dataclass, maker
from memorywire.search.relevance import relevance
from memorywire.stores.sqlite.best import Floats, Places
from memorywire.stores.sqlite.exact import Vectors
from memorywire.stores.sqlite.selection import Rows


@dataclass(frozen=True, slots=True)
class Gathered:
    """The rows that may win and their neighbours, with all that is known before the query's vectors are.

    `chosen` may win, `around` are their neighbours step by step, `known` is both together. `rows`, `vectors`
    and `told` (what the words earn) have one place for each of the known.
    """

    chosen: Places
    around: Sequence[Places]
    known: Places
    rows: Rows
    vectors: Vectors
    told: Floats


@dataclass(slots=True)
class Runner:
    """One row in the ranking; `at` is its index among the known rows, `place` among the selected ones."""

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


@dataclass(frozen=True, slots=True)
class Ranked:
    """The position of a version in the file, its relevance, and the signals that made it."""

    position: int
    score: float
    signals: Mapping[str, float]


rated: Callable[..., Ranked] = maker(Ranked)


def put_best_first(runners: list[Runner]) -> None:
    """Sort by score, weight and id. Without demotion the weight alone gives that order, with less work."""
    if any(runner.demoted for runner in runners):
        runners.sort(key=lambda runner: runner.standing)
        return
    runners.sort(key=attrgetter("id"))
    runners.sort(key=attrgetter("weight"), reverse=True)


def made(ids: Sequence[str], columns: Sequence[NDArray[Any] | None], which: NDArray[Any]) -> list[Runner]:
    """Runners from columns of values; a column that is None stands for 0, 1, 2, … or for the default."""
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
