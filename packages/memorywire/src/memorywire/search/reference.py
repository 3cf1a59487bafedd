"""What a ranking means, in plain Python that looks at everything; a store may be faster, never different."""

import struct
from collections import Counter
from collections.abc import Mapping, Sequence

from msgspec import Struct

from memorywire.model.query import Query, Scored
from memorywire.model.record import DEMOTED_FACTOR, Record, Standing
from memorywire.search.relevance import (
    AGO,
    ALIKE,
    ASKING,
    BRIEF,
    FULLER,
    IN_TIME,
    LEADERS,
    LEADERS_SAME_TERMS,
    LEADERS_TIE,
    MACHINE_LENDS,
    MACHINE_SAID,
    NEAR_TIE,
    NEIGHBOURS,
    SAME_TERMS,
    SPOKE,
    TERMS_COVERED,
    TIE_MARGIN,
    TOP,
    brevity,
    evidence,
    idf,
    relevance,
    saturation,
)
from memorywire.search.text import name_words, query_terms, tenths_asked

Vector = tuple[float, ...]


class Candidate(Struct, frozen=True):
    """A memory that the query may see, as the indexes know it."""

    record: Record
    vector: Vector | None
    terms: Counter[str]


class _Sought(Struct, frozen=True):
    """The weight of each term that a memory can earn, and the weight of all terms of the query."""

    weights: Mapping[str, float]
    total: float


class _Runner(Struct):
    """A candidate on its way through the ranking."""

    candidate: Candidate
    signals: dict[str, float]
    own: float
    weight: float = 0.0

    @property
    def record(self) -> Record:
        return self.candidate.record

    @property
    def session(self) -> tuple[str | None, str] | None:
        session = self.record.session_id
        return None if session is None else (self.record.scope.user, session)

    @property
    def lends(self) -> float:
        own = MACHINE_LENDS * self.own if "machine_said" in self.signals else self.own
        return own * (1 + ASKING * self.asks)

    @property
    def asks(self) -> float:
        return self.signals.get("asks", 0.0)

    @property
    def score(self) -> float:
        demoted = self.record.standing is Standing.DEMOTED
        return relevance(self.weight) * (DEMOTED_FACTOR if demoted else 1.0)

    @property
    def place(self) -> tuple[float, float, str]:
        return -self.score, -self.weight, self.record.id


def rank(candidates: Sequence[Candidate], asked: Vector | None, query: Query, limit: int) -> list[Scored]:
    """The best `limit` candidates, best first; statistics are taken over the candidates only.

    Where the query names a speaker among the candidates, vectors are compared without the names; otherwise
    everything that speaker said would be near.
    """
    sought = _sought(query, candidates)
    named = _named_speakers(candidates, query)
    nameless = None if query.nameless is None else floats(query.nameless)
    runners = _start(candidates, nameless if named and nameless else asked, sought, query, named)
    if nameless and not named:
        _compare_the_rest(runners, nameless)
    _lend(runners)
    for runner in runners:
        runner.weight *= runner.signals.get("brevity", 1.0) * (1 - ASKING * runner.asks)
    runners.sort(key=lambda runner: runner.place)
    contest = runners[:TOP]
    _put_newest_ahead(contest, sought)
    contest.sort(key=lambda runner: runner.place)
    _put_fuller_session_ahead(contest, runners, sought)
    contest.sort(key=lambda runner: runner.place)
    if not query.settled:
        _put_newer_session_ahead(contest, sought)
    ranked = sorted(contest, key=lambda runner: runner.place) + runners[TOP:]
    return [Scored(record=r.record, score=r.score, signals=r.signals) for r in ranked[:limit]]


def floats(vector: bytes) -> Vector:
    return struct.unpack(f"<{len(vector) // 4}f", vector)


def cosine(one: Vector | None, other: Vector | None) -> float:
    if one is None or other is None:
        return 0.0
    return sum(a * b for a, b in zip(one, other, strict=True))


def _sought(query: Query, candidates: Sequence[Candidate]) -> _Sought:
    weights = {
        term: idf(len(candidates), sum(term in c.terms for c in candidates))
        for term in query_terms(query.text)
    }
    earned = {term: weight for term, weight in weights.items() if term not in query.aside}
    return _Sought(earned, sum(weights.values()))


def _named_speakers(candidates: Sequence[Candidate], query: Query) -> frozenset[str]:
    """The words of the query that name somebody whose words are among the candidates."""
    asked = frozenset(word for name in query.names for word in name_words(name))
    return frozenset(word for c in candidates for word in _speaker(c.record) & asked)


def _speaker(record: Record) -> frozenset[str]:
    return name_words(record.person or "")


def _start(
    candidates: Sequence[Candidate],
    asked: Vector | None,
    sought: _Sought,
    query: Query,
    named: frozenset[str],
) -> list[_Runner]:
    """A runner for each candidate, with the evidence it has by itself."""
    lengths = [candidate.terms.total() for candidate in candidates]
    average = sum(lengths) / len(lengths) if any(lengths) else 1.0
    runners = []
    for candidate, length in zip(candidates, lengths, strict=True):
        earned = sum(
            weight * saturation(candidate.terms[term], length, average)
            for term, weight in sought.weights.items()
        )
        share = earned / sought.total if sought.total else 0.0
        near = cosine(asked, candidate.vector)
        signals = {"vector": near, "text": share}
        own = evidence(near, share) * _priors(candidate.record, query, named, signals)
        if length > BRIEF:
            signals["brevity"] = brevity(length)
        if tenths := tenths_asked(candidate.record):
            signals["asks"] = tenths / 10
        runners.append(_Runner(candidate, signals, own, own))
    return runners


def _compare_the_rest(runners: Sequence[_Runner], nameless: Vector) -> None:
    """Note how near each is to the query without names; admission uses that, the ranking does not."""
    for runner in runners:
        runner.signals["rest"] = cosine(nameless, runner.candidate.vector)


def _priors(record: Record, query: Query, named: frozenset[str], signals: dict[str, float]) -> float:
    factor = 1.0
    if named & _speaker(record):
        signals["spoke"] = 1.0
        factor *= SPOKE
    if record.metadata.get("role") == "assistant":
        signals["machine_said"] = 1.0
        factor *= MACHINE_SAID
    if record.occurred_at is not None and any(a <= record.occurred_at < b for a, b in query.times):
        signals["in_time"] = 1.0
        factor *= AGO if query.ago else IN_TIME
    if record.standing is Standing.DEMOTED:
        signals["demoted"] = 1.0
    return factor


def _lend(runners: Sequence[_Runner]) -> None:
    """Add what neighbours in a session lend each other; an assistant's turn lends less, borrows nothing."""
    sessions: dict[tuple[str | None, str], list[_Runner]] = {}
    for runner in runners:
        if runner.session is not None:
            sessions.setdefault(runner.session, []).append(runner)
    for turns in sessions.values():
        turns.sort(key=lambda turn: (turn.record.moment, turn.record.id))
        for at, turn in enumerate(turns):
            if "machine_said" in turn.signals:
                continue
            around = ((turns[at + step], share) for step, share in _steps() if 0 <= at + step < len(turns))
            lent = sum(share * other.lends for other, share in around)
            if lent:
                turn.signals["neighbours"] = lent
                turn.weight += lent


def _steps() -> list[tuple[int, float]]:
    return [(sign * distance, share) for distance, share in NEIGHBOURS for sign in (-1, 1)]


def _put_newest_ahead(contest: Sequence[_Runner], sought: _Sought) -> None:
    """Among near ties that answer the same question, let the newer pass the older by a small margin.

    An older one that has itself passed another stands for it, with its evidence. Two turns of conversations
    are left to their sessions: talking about something again does not correct it.
    """
    by_age = sorted(contest, key=lambda runner: (runner.record.moment, runner.record.id))
    for at, newer in enumerate(by_age):
        passed = [
            older.weight + TIE_MARGIN
            for older in by_age[:at]
            if older.record.moment < newer.record.moment
            and None in (older.session, newer.session)
            and newer.weight >= NEAR_TIE * older.weight
            and _same_terms(older, newer, sought, SAME_TERMS)
            and cosine(older.candidate.vector, newer.candidate.vector) >= ALIKE
        ]
        if passed and max(passed) > newer.weight:
            newer.weight = max(passed)
            newer.signals["newest"] = 1.0


def _leaders(ranked: Sequence[_Runner]) -> list[_Runner]:
    """The best turns of the two best sessions, best first; empty if there are no two."""
    leaders: dict[tuple[str | None, str], _Runner] = {}
    for runner in ranked:
        if runner.session is not None:
            leaders.setdefault(runner.session, runner)
    return list(leaders.values())[:LEADERS] if len(leaders) >= LEADERS else []


def _put_fuller_session_ahead(
    ranked: Sequence[_Runner], everybody: Sequence[_Runner], sought: _Sought
) -> None:
    """Let the second leader pass the first if its session covers enough more of the query's terms."""
    if not (leaders := _leaders(ranked)):
        return
    first, second = leaders
    if not LEADERS_TIE * first.weight <= second.weight <= first.weight:
        return
    fuller = _covered(second, everybody, sought) - _covered(first, everybody, sought)
    if second.weight + FULLER * fuller > first.weight:
        second.weight = first.weight + TIE_MARGIN
        second.signals["fuller"] = 1.0


def _covered(leader: _Runner, everybody: Sequence[_Runner], sought: _Sought) -> float:
    """The share of the query's term weight that the turns of the leader's session hold between them."""
    turns = [runner.candidate.terms for runner in everybody if runner.session == leader.session]
    held = sum(weight for term, weight in sought.weights.items() if any(term in words for words in turns))
    return held / (sought.total or 1.0)


def _put_newer_session_ahead(ranked: Sequence[_Runner], sought: _Sought) -> None:
    """Let the second leader pass the first if it is newer and answers by nearly the same terms."""
    if not (leaders := _leaders(ranked)):
        return
    first, second = leaders
    if (
        second.record.moment > first.record.moment
        and LEADERS_TIE * first.weight <= second.weight <= first.weight
        and _same_terms(first, second, sought, LEADERS_SAME_TERMS)
    ):
        second.weight = first.weight + TIE_MARGIN
        second.signals["newest"] = 1.0


def _same_terms(one: _Runner, other: _Runner, sought: _Sought, same: float) -> bool:
    """Whether both cover enough of the query's term weight, by nearly the same terms."""
    weights, total = sought.weights, sought.total
    held = [runner.candidate.terms for runner in (one, other)]
    covered = [sum(w for term, w in weights.items() if term in words) for words in held]
    shared = sum(w for term, w in weights.items() if term in held[0] and term in held[1])
    return total > 0 and min(covered) >= TERMS_COVERED * total and shared >= same * (sum(covered) - shared)
