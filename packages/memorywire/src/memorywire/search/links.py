"""Links between memories raise scores: a neighbour of a hit gains evidence, a linked hit gains a boost.

A memory gains by a link only if it is trusted at least as much as the memory at the other end, and if the
memories that state the links on the way are trusted at least as much as it is. So a less trusted memory
raises neither itself nor another memory.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import combinations

from msgspec import Struct
from msgspec.structs import replace

from memorywire.model.edge import Edge, relate
from memorywire.model.query import Scored
from memorywire.model.record import DEMOTED_FACTOR, Record, Standing, Trust
from memorywire.search.question import find_names
from memorywire.search.relevance import relevance, weight

BOOST = 0.1
"""The odds of a score rise by at most this share, for a distance of 0; by half of it for a direct link."""

CROWD = 8
"""A name that occurs in more memories than this links none of them."""

SEEDS = 8
"""The number of best hits that give evidence to the memories linked to them."""

STRONG = 0.5
"""Only a hit of this relevance gives evidence: a memory linked to a poor hit does not answer either."""

SHARE = 0.5
"""The share of its evidence that a hit gives over each link; shared names give none."""

HOPS = "hops"
"""The signal with the number of links to the nearest hit."""

_SURE = 1 - 1e-12
_LEVELS = list(Trust)


class Links(Struct, frozen=True):
    """The edges around the hits of a recall, and the trust of the memories at their ends, if known."""

    edges: frozenset[Edge]
    trust: Mapping[str, Trust]

    def measure(self, gainer: Record, lenders: Iterable[str], hops: int) -> Iterator[tuple[int, set[str]]]:
        """Yield the distances, nearest first, with the `lenders` there from which the memory may gain."""
        level = _LEVELS.index(gainer.trust)
        sources = {id for id in lenders if id != gainer.id and self._level(id) <= level}
        paths: dict[str, set[str]] = {}
        for edge in self.edges:
            tellers = (edge.source, edge.target) if edge.by_name else (edge.source,)
            if all(teller in self.trust and self._level(teller) >= level for teller in tellers):
                paths.setdefault(edge.source, set()).add(edge.target)
                paths.setdefault(edge.target, set()).add(edge.source)
        behind = front = {gainer.id}
        for distance in range(1, hops + 1):
            front = {other for one in front for other in paths.get(one, ())} - behind
            behind = behind | front
            if front & sources:
                yield distance, front & sources

    def _level(self, id: str) -> int:
        return _LEVELS.index(self.trust[id])


def link_names(records: Sequence[Record], besides: Collection[str]) -> Iterator[Edge]:
    """Yield edges between memories that mention the same name, except the names in `besides`."""
    sharing: dict[str, list[str]] = {}
    for record in records:
        for name in set(find_names(record.words)) - set(besides):
            sharing.setdefault(name, []).append(record.id)
    for ids in sharing.values():
        if len(ids) <= CROWD:
            yield from (relate(*pair) for pair in combinations(ids, 2))


def choose_seeds(candidates: Sequence[Scored]) -> list[Scored]:
    """Return the hits that give evidence to linked memories."""
    return [hit for hit in candidates[:SEEDS] if hit.score >= STRONG]


def lend(candidates: Sequence[Scored], neighbours: Sequence[Record], links: Links, hops: int) -> list[Scored]:
    """Return the candidates, and the neighbours that gain evidence, best first; ties by id.

    A memory linked to a strong hit has at least the hit's evidence, halved for each link on the way.
    """
    explicit = Links(frozenset(edge for edge in links.edges if not edge.by_name), links.trust)
    seeds = {hit.record.id: weight(min(hit.score, _SURE)) for hit in choose_seeds(candidates)}
    ids = {hit.record.id for hit in candidates}
    bare = [Scored(record=one, score=0.0, signals={}) for one in neighbours if one.id not in ids]
    hits = [_borrow(hit, seeds, explicit, hops) for hit in (*candidates, *bare)]
    results = [hit for hit in hits if hit.record.id in ids or HOPS in hit.signals]
    return sorted(results, key=lambda hit: (-hit.score, hit.record.id))


def _borrow(hit: Scored, seeds: Mapping[str, float], explicit: Links, hops: int) -> Scored:
    steps = explicit.measure(hit.record, seeds, hops)
    worths = [(max(seeds[id] for id in ids) * SHARE**distance, distance) for distance, ids in steps]
    if not worths:
        return hit
    worth, distance = max(worths)
    score = relevance(worth) * (DEMOTED_FACTOR if hit.record.standing is Standing.DEMOTED else 1.0)
    if score <= hit.score:
        return hit
    return replace(hit, score=score, signals={**hit.signals, HOPS: float(distance)})


def boost(admitted: Sequence[Scored], links: Links, hops: int) -> list[Scored]:
    """Return the hits with their boosts, best first.

    A hit's distance is the number of links to the nearest other hit, at most `hops`; links may lead over
    memories that are not among the hits.
    """
    ids = {hit.record.id for hit in admitted}
    results = [_boost(hit, next(links.measure(hit.record, ids, hops), None)) for hit in admitted]
    return sorted(results, key=lambda hit: -hit.score)


def has_links(admitted: Sequence[Scored]) -> bool:
    """Whether following links has raised any hit."""
    return any(HOPS in hit.signals for hit in admitted)


def _boost(hit: Scored, nearest: tuple[int, set[str]] | None) -> Scored:
    """Raise the odds of the score, so that no two scores become equal and none exceeds 1."""
    if nearest is None:
        return hit
    distance, _ = nearest
    share = BOOST / (1 + distance)
    score = hit.score * (1 + share) / (1 + share * hit.score)
    return replace(hit, score=score, signals={**hit.signals, HOPS: float(distance)})
