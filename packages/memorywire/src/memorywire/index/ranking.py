"""Ranks the rows of an index with arrays, to the same result as the plain Python of `search/reference.py`.

Theory of operation
-------------------
The reference ranker defines every score: it scores each memory exactly. This ranker must return the same
memories in the same order with the same scores (`tests/stores/test_contract.py` and the machines of
`tests/stores/test_machine.py` compare the two), in a time that grows little with the number of rows.

1. Text. Posting lists give, for each query term, the selected rows that contain it; BM25 shares are summed
   into one array aligned with the selection (`_score_text`). This is exact.
2. Choice. Up to SMALL_SELECTION rows are all candidates. With more, the quantized vectors give every row
   an approximate weight and a bound on the error of the difference of two (`_approximate_weights`). All
   rows within that bound of the last possible winner are candidates, so no true winner is missed. Demoted
   rows are chosen separately, because demotion changes the order of scores and not of weights.
3. Evidence. The exact vectors of the candidates and of their neighbours in sessions are read, and their
   weights computed in double precision (`_compute_evidence`), with the operations of the reference in the
   same order: float addition is not associative, and scores are compared to the last digit.
4. Words. The best TOP, or more if `limit` is higher, are matched with the query's words one by one
   (`search/relevance.py`), times the factors of their other evidence; only their tokens are read.
5. Ties. Among the TOP best, newer facts and newer sessions pass the older ones by TIE_MARGIN
   (`ties.py`). Most queries have no such pair, which `may_contend` detects from the text shares alone.

Work that needs no vectors of the query (1 and, for a small selection, the reading of rows) is done in the
constructor, so that it overlaps with embedding; `compare` then takes the vectors.

Tried and dropped: FTS5, whose statistics cover the whole table, so that one tenant's memories change
another's scores (decision 6); reading all rows of an agent at its first search, 8 µs each (decision 15, hence
segments); searching one user of a large agent in the agent's index, which took twice as long (decision 33,
hence user indexes).
"""

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from itertools import compress, takewhile
from typing import Any

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from memorywire.index.agent_index import AgentIndex, Source
from memorywire.index.arrays import (
    SMALL_SELECTION,
    Candidate,
    Floats,
    Mask,
    Offsets,
    Rows,
    Selection,
    build_candidates,
    compute_brevities,
    find_largest,
    has_repeats,
    is_in_sorted,
    is_within,
    scatter,
    sort,
    take,
)
from memorywire.index.postings import match_terms
from memorywire.index.sessions import TOTAL_LENT
from memorywire.index.ties import FewFacts, Terms, break_ties
from memorywire.index.vectors import Vectors
from memorywire.model.query import Enough, Query, QueryTokens, TokenMatch, asks_only_whose
from memorywire.search.admit import PASSED, compute_own_level
from memorywire.search.relevance import (
    AGO,
    ASKING,
    BRIEF,
    COSINE_POWER,
    EXACT_MARGIN,
    IN_TIME,
    K1,
    LOAN_DIGITS,
    MACHINE_LENDS,
    MACHINE_SAID,
    REVISABLE,
    SPOKE,
    TERMS_COVERED,
    TEXT_POWER,
    TEXT_WEIGHT,
    TOP,
    B,
    brevity,
    evidence_of_words,
    idf,
    match_words,
    relevance,
    weigh_words,
)
from memorywire.search.text import (
    ASKED,
    CHANGED,
    build_wording,
    find_telling,
    name_words,
    query_terms,
    spoken_by,
)

# The largest error of evidence computed in single precision.
_SLACK = 1e-5
_NO_OFFSETS = np.empty(0, np.intp)
_NO_ROWS = np.empty(0, np.int32)


class Statistics(Struct, frozen=True, kw_only=True):
    """Term frequencies (by term key) over a larger set of rows that includes the selected ones."""

    documents: int
    average: float
    containing: Mapping[int, int]


class Ranked(Struct, frozen=True):
    """The position of a version in its table, its relevance, and the signals behind it."""

    position: int
    score: float
    signals: Mapping[str, float]
    tokens: tuple[TokenMatch, ...] = ()


class _Candidates(Struct, frozen=True):
    """The rows that may win and their neighbours, with the data that needs no vectors of the query.

    `offsets` are those of rows that may win, `around` those of their neighbours by step, `members` of both.
    `rows`, `vectors` and `text` (the evidence of the words) are aligned with `members`.
    """

    offsets: Offsets
    around: Sequence[Offsets]
    members: Offsets
    rows: Rows
    vectors: Vectors
    text: Floats


def rank(
    source: Source,
    index: AgentIndex,
    selection: Selection,
    query: Query,
    limit: int,
    statistics: Statistics | None = None,
    complete: Callable[[], Query] | None = None,
    *,
    enough: Enough | None = None,
) -> list[Ranked]:
    """Return the best `limit` of the selected rows, best first.

    Statistics are computed over the selected rows unless given. If the query has no vectors yet, `complete`
    is called for the query with vectors when they are needed. With `enough`, only the rows that satisfy it
    are returned, and of the signals only `rest` of the best row.
    """
    if not selection.size or limit < 1:
        return []
    ranking = _Ranking(source, index, selection, query, statistics)
    completed = complete() if complete else query
    index.expect_words(compared=completed.tokens is not None)
    ranking.compare(completed)
    # With sessions, some of the first may be filtered out later, and others take their places.
    count = limit if enough is None or index.sessions else min(limit, enough.most)
    candidates, contested = ranking.find_best(count)
    if ranking.match_words(candidates):
        sort(candidates)
        top = candidates[:TOP]
        contested = ranking.may_contend([one.offset for one in top], [one.row for one in top])
    top = candidates[:TOP]
    if contested:
        ranking.break_ties(top)
        if any(candidate.newest for candidate in top):
            sort(top)
    if ranking.prefer_same_wording(top):
        sort(top)
    ranked = (top + candidates[TOP:])[:count]
    if enough is None:
        signals = ranking.explain(ranked)
        ranking.compare_nameless(ranked, signals)
        if query.explain and completed.tokens is not None:
            tokens = ranking.explain_tokens(completed.tokens, ranked)
            parts = zip(ranking.positions(ranked), ranked, signals, tokens, strict=True)
            return [Ranked(position, one.score, own, words) for position, one, own, words in parts]
    else:
        signals = [{**ranking.among} for _ in ranked]
        first = [one for one in ranked if one.score >= ranked[0].score - PASSED]
        ranking.compare_nameless(first, signals)
        best = max(signals[: len(first)], key=lambda own: own.get("rest", 1.0))
        level = enough.level(ranked[0].score, best, bool(index.sessions))
        ranked = [*takewhile(lambda candidate: candidate.score >= level, ranked)]
        least = compute_own_level(level)
        ranked = [one for one in ranked if not one.borrowed or relevance(one.own) >= least][: enough.most]
    return [
        Ranked(position, candidate.score, own)
        for position, candidate, own in zip(ranking.positions(ranked), ranked, signals, strict=False)
    ]


class _Ranking:
    """The ranking of one query in the steps above; arrays are aligned with the selection."""

    def __init__(
        self,
        source: Source,
        index: AgentIndex,
        selection: Selection,
        query: Query,
        statistics: Statistics | None,
    ) -> None:
        self._source = source
        self._index = index
        self._selection = selection
        self._times, self._in_time = query.times, AGO if query.ago else IN_TIME
        self._settled, self._machine_said = query.settled, 1.0 if query.replies else MACHINE_SAID
        count = statistics.documents if statistics else selection.size
        self.among = {"among": float(count)} if asks_only_whose(query.where.filter) else {}
        demoted = index.find_demoted(selection)
        self._demoted = demoted if demoted is not None and demoted.any() else None
        self._are_few = selection.size <= REVISABLE and not statistics and not query.settled
        self._share, self._speakers = self._score_text(query, statistics)
        self._has_factors = bool(len(self._speakers) or index.has_machine or self._times)
        self._neighbours = index.sessions.find_neighbours(
            selection, index.sorted_prefix, lambda rows: index.ids(source, rows)
        )
        self._covering = self._all = None
        self._uncontested = False  # True if too few rows contain enough of the terms for a tie
        if selection.size <= SMALL_SELECTION:  # do all work that needs no vectors now
            self._covering = self._covers(self._share, selection.align(index.lengths))
            is_plain = not self._neighbours and index.states is None and not self._are_few
            self._uncontested = is_plain and int(np.count_nonzero(self._covering)) < 2
            self._all = self._collect(selection.offsets)

    def compare(self, query: Query) -> None:
        """Set the query's vectors, which the rest of the ranking uses."""
        is_named = len(self._speakers) > 0
        self._vector = _to_floats(query.nameless if query.nameless and is_named else query.vector)
        self._nameless = None if is_named else _to_floats(query.nameless)
        self._tokens = query.tokens

    def _score_text(self, query: Query, statistics: Statistics | None) -> tuple[Floats, Offsets]:
        """Return the share of the query's term weight in each selected row, and the offsets of rows whose
        speaker is named in the query, in ascending order."""
        lengths = self._selection.align(self._index.lengths)
        total = lengths.sum() if self._selection.is_whole else lengths[self._selection.mask].sum()
        average = float(total) / self._selection.size or 1.0
        average = self._average = statistics.average if statistics else average
        words = self._words = query_terms(query.text)
        self._earns = np.array([word not in query.boilerplate for word in words], bool)
        keys = [self._index.key(word) for word in words]
        names = [self._index.key(spoken_by(word)) for name in query.names for word in name_words(name)]
        hidden = [ASKED, build_wording(query.text), *([CHANGED] if self._are_few else ())]
        terms = [*keys, *names, *map(self._index.key, hidden)]
        matches = self._matches = match_terms(self._index.postings, self._selection, terms)
        # Entries are in order of terms: words, names, questions, the wording, changes.
        bounds = [len(keys) + more for more in (0, len(names), len(names) + 1, len(names) + 2)]
        of_words, of_names, of_questions, of_wording = matches.which.searchsorted(bounds).tolist()
        width, asking = self._selection.width, slice(of_names, of_questions)
        self._asks = scatter(matches.offsets[asking], matches.counts[asking] / 10, width)
        self._exact = np.sort(matches.offsets[of_questions:of_wording])
        self._changes = np.sort(matches.offsets[of_wording:])
        telling = find_telling(words, query.names)
        self._telling = [word in telling for word in words]
        which, offsets = matches.which[:of_words], matches.offsets[:of_words]
        counts = matches.counts[:of_words]
        if statistics:
            self._weights = [idf(statistics.documents, statistics.containing[key]) for key in keys]
        else:
            containing = np.bincount(which, minlength=len(keys)).tolist()
            self._weights = [idf(self._selection.size, count) for count in containing]
        speakers = np.unique(matches.offsets[of_words:of_names]) if of_names > of_words else _NO_OFFSETS
        if not of_words:
            return np.zeros(width), speakers
        norms = K1 * (1 - B + B * lengths[offsets] / average)
        earned = (np.array(self._weights) * self._earns)[which] * (counts / (counts + norms))
        return np.bincount(offsets, earned, width) / sum(self._weights), speakers

    @cached_property
    def _term_rows(self) -> list[tuple[float, Rows]]:
        """The weight of each query term, and the rows that contain it; no rows if the term is ignored."""
        return [
            (weight, self._matches.rows(term) if earns else _NO_ROWS)
            for term, (weight, earns) in enumerate(zip(self._weights, self._earns, strict=True))
        ]

    def find_best(self, limit: int) -> tuple[list[Candidate], bool]:
        """Return the best rows in order, with exact evidence, and whether breaking ties may reorder them.

        Returns `limit` rows, and more if those could be reordered.
        """
        count = max(limit, TOP)
        candidates = self._all or self._collect(self._choose(count))
        offsets, self._vectors = candidates.offsets, candidates.vectors
        indexes, rows, cosines, weights, lent, own = self._compute_evidence(candidates)
        demoted = None if self._demoted is None else self._demoted[offsets]
        is_everything = len(offsets) == len(self._index)
        at = (None, None) if is_everything else (offsets, rows)
        columns = (indexes, *at, weights, cosines, lent, own, demoted)
        if demoted is not None or rows[-1] >= self._index.sorted_prefix:
            kinds = (None,) if demoted is None else (~demoted, demoted)
            first = np.concatenate([find_largest(weights, kind, count, 0.0) for kind in kinds])
            best = build_candidates(self._vectors.ids, columns, first)
            sort(best)
            top = best[:TOP]
            return best, self.may_contend([one.offset for one in top], [one.row for one in top])
        order = (-weights).argsort(kind="stable")[:count]  # stable: ties stay in order of id
        ahead = order[:TOP]
        contested = not self._uncontested and self.may_contend(offsets[ahead], rows[ahead])
        return build_candidates(
            self._vectors.ids, columns, order[: count if contested or self._tokens else limit]
        ), contested

    def match_words(self, candidates: Sequence[Candidate]) -> bool:
        """Add the evidence of the query's words, compared one by one; return whether any was compared."""
        if self._tokens is None:
            return False
        tokens = self._index.tokens(self._source, [candidate.row for candidate in candidates])
        matches = match_words(self._tokens, self._weigh_words(self._tokens.words), tokens)
        factors = self._weigh_matches(candidates)
        for candidate, match, factor in zip(candidates, matches, factors, strict=True):
            if match is not None:
                candidate.words, evidence = match, evidence_of_words(match) * factor
                candidate.weight += evidence
                candidate.own += evidence
        return any(match is not None for match in matches)

    def _weigh_matches(self, candidates: Sequence[Candidate]) -> list[float]:
        """Return the factors of the word evidence of each candidate, the same as of its other evidence."""
        if self._asks is None and not self._has_factors:
            return [1.0] * len(candidates)
        offsets = np.array([candidate.offset for candidate in candidates], np.intp)
        rows = np.array([candidate.row for candidate in candidates], np.int32)
        factors = self._compute_factors(rows, offsets)
        if self._asks is not None:
            factors = factors * (1 - ASKING * self._asks[offsets])
        return list(factors.tolist())

    def _weigh_words(self, query_words: Sequence[str]) -> list[float]:
        weights = zip(self._words, self._weights, self._earns, strict=True)
        return weigh_words(query_words, {word: weight for word, weight, earns in weights if earns})

    def explain_tokens(self, query: QueryTokens, found: Sequence[Candidate]) -> list[tuple[TokenMatch, ...]]:
        """Return the matches of each query token per candidate; empty where words were not compared."""
        from memorywire.search.explain import measure_tokens  # imported here: rarely used

        tokens = self._index.tokens(self._source, [one.row for one in found])
        compared = [None if one.words is None else own for one, own in zip(found, tokens, strict=True)]
        return measure_tokens(query, self._weigh_words(query.words), compared)

    def _collect(self, offsets: Offsets) -> _Candidates:
        around = self._neighbours.around(offsets) if self._neighbours else []
        members = np.unique(np.concatenate((offsets, *around))) if around else offsets
        members = members[members < self._selection.width] if around else members
        rows = self._selection.rows_at(members)
        text = TEXT_WEIGHT * take(self._share, members) ** TEXT_POWER
        if self._index.longest > BRIEF:
            text *= compute_brevities(self._index.lengths[rows])
        return _Candidates(offsets, around, members, rows, self._index.vectors(self._source, rows), text)

    def _compute_evidence(
        self, candidates: _Candidates
    ) -> tuple[Offsets | None, Rows, Floats, Floats, Floats | None, Floats | None]:
        """Return for each candidate its index in the members, row, cosine and weight; with neighbours also
        the weight that they lend it, and its weight without that."""
        offsets, around, members = candidates.offsets, candidates.around, candidates.members
        rows, cosines = candidates.rows, candidates.vectors.cosines(self._vector)
        weights = self._weigh(candidates, cosines)
        here = lent = own = None
        if around:
            lent = np.zeros(len(offsets))
            lends = np.where(self._index.machine_said[rows], MACHINE_LENDS * weights, weights)
            if self._asks is not None:
                lends *= 1 + ASKING * take(self._asks, members)
            lends = np.append(lends, 0.0)  # the last element is for a missing neighbour
            for share, other in zip(self._neighbours.shares(around), around, strict=True):
                lent += share * lends[np.searchsorted(members, other)]
            lent = lent.round(LOAN_DIGITS)
            here = np.searchsorted(members, offsets)
            rows, cosines = rows[here], cosines[here]
            lent[self._index.machine_said[rows]] = 0.0
            own = weights[here]
            weights = own + lent
        if self._asks is not None:
            telling = 1 - ASKING * take(self._asks, offsets)
            weights, own = weights * telling, None if own is None else own * telling
        return here, rows, cosines, weights, lent, own

    def _weigh(self, candidates: _Candidates, cosines: Floats) -> Floats:
        """Return the evidence of each member without that of its neighbours."""
        own = np.maximum(cosines, 0.0) ** COSINE_POWER + candidates.text
        return own * self._compute_factors(candidates.rows, candidates.members) if self._has_factors else own

    def _compute_factors(self, rows: Rows, offsets: Offsets) -> Floats:
        """Return the factors of the evidence of each row for its speaker, its role and its time."""
        factors = np.ones(len(rows))
        if len(self._speakers):
            factors[np.isin(offsets, self._speakers, assume_unique=True)] *= SPOKE
        if self._index.has_machine:
            factors[self._index.machine_said[rows]] *= self._machine_said
        if self._times:
            factors[is_within(self._index.occurred[rows], self._times)] *= self._in_time
        return factors

    def positions(self, candidates: Sequence[Candidate]) -> list[int]:
        """Return the positions of these versions in their table."""
        at = self._index.positions.item
        return [at(candidate.row) for candidate in candidates]

    def explain(self, candidates: Sequence[Candidate]) -> list[dict[str, float]]:
        """Return the signals behind the weight of each candidate, by their names in `explain`."""
        rows, offsets = [one.row for one in candidates], [one.offset for one in candidates]
        shares = self._share[offsets].tolist()
        signals = [
            {"vector": candidate.cosine, "text": share} | self.among
            for candidate, share in zip(candidates, shares, strict=True)
        ]
        for name, flags in self._flags(candidates, rows, offsets).items():
            for at in compress(range(len(signals)), flags):
                signals[at][name] = 1.0
        if self._index.longest > BRIEF:
            for own, length in zip(signals, self._index.lengths[rows].tolist(), strict=True):
                if length > BRIEF:
                    own["brevity"] = brevity(length)
        asks = [] if self._asks is None else self._asks[offsets].tolist()
        for own, share in zip(compress(signals, asks), filter(None, asks), strict=True):
            own["asks"] = share
        for own, candidate in zip(signals, candidates, strict=True):
            if candidate.borrowed:
                own |= {"neighbours": candidate.borrowed, "own": relevance(candidate.own)}
            if candidate.words is not None:
                own["words"] = candidate.words
            if candidate.revised:
                own["revised"] = candidate.revised
        return signals

    def compare_nameless(self, candidates: Sequence[Candidate], signals: Sequence[dict[str, float]]) -> None:
        """Add, as the signal `rest`, the cosine of each candidate with the query without its names."""
        if self._nameless is not None:
            cosines = np.einsum("ij,j->i", self._read_vectors(candidates), self._nameless).tolist()
            for own, cosine in zip(signals, cosines, strict=False):
                own["rest"] = cosine

    def _read_vectors(self, candidates: Sequence[Candidate]) -> NDArray[np.float64]:
        vectors = self._vectors.matrix.take([candidate.index for candidate in candidates], axis=0)
        return vectors.astype(np.float64, copy=False)

    def _flags(
        self, candidates: Sequence[Candidate], rows: list[int], offsets: list[int]
    ) -> dict[str, Sequence[bool]]:
        none: Sequence[bool] = ()
        index = self._index
        return {
            "machine_said": index.machine_said[rows].tolist() if index.has_machine else none,
            "in_time": is_within(index.occurred[rows], self._times).tolist() if self._times else none,
            "spoke": np.isin(offsets, self._speakers).tolist() if len(self._speakers) else none,
            "demoted": [candidate.demoted for candidate in candidates],
            "newest": [candidate.newest for candidate in candidates],
            "older_state": [candidate.older_state for candidate in candidates],
            "exact": np.isin(offsets, self._exact).tolist() if len(self._exact) else none,
        }

    def _choose(self, count: int) -> Offsets:
        """Return the offsets of rows that could be among the best, ties included."""
        if self._selection.size <= max(count, SMALL_SELECTION):
            return self._selection.offsets
        weights, slack = self._approximate_weights()
        mask = None if self._selection.is_whole else self._selection.mask
        demoted = self._demoted
        if demoted is None:
            offsets = find_largest(weights, mask, count, slack)
        else:
            kinds = (~demoted, demoted) if mask is None else (mask & ~demoted, mask & demoted)
            offsets = np.sort(np.concatenate([find_largest(weights, kind, count, slack) for kind in kinds]))
        return offsets if self._vector is not None else self._drop_unmatched(offsets, weights, count)

    def _drop_unmatched(self, offsets: Offsets, weights: Floats, count: int) -> Offsets:
        """Drop rows without any evidence, except the first `count` by id, which win their ties."""
        unmatched = (weights[offsets] == 0) & (self._selection.rows_at(offsets) < self._index.sorted_prefix)
        demoted = np.zeros(len(offsets), bool) if self._demoted is None else self._demoted[offsets]
        for kind in (True, False):
            first = np.flatnonzero(unmatched & (demoted == kind))
            unmatched[first[:count]] = False
        return np.asarray(offsets[~unmatched])

    def _approximate_weights(self) -> tuple[Floats, float]:
        """Return the approximate weight of each row, and the largest error of the difference of two."""
        cosines, error = self._approximate_cosines()
        np.maximum(cosines, 0.0, out=cosines)
        steepest = COSINE_POWER * (float(cosines.max()) + error)
        weights = cosines**COSINE_POWER
        matched = np.flatnonzero(self._share)
        text = TEXT_WEIGHT * self._share[matched].astype(np.float32) ** TEXT_POWER
        if self._index.longest > BRIEF:
            text *= compute_brevities(self._selection.align(self._index.lengths)[matched])
        weights[matched] += text
        machine = self._selection.align(self._index.machine_said)
        if self._index.has_machine:
            weights[machine] *= self._machine_said
        if self._times:
            occurred = self._selection.align(self._index.occurred)
            weights[is_within(occurred, self._times)] *= self._in_time
            error *= self._in_time
        if len(self._speakers):
            weights[self._speakers] *= SPOKE
            error *= SPOKE
        if self._neighbours:
            error *= 1 + self._lend(weights, machine)
        if self._asks is not None:
            weights *= 1 - ASKING * self._asks
        return weights, 2 * steepest * error + _SLACK

    def _lend(self, weights: Floats, machine: Mask) -> float:
        """Add the neighbours' shares to the weights; return the largest factor by which errors grow."""
        lends, largest = weights, TOTAL_LENT
        if self._index.has_machine:
            lends = np.where(machine, MACHINE_LENDS * weights, weights)
        if self._asks is not None:
            lends, largest = lends * (1 + ASKING * self._asks), TOTAL_LENT * (1 + ASKING)
        order = self._neighbours.order
        weights[order] += self._neighbours.sum_lent(lends) * ~machine[order]
        return largest

    def _approximate_cosines(self) -> tuple[NDArray[np.float32], float]:
        if self._vector is None:
            return np.zeros(self._selection.width, np.float32), 0.0
        return self._index.quantized.approximate_cosines(self._vector, self._selection)

    def break_ties(self, top: Sequence[Candidate]) -> None:
        rows = np.array([candidate.row for candidate in top], np.int32)
        sessions = self._index.sessions.numbers.values[rows]
        states, few = self._states_of(rows), self._describe_few(top, rows) if self._are_few else None
        if sessions.max() < 0 and not has_repeats(states) and few is None:
            # Only candidates with enough of the terms can tie.
            some = self._find_covering([candidate.offset for candidate in top], rows)
            top, rows, sessions, states = [top[at] for at in some], rows[some], sessions[some], None
        break_ties(
            top,
            moments=self._index.moments[rows],
            read_vectors=lambda: self._read_vectors(top),
            terms=Terms(np.array(self._weights), self._find_containing(top, rows), self._telling),
            sessions=sessions.astype(np.int64),
            states=states,
            few=few,
            settled=self._settled,
            in_time=is_within(self._index.occurred[rows], self._times),
        )

    def _find_containing(self, top: Sequence[Candidate], rows: Rows) -> Mask:
        """Return a mask with a row per query term: which candidates contain it; empty for ignored terms."""
        if self._all is None:
            masks = [is_in_sorted(rows, containing) for _, containing in self._term_rows]
            return np.array(masks, bool).reshape(len(masks), len(rows))
        contains = self._matches.tabulate(len(self._weights), self._selection.width)
        contains[~self._earns] = False
        return contains[:, [candidate.offset for candidate in top]]

    def prefer_same_wording(self, top: Sequence[Candidate]) -> bool:
        """Let candidates with the same wording as the query pass all others; return whether there are any."""
        if not len(self._exact):
            return False
        is_exact = np.isin([candidate.offset for candidate in top], self._exact)
        least = max([one.weight for one, same in zip(top, is_exact, strict=True) if not same], default=0.0)
        for candidate in compress(top, is_exact):
            candidate.weight = max(candidate.weight, least + EXACT_MARGIN)
        return bool(is_exact.any())

    def may_contend(self, offsets: Offsets | list[int], rows: Rows | list[int]) -> bool:
        """Return whether one of these could pass another; usually none contains enough of the terms."""
        in_session = bool(self._neighbours) and self._index.sessions.numbers.values[rows].max() >= 0
        has_newer = self._are_few and int(np.argmax(self._index.moments[rows])) > 0
        states = self._index.states
        has_states = states is not None and has_repeats(states[rows])
        may_change = in_session or has_newer or has_states
        return may_change or len(self._find_covering(offsets, rows)) > 1

    def _describe_few(self, top: Sequence[Candidate], rows: Rows) -> FewFacts:
        changes = is_in_sorted(np.array([candidate.offset for candidate in top]), self._changes)
        return FewFacts(changes, self._index.lengths[rows], self._index.users[rows])

    def _states_of(self, rows: Rows | list[int]) -> NDArray[np.int32] | None:
        return None if self._index.states is None else self._index.states[rows]

    def _find_covering(self, offsets: Offsets | list[int], rows: Rows | list[int]) -> list[int]:
        """Return the indexes of those that may contain enough of the query's terms, by their text share."""
        if self._covering is not None:
            covering = self._covering[offsets]
        else:
            covering = self._covers(self._share[offsets], self._index.lengths[rows])
        indexes: list[int] = covering.nonzero()[0].tolist()
        return indexes

    def _covers(self, share: Floats, lengths: NDArray[Any]) -> Mask:
        norms = K1 * (1 - B + B * lengths / self._average)
        covers: Mask = share * (1 + norms) >= TERMS_COVERED - _SLACK
        return covers


def _to_floats(vector: bytes | None) -> NDArray[np.float32] | None:
    return None if vector is None else np.frombuffer(vector, "<f4")
