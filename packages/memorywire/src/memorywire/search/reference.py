"""The reference ranker: plain Python that scores every candidate and defines all scores.

Theory of operation
-------------------
Invariant: a store may rank faster, but never differently. `index/ranking.py` computes the same with arrays,
and tests compare ids, scores and signals of both. Scores are absolute (a relevance in 0..1, not a rank), and
statistics cover only the candidates of the query, so that other tenants cannot change them.

The steps, each in the order in which the array ranker repeats it:

1. Terms. The query's terms get BM25 weights over the candidates. Boilerplate ("any tips on") counts towards
   the total weight, but no memory earns it: a query of boilerplate alone has low scores.
2. Evidence. Each candidate earns its cosine and its share of the term weight (`relevance.evidence`; of the
   terms of a long text less), times factors for the named speaker, an assistant's words and the time the
   query names. If the query names a speaker, the vector of the query without names is used; otherwise
   everything that the speaker said would be similar.
3. Neighbours. A turn of a session gains evidence from the turns around it, because answers follow questions.
   At the start or end of a session, the turns on the one side count double.
4. Questions. Turns that contain only a question count less.
5. Words. The best TOP (or `limit`, if it is more) earn the word match of the query
   (`match_words`), times the factors of their other evidence.
6. Ties among the TOP best. A newer fact that answers the same question passes an older one; the newest of a
   labelled state passes the others; among few memories, a fact passes the one whose new value it seems to be
   (`relevance.NEW_VALUE`). Of the two best sessions the newer one passes, unless the question is about
   something settled or the newer turn matches its words less. A memory worded as the query passes all others.

Only turns belong to a session (`Record.conversation`): a fact neither gives nor gains evidence in step 3.

The constants are in `relevance.py`, fitted on the development split of conversations (decisions 6, 11, 12, 24
and 32). Tried and dropped: rank fusion of text and vectors, which gives the best of ten irrelevant memories
the score of a perfect answer (decision 6); FTS5, whose statistics cross tenants.
"""

import math
import struct
from collections import Counter
from collections.abc import Mapping, Sequence
from operator import mul, sub

from msgspec import Struct

from memorywire.model.label import read_state
from memorywire.model.query import Query, Scored, TokenMatch, asks_only_whose
from memorywire.model.record import DEMOTED_FACTOR, Record, Standing
from memorywire.search.relevance import (
    AGO,
    ALIKE,
    ASKING,
    BRIEF,
    CENTRE,
    DIGITS,
    EXACT_MARGIN,
    IN_TIME,
    LEADERS,
    LEADERS_SAME_TERMS,
    LEADERS_TIE,
    LOAN_DIGITS,
    MACHINE_LENDS,
    MACHINE_SAID,
    NEAR_TIE,
    NEIGHBOURS,
    REVISABLE,
    REWORDED,
    SAME_TERMS,
    SHORT,
    SIDES,
    SPOKE,
    TERMS_COVERED,
    TIE_MARGIN,
    TOP,
    Fact,
    answers_as_well,
    brevity,
    evidence,
    evidence_of_words,
    find_new_value,
    idf,
    match_words,
    relevance,
    saturation,
    weigh_words,
)
from memorywire.search.text import (
    ASKED,
    CHANGED,
    build_wording,
    find_telling,
    name_words,
    query_terms,
    read_hidden_terms,
)

Vector = tuple[float, ...]


class Candidate(Struct, frozen=True):
    """A memory that the query may see, with its index terms, vector and tokens."""

    record: Record
    vector: Vector | None
    terms: Counter[str]
    tokens: bytes | None = None


class _Terms(Struct, frozen=True):
    """The weight of each term that a memory can earn, and the weight of all terms of the query.

    `telling` are the identifiers and names, which distinguish similar things.
    """

    weights: Mapping[str, float]
    total: float
    telling: frozenset[str]


class _Entry(Struct):
    """A candidate during ranking: `own` is its evidence alone, `weight` includes that of its neighbours."""

    candidate: Candidate
    signals: dict[str, float]
    own: float
    weight: float = 0.0
    change: int = 0
    factor: float = 1.0  # multiplies all its evidence, by its speaker, role and time
    tokens: tuple[TokenMatch, ...] = ()

    @property
    def record(self) -> Record:
        return self.candidate.record

    @property
    def session(self) -> tuple[str | None, str] | None:
        session = self.record.conversation
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
    def sort_key(self) -> tuple[float, float, str]:
        return -self.score, -self.weight, self.record.id


def rank(candidates: Sequence[Candidate], vector: Vector | None, query: Query, limit: int) -> list[Scored]:
    """Return the best `limit` candidates, best first; statistics cover the candidates only.

    If the query names a speaker of a candidate, the vector of the query without names is used; otherwise
    everything that the speaker said would be similar.
    """
    terms = _weigh_terms(query, candidates)
    speakers = _find_speakers(candidates, query)
    nameless = None if query.nameless is None else floats(query.nameless)
    entries = _build_entries(
        candidates, nameless if speakers and nameless else vector, terms, query, speakers
    )
    if nameless and not speakers:
        _compare_nameless(entries, nameless)
    _lend_to_neighbours(entries)
    for entry in entries:
        telling = 1 - ASKING * entry.asks
        entry.own *= telling
        entry.weight *= telling
    entries.sort(key=lambda entry: entry.sort_key)
    best = entries[: max(limit, TOP)]
    _match_words(best, query, terms)
    for entry in entries:
        if "neighbours" in entry.signals:
            entry.signals["own"] = relevance(entry.own)
    best.sort(key=lambda entry: entry.sort_key)
    entries[: len(best)] = best
    top = entries[:TOP]
    _supersede_facts(top, terms)
    _prefer_newest_states(top, settled=query.settled)
    top.sort(key=lambda entry: entry.sort_key)
    if not query.settled and len(candidates) <= REVISABLE:
        _prefer_new_value(top, terms)
        top.sort(key=lambda entry: entry.sort_key)
    if not query.settled:
        _supersede_session(top, terms)
    top.sort(key=lambda entry: entry.sort_key)
    _prefer_same_wording(top)
    ordered = sorted(top, key=lambda entry: entry.sort_key) + entries[TOP:]
    return [
        Scored(record=r.record, score=r.score, signals=r.signals, tokens=r.tokens) for r in ordered[:limit]
    ]


def floats(vector: bytes) -> Vector:
    return struct.unpack(f"<{len(vector) // 4}f", vector)


def cosine(one: Vector | None, other: Vector | None) -> float:
    if one is None or other is None:
        return 0.0
    return sum(a * b for a, b in zip(one, other, strict=True))


def _weigh_terms(query: Query, candidates: Sequence[Candidate]) -> _Terms:
    weights = {
        term: idf(len(candidates), sum(term in c.terms for c in candidates))
        for term in query_terms(query.text)
    }
    earnable = {term: weight for term, weight in weights.items() if term not in query.boilerplate}
    return _Terms(earnable, sum(weights.values()), find_telling(earnable, query.names))


def _find_speakers(candidates: Sequence[Candidate], query: Query) -> frozenset[str]:
    """Return the words of the query that name a speaker of the candidates."""
    words = frozenset(word for name in query.names for word in name_words(name))
    return frozenset(word for c in candidates for word in _speaker_words(c.record) & words)


def _speaker_words(record: Record) -> frozenset[str]:
    return name_words(record.person or "")


def _build_entries(
    candidates: Sequence[Candidate],
    vector: Vector | None,
    terms: _Terms,
    query: Query,
    speakers: frozenset[str],
) -> list[_Entry]:
    """Return an entry for each candidate, with its own evidence."""
    wording = build_wording(query.text)
    lengths = [candidate.terms.total() for candidate in candidates]
    average = sum(lengths) / len(lengths) if any(lengths) else 1.0
    entries = []
    for candidate, length in zip(candidates, lengths, strict=True):
        earned_weight = sum(
            weight * saturation(candidate.terms[term], length, average)
            for term, weight in terms.weights.items()
        )
        share = earned_weight / terms.total if terms.total else 0.0
        near = cosine(vector, candidate.vector)
        signals = {"vector": near, "text": share}
        if asks_only_whose(query.where.filter):
            signals["among"] = float(len(candidates))
        factor = _apply_factors(candidate.record, query, speakers, signals)
        if length > BRIEF:
            signals["brevity"] = brevity(length)
        own = evidence(near, share, signals.get("brevity", 1.0)) * factor
        hidden = read_hidden_terms(candidate.record)
        if ASKED in hidden:
            signals["asks"] = hidden[ASKED] / 10
        if wording in hidden:
            signals["exact"] = 1.0
        entries.append(_Entry(candidate, signals, own, own, hidden.get(CHANGED, 0), factor))
    return entries


def _match_words(best: Sequence[_Entry], query: Query, terms: _Terms) -> None:
    """Add the evidence of the word match, the word-by-word comparison, to the best candidates."""
    if query.tokens is None:
        return
    weights = weigh_words(query.tokens.words, terms.weights)
    matches = match_words(query.tokens, weights, [entry.candidate.tokens for entry in best])
    if query.explain:
        from memorywire.search.explain import measure_tokens  # few recalls need it

        measured = measure_tokens(query.tokens, weights, [entry.candidate.tokens for entry in best])
        for entry, tokens in zip(best, measured, strict=True):
            entry.tokens = tokens
    for entry, match in zip(best, matches, strict=True):
        if match is not None:
            entry.signals["words"] = match
            found = evidence_of_words(match) * (entry.factor * (1 - ASKING * entry.asks))
            entry.weight += found
            entry.own += found


def _compare_nameless(entries: Sequence[_Entry], nameless: Vector) -> None:
    """Set the signal `rest`, the cosine with the query without names: for admission, not for ranking."""
    for entry in entries:
        entry.signals["rest"] = cosine(nameless, entry.candidate.vector)


def _apply_factors(
    record: Record, query: Query, speakers: frozenset[str], signals: dict[str, float]
) -> float:
    factor = 1.0
    if speakers & _speaker_words(record):
        signals["spoke"] = 1.0
        factor *= SPOKE
    if record.metadata.get("role") == "assistant":
        signals["machine_said"] = 1.0
        factor *= 1.0 if query.replies else MACHINE_SAID
    if record.occurred_at is not None and any(a <= record.occurred_at < b for a, b in query.times):
        signals["in_time"] = 1.0
        factor *= AGO if query.ago else IN_TIME
    if record.standing is Standing.DEMOTED:
        signals["demoted"] = 1.0
    return factor


def _lend_to_neighbours(entries: Sequence[_Entry]) -> None:
    """Add evidence from neighbours in a session; an assistant's turn gives less and gains nothing."""
    sessions: dict[tuple[str | None, str], list[_Entry]] = {}
    for entry in entries:
        if entry.session is not None:
            sessions.setdefault(entry.session, []).append(entry)
    for turns in sessions.values():
        turns.sort(key=lambda turn: (turn.record.moment, turn.record.id))
        for index, turn in enumerate(turns):
            if "machine_said" in turn.signals:
                continue
            loan = sum(
                share * len(SIDES) / len(around) * other.lends
                for distance, share in NEIGHBOURS
                if (around := [turns[at] for at in _list_at(index, distance) if 0 <= at < len(turns)])
                for other in around
            )
            loan = round(loan, LOAN_DIGITS)
            if loan:
                turn.signals["neighbours"] = loan
                turn.weight += loan


def _list_at(index: int, distance: int) -> list[int]:
    return [index + side * distance for side in SIDES]


def _supersede_facts(top: Sequence[_Entry], terms: _Terms) -> None:
    """Among near ties that answer the same question, rank the newer above the older by a small margin.

    An older memory that has passed another one counts with the raised weight. Two turns of conversations are
    left to `_supersede_session`: talking about something again does not correct it. The newer memory must
    have all identifiers and names of the query that the older one has, and match its time if that one does.
    """
    by_age = sorted(top, key=lambda entry: (entry.record.moment, entry.record.id))
    for index, newer in enumerate(by_age):
        weights = [
            older.weight + TIE_MARGIN
            for older in by_age[:index]
            if older.record.moment < newer.record.moment
            and None in (older.session, newer.session)
            and newer.weight >= NEAR_TIE * older.weight
            and not _lacks(newer, older, terms)
            and _share_terms(older, newer, terms, SAME_TERMS)
            and cosine(older.candidate.vector, newer.candidate.vector) >= ALIKE
        ]
        if weights and max(weights) > newer.weight:
            newer.weight = max(weights)
            newer.signals["newest"] = 1.0


def _prefer_newest_states(top: Sequence[_Entry], *, settled: bool) -> None:
    """Rank the newest memory of a state above the older ones, and mark those.

    If the question is about something settled, or only the older memory is of the time that it names, the
    older one is only marked.
    """
    states: dict[tuple[str | None, str, str], list[_Entry]] = {}
    for entry in top:
        if state := read_state(entry.record.metadata):
            states.setdefault((entry.record.scope.user, *state), []).append(entry)
    for group in states.values():
        newest = max(group, key=lambda entry: (entry.record.moment, entry.record.id))
        older = [entry for entry in group if entry.record.moment < newest.record.moment]
        for entry in older:
            entry.signals["older_state"] = 1.0
            passes = not settled and ("in_time" not in entry.signals or "in_time" in newest.signals)
            if passes and newest.weight < entry.weight + TIE_MARGIN:
                newest.weight = entry.weight + TIE_MARGIN
                newest.signals["newest"] = 1.0


def _prefer_new_value(top: Sequence[_Entry], terms: _Terms) -> None:
    """Rank the fact that seems to be the new value of the first fact above it.

    Does nothing if the first fact has already passed another one, by its terms or its slot.
    """
    facts = [entry for entry in top if entry.session is None]
    if not facts or "newest" in facts[0].signals or facts[0].weight <= 0:
        return
    older, cosines = facts[0], compare_facts([entry.candidate.vector for entry in facts])
    value = find_new_value(
        [
            Fact(
                entry.record.id,
                near,
                entry.weight,
                entry.candidate.terms.total(),
                entry.change > 0,
                _may_follow(entry, older, terms),
            )
            for entry, near in zip(facts, cosines, strict=True)
        ]
    )
    if value is not None and facts[value[0]].weight < older.weight + TIE_MARGIN:
        facts[value[0]].weight = older.weight + TIE_MARGIN
        facts[value[0]].signals["newest"] = 1.0
        older.signals["revised"] = value[1]


def _may_follow(newer: _Entry, older: _Entry, terms: _Terms) -> bool:
    """Whether a fact is later than another of the same user, and lacks none of its distinguishing terms."""
    near = round(cosine(newer.candidate.vector, older.candidate.vector), DIGITS)
    is_later = (
        newer.record.moment > older.record.moment and newer.record.scope.user == older.record.scope.user
    )
    return is_later and not _lacks(newer, older, terms, near)


def compare_facts(vectors: Sequence[Vector | None]) -> list[float]:
    """Return each vector's cosine with the first, relative to the mean of all; 0 if one is near the mean."""
    known = [vector for vector in vectors if vector is not None and any(vector)]
    centre = [sum(numbers) / (len(known) + CENTRE) for numbers in zip(*known, strict=True)]
    steps = [[*map(sub, vector, centre)] if vector is not None and any(vector) else [] for vector in vectors]
    lengths = [math.hypot(*step) for step in steps]
    return [
        round(sum(map(mul, steps[0], step)) / (lengths[0] * length), DIGITS)
        if lengths[0] * length > SHORT
        else 0.0
        for step, length in zip(steps, lengths, strict=True)
    ]


def _lacks(newer: _Entry, older: _Entry, terms: _Terms, near: float = 0.0) -> bool:
    """Whether the newer memory lacks an identifier, a name or the time of the query that the older one has.

    If the two are worded nearly alike, every term of the query counts, because only it distinguishes them.
    """
    if "in_time" in older.signals and "in_time" not in newer.signals:
        return True
    ours, theirs = newer.candidate.terms, older.candidate.terms
    missing = [term for term in terms.weights if term in theirs and term not in ours]
    return any(near >= REWORDED or term in terms.telling for term in missing)


def _prefer_same_wording(top: Sequence[_Entry]) -> None:
    """Rank memories with the same wording as the query above all others."""
    others = [entry.weight for entry in top if "exact" not in entry.signals]
    for entry in top:
        if "exact" in entry.signals:
            entry.weight = max(entry.weight, max(others, default=0.0) + EXACT_MARGIN)


def _find_leaders(entries: Sequence[_Entry]) -> list[_Entry]:
    """Return the best turns of the two best sessions, best first; empty if there are fewer than two."""
    leaders: dict[tuple[str | None, str], _Entry] = {}
    for entry in entries:
        if entry.session is not None:
            leaders.setdefault(entry.session, entry)
    return list(leaders.values())[:LEADERS] if len(leaders) >= LEADERS else []


def _supersede_session(top: Sequence[_Entry], terms: _Terms) -> None:
    """Rank the second leader above the first if it is newer and matches nearly the same terms."""
    if not (leaders := _find_leaders(top)):
        return
    first, second = leaders
    if (
        second.record.moment > first.record.moment
        and LEADERS_TIE * first.weight <= second.weight <= first.weight
        and answers_as_well(second.signals.get("words"), first.signals.get("words"))
        and _share_terms(first, second, terms, LEADERS_SAME_TERMS)
    ):
        second.weight = first.weight + TIE_MARGIN
        second.signals["newest"] = 1.0


def _share_terms(one: _Entry, other: _Entry, terms: _Terms, same: float) -> bool:
    """Whether both cover enough of the query's term weight, by nearly the same terms."""
    weights, total = terms.weights, terms.total
    counters = [entry.candidate.terms for entry in (one, other)]
    sums = [sum(w for term, w in weights.items() if term in words) for words in counters]
    overlap = sum(w for term, w in weights.items() if term in counters[0] and term in counters[1])
    return total > 0 and min(sums) >= TERMS_COVERED * total and overlap >= same * (sum(sums) - overlap)
