"""What a ranking means, in plain Python that looks at everything: a store may be faster, never different."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from memorywire.model.query import Query, Scored
from memorywire.model.record import DEMOTED_FACTOR, Record, Standing
from memorywire.stores.relevance import (
    A_NOSE,
    ALIKE,
    CONTEST,
    IN_TIME,
    MACHINE_SAID,
    NEAR_TIE,
    NEIGHBOURS,
    SAME_TERMS,
    TERMS_COVERED,
    evidence,
    idf,
    relevance,
    saturation,
)
from memorywire.stores.text import terms

Vector = tuple[float, ...]


@dataclass(frozen=True, slots=True)
class Candidate:
    """A memory the query may see, as the indexes know it."""

    record: Record
    vector: Vector | None
    terms: Counter[str]


@dataclass(slots=True)
class _Runner:
    """A candidate on its way through the ranking."""

    candidate: Candidate
    signals: dict[str, float]
    own: float
    weight: float = 0.0

    @property
    def record(self) -> Record:
        return self.candidate.record

    @property
    def score(self) -> float:
        demoted = self.record.standing is Standing.DEMOTED
        return relevance(self.weight) * (DEMOTED_FACTOR if demoted else 1.0)

    @property
    def place(self) -> tuple[float, float, str]:
        return -self.score, -self.weight, self.record.id


def rank(candidates: Sequence[Candidate], asked: Vector | None, query: Query, limit: int) -> list[Scored]:
    """The best `limit` candidates, best first; statistics are taken over the candidates only."""
    weights = _term_weights(terms(query.text), candidates)
    runners = _start(candidates, asked, weights, query)
    _lend(runners)
    runners.sort(key=lambda runner: runner.place)
    contest = runners[:CONTEST]
    _put_newest_ahead(contest, weights)
    ranked = sorted(contest, key=lambda runner: runner.place) + runners[CONTEST:]
    return [Scored(record=r.record, score=r.score, signals=r.signals) for r in ranked[:limit]]


def cosine(one: Vector | None, other: Vector | None) -> float:
    if one is None or other is None:
        return 0.0
    return sum(a * b for a, b in zip(one, other, strict=True))


def _term_weights(asked: Counter[str], candidates: Sequence[Candidate]) -> dict[str, float]:
    return {term: idf(len(candidates), sum(term in c.terms for c in candidates)) for term in asked}


def _start(
    candidates: Sequence[Candidate], asked: Vector | None, weights: Mapping[str, float], query: Query
) -> list[_Runner]:
    """What each candidate earns by itself."""
    total = sum(weights.values())
    lengths = [candidate.terms.total() for candidate in candidates]
    average = sum(lengths) / len(lengths) if any(lengths) else 1.0
    runners = []
    for candidate, length in zip(candidates, lengths, strict=True):
        earned = sum(weights[term] * saturation(candidate.terms[term], length, average) for term in weights)
        share = earned / total if total else 0.0
        near = cosine(asked, candidate.vector)
        signals = {"vector": near, "text": share}
        own = evidence(near, share) * _priors(candidate.record, query, signals)
        runners.append(_Runner(candidate, signals, own, own))
    return runners


def _priors(record: Record, query: Query, signals: dict[str, float]) -> float:
    factor = 1.0
    if record.metadata.get("role") == "assistant":
        signals["machine_said"] = 1.0
        factor *= MACHINE_SAID
    if record.occurred_at is not None and any(a <= record.occurred_at < b for a, b in query.times):
        signals["in_time"] = 1.0
        factor *= IN_TIME
    if record.standing is Standing.DEMOTED:
        signals["demoted"] = 1.0
    return factor


def _lend(runners: Sequence[_Runner]) -> None:
    """Add what the neighbours in a session lend each other."""
    sessions: dict[tuple[str | None, str], list[_Runner]] = {}
    for runner in runners:
        if runner.record.session_id is not None:
            key = (runner.record.scope.user, runner.record.session_id)
            sessions.setdefault(key, []).append(runner)
    for turns in sessions.values():
        turns.sort(key=lambda turn: (turn.record.moment, turn.record.id))
        for at, turn in enumerate(turns):
            around = ((turns[at + step], share) for step, share in _steps() if 0 <= at + step < len(turns))
            lent = sum(share * other.own for other, share in around)
            if lent:
                turn.signals["neighbours"] = lent
                turn.weight += lent


def _steps() -> list[tuple[int, float]]:
    return [(sign * distance, share) for distance, share in NEIGHBOURS for sign in (-1, 1)]


def _put_newest_ahead(contest: Sequence[_Runner], weights: Mapping[str, float]) -> None:
    """Among near ties that answer the same question, the newer passes the older by a nose."""
    before = {runner.record.id: runner.weight for runner in contest}
    by_age = sorted(contest, key=lambda runner: (runner.record.moment, runner.record.id))
    for at, newer in enumerate(by_age):
        passed = [
            older.weight + A_NOSE
            for older in by_age[:at]
            if older.record.moment < newer.record.moment
            and before[newer.record.id] >= NEAR_TIE * before[older.record.id]
            and _same_question(older.candidate, newer.candidate, weights)
        ]
        if passed and max(passed) > newer.weight:
            newer.weight = max(passed)
            newer.signals["newest"] = 1.0


def _same_question(one: Candidate, other: Candidate, weights: Mapping[str, float]) -> bool:
    total = sum(weights.values())
    covered = [sum(w for term, w in weights.items() if term in c.terms) for c in (one, other)]
    shared = sum(w for term, w in weights.items() if term in one.terms and term in other.terms)
    return (
        total > 0
        and min(covered) >= TERMS_COVERED * total
        and shared >= SAME_TERMS * (sum(covered) - shared)
        and cosine(one.vector, other.vector) >= ALIKE
    )
