"""Walks from memories along their edges, as far as what is reached is still worth anything."""

import json
from collections.abc import Collection, Iterator, Mapping, Sequence

import apsw
from msgspec import Struct

from memorywire.model.record import Scope
from memorywire.stores.graph.edges import QUERIES, Edge, Kind
from memorywire.stores.sqlite.rows import Bindings, scope_row

SHARES: Mapping[Kind, float] = {
    Kind.RELATES_TO: 0.5,
    Kind.CONTRADICTS: 0.5,
    Kind.SUPERSEDES: 0.5,
    Kind.DERIVED_FROM: 0.5,
}
"""How much of its evidence a memory lends over an edge that somebody made."""

NAMESAKE = 0.15
"""How much is lent over a shared name: too little to be shown for that alone."""

CROWD = 8
"""A name that a larger share of the memories has links none of them."""

WIDEST = 256
"""How many memories one step looks at."""

STEPS = 2
"""How far a walk goes."""

LEAST = 0.05
"""A walk does not go on where a memory would get less evidence than this."""


class Reached(Struct, frozen=True):
    """How many steps away a memory is, and the evidence that this gives it."""

    distance: int
    worth: float


def walk(
    db: apsw.Connection, scope: Scope, seeds: Mapping[str, float], asked: Sequence[int]
) -> dict[str, Reached]:
    """What is linked to the seeds inside the scope, with the best way to each.

    Names among `asked` link nothing: every seed mentions whom the query names.
    """
    found = {id: Reached(0, worth) for id, worth in seeds.items()}
    front = set(seeds)
    for distance in range(1, STEPS + 1):
        better: dict[str, Reached] = {}
        for start, end, share in _steps(db, scope, _widest(front, found), asked):
            worth = found[start].worth * share
            known = better.get(end) or found.get(end)
            if worth >= LEAST and (known is None or worth > known.worth):
                better[end] = Reached(distance, worth)
        found |= better
        front = set(better)
    return {id: reached for id, reached in found.items() if reached.distance}


def _widest(front: Collection[str], found: Mapping[str, Reached]) -> list[str]:
    return sorted(front, key=lambda id: (-found[id].worth, id))[:WIDEST]


def _steps(
    db: apsw.Connection, scope: Scope, front: Sequence[str], asked: Sequence[int]
) -> Iterator[tuple[str, str, float]]:
    starts = set(front)
    for edge in edges_at(db, scope, front):
        share = SHARES[edge.kind]
        if edge.source in starts:
            yield edge.source, edge.target, share
        if edge.target in starts:
            yield edge.target, edge.source, share
    for start, end in namesakes(db, scope, front, asked):
        yield start, end, NAMESAKE


def edges_at(db: apsw.Connection, scope: Scope, ids: Sequence[str]) -> list[Edge]:
    """Every edge that begins or ends at one of these, and was made in the scope."""
    rows = db.execute(QUERIES["edges"], _asked(scope, ids))
    return [Edge(source, Kind(kind), target) for source, kind, target in rows]


def namesakes(
    db: apsw.Connection, scope: Scope, ids: Sequence[str], asked: Sequence[int] = ()
) -> list[tuple[str, str]]:
    """Pairs of one of these and another memory of the scope that names the same."""
    bindings = _asked(scope, ids) | {"asked": json.dumps(list(asked)), "crowd": CROWD}
    return [(mine, other) for mine, other in db.execute(QUERIES["namesakes"], bindings)]


def _asked(scope: Scope, ids: Sequence[str]) -> Bindings:
    return scope_row(scope) | {"ids": json.dumps(list(ids))}
