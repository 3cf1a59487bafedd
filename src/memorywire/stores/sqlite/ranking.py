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
    AGO,
    BRIEF,
    CONTEST,
    COSINE_POWER,
    IN_TIME,
    K1,
    LENGTHY,
    MACHINE_LENDS,
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
from memorywire.stores.sqlite.selection import Rows, Selection, held, holding
from memorywire.stores.sqlite.shelf import Shelf, Source
from memorywire.stores.sqlite.wording import worded
from memorywire.stores.text import name_words, spoken_by, terms

# How far evidence computed in single precision may be from the exact one.
_SLACK = 1e-5
_NOWHERE = np.empty(0, np.intp)
_NOBODY = np.empty(0, np.int32)


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
    runners, contested = field.runners(limit)
    contest = runners[:CONTEST]
    if contested:
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
        self._times, self._in_time = query.times, AGO if query.ago else IN_TIME
        self._settled = query.settled
        self._share, self._spoken = self._text_shares(query, crowd)
        named = len(self._spoken) > 0
        self._asked = _floats(query.nameless if query.nameless and named else query.vector)
        self._rest = None if named else _floats(query.nameless)
        self._near = shelf.sessions.neighbourhood(selection, shelf.rising, lambda rows: shelf.ids(db, rows))

    def _text_shares(self, query: Query, crowd: Statistics | None) -> tuple[Floats, Places]:
        """The share of the query's term weight that each earns among the selected; and the places of what was
        said by somebody whom the query names, in ascending order."""
        lengths = self._selection.pick(self._shelf.lengths)
        said = lengths.sum() if self._selection.whole else lengths[self._selection.mask].sum()
        average = self._average = crowd.average if crowd else float(said) / self._selection.size or 1.0
        words = [*terms(query.text)]
        self._earned = np.array([word not in query.aside for word in words], bool)
        keys = [self._shelf.key(word) for word in words]
        names = [self._shelf.key(spoken_by(word)) for name in query.names for word in name_words(name)]
        found = self._found = worded(self._shelf.postings, self._selection, [*keys, *names])
        asked = int(found.which.searchsorted(len(keys)))  # so many entries are of words, the rest of names
        which, places, often = found.which[:asked], found.places[:asked], found.often[:asked]
        if crowd:
            self._weights = [idf(crowd.documents, crowd.containing[key]) for key in keys]
        else:
            holders = np.bincount(which, minlength=len(keys)).tolist()
            self._weights = [idf(self._selection.size, count) for count in holders]
        spoken = np.unique(found.places[asked:]) if len(found.places) > asked else _NOWHERE
        if not asked:
            return np.zeros(self._selection.width), spoken
        norms = K1 * (1 - B + B * lengths[places] / average)
        earned = (np.array(self._weights) * self._earned)[which] * (often / (often + norms))
        return np.bincount(places, earned, self._selection.width) / sum(self._weights), spoken

    @cached_property
    def _holding(self) -> list[tuple[float, Rows]]:
        """The weight of each term of the query, and the rows that hold it, if it can be earned."""
        return [
            (weight, self._found.rows(term) if earned else _NOBODY)
            for term, (weight, earned) in enumerate(zip(self._weights, self._earned, strict=True))
        ]

    @cached_property
    def _demoted(self) -> Mask:
        return self._shelf.demoted(self._selection)

    def runners(self, limit: int) -> tuple[list[_Runner], bool]:
        """The best, in order, each with its exact evidence; and whether any may contend for being the newest.

        They are `limit`, or as many more as contend.
        """
        wanted = max(limit, CONTEST)
        chosen = self._contenders(wanted)
        at, rows, cosines, lent, weights = self._evidence(chosen)
        demoted = self._demoted[chosen]
        columns = (at, chosen, rows, weights, cosines, lent, demoted)
        if demoted.any() or rows[-1] >= self._shelf.rising:
            kinds = (~demoted, demoted) if demoted.any() else (None,)
            first = np.concatenate([best(weights, kind, wanted, 0.0) for kind in kinds])
            runners = self._made([column[first] for column in columns])
            _put_best_first(runners)
            contest = runners[:CONTEST]
            return runners, self._may_contend([one.place for one in contest], [one.row for one in contest])
        order = (-weights).argsort(kind="stable")[:wanted]  # the rows stand in order of id
        ahead = order[:CONTEST]
        contested = self._may_contend(chosen[ahead], rows[ahead])
        return self._made([column[order[: wanted if contested else limit]] for column in columns]), contested

    def _made(self, columns: Sequence[NDArray[Any]]) -> list[_Runner]:
        return [
            _Runner(number, place, row, self._vectors.ids[number], *rest)
            for number, place, row, *rest in zip(*(column.tolist() for column in columns), strict=True)
        ]

    def _evidence(self, chosen: Places) -> tuple[Places, Rows, Floats, Floats, Floats]:
        """Of each of the chosen: its number among the known, its row, its cosine, what its neighbours lend it
        and what it weighs."""
        around = self._near.around(chosen) if self._near else []
        known = np.unique(np.concatenate((chosen, *around))) if around else chosen
        known = known[known < self._selection.width] if around else known
        rows = self._selection.numbers(known)
        self._vectors = self._shelf.vectors(self._db, rows)
        cosines = self._vectors.cosines(self._asked)
        weights = self._weighed(known, rows, cosines)
        at, lent = np.arange(len(known)), np.zeros(len(chosen))
        if around:
            lends = np.where(self._shelf.machine_said[rows], MACHINE_LENDS * weights, weights)
            lends = np.append(lends, 0.0)  # the last: a neighbour that is not there
            for (_, share), other in zip(STEPS, around, strict=True):
                lent += share * lends[np.searchsorted(known, other)]
            at = np.searchsorted(known, chosen)
            rows, cosines = rows[at], cosines[at]
            lent[self._shelf.machine_said[rows]] = 0.0
            weights = weights[at] + lent
        lengths = self._shelf.lengths[rows]
        if lengths.max() > BRIEF:
            weights *= _brevity(lengths)
        return at, rows, cosines, lent, weights

    def _weighed(self, places: Places, rows: Rows, cosines: Floats) -> Floats:
        """What these earn by themselves."""
        own = np.maximum(cosines, 0.0) ** COSINE_POWER + TEXT_WEIGHT * self._share[places] ** TEXT_POWER
        machine = self._shelf.machine_said[rows]
        if machine.any():
            own[machine] *= MACHINE_SAID
        if self._times:
            own[_within(self._shelf.occurred[rows], self._times)] *= self._in_time
        if len(self._spoken):
            own[np.isin(places, self._spoken, assume_unique=True)] *= SPOKE
        return own

    def positions(self, runners: Sequence[_Runner]) -> list[int]:
        """Where they stand in the file."""
        found: list[int] = self._shelf.positions[[runner.row for runner in runners]].tolist()
        return found

    def signals(self, runners: Sequence[_Runner]) -> list[dict[str, float]]:
        """What the weight of each was made of."""
        rows = np.array([runner.row for runner in runners], np.intp)
        places = np.array([runner.place for runner in runners], np.intp)
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

    def _flags(self, runners: Sequence[_Runner], rows: Places, places: Places) -> dict[str, Sequence[bool]]:
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
            weights[_within(self._selection.pick(self._shelf.occurred), self._times)] *= self._in_time
            error *= self._in_time
        if len(self._spoken):
            weights[self._spoken] *= SPOKE
            error *= SPOKE
        if self._near:
            lends = np.where(machine, MACHINE_LENDS * weights, weights) if machine.any() else weights
            weights[self._near.order] += self._near.lent(lends) * ~machine[self._near.order]
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
        if sessions.max() < 0:  # then only those count that hold enough of the terms
            some = self._covering([runner.place for runner in contest], rows)
            contest, rows, sessions = [contest[at] for at in some], rows[some], sessions[some]
        put_newest_ahead(
            contest,
            moments=self._shelf.moments[rows],
            vectors=lambda: self._vectors.matrix[[runner.at for runner in contest]].astype(np.float64),
            holding=[(weight, held(rows, found)) for weight, found in self._holding],
            sessions=sessions.astype(np.int64),
            covered=self._covered,
            settled=self._settled,
        )

    def _may_contend(self, places: Places | list[int], rows: Rows | list[int]) -> bool:
        """Whether one of these could be put ahead of another: mostly nobody holds enough of the terms."""
        in_session = bool(self._near) and self._shelf.sessions.codes.values[rows].max() >= 0
        return in_session or len(self._covering(places, rows)) > 1

    def _covered(self, session: int) -> float:
        """The share of the query's term weight that the selected turns of a session hold between them."""
        rows = self._selection.numbers(self._near.of(session))
        total = sum(weight for weight, _ in self._holding)
        held = sum(weight for weight, found in self._holding if len(holding(rows, found)[0]))
        return held / total if total else 0.0

    def _covering(self, places: Places | list[int], rows: Rows | list[int]) -> list[int]:
        """Who may hold enough of the terms: of each that it holds a row earns at least a certain part."""
        norms = K1 * (1 - B + B * self._shelf.lengths[rows] / self._average)
        enough = self._share[places] * (1 + norms) >= TERMS_COVERED - _SLACK
        some: list[int] = enough.nonzero()[0].tolist()
        return some


def _brevity(lengths: NDArray[Any]) -> Floats:
    return 1 / (1 + np.clip((lengths.astype(np.float64) - BRIEF) / LENGTHY, 0, 1))


def _floats(vector: bytes | None) -> NDArray[np.float32] | None:
    return None if vector is None else np.frombuffer(vector, "<f4")


def _within(moments: NDArray[np.int64], times: Sequence[tuple[int, int]]) -> Mask:
    inside = np.zeros(len(moments), bool)
    for start, end in times:
        inside |= (moments >= start) & (moments < end)
    return inside
