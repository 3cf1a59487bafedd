"""Ranks the rows of a shelf as stores/ranking.py says, with arrays: exact for every row that could win."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from memorywire.model.query import Query
from memorywire.model.record import DEMOTED_FACTOR
from memorywire.stores.relevance import (
    CONTEST,
    COSINE_POWER,
    IN_TIME,
    K1,
    MACHINE_SAID,
    TEXT_POWER,
    TEXT_WEIGHT,
    B,
    idf,
    relevance,
)
from memorywire.stores.sqlite.neighbourhood import STEPS
from memorywire.stores.sqlite.newest import put_newest_ahead
from memorywire.stores.sqlite.rows import term_hash
from memorywire.stores.sqlite.shelf import Shelf
from memorywire.stores.text import terms

Floats = NDArray[np.float64]
Rows = NDArray[np.signedinteger[Any]]
Mask = NDArray[np.bool_]

# How far evidence computed in single precision may be from the exact one.
_SLACK = 1e-5
_BATCH = 4096
# A smaller share of the shelf is cheaper to copy out than to scan the rest for.
_GATHER_SHARE = 4


@dataclass(frozen=True, slots=True)
class Ranked:
    """A place in the file, its relevance and what that was made of."""

    position: int
    score: float
    signals: Mapping[str, float]


@dataclass(slots=True)
class _Runner:
    """One row on its way through the ranking; `at` numbers it among the masked rows."""

    at: int
    row: int
    id: str
    weight: float
    demoted: bool
    signals: dict[str, float]

    @property
    def score(self) -> float:
        return relevance(self.weight) * (DEMOTED_FACTOR if self.demoted else 1.0)

    @property
    def place(self) -> tuple[float, float, str]:
        return -self.score, -self.weight, self.id


def rank(shelf: Shelf, mask: Mask, query: Query, limit: int) -> list[Ranked]:
    """The best `limit` of the masked rows, best first; statistics are taken over the masked rows only."""
    rows = np.flatnonzero(mask)
    if not len(rows) or limit < 1:
        return []
    field = _Field(shelf, mask, rows, query)
    runners = field.runners(max(limit, CONTEST))
    runners.sort(key=lambda runner: runner.place)
    contest = runners[:CONTEST]
    field.put_newest_ahead(contest)
    ranked = sorted(contest, key=lambda runner: runner.place) + runners[CONTEST:]
    return [
        Ranked(int(shelf.positions[runner.row]), runner.score, runner.signals) for runner in ranked[:limit]
    ]


class _Field:
    """What is known of all masked rows, as arrays that run beside `rows`."""

    def __init__(self, shelf: Shelf, mask: Mask, rows: Rows, query: Query) -> None:
        self._shelf = shelf
        self._rows = rows
        self._asked = None if query.vector is None else np.frombuffer(query.vector, "<f4")
        self._holding: list[tuple[float, Rows]] = []
        self._share = self._text_shares(mask, query.text)[rows]
        self._machine = shelf.machine_said[rows]
        self._in_time = _within(shelf.occurred[rows], query.times)
        self._prior = np.where(self._machine, MACHINE_SAID, 1.0) * np.where(self._in_time, IN_TIME, 1.0)
        self._near = shelf.neighbourhood(mask, rows)

    def _text_shares(self, mask: Mask, text: str) -> Floats:
        """For every row of the shelf, the share of the query's term weight it earns among the masked."""
        lengths = self._shelf.lengths
        shares, total = np.zeros(len(self._shelf)), 0.0
        average = float(lengths[mask].mean()) or 1.0
        for term in terms(text):
            found, counts = self._shelf.postings.holding(term_hash(term))
            seen = mask[found]
            found, counts = found[seen], counts[seen]
            weight = idf(len(self._rows), len(found))
            self._holding.append((weight, found))
            total += weight
            shares[found] += weight * (counts / (counts + K1 * (1 - B + B * lengths[found] / average)))
        return shares / total if total else shares

    def runners(self, wanted: int) -> list[_Runner]:
        """The rows that could be among the best `wanted`, each with its exact evidence."""
        chosen = self._contenders(wanted)
        around = self._near.around(chosen)
        known = np.unique(np.concatenate((chosen, *around)))
        known = known[known < len(self._rows)]
        cosines = np.zeros(len(self._rows))
        own = np.zeros(len(self._rows) + 1)  # the last stands for a neighbour that is not there
        cosines[known] = self._exact_cosines(self._rows[known])
        own[known] = _evidence(cosines[known], self._share[known]) * self._prior[known]
        lent = sum((share * own[other] for (_, share), other in zip(STEPS, around, strict=True)), 0.0)
        return [
            self._runner(at, weight, cosine, borrowed)
            for at, weight, cosine, borrowed in zip(
                chosen.tolist(),
                (own[chosen] + lent).tolist(),
                cosines[chosen].tolist(),
                np.broadcast_to(lent, len(chosen)).tolist(),
                strict=True,
            )
        ]

    def _runner(self, at: int, weight: float, cosine: float, borrowed: float) -> _Runner:
        row = int(self._rows[at])
        demoted = bool(self._shelf.demoted[row])
        flags = {
            "machine_said": bool(self._machine[at]),
            "in_time": bool(self._in_time[at]),
            "demoted": demoted,
        }
        signals = {"vector": cosine, "text": float(self._share[at])}
        signals |= {name: 1.0 for name, raised in flags.items() if raised}
        if borrowed:
            signals["neighbours"] = borrowed
        return _Runner(at, row, self._shelf.ids[row], weight, demoted, signals)

    def _contenders(self, wanted: int) -> Rows:
        """Which rows could be among the best, ties at the edge included; demoted ones run by themselves."""
        if len(self._rows) <= wanted:
            return np.arange(len(self._rows))
        own = _evidence(self._cosines(), self._share) * self._prior
        weights = own + self._near.lent(own)
        demoted = self._shelf.demoted[self._rows]
        return np.concatenate([_best(weights, np.flatnonzero(kind), wanted) for kind in (~demoted, demoted)])

    def _cosines(self) -> Floats:
        if self._asked is None:
            return np.zeros(len(self._rows))
        if len(self._rows) * _GATHER_SHARE < len(self._shelf):
            near = self._shelf.matrix[self._rows] @ self._asked
        else:
            near = (self._shelf.matrix @ self._asked)[self._rows]
        return np.asarray(near, np.float64)

    def _exact_cosines(self, rows: Rows) -> Floats:
        """Row by row in double precision; rounded, so that equal vectors tie wherever they stand."""
        if self._asked is None:
            return np.zeros(len(rows))
        wide = self._asked.astype(np.float64)
        batches = [rows[start : start + _BATCH] for start in range(0, len(rows), _BATCH)]
        return np.concatenate([np.round((self._shelf.matrix[b] * wide).sum(axis=1), 12) for b in batches])

    def put_newest_ahead(self, contest: Sequence[_Runner]) -> None:
        rows = np.array([runner.row for runner in contest])
        passed = put_newest_ahead(
            weights=np.array([runner.weight for runner in contest]),
            moments=self._shelf.moments[rows],
            vectors=self._shelf.matrix[rows].astype(np.float64),
            holding=[(weight, np.isin(rows, found)) for weight, found in self._holding],
        )
        for runner, weight in zip(contest, passed.tolist(), strict=True):
            if weight > runner.weight:
                runner.weight = weight
                runner.signals["newest"] = 1.0


def _evidence(cosines: Floats, shares: Floats) -> Floats:
    earned: Floats = np.maximum(cosines, 0.0) ** COSINE_POWER + TEXT_WEIGHT * shares**TEXT_POWER
    return earned


def _best(weights: Floats, among: Rows, wanted: int) -> Rows:
    if len(among) <= wanted:
        return among
    values = weights[among]
    edge = np.partition(values, len(values) - wanted)[len(values) - wanted]
    return np.asarray(among[values >= edge - _SLACK])


def _within(moments: NDArray[np.int64], times: Sequence[tuple[int, int]]) -> Mask:
    inside = np.zeros(len(moments), bool)
    for start, end in times:
        inside |= (moments >= start) & (moments < end)
    return inside
