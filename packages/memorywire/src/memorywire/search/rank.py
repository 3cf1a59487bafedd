"""The ranker of requests with rank weights: combines relevance with recency, source and use."""

import math
from collections.abc import Mapping, Sequence

from msgspec.structs import replace

from memorywire.model.clock import DAY_MS
from memorywire.model.errors import InvalidRequest
from memorywire.model.query import Scored
from memorywire.model.record import DEMOTED_FACTOR, Record, Standing
from memorywire.model.requests import RankWeights
from memorywire.search.admit import evidence

SAID_BY_USER = 1.0
SAID_BY_ANOTHER = 0.5

RECALLS = "recalls"
"""The signal with the number of recalls, from stores that count them."""


def rank(candidates: Sequence[Scored], weights: RankWeights, now: int) -> list[Scored]:
    """Sort the candidates by the weighted mean of their signals, each in 0..1; ties by relevance, then id."""
    shares = _compute_shares(weights)
    hits = [_weigh(hit, weights, shares, now) for hit in candidates]
    return sorted(hits, key=lambda one: (-one.score, -one.signals["relevance"], one.record.id))


def _compute_shares(weights: RankWeights) -> Mapping[str, float]:
    """Return the share of each signal, in sum 1; divides by the largest weight first to avoid overflow."""
    values = {
        "relevance": weights.semantic,
        "recency": weights.recency,
        "source": weights.source,
        "frequency": weights.frequency,
    }
    largest = max(values.values())
    if largest == 0:
        raise InvalidRequest("every weight is 0, so results cannot be ranked", field="rank")
    total = sum(weight / largest for weight in values.values())
    return {name: weight / largest / total for name, weight in values.items()}


def counts_recalls(candidates: Sequence[Scored]) -> bool:
    """Whether the store returned the number of recalls of each candidate."""
    return all(RECALLS in hit.signals for hit in candidates)


def score_recency(record: Record, half_life_days: float, now: int) -> float:
    """Return 1, halved with every half-life since the memory's moment; 1 for a moment in the future."""
    days = max(now - record.moment, 0) / DAY_MS
    return float(0.5 ** (days / half_life_days))


def score_source(record: Record) -> float:
    """Return 1 if the user said it, by `source` or `metadata.role`, else 0.5."""
    by_user = "user" in (record.source, record.metadata.get("role"))
    return SAID_BY_USER if by_user else SAID_BY_ANOTHER


def score_use(recalls: float) -> float:
    """Return a score that grows with the logarithm of the recalls: 0 for none, towards 1."""
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
