"""The ranker of a request that asks for one: relevance weighed against recency, source and use."""

import math
from collections.abc import Collection, Mapping, Sequence

from msgspec.structs import replace

from memorywire.model.clock import DAY_MS
from memorywire.model.errors import InvalidRequest
from memorywire.model.query import Scored
from memorywire.model.record import DEMOTED_FACTOR, Record, Standing
from memorywire.model.requests import RankWeights
from memorywire.search.admit import evidence
from memorywire.search.question import find_names

SAID_BY_USER = 1.0
SAID_BY_ANOTHER = 0.5

RECALLS = "recalls"
"""The signal by which a store that counts recalls tells their number."""


def rank(candidates: Sequence[Scored], weights: RankWeights, now: int) -> list[Scored]:
    """The candidates by the weighted mean of their signals, each in 0..1; ties by relevance, then id."""
    shares = _compute_shares(weights)
    hits = [_weigh(hit, weights, shares, now) for hit in candidates]
    return sorted(hits, key=lambda one: (-one.score, -one.signals["relevance"], one.record.id))


def _compute_shares(weights: RankWeights) -> Mapping[str, float]:
    """The share of each signal, in all 1; divided by the largest weight first, so that no sum overflows."""
    values = {
        "relevance": weights.semantic,
        "recency": weights.recency,
        "source": weights.source,
        "frequency": weights.frequency,
    }
    largest = max(values.values())
    if largest == 0:
        raise InvalidRequest("every weight is 0, so there is nothing to rank by", field="rank")
    total = sum(weight / largest for weight in values.values())
    return {name: weight / largest / total for name, weight in values.items()}


def counts_recalls(candidates: Sequence[Scored]) -> bool:
    """Whether the store said how often each was recalled."""
    return all(RECALLS in hit.signals for hit in candidates)


def score_recency(record: Record, half_life_days: float, now: int) -> float:
    """Halves with every half-life since the memory's moment; what lies ahead is as recent as now."""
    days = max(now - record.moment, 0) / DAY_MS
    return float(0.5 ** (days / half_life_days))


def score_source(record: Record) -> float:
    """1 for what the user said, by `source` or `metadata.role`; a half for anybody else."""
    by_user = "user" in (record.source, record.metadata.get("role"))
    return SAID_BY_USER if by_user else SAID_BY_ANOTHER


def score_use(recalls: float) -> float:
    """Grows with the logarithm of the recalls: 0 for none, towards 1."""
    return math.log1p(recalls) / (1 + math.log1p(recalls))


def _weigh(hit: Scored, weights: RankWeights, shares: Mapping[str, float], now: int) -> Scored:
    record = hit.record
    signals = {
        "relevance": evidence(hit),
        "recency": score_recency(record, weights.half_life_days, now),
        "source": score_source(record),
        "frequency": score_use(hit.signals.get(RECALLS, 0.0)),
    }
    mean = sum(share * signals[name] for name, share in shares.items())
    demoted = record.standing is Standing.DEMOTED
    return replace(hit, score=mean * (DEMOTED_FACTOR if demoted else 1.0), signals={**hit.signals, **signals})


BOOST = 0.1
"""At most this share is added, for a distance of 0; half of it for a direct link."""

_CROWD = 8
"""A name that a larger share of the hits has links none of them."""


def follow(admitted: Sequence[Scored], hops: int, named: Collection[str]) -> list[Scored]:
    """The hits with their boosts, best first; `named` are the names the query gives.

    A hit's distance is the number of links to the nearest other hit, at most `hops`; links may lead over
    memories that are not among the hits.
    """
    links = _find_links(admitted, named)
    ids = {hit.record.id for hit in admitted}
    results = [_boost(hit, _measure_distance(hit.record.id, ids, links, hops)) for hit in admitted]
    return sorted(results, key=lambda hit: -hit.score)


def has_links(admitted: Sequence[Scored]) -> bool:
    """Whether following links has raised any hit."""
    return any("hops" in hit.signals for hit in admitted)


def _boost(hit: Scored, distance: int | None) -> Scored:
    if distance is None:
        return hit
    score = min(1.0, hit.score * (1 + BOOST / (1 + distance)))
    return replace(hit, score=score, signals={**hit.signals, "hops": float(distance)})


def _find_links(admitted: Sequence[Scored], named: Collection[str]) -> dict[str, set[str]]:
    links: dict[str, set[str]] = {}
    sharing: dict[str, list[str]] = {}
    for hit in admitted:
        record = hit.record
        for other in (*record.supersedes, *record.merged_from, *record.derived_from):
            links.setdefault(record.id, set()).add(other)
            links.setdefault(other, set()).add(record.id)
        for name in _find_names(record) - set(named):
            sharing.setdefault(name, []).append(record.id)
    for ids in sharing.values():
        if 1 < len(ids) <= _CROWD:
            for id in ids:
                links.setdefault(id, set()).update(other for other in ids if other != id)
    return links


def _find_names(record: Record) -> set[str]:
    return set(find_names(record.words))


def _measure_distance(id: str, hits: Collection[str], links: Mapping[str, set[str]], hops: int) -> int | None:
    visited = front = {id}
    for distance in range(1, hops + 1):
        front = {other for one in front for other in links.get(one, ())} - visited
        if any(other in hits for other in front):
            return distance
        visited = visited | front
    return None
