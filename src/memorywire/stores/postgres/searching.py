"""Answers a query: the server weighs what the scope holds, and the best contend here for being the newest.

A scope with few memories is looked at whole, and the answer is exact. In a larger one the contenders are the
nearest vectors, the wordiest texts and the turns around them, and statistics are the agent's.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from memorywire.model.query import Query, Scored
from memorywire.model.record import DEMOTED_FACTOR
from memorywire.model.space import Space
from memorywire.model.where import EVERYTHING
from memorywire.stores.newest import put_newest_ahead
from memorywire.stores.postgres.contenders import Contenders, contenders
from memorywire.stores.postgres.database import Connection, Row, fetch
from memorywire.stores.postgres.filters import Conditions
from memorywire.stores.postgres.queries import QUERIES
from memorywire.stores.postgres.reading import asked_for, at_positions, positions
from memorywire.stores.postgres.rows import floats, literal, record_of, term_key, widened
from memorywire.stores.relevance import (
    CONTEST,
    COSINE_POWER,
    IN_TIME,
    K1,
    MACHINE_SAID,
    MIDDLE,
    NEIGHBOURS,
    SLOPE,
    SPOKE,
    TEXT_POWER,
    TEXT_WEIGHT,
    B,
    relevance,
)
from memorywire.stores.text import name_words, spoken_by, terms

_CONSTANTS = {
    "k1": K1,
    "b": B,
    "cosine_power": COSINE_POWER,
    "text_weight": TEXT_WEIGHT,
    "text_power": TEXT_POWER,
    "machine": MACHINE_SAID,
    "timely": IN_TIME,
    "named": SPOKE,
    "slope": SLOPE,
    "middle": MIDDLE,
    "demoted": DEMOTED_FACTOR,
}
_LENT = " + ".join(
    f"{share} * (coalesce(lag(own, {step}) OVER turns, 0) + coalesce(lead(own, {step}) OVER turns, 0))"
    for step, share in NEIGHBOURS
)


@dataclass(slots=True)
class _Runner:
    """One version on its way through the ranking, as the server weighed it."""

    position: int
    id: str
    near: float
    share: float
    places: Sequence[int] | None
    lent: float
    weight: float
    moment: int
    user: str | None
    session: str | None
    machine_said: bool
    in_time: bool
    demoted: bool
    spoke: bool
    newest: bool = False

    @property
    def score(self) -> float:
        return relevance(self.weight) * (DEMOTED_FACTOR if self.demoted else 1.0)

    @property
    def standing(self) -> tuple[float, float, str]:
        return -self.score, -self.weight, self.id

    @property
    def turn_of(self) -> tuple[str | None, str] | None:
        return None if self.session is None else (self.user, self.session)

    @property
    def signals(self) -> dict[str, float]:
        flags = ("spoke", "machine_said", "in_time", "demoted", "newest")
        signals = {"vector": self.near, "text": self.share}
        signals |= {name: 1.0 for name in flags if getattr(self, name)}
        return signals | ({"neighbours": self.lent} if self.lent else {})


async def search(db: Connection, space: Space, query: Query, limit: int, exact: int) -> list[Scored]:
    """The best `limit`; scopes of more than `exact` memories are searched by their contenders."""
    if limit < 1:
        return []
    asked = await asked_for(db, query.where)
    left = asked.rest != EVERYTHING
    if left:
        asked = _standing_at(asked, await positions(db, asked))
    named = await _names_a_speaker(db, query, asked)
    bindings = _meant(space, query, named) | {"wanted": max(limit, CONTEST)}
    chosen = None
    if not left and query.where.as_of is None:
        chosen = await contenders(db, query.where.scope, asked, bindings, exact)
    rows = await _weighed(db, asked, chosen, bindings)
    rest = None if named or query.nameless is None else floats(query.nameless, space)
    return await _ranked(db, query, rows, limit, _Measure(space.dimension, rest))


def _standing_at(asked: Conditions, positions: list[int]) -> Conditions:
    which = "version.tenant = %(tenant)s AND version.position = ANY(%(positions)s)"
    return Conditions(which, asked.bindings | {"positions": positions}, EVERYTHING)


async def _names_a_speaker(db: Connection, query: Query, asked: Conditions) -> bool:
    """Whether the query names somebody who speaks in what matches."""
    if not query.names:
        return False
    spoken = QUERIES["spoken"].format(conditions=asked.sql)
    [(speaks,)] = await fetch(db, spoken, asked.bindings | {"names": _name_keys(query)})
    return bool(speaks)


def _meant(space: Space, query: Query, named: bool) -> dict[str, Any]:
    """What the query says, in the server's terms.

    Every word of a speaker whom the query names would be near, so then the names are left out.
    """
    scope = query.where.scope
    vector = query.nameless if named and query.nameless is not None else query.vector
    coarse, finer = (None, None) if vector is None else _two_halves(floats(vector, space))
    return {
        "keys": [term_key(scope.tenant, scope.agent, term) for term in terms(query.text)],
        "names": _name_keys(query),
        "times": f"{{{','.join(f'[{start},{end})' for start, end in query.times if start < end)}}}",
        "asked": coarse,
        "finer": finer,
    }


def _name_keys(query: Query) -> list[int]:
    scope = query.where.scope
    words = {word for name in query.names for word in name_words(name)}
    return [term_key(scope.tenant, scope.agent, spoken_by(word)) for word in sorted(words)]


def _two_halves(vector: NDArray[np.float32]) -> tuple[str, str]:
    """The vector as a sum of two of 16 bits: products with both add up to nearly full precision."""
    coarse = vector.astype(np.float16)
    return literal(coarse), literal((vector - coarse.astype(np.float32)).astype(np.float16))


async def _weighed(
    db: Connection, asked: Conditions, chosen: Contenders | None, bindings: dict[str, Any]
) -> list[Row]:
    """The best, as the server weighs them."""
    if chosen is None:
        chosen = Contenders()
    else:
        asked = _standing_at(asked, chosen.positions)
    given = _CONSTANTS | {
        "lenders": chosen.lenders,
        "documents": chosen.documents,
        "average": chosen.average,
        "containing": chosen.containing,
    }
    query = QUERIES["rank"].format(conditions=asked.sql, lent=_LENT)
    return await fetch(db, query, asked.bindings | bindings | given)


@dataclass(frozen=True, slots=True)
class _Measure:
    """How long vectors are, and the query's without its names, if hits are to be compared with it."""

    dimension: int
    rest: NDArray[np.float32] | None

    def signals(self, runner: _Runner, row: Row) -> dict[str, float]:
        if self.rest is None:
            return runner.signals
        [vector] = widened([row[-1]], self.dimension)
        return runner.signals | {"rest": float(vector @ self.rest)}


async def _ranked(
    db: Connection, query: Query, rows: list[Row], limit: int, measure: _Measure
) -> list[Scored]:
    """Settle who is newest among the best, and fetch the records of those that remain."""
    if not rows:
        return []
    runners = [_Runner(*row[:-1]) for row in rows]
    contest = runners[:CONTEST]
    wanted = {runner.position for runner in (*contest, *runners[:limit])}
    found = await at_positions(db, query.where.scope.tenant, sorted(wanted))
    vectors = widened([found[runner.position][-1] for runner in contest], measure.dimension)
    _put_newest_ahead(contest, rows[0][-1] or [], vectors)
    contest.sort(key=lambda runner: runner.standing)
    return [
        Scored(record=record_of(row), score=runner.score, signals=measure.signals(runner, row))
        for runner in (*contest, *runners[CONTEST:])[:limit]
        for row in (found[runner.position],)
    ]


def _put_newest_ahead(contest: list[_Runner], weights: Sequence[float], vectors: NDArray[np.float64]) -> None:
    held = [frozenset(runner.places or ()) for runner in contest]
    put_newest_ahead(
        contest,
        moments=np.array([runner.moment for runner in contest]),
        vectors=vectors,
        holding=[
            (weight, np.array([place in own for own in held]))
            for place, weight in enumerate(weights, start=1)
        ],
        sessions=_numbered([runner.turn_of for runner in contest]),
    )


def _numbered(sessions: Sequence[tuple[str | None, str] | None]) -> NDArray[np.int64]:
    """A number for each session; -1 for none."""
    numbers: dict[tuple[str | None, str], int] = {}
    return np.array([-1 if one is None else numbers.setdefault(one, len(numbers)) for one in sessions])
