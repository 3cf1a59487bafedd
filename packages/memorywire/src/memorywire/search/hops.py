"""Hops: hits that are linked to each other are worth a little more than hits that stand alone.

Two memories are linked when one supersedes, merges or derives from the other, or when both name somebody or
something that few of the hits name and the query does not.
"""

from collections.abc import Collection, Mapping, Sequence

from msgspec.structs import replace

from memorywire.model.query import Scored
from memorywire.model.record import Record
from memorywire.search.names import names

BOOST = 0.1
"""At most this share is added, for a distance of 0; half of it for a direct link."""

_CROWD = 8
"""A name that a larger share of the hits has links none of them."""


def follow(admitted: Sequence[Scored], hops: int, named: Collection[str]) -> list[Scored]:
    """The hits with their boosts, best first; `named` are the names the query gives.

    A hit's distance is the number of links to the nearest other hit, at most `hops`; links may lead over
    memories that are not among the hits.
    """
    links = _links(admitted, named)
    hits = {scored.record.id for scored in admitted}
    boosted = [_boosted(scored, _distance(scored.record.id, hits, links, hops)) for scored in admitted]
    return sorted(boosted, key=lambda scored: -scored.score)


def linked(admitted: Sequence[Scored]) -> bool:
    """Whether following links has raised any hit."""
    return any("hops" in scored.signals for scored in admitted)


def _boosted(scored: Scored, distance: int | None) -> Scored:
    if distance is None:
        return scored
    score = min(1.0, scored.score * (1 + BOOST / (1 + distance)))
    return replace(scored, score=score, signals={**scored.signals, "hops": float(distance)})


def _links(admitted: Sequence[Scored], named: Collection[str]) -> dict[str, set[str]]:
    links: dict[str, set[str]] = {}
    sharing: dict[str, list[str]] = {}
    for scored in admitted:
        record = scored.record
        for other in (*record.supersedes, *record.merged_from, *record.derived_from):
            links.setdefault(record.id, set()).add(other)
            links.setdefault(other, set()).add(record.id)
        for name in _names(record) - set(named):
            sharing.setdefault(name, []).append(record.id)
    for ids in sharing.values():
        if 1 < len(ids) <= _CROWD:
            for id in ids:
                links.setdefault(id, set()).update(other for other in ids if other != id)
    return links


def _names(record: Record) -> set[str]:
    return set(names(record.words))


def _distance(id: str, hits: Collection[str], links: Mapping[str, set[str]], hops: int) -> int | None:
    seen = front = {id}
    for distance in range(1, hops + 1):
        front = {other for one in front for other in links.get(one, ())} - seen
        if any(other in hits for other in front):
            return distance
        seen = seen | front
    return None
