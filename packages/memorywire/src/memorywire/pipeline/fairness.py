"""Prevents untrusted sources from filling an answer, and from outranking trusted memories.

Untrusted memories take part in a recall, but they cannot displace trusted ones: trusted memories are
searched, scored and admitted as if no others existed. An untrusted memory needs more evidence to rank before
a trusted one, near-copies count once, and each untrusted source is limited to a share of the answer.
"""

import re
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from typing import TypeAlias, TypeVar

from msgspec import Struct
from msgspec.structs import replace

from memorywire.model.answers import Verdict
from memorywire.model.query import And, Compare, Filter, Not, Operator, Or, Query, Scored
from memorywire.model.record import Record, Trust
from memorywire.pipeline.candidates import SearchResult, has_untrusted
from memorywire.policy.patterns import fold_case, source_group
from memorywire.search.admit import Admission, compute_share
from memorywire.search.token_budget import wording

EVIDENCE_SHARE = 0.45
"""Weight of an untrusted memory's evidence relative to a trusted one's: equal to the share of the best
memory's evidence that a memory needs to be admitted at all."""

COPIES = 0.8
"""Two memories are near-copies if they have the same numbers and share this fraction of their words."""

_ROUNDS = 3
"""How often the search is repeated without the sources that exceed their share."""

_WORD = re.compile(r"\w+")
_TRUSTED = Compare(("trust",), Operator.NE, Trust.UNTRUSTED)
_ORDER = (Verdict.NO_MATCH, Verdict.WEAK, Verdict.MATCH)

V = TypeVar("V")
Searching: TypeAlias = Callable[[Query], Awaitable[SearchResult]]
Admitting: TypeAlias = Callable[[SearchResult], Awaitable[Admission]]


class Balanced(Struct, frozen=True, kw_only=True):
    """The joined search result and admission, and the untrusted memories left out, with the reason."""

    asked: SearchResult
    admission: Admission
    left_out: tuple[tuple[Scored, str], ...] = ()


async def balance(
    answer: SearchResult, query: Query, limit: int, searching: Searching, admitting: Admitting
) -> Balanced:
    """Rank trusted candidates independently, and add at most `limit` candidates of each untrusted source."""
    trusted_answer = await searching(_narrow(query, _TRUSTED))
    trusted_hits = await admitting(trusted_answer)
    rounds = [answer, *await _search_others(answer, query, limit, searching)]
    admissions = [await admitting(one) for one in rounds]
    untrusted_hits = _unique(
        candidate for admission in admissions for candidate in admission.admitted if _is_untrusted(candidate)
    )
    discounted_hits = list(map(discount, untrusted_hits))
    hits, left_out = _limit_sources(trusted_hits.admitted, discounted_hits, limit)
    verdicts = [trusted_hits.verdict, *(one.verdict for one in admissions if has_untrusted(one.admitted))]
    return Balanced(
        asked=_join_results(trusted_answer, *rounds),
        admission=replace(
            trusted_hits,
            admitted=tuple(hits),
            cut=(
                *trusted_hits.cut,
                *(candidate for candidate in admissions[0].cut if _is_untrusted(candidate)),
            ),
            verdict=max(verdicts, key=_ORDER.index),
        ),
        left_out=tuple(left_out),
    )


def discount(candidate: Scored) -> Scored:
    """Lower the score of an untrusted candidate for ranking among trusted ones."""
    score = min(compute_share(candidate.score, EVIDENCE_SHARE), candidate.score * EVIDENCE_SHARE)
    return replace(candidate, score=score, signals={**candidate.signals, "untrusted": EVIDENCE_SHARE})


async def _search_others(
    answer: SearchResult, query: Query, limit: int, searching: Searching
) -> list[SearchResult]:
    """Search again without the sources that exceed their share, once for each new set of such sources."""
    answers: list[SearchResult] = []
    excluded_sources: set[str] = set()
    latest = answer
    for _ in range(_ROUNDS):
        full = _find_full_sources(latest.candidates, limit) - excluded_sources
        if not full:
            break
        excluded_sources |= full
        latest = await searching(
            _narrow(query, Not(Or(tuple(_build_source_filter(group) for group in sorted(excluded_sources)))))
        )
        answers.append(latest)
    return answers


def _find_full_sources(candidates: Sequence[Scored], limit: int) -> set[str]:
    """Return the untrusted sources that have more than `limit` candidates."""
    counts = Counter(source_group(s.record.source) for s in candidates if _is_untrusted(s))
    return {group for group, count in counts.items() if count > limit}


def _build_source_filter(group: str) -> Filter:
    if not group:
        return Not(Compare(("source",), Operator.EXISTS, True))
    exact = Compare(("source",), Operator.EQ, group)
    inside = (Compare(("source",), Operator.PREFIX, f"{group}{mark}") for mark in "/?#")
    return Or((exact, *inside))


def _narrow(query: Query, condition: Filter) -> Query:
    where = query.where
    return replace(query, where=replace(where, filter=And((where.filter, condition))))


def _limit_sources(
    trusted_hits: Sequence[Scored], untrusted_hits: Sequence[Scored], limit: int
) -> tuple[list[Scored], list[tuple[Scored, str]]]:
    """Return trusted hits plus untrusted non-copies within their share, and the candidates left out."""
    hits: list[Scored] = []
    term_sets: list[tuple[frozenset[str], frozenset[str]]] = []
    counts: Counter[str] = Counter()
    left_out: list[tuple[Scored, str]] = []
    for candidate in _merge_ranks(trusted_hits, untrusted_hits):
        words = _words(candidate.record)
        if _is_untrusted(candidate):
            group = fold_case(source_group(candidate.record.source))
            if any(_alike(words, other) for other in term_sets):
                left_out.append((candidate, "a near-copy of a better one, from an untrusted source"))
                continue
            if counts[group] == limit:
                left_out.append((candidate, "its untrusted source has its share of the answer"))
                continue
            counts[group] += 1
        term_sets.append(words)
        hits.append(candidate)
    return hits, left_out


def _merge_ranks(trusted_hits: Sequence[Scored], untrusted_hits: Sequence[Scored]) -> Iterator[Scored]:
    """Merge both by score; trusted hits keep their order and come first in a tie."""
    waiting = sorted(untrusted_hits, key=lambda candidate: -candidate.score)
    for candidate in trusted_hits:
        while waiting and waiting[0].score > candidate.score:
            yield waiting.pop(0)
        yield candidate
    yield from waiting


def _words(record: Record) -> tuple[frozenset[str], frozenset[str]]:
    """Return the words of a memory, and those of them that contain digits."""
    words = frozenset(_WORD.findall(fold_case(wording(record))))
    return words, frozenset(word for word in words if any(map(str.isdigit, word)))


def _alike(one: tuple[frozenset[str], frozenset[str]], other: tuple[frozenset[str], frozenset[str]]) -> bool:
    if one[1] != other[1]:
        return False
    return len(one[0] & other[0]) >= COPIES * len(one[0] | other[0])


def _unique(candidates: Iterable[Scored]) -> list[Scored]:
    return list({candidate.record.id: candidate for candidate in candidates}.values())


def _is_untrusted(candidate: Scored) -> bool:
    return candidate.record.trust is Trust.UNTRUSTED


def _join_results(*answers: SearchResult) -> SearchResult:
    """Join several results of one query into one, including fusion scores and the returning stores."""
    first = answers[0]
    return replace(
        first,
        candidates=_unique(candidate for one in answers for candidate in one.candidates),
        fused=None if first.fused is None else _merge_tables(one.fused for one in answers),
        returned_by=None if first.returned_by is None else _merge_tables(one.returned_by for one in answers),
    )


def _merge_tables(tables: Iterable[Mapping[str, V] | None]) -> dict[str, V]:
    """Merge tables; for an id in several of them the first value wins."""
    union: dict[str, V] = {}
    for table in tables:
        for id, value in (table or {}).items():
            union.setdefault(id, value)
    return union
