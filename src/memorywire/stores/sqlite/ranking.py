"""Ranks the rows of a shelf as stores/ranking.py says, with arrays: exact for every row that could win.

The contenders are chosen by what the shelf knows nearly; what they are ranked by is computed from
their vectors in the file.
"""

from collections.abc import Mapping, Sequence
from functools import cached_property
from itertools import compress
from operator import attrgetter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from memorywire.model.query import Query
from memorywire.model.record import DEMOTED_FACTOR
from memorywire.model.values import dataclass
from memorywire.stores.newest import put_newest_ahead
from memorywire.stores.relevance import (
    BRIEF,
    CONTEST,
    COSINE_POWER,
    IN_TIME,
    K1,
    LENGTHY,
    MACHINE_SAID,
    SPOKE,
    TERMS_COVERED,
    TEXT_POWER,
    TEXT_WEIGHT,
    B,
    brevity,
    idf,
    relevance,
)
from memorywire.stores.sqlite.best import FEW, Floats, Mask, Places, best
from memorywire.stores.sqlite.neighbourhood import ALL_LENT, STEPS
from memorywire.stores.sqlite.selection import Rows, Selection, holding
from memorywire.stores.sqlite.shelf import Shelf, Source
from memorywire.stores.text import name_words, spoken_by, terms

# How far evidence computed in single precision may be from the exact one.
_SLACK = 1e-5


@dataclass(frozen=True, slots=True)
class Ranked:
    """A place in the file, its relevance and what that was made of."""

    position: int
    score: float
    signals: Mapping[str, float]


@dataclass(frozen=True, slots=True, kw_only=True)
class Statistics:
    """How common terms are, by their keys, in a crowd of which the selected are only a few."""

    documents: int
    average: float
    containing: Mapping[int, int]


@dataclass(slots=True)
class _Runner:
    """One row on its way through the ranking; `at` is its number among the known, `place` in the field."""

    at: int
    place: int
    row: int
    id: str
    weight: float
    cosine: float
    borrowed: float
    demoted: bool
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


def rank(
    db: Source,
    shelf: Shelf,
    selection: Selection,
    query: Query,
    limit: int,
    crowd: Statistics | None = None,
) -> list[Ranked]:
    """The best `limit` of the selected rows, best first.

    Statistics are taken over the selected only, unless those of a crowd are given.
    """
    if not selection.size or limit < 1:
        return []
    field = _Field(db, shelf, selection, query, crowd)
    runners = field.runners(max(limit, CONTEST))
    _put_best_first(runners)
    contest = runners[:CONTEST]
    field.put_newest_ahead(contest)
    if any(runner.newest or runner.fuller for runner in contest):
        _put_best_first(contest)
    ranked = (contest + runners[CONTEST:])[:limit]
    return [
        Ranked(position, runner.score, signals)
        for position, runner, signals in zip(
            field.positions(ranked), ranked, field.signals(ranked), strict=True
        )
    ]


def _put_best_first(runners: list[_Runner]) -> None:
    """By their standing. Relevance rises with weight, so it is only worked out where demotion changes it."""
    if any(runner.demoted for runner in runners):
        runners.sort(key=lambda runner: runner.standing)
        return
    runners.sort(key=attrgetter("id"))
    runners.sort(key=attrgetter("weight"), reverse=True)


class _Field:
    """What is known of all selected rows, as arrays that run beside the selection."""

    def __init__(
        self, db: Source, shelf: Shelf, selection: Selection, query: Query, crowd: Statistics | None
    ) -> None:
        self._db = db
        self._shelf = shelf
        self._selection = selection
        self._times = query.times
        self._spoken = self._spoken_by(query.names)
        named = len(self._spoken) > 0
        self._asked = _floats(query.nameless if query.nameless and named else query.vector)
        self._rest = None if named else _floats(query.nameless)
        self._holding: list[tuple[float, Rows]] = []
        self._share = self._text_shares(query.text, crowd)
        self._near = shelf.sessions.neighbourhood(selection, shelf.rising, lambda rows: shelf.ids(db, rows))

    def _text_shares(self, text: str, crowd: Statistics | None) -> Floats:
        """The share of the query's term weight that each earns among the selected."""
        lengths = self._selection.pick(self._shelf.lengths)
        places: list[Places] = []
        often: list[NDArray[np.uint16]] = []
        weights: list[Floats] = []
        total = 0.0
        said = lengths.sum() if self._selection.whole else lengths[self._selection.mask].sum()
        average = self._average = crowd.average if crowd else float(said) / self._selection.size or 1.0
        for term in terms(text):
            key = self._shelf.key(term)
            found, counts = self._shelf.postings.holding(key)
            at, which = self._selection.among(found)
            weight = (
                idf(crowd.documents, crowd.containing[key]) if crowd else idf(self._selection.size, len(at))
            )
            self._holding.append((weight, found))
            total += weight
            if len(at):
                places.append(at)
                often.append(counts[which])
                weights.append(np.full(len(at), weight))
        if not places:
            return np.zeros(self._selection.width)
        said_at, said_often = np.concatenate(places), np.concatenate(often).astype(np.float64)
        norms = K1 * (1 - B + B * lengths[said_at] / average)
        earned = np.concatenate(weights) * (said_often / (said_often + norms))
        return np.bincount(said_at, earned, self._selection.width) / total

    def _spoken_by(self, names: Sequence[str]) -> Places:
        """The places of what was said by somebody with one of these names, in ascending order."""
        words = {word for name in names for word in name_words(name)}
        found = (self._shelf.postings.holding(self._shelf.key(spoken_by(word)))[0] for word in words)
        places = [self._selection.among(rows)[0] for rows in found]
        return np.unique(np.concatenate(places)) if places else np.empty(0, np.intp)

    @cached_property
    def _demoted(self) -> Mask:
        return self._shelf.demoted(self._selection)

    def runners(self, wanted: int) -> list[_Runner]:
        """The rows that could be among the best `wanted`, each with its exact evidence."""
        chosen = self._contenders(wanted)
        around = self._near.around(chosen) if self._near else []
        known = np.unique(np.concatenate((chosen, *around))) if around else chosen
        known = known[known < self._selection.width]
        rows = self._selection.numbers(known)
        self._vectors = self._shelf.vectors(self._db, rows)
        cosines = self._vectors.cosines(self._asked)
        own = np.append(self._weighed(known, rows, cosines), 0.0)  # the last: a neighbour that is not there
        lent = np.zeros(len(chosen))
        for (_, share), other in zip(STEPS, around, strict=bool(around)):
            lent += share * own[np.searchsorted(known, other)]
        at = np.searchsorted(known, chosen)
        lent[self._shelf.machine_said[rows[at]]] = 0.0
        weights = own[at] + lent
        lengths = self._shelf.lengths[rows[at]]
        if lengths.max() > BRIEF:
            weights *= _brevity(lengths)
        demoted = self._demoted[chosen]
        kinds = (~demoted, demoted) if demoted.any() else (None,)
        first = np.concatenate([best(weights, kind, wanted, 0.0) for kind in kinds])
        at = at[first]
        columns = (at, chosen[first], rows[at], weights[first], cosines[at], lent[first], demoted[first])
        return [
            _Runner(number, place, row, self._vectors.ids[number], *rest)
            for number, place, row, *rest in zip(*(column.tolist() for column in columns), strict=True)
        ]

    def _weighed(self, places: Places, rows: Rows, cosines: Floats) -> Floats:
        """What these earn by themselves."""
        own = np.maximum(cosines, 0.0) ** COSINE_POWER + TEXT_WEIGHT * self._share[places] ** TEXT_POWER
        own[self._shelf.machine_said[rows]] *= MACHINE_SAID
        if self._times:
            own[_within(self._shelf.occurred[rows], self._times)] *= IN_TIME
        if len(self._spoken):
            own[np.isin(places, self._spoken, assume_unique=True)] *= SPOKE
        return own

    def positions(self, runners: Sequence[_Runner]) -> list[int]:
        """Where they stand in the file."""
        found: list[int] = self._shelf.positions[[runner.row for runner in runners]].tolist()
        return found

    def signals(self, runners: Sequence[_Runner]) -> list[dict[str, float]]:
        """What the weight of each was made of."""
        rows, places = [runner.row for runner in runners], [runner.place for runner in runners]
        shares, lengths = self._share[places].tolist(), self._shelf.lengths[rows].tolist()
        made = [
            {"vector": runner.cosine, "text": share} for runner, share in zip(runners, shares, strict=True)
        ]
        for name, raised in self._flags(runners, rows, places).items():
            for at in compress(range(len(made)), raised):
                made[at][name] = 1.0
        for signals, runner, length in zip(made, runners, lengths, strict=True):
            if length > BRIEF:
                signals["brevity"] = brevity(length)
            if runner.borrowed:
                signals["neighbours"] = runner.borrowed
        if self._rest is not None:
            near = self._vectors.matrix[[runner.at for runner in runners]].astype(np.float64)
            for signals, rest in zip(made, np.einsum("ij,j->i", near, self._rest).tolist(), strict=True):
                signals["rest"] = rest
        return made

    def _flags(
        self, runners: Sequence[_Runner], rows: Sequence[int], places: Sequence[int]
    ) -> dict[str, Sequence[bool]]:
        nobody: Sequence[bool] = ()
        return {
            "machine_said": self._shelf.machine_said[rows].tolist(),
            "in_time": _within(self._shelf.occurred[rows], self._times).tolist() if self._times else nobody,
            "spoke": np.isin(places, self._spoken).tolist() if len(self._spoken) else nobody,
            "demoted": [runner.demoted for runner in runners],
            "newest": [runner.newest for runner in runners],
            "fuller": [runner.fuller for runner in runners],
        }

    def _contenders(self, wanted: int) -> Places:
        """Which could be among the best, ties at the edge included; demoted ones run by themselves."""
        if self._selection.size <= max(wanted, FEW):
            return self._selection.places
        weights, slack = self._near_weights()
        seen = None if self._selection.whole else self._selection.mask
        demoted = self._demoted
        if not demoted.any():
            chosen = best(weights, seen, wanted, slack)
        else:
            kinds = (~demoted, demoted) if seen is None else (seen & ~demoted, seen & demoted)
            chosen = np.sort(np.concatenate([best(weights, kind, wanted, slack) for kind in kinds]))
        return chosen if self._asked is not None else self._without_the_silent(chosen, weights, wanted)

    def _without_the_silent(self, chosen: Places, weights: Floats, wanted: int) -> Places:
        """Of rows with no evidence the first by id are enough, as far as the rows are in that order."""
        silent = (weights[chosen] == 0) & (self._selection.numbers(chosen) < self._shelf.rising)
        for kind in (True, False):
            crowd = np.flatnonzero(silent & (self._demoted[chosen] == kind))
            silent[crowd[:wanted]] = False
        return np.asarray(chosen[~silent])

    def _near_weights(self) -> tuple[Floats, float]:
        """What each weighs, nearly, and by how much the difference of two may be wrong."""
        near, error = self._cosines()
        np.maximum(near, 0.0, out=near)
        steepest = COSINE_POWER * (float(near.max()) + error)
        weights = near**COSINE_POWER
        said = np.flatnonzero(self._share)
        weights[said] += TEXT_WEIGHT * self._share[said].astype(np.float32) ** TEXT_POWER
        machine = self._selection.pick(self._shelf.machine_said)
        if machine.any():
            weights[machine] *= MACHINE_SAID
        if self._times:
            weights[_within(self._selection.pick(self._shelf.occurred), self._times)] *= IN_TIME
            error *= IN_TIME
        if len(self._spoken):
            weights[self._spoken] *= SPOKE
            error *= SPOKE
        if self._near:
            weights[self._near.order] += self._near.lent(weights) * ~machine[self._near.order]
            error *= 1 + ALL_LENT
        lengths = self._selection.pick(self._shelf.lengths)
        long = np.flatnonzero(lengths > BRIEF)
        weights[long] *= _brevity(lengths[long])
        return weights, 2 * steepest * error + _SLACK

    def _cosines(self) -> tuple[NDArray[np.float32], float]:
        if self._asked is None:
            return np.zeros(self._selection.width, np.float32), 0.0
        return self._shelf.codes.near(self._asked, self._selection)

    def put_newest_ahead(self, contest: Sequence[_Runner]) -> None:
        rows = np.array([runner.row for runner in contest], np.int32)
        sessions = self._shelf.sessions.codes.values[rows]
        if sessions.max() < 0:  # then only those count that hold enough of the terms, and mostly nobody does
            some = self._covering(contest, rows)
            if len(some) < 2:
                return
            contest, rows, sessions = [contest[at] for at in some], rows[some], sessions[some]
        put_newest_ahead(
            contest,
            moments=self._shelf.moments[rows],
            vectors=lambda: self._vectors.matrix[[runner.at for runner in contest]].astype(np.float64),
            holding=[(weight, _hold(rows, found)) for weight, found in self._holding],
            sessions=sessions.astype(np.int64),
            covered=self._covered,
        )

    def _covered(self, session: int) -> float:
        """The share of the query's term weight that the selected turns of a session hold between them."""
        rows = self._selection.numbers(self._near.of(session))
        total = sum(weight for weight, _ in self._holding)
        held = sum(weight for weight, found in self._holding if len(holding(rows, found)[0]))
        return held / total if total else 0.0

    def _covering(self, contest: Sequence[_Runner], rows: Rows) -> list[int]:
        """Who may hold enough of the terms: of each that it holds a row earns at least a certain part."""
        earned = self._share[[runner.place for runner in contest]]
        norms = K1 * (1 - B + B * self._shelf.lengths[rows] / self._average)
        some: list[int] = np.flatnonzero(earned * (1 + norms) >= TERMS_COVERED - _SLACK).tolist()
        return some


def _hold(rows: Rows, found: Rows) -> Mask:
    held = np.zeros(len(rows), bool)
    held[holding(rows, found)[0]] = True
    return held


def _brevity(lengths: NDArray[Any]) -> Floats:
    return 1 / (1 + np.clip((lengths.astype(np.float64) - BRIEF) / LENGTHY, 0, 1))


def _floats(vector: bytes | None) -> NDArray[np.float32] | None:
    return None if vector is None else np.frombuffer(vector, "<f4")


def _within(moments: NDArray[np.int64], times: Sequence[tuple[int, int]]) -> Mask:
    inside = np.zeros(len(moments), bool)
    for start, end in times:
        inside |= (moments >= start) & (moments < end)
    return inside
