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
from memorywire.stores.postgres.rows import floats, kept, literal, record_of, term_key, widened
from memorywire.stores.relevance import (
    CONTEST,
    COSINE_POWER,
    IN_TIME,
    K1,
    MACHINE_SAID,
    MIDDLE,
    NEIGHBOURS,
    SLOPE,
    TEXT_POWER,
    TEXT_WEIGHT,
    B,
    relevance,
)
from memorywire.stores.text import terms

_CONSTANTS = {
    "k1": K1,
    "b": B,
    "cosine_power": COSINE_POWER,
    "text_weight": TEXT_WEIGHT,
    "text_power": TEXT_POWER,
    "machine": MACHINE_SAID,
    "timely": IN_TIME,
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
    machine_said: bool
    in_time: bool
    demoted: bool
    newest: bool = False

    @property
    def score(self) -> float:
        return relevance(self.weight) * (DEMOTED_FACTOR if self.demoted else 1.0)

    @property
    def standing(self) -> tuple[float, float, str]:
        return -self.score, -self.weight, self.id

    @property
    def signals(self) -> dict[str, float]:
        flags = ("machine_said", "in_time", "demoted", "newest")
        signals = {"vector": self.near, "text": self.share}
        signals |= {name: 1.0 for name in flags if getattr(self, name)}
        return signals | ({"neighbours": self.lent} if self.lent else {})


async def search(db: Connection, space: Space, query: Query, limit: int, exact: int) -> list[Scored]:
    """The best `limit`; scopes of more than `exact` memories are searched by their contenders."""
    if limit < 1:
        return []
    asked = await asked_for(db, query.where)
    bindings = _asked(query, space) | {"wanted": max(limit, CONTEST)}
    chosen = None
    if asked.rest != EVERYTHING:
        chosen = Contenders(positions=await positions(db, asked))
    elif query.where.as_of is None:
        chosen = await contenders(db, query.where.scope, asked, bindings, exact)
    rows = await _weighed(db, asked, chosen, bindings)
    return await _ranked(db, space, query, rows, limit)


def _asked(query: Query, space: Space) -> dict[str, Any]:
    """What the query says, in the server's terms."""
    scope = query.where.scope
    times = ",".join(f"[{start},{end})" for start, end in query.times if start < end)
    asked, finer = (None, None) if query.vector is None else _two_halves(floats(query.vector, space))
    keys = [term_key(scope.tenant, scope.agent, term) for term in terms(query.text)]
    return {"keys": keys, "times": f"{{{times}}}", "asked": asked, "finer": finer}


def _two_halves(vector: NDArray[np.float32]) -> tuple[str, str]:
    """The vector as a sum of two of 16 bits: products with both add up to nearly full precision."""
    coarse = vector.astype(np.float16)
    return literal(coarse), literal((vector - coarse.astype(np.float32)).astype(np.float16))


async def _weighed(
    db: Connection, asked: Conditions, chosen: Contenders | None, bindings: dict[str, Any]
) -> list[Row]:
    which = asked.sql
    if chosen is None:
        chosen = Contenders(positions=[])
    else:
        which = "version.tenant = %(tenant)s AND version.position = ANY(%(positions)s)"
    given = _CONSTANTS | {
        "positions": chosen.positions,
        "lenders": chosen.lenders,
        "documents": chosen.documents,
        "average": chosen.average,
        "containing": chosen.containing,
    }
    return await fetch(
        db, QUERIES["rank"].format(conditions=which, lent=_LENT), asked.bindings | bindings | given
    )


async def _ranked(db: Connection, space: Space, query: Query, rows: list[Row], limit: int) -> list[Scored]:
    """Settle who is newest among the best, and fetch the records of those that remain."""
    if not rows:
        return []
    runners = [_Runner(*row[:-1]) for row in rows]
    contest = runners[:CONTEST]
    wanted = {runner.position for runner in (*contest, *runners[:limit])}
    found = await at_positions(db, kept(query.where.scope.tenant), sorted(wanted))
    _put_newest_ahead(
        contest, rows[0][-1] or [], widened([found[r.position][-1] for r in contest], space.dimension)
    )
    contest.sort(key=lambda runner: runner.standing)
    return [
        Scored(record=record_of(found[runner.position]), score=runner.score, signals=runner.signals)
        for runner in (*contest, *runners[CONTEST:])[:limit]
    ]


def _put_newest_ahead(
    contest: Sequence[_Runner], weights: Sequence[float], vectors: NDArray[np.float64]
) -> None:
    held = [frozenset(runner.places or ()) for runner in contest]
    passed = put_newest_ahead(
        weights=np.array([runner.weight for runner in contest]),
        moments=np.array([runner.moment for runner in contest]),
        vectors=vectors,
        holding=[
            (weight, np.array([place in own for own in held])) for place, weight in enumerate(weights, 1)
        ],
    )
    for runner, weight in zip(contest, passed.tolist(), strict=True):
        if weight > runner.weight:
            runner.weight, runner.newest = weight, True
