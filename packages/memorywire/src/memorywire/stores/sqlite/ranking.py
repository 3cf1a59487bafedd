"""Ranks the rows of a shelf with arrays, to the same result as the plain Python of search/reference.py.

Rounded vectors held in memory choose the rows that could win; their exact vectors, from the file, decide the
order.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from itertools import compress, takewhile
from typing import Any

import numpy as np
from numpy.typing import NDArray

from memorywire.model.query import Query
from memorywire.model.values import dataclass
from memorywire.search.relevance import (
    AGO,
    ASKING,
    BRIEF,
    CONTEST,
    COSINE_POWER,
    IN_TIME,
    K1,
    MACHINE_LENDS,
    MACHINE_SAID,
    SPOKE,
    TERMS_COVERED,
    TEXT_POWER,
    TEXT_WEIGHT,
    B,
    brevity,
    idf,
)
from memorywire.search.text import ASKED, name_words, query_terms, spoken_by
from memorywire.search.ties import put_newest_ahead
from memorywire.stores.contract import Enough
from memorywire.stores.sqlite.agent_index import AgentIndex, Source
from memorywire.stores.sqlite.best import FEW, Floats, Mask, Places, best
from memorywire.stores.sqlite.candidate import Gathered, Ranked, Runner, made, put_best_first, rated
from memorywire.stores.sqlite.columns import floats, shortened, spread, standing_at, within
from memorywire.stores.sqlite.neighbourhood import ALL_LENT, STEPS
from memorywire.stores.sqlite.selection import Rows, Selection, held, holding
from memorywire.stores.sqlite.wording import worded

# How far evidence computed in single precision may be from the exact one.
_SLACK = 1e-5
_NOWHERE = np.empty(0, np.intp)
_NOBODY = np.empty(0, np.int32)


@dataclass(frozen=True, slots=True, kw_only=True)
class Statistics:
    """How common each term is (by its key) among all rows of which the selected are only a part."""

    documents: int
    average: float
    containing: Mapping[int, int]


def rank(
    db: Source,
    agent_index: AgentIndex,
    selection: Selection,
    query: Query,
    limit: int,
    crowd: Statistics | None = None,
    ask: Callable[[], Query] | None = None,
    *,
    enough: Enough | None = None,
) -> list[Ranked]:
    """The best `limit` of the selected rows, best first.

    Statistics are taken over the selected rows, unless those of a larger `crowd` are given. If the query has
    no vectors yet, `ask` completes it when they are needed. Where fewer are `enough`, only those come, and of
    the signals only `rest` of the best row.
    """
    if not selection.size or limit < 1:
        return []
    field = _Field(db, agent_index, selection, query, crowd)
    field.compare(ask() if ask else query)
    wanted = limit if enough is None else min(limit, enough.most)
    runners, contested = field.runners(wanted)
    contest = runners[:CONTEST]
    if contested:
        field.put_newest_ahead(contest)
        if any(runner.newest or runner.fuller for runner in contest):
            put_best_first(contest)
    ranked = (contest + runners[CONTEST:])[:wanted]
    if enough is None:
        told = field.signals(ranked)
        field.compare_the_rest(ranked, told)
    else:
        told = [{} for _ in ranked]
        field.compare_the_rest(ranked[:1], told)
        level = enough.level(ranked[0].score, told[0], bool(agent_index.sessions))
        ranked = [*takewhile(lambda runner: runner.score >= level, ranked)]
    return [
        rated(position, runner.score, signals)
        for position, runner, signals in zip(field.positions(ranked), ranked, told, strict=False)
    ]


class _Field:
    """What is known of all selected rows, as arrays with one place for each of them."""

    def __init__(
        self,
        db: Source,
        agent_index: AgentIndex,
        selection: Selection,
        query: Query,
        crowd: Statistics | None,
    ) -> None:
        self._db = db
        self._shelf = agent_index
        self._selection = selection
        self._times, self._in_time = query.times, AGO if query.ago else IN_TIME
        self._settled = query.settled
        demoted = agent_index.demoted(selection)
        self._demoted = demoted if demoted is not None and demoted.any() else None
        self._share, self._spoken = self._text_shares(query, crowd)
        self._near = agent_index.sessions.neighbourhood(
            selection, agent_index.rising, lambda rows: agent_index.ids(db, rows)
        )
        self._enough = self._all = None
        self._alone = False  # whether so few hold enough of the terms that nobody contends with another
        if selection.size <= FEW:  # then all that can be is found out now: the vectors may be on their way
            self._enough = self._covers(self._share, selection.pick(agent_index.lengths))
            self._alone = not self._near and int(np.count_nonzero(self._enough)) < 2
            self._all = self._gathered(selection.places)

    def compare(self, query: Query) -> None:
        """Take the query's vectors, by which the rest of the ranking goes."""
        named = len(self._spoken) > 0
        self._asked = floats(query.nameless if query.nameless and named else query.vector)
        self._rest = None if named else floats(query.nameless)

    def _text_shares(self, query: Query, crowd: Statistics | None) -> tuple[Floats, Places]:
        """The share of the query's term weight that each earns among the selected; and the places of what was
        said by somebody whom the query names, in ascending order."""
        lengths = self._selection.pick(self._shelf.lengths)
        said = lengths.sum() if self._selection.whole else lengths[self._selection.mask].sum()
        average = self._average = crowd.average if crowd else float(said) / self._selection.size or 1.0
        words = query_terms(query.text)
        self._earned = np.array([word not in query.aside for word in words], bool)
        keys = [self._shelf.key(word) for word in words]
        names = [self._shelf.key(spoken_by(word)) for name in query.names for word in name_words(name)]
        told = [*keys, *names, self._shelf.key(ASKED)]
        found = self._found = worded(self._shelf.postings, self._selection, told)
        # So many entries are of words, and so many of words and names; the rest is what asks.
        asked, named = found.which.searchsorted((len(keys), len(told) - 1)).tolist()
        self._asks = spread(found.places[named:], found.often[named:] / 10, self._selection.width)
        which, places, often = found.which[:asked], found.places[:asked], found.often[:asked]
        if crowd:
            self._weights = [idf(crowd.documents, crowd.containing[key]) for key in keys]
        else:
            holders = np.bincount(which, minlength=len(keys)).tolist()
            self._weights = [idf(self._selection.size, count) for count in holders]
        spoken = np.unique(found.places[asked:named]) if named > asked else _NOWHERE
        if not asked:
            return np.zeros(self._selection.width), spoken
        norms = K1 * (1 - B + B * lengths[places] / average)
        earned = (np.array(self._weights) * self._earned)[which] * (often / (often + norms))
        return np.bincount(places, earned, self._selection.width) / sum(self._weights), spoken

    @cached_property
    def _holding(self) -> list[tuple[float, Rows]]:
        """The weight of each term of the query, and the rows that hold it; none if it earns nothing."""
        return [
            (weight, self._found.rows(term) if earned else _NOBODY)
            for term, (weight, earned) in enumerate(zip(self._weights, self._earned, strict=True))
        ]

    def runners(self, limit: int) -> tuple[list[Runner], bool]:
        """The best rows in order, with exact evidence; and whether some may yet be reordered by being newer.

        At least `limit` of them, and as many more as could be reordered.
        """
        wanted = max(limit, CONTEST)
        gathered = self._all or self._gathered(self._contenders(wanted))
        chosen, self._vectors = gathered.chosen, gathered.vectors
        at, rows, cosines, weights, lent = self._evidence(gathered)
        demoted = None if self._demoted is None else self._demoted[chosen]
        columns = (at, *self._standing(chosen, rows), weights, cosines, lent, demoted)
        if demoted is not None or rows[-1] >= self._shelf.rising:
            kinds = (None,) if demoted is None else (~demoted, demoted)
            first = np.concatenate([best(weights, kind, wanted, 0.0) for kind in kinds])
            runners = made(self._vectors.ids, columns, first)
            put_best_first(runners)
            contest = runners[:CONTEST]
            return runners, self._may_contend([one.place for one in contest], [one.row for one in contest])
        order = (-weights).argsort(kind="stable")[:wanted]  # the rows stand in order of id
        ahead = order[:CONTEST]
        contested = not self._alone and self._may_contend(chosen[ahead], rows[ahead])
        return made(self._vectors.ids, columns, order[: wanted if contested else limit]), contested

    def _standing(self, chosen: Places, rows: Rows) -> tuple[Places | None, Rows | None]:
        """The places and rows of the chosen; None for both where they are simply 0, 1, 2 and so on."""
        return (None, None) if len(chosen) == len(self._shelf) else (chosen, rows)

    def _gathered(self, chosen: Places) -> Gathered:
        around = self._near.around(chosen) if self._near else []
        known = np.unique(np.concatenate((chosen, *around))) if around else chosen
        known = known[known < self._selection.width] if around else known
        rows = self._selection.numbers(known)
        told = TEXT_WEIGHT * standing_at(self._share, known) ** TEXT_POWER
        return Gathered(chosen, around, known, rows, self._shelf.vectors(self._db, rows), told)

    def _evidence(self, gathered: Gathered) -> tuple[Places | None, Rows, Floats, Floats, Floats | None]:
        """Of each of the chosen: its number among the known, its row, its cosine, what it weighs, and what is
        lent to it, where anybody has neighbours."""
        chosen, around, known, rows = gathered.chosen, gathered.around, gathered.known, gathered.rows
        cosines = gathered.vectors.cosines(self._asked)
        weights = self._weighed(gathered, cosines)
        here = lent = None
        if around:
            lent = np.zeros(len(chosen))
            lends = np.where(self._shelf.machine_said[rows], MACHINE_LENDS * weights, weights)
            if self._asks is not None:
                lends *= 1 + ASKING * standing_at(self._asks, known)
            lends = np.append(lends, 0.0)  # the last: a neighbour that is not there
            for (_, share), other in zip(STEPS, around, strict=True):
                lent += share * lends[np.searchsorted(known, other)]
            here = np.searchsorted(known, chosen)
            rows, cosines = rows[here], cosines[here]
            lent[self._shelf.machine_said[rows]] = 0.0
            weights = weights[here] + lent
        if self._shelf.longest > BRIEF:
            weights *= shortened(self._shelf.lengths[rows])
        if self._asks is not None:
            weights *= 1 - ASKING * standing_at(self._asks, chosen)
        return here, rows, cosines, weights, lent

    def _weighed(self, gathered: Gathered, cosines: Floats) -> Floats:
        """The evidence of each gathered row by itself, before neighbours lend to it."""
        rows, own = gathered.rows, np.maximum(cosines, 0.0) ** COSINE_POWER + gathered.told
        if self._shelf.machines:
            own[self._shelf.machine_said[rows]] *= MACHINE_SAID
        if self._times:
            own[within(self._shelf.occurred[rows], self._times)] *= self._in_time
        if len(self._spoken):
            own[np.isin(gathered.known, self._spoken, assume_unique=True)] *= SPOKE
        return own

    def positions(self, runners: Sequence[Runner]) -> list[int]:
        """Where the versions of these runners stand in the file."""
        at = self._shelf.positions.item
        return [at(runner.row) for runner in runners]

    def signals(self, runners: Sequence[Runner]) -> list[dict[str, float]]:
        """What the weight of each runner was made of, by the names that `explain` shows."""
        rows, places = [runner.row for runner in runners], [runner.place for runner in runners]
        shares = self._share[places].tolist()
        told = [
            {"vector": runner.cosine, "text": share} for runner, share in zip(runners, shares, strict=True)
        ]
        for name, raised in self._flags(runners, rows, places).items():
            for at in compress(range(len(told)), raised):
                told[at][name] = 1.0
        if self._shelf.longest > BRIEF:
            for signals, length in zip(told, self._shelf.lengths[rows].tolist(), strict=True):
                if length > BRIEF:
                    signals["brevity"] = brevity(length)
        if self._asks is not None:
            for signals, asks in zip(told, self._asks[places].tolist(), strict=True):
                if asks:
                    signals["asks"] = asks
        if self._near:
            for signals, runner in zip(told, runners, strict=True):
                if runner.borrowed:
                    signals["neighbours"] = runner.borrowed
        return told

    def compare_the_rest(self, runners: Sequence[Runner], told: Sequence[dict[str, float]]) -> None:
        """Note as `rest` how near each runner is to the query without its names."""
        if self._rest is not None:
            near = self._vectors.matrix.take([runner.at for runner in runners], axis=0)
            near = near.astype(np.float64, copy=False)
            for signals, rest in zip(told, np.einsum("ij,j->i", near, self._rest).tolist(), strict=False):
                signals["rest"] = rest

    def _flags(
        self, runners: Sequence[Runner], rows: list[int], places: list[int]
    ) -> dict[str, Sequence[bool]]:
        nobody: Sequence[bool] = ()
        return {
            "machine_said": self._shelf.machine_said[rows].tolist() if self._shelf.machines else nobody,
            "in_time": within(self._shelf.occurred[rows], self._times).tolist() if self._times else nobody,
            "spoke": np.isin(places, self._spoken).tolist() if len(self._spoken) else nobody,
            "demoted": [runner.demoted for runner in runners],
            "newest": [runner.newest for runner in runners],
            "fuller": [runner.fuller for runner in runners],
        }

    def _contenders(self, wanted: int) -> Places:
        """The places that could be among the best, ties included; demoted rows compete among themselves."""
        if self._selection.size <= max(wanted, FEW):
            return self._selection.places
        weights, slack = self._near_weights()
        seen = None if self._selection.whole else self._selection.mask
        demoted = self._demoted
        if demoted is None:
            chosen = best(weights, seen, wanted, slack)
        else:
            kinds = (~demoted, demoted) if seen is None else (seen & ~demoted, seen & demoted)
            chosen = np.sort(np.concatenate([best(weights, kind, wanted, slack) for kind in kinds]))
        return chosen if self._asked is not None else self._without_the_silent(chosen, weights, wanted)

    def _without_the_silent(self, chosen: Places, weights: Floats, wanted: int) -> Places:
        """Drop rows without any evidence, but for the first few by id, which win their ties."""
        silent = (weights[chosen] == 0) & (self._selection.numbers(chosen) < self._shelf.rising)
        demoted = np.zeros(len(chosen), bool) if self._demoted is None else self._demoted[chosen]
        for kind in (True, False):
            crowd = np.flatnonzero(silent & (demoted == kind))
            silent[crowd[:wanted]] = False
        return np.asarray(chosen[~silent])

    def _near_weights(self) -> tuple[Floats, float]:
        """The approximate weight of each row, and by how much the difference of two may be wrong."""
        near, error = self._cosines()
        np.maximum(near, 0.0, out=near)
        steepest = COSINE_POWER * (float(near.max()) + error)
        weights = near**COSINE_POWER
        said = np.flatnonzero(self._share)
        weights[said] += TEXT_WEIGHT * self._share[said].astype(np.float32) ** TEXT_POWER
        machine = self._selection.pick(self._shelf.machine_said)
        if self._shelf.machines:
            weights[machine] *= MACHINE_SAID
        if self._times:
            weights[within(self._selection.pick(self._shelf.occurred), self._times)] *= self._in_time
            error *= self._in_time
        if len(self._spoken):
            weights[self._spoken] *= SPOKE
            error *= SPOKE
        if self._near:
            error *= 1 + self._lend(weights, machine)
        if self._shelf.longest > BRIEF:
            lengths = self._selection.pick(self._shelf.lengths)
            long = np.flatnonzero(lengths > BRIEF)
            weights[long] *= shortened(lengths[long])
        if self._asks is not None:
            weights *= 1 - ASKING * self._asks
        return weights, 2 * steepest * error + _SLACK

    def _lend(self, weights: Floats, machine: Mask) -> float:
        """Add what neighbours lend to the weights; gives the largest share of their errors it adds."""
        lends, most = weights, ALL_LENT
        if self._shelf.machines:
            lends = np.where(machine, MACHINE_LENDS * weights, weights)
        if self._asks is not None:
            lends, most = lends * (1 + ASKING * self._asks), ALL_LENT * (1 + ASKING)
        weights[self._near.order] += self._near.lent(lends) * ~machine[self._near.order]
        return most

    def _cosines(self) -> tuple[NDArray[np.float32], float]:
        if self._asked is None:
            return np.zeros(self._selection.width, np.float32), 0.0
        return self._shelf.codes.near(self._asked, self._selection)

    def put_newest_ahead(self, contest: Sequence[Runner]) -> None:
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
        """Whether one of these could be put ahead of another; mostly none holds enough of the terms."""
        in_session = bool(self._near) and self._shelf.sessions.codes.values[rows].max() >= 0
        return in_session or len(self._covering(places, rows)) > 1

    def _covered(self, session: int) -> float:
        """The share of the query's term weight that the selected turns of a session hold between them."""
        rows = self._selection.numbers(self._near.of(session))
        total = sum(weight for weight, _ in self._holding)
        held = sum(weight for weight, found in self._holding if len(holding(rows, found)[0]))
        return held / total if total else 0.0

    def _covering(self, places: Places | list[int], rows: Rows | list[int]) -> list[int]:
        """The indexes of those that may hold enough of the query's terms, judged by the share they earn."""
        if self._enough is not None:
            enough = self._enough[places]
        else:
            enough = self._covers(self._share[places], self._shelf.lengths[rows])
        some: list[int] = enough.nonzero()[0].tolist()
        return some

    def _covers(self, share: Floats, lengths: NDArray[Any]) -> Mask:
        norms = K1 * (1 - B + B * lengths / self._average)
        covers: Mask = share * (1 + norms) >= TERMS_COVERED - _SLACK
        return covers
