"""Fusion: merges the rankings of several stores into one that no single store can dominate.

Reciprocal rank fusion uses ranks, not scores (1 / (60 + rank), the best at rank 0); `max` and `weighted` use
scores, clipped to 0..1 and, for `weighted`, normalised per store. Ties are broken by id; those of
`max` first by the number of stores.
"""

from collections.abc import Mapping, Sequence

from msgspec import Struct, field

from memorywire.model.query import Scored
from memorywire.model.record import DEMOTED_FACTOR, Record, Standing
from memorywire.model.requests import Fusion

RRF_K = 60


class Ranking(Struct, frozen=True, kw_only=True):
    """The hits of one store, best first; `weight` counts in weighted fusion only."""

    store: str
    hits: Sequence[Scored]
    weight: float = 1.0


class Fused(Struct, frozen=True, kw_only=True):
    """A memory with its fused score, and the hit of every store that returned it."""

    record: Record
    score: float
    hits: Mapping[str, Scored]

    @property
    def stores(self) -> tuple[str, ...]:
        return tuple(self.hits)


class Rules(Struct, frozen=True, kw_only=True):
    """Options of fusion. Results that fewer than `quorum` stores returned are left out.

    With `trim` the best `trim` votes of every memory are ignored, so that this many stores alone cannot add
    or raise a memory.
    """

    fusion: Fusion = Fusion.RRF
    quorum: int = 1
    trim: int = 0


class _Votes(Struct):
    """The votes for one memory with one wording."""

    record: Record
    hits: dict[str, Scored] = field(default_factory=dict)
    votes: list[float] = field(default_factory=list)


def fuse(rankings: Sequence[Ranking], rules: Rules) -> list[Fused]:
    """Fuse the rankings, best first; of two wordings of one memory, keep the one with more votes."""
    total = sum(ranking.weight for ranking in rankings) or 1.0
    same = _find_same(rankings)
    wordings: dict[str, list[_Votes]] = {}
    for ranking in rankings:
        best = max((_clip(hit.score) for hit in ranking.hits), default=0.0) or 1.0
        for place, hit in enumerate(ranking.hits):
            votes = _find_wording(wordings.setdefault(same.get(hit.record.id, hit.record.id), []), hit.record)
            if ranking.store in votes.hits:
                continue  # one vote of a store for a memory
            votes.hits[ranking.store] = hit
            votes.votes.append(_compute_vote(rules.fusion, place, hit, ranking.weight / total, best))
    results = [
        max((_combine(votes, rules) for votes in enough), key=lambda one: (one.score, one.record.version))
        for versions in wordings.values()
        if (enough := [votes for votes in versions if _has_quorum(votes, rules)])
    ]
    # Any store can claim the highest score, so the score alone must not order the memories that have it.
    support = rules.fusion is Fusion.MAX
    return sorted(results, key=lambda one: (-one.score, -len(one.hits) * support, one.record.id))


def _find_wording(versions: list[_Votes], record: Record) -> _Votes:
    """Find the votes for exactly this wording: stores with different wordings do not support each other."""
    for votes in versions:
        if votes.record.words == record.words or votes.record.digest == record.digest:
            return votes
    versions.append(_Votes(record))
    return versions[-1]


def _has_quorum(votes: _Votes, rules: Rules) -> bool:
    return len(votes.hits) >= rules.quorum and len(votes.votes) > rules.trim


def _combine(votes: _Votes, rules: Rules) -> Fused:
    counts = sorted(votes.votes)[: len(votes.votes) - rules.trim]
    score = max(counts) if rules.fusion is Fusion.MAX else sum(counts)
    record = votes.record
    demoted = record.standing is Standing.DEMOTED
    return Fused(record=record, score=score * (DEMOTED_FACTOR if demoted else 1.0), hits=votes.hits)


def _compute_vote(fusion: Fusion, place: int, hit: Scored, weight: float, best: float) -> float:
    match fusion:
        case Fusion.RRF | Fusion.LEGS:
            return 1 / (RRF_K + place)
        case Fusion.MAX:
            return _clip(hit.score)
        case Fusion.WEIGHTED:
            # Half for returning it, half by its score: of stores with equal weights, two that agree
            # outvote a single one, whatever score it claims.
            return weight * (1 + _clip(hit.score) / best) / 2


def _clip(score: float) -> float:
    return min(max(score, 0.0), 1.0)


def _find_same(rankings: Sequence[Ranking]) -> dict[str, str]:
    """Map ids to the other id of the same memory: the same words in the same scope.

    Two ids that one store returned together are two memories. So an id that every store returned has no
    other id, and usually there is nothing to compare.
    """
    holders: dict[str, set[str]] = {}
    records: dict[str, Record] = {}
    for ranking in rankings:
        for hit in ranking.hits:
            holders.setdefault(hit.record.id, set()).add(ranking.store)
            records.setdefault(hit.record.id, hit.record)
    twins: dict[tuple[object, str], set[str]] = {}
    for id, record in records.items():
        if len(holders[id]) < len(rankings):
            twins.setdefault((record.scope, record.digest), set()).add(id)
    same: dict[str, str] = {}
    for ids in twins.values():
        first, *others = sorted(ids)
        stores = set(holders[first])
        for other in others:
            if stores.isdisjoint(holders[other]):
                same[other] = first
                stores |= holders[other]
    return same
