"""Chooses which admitted candidates to hand over: ranked, without repetitions, within the token budget."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import TypeAlias

from memorywire.model.query import Scored
from memorywire.model.requests import Dedup, DedupMode, RankWeights, Recall
from memorywire.model.values import dataclass
from memorywire.search.dedup import lookalikes, repeats, statement
from memorywire.search.embed import Embedder
from memorywire.search.rank import rank
from memorywire.search.token_budget import pack
from memorywire.stores.contract import Enough

Ranker: TypeAlias = Callable[[Sequence[Scored], RankWeights, int], list[Scored]]

_LEAST_POOL = 50
_POOL_PER_HIT = 4
_NOTHING = (None,) * 4


@dataclass(frozen=True, slots=True, kw_only=True)
class Chosen:
    """The hits, the ids that support each, and the candidates passed over with the reason, best first.

    `repeats` counts the candidates that say the same as a better one, whether or not they were removed.
    """

    hits: tuple[Scored, ...]
    supporting: Mapping[str, tuple[str, ...]]
    passed_over: tuple[tuple[Scored, str], ...]
    repeats: int = 0


Choosing: TypeAlias = Callable[[Sequence[Scored], Recall, int, Embedder], Awaitable[Chosen]]
"""A function that turns the admitted candidates of a recall, at a moment, into what is handed over."""


def pool(request: Recall, spare: int) -> int:
    """How many candidates to fetch: more than `k` where some may be reordered or removed afterwards."""
    return max(_LEAST_POOL, _POOL_PER_HIT * request.k) if _reorders(request) else request.k + spare


def enough(
    request: Recall, choosing: Choosing, level: Callable[[float, Mapping[str, float], bool], float]
) -> Enough | None:
    """Where a store may stop if it admits all candidates by one `level`; None where it may not."""
    untold = choosing is choose and not request.explain and not _reorders(request)
    return Enough(request.k, level) if untold else None


def _reorders(request: Recall) -> bool:
    asked = (request.rank, request.dedup, request.max_tokens, request.hops or None)
    return asked != _NOTHING


async def choose(
    admitted: Sequence[Scored], request: Recall, now: int, embedder: Embedder, ranker: Ranker = rank
) -> Chosen:
    """At most `k` of the admitted, as the request's `rank`, `dedup` and `max_tokens` would have it."""
    if not _reorders(request):
        beyond = tuple([(scored, "beyond k") for scored in admitted[request.k :]])
        return Chosen(hits=tuple(admitted[: request.k]), supporting={}, passed_over=beyond)
    ranked = list(admitted) if request.rank is None else ranker(admitted, request.rank, now)
    found = {} if request.dedup is None else await _repeats(ranked, request.dedup, embedder)
    mode = None if request.dedup is None else request.dedup.mode
    removed = {} if mode is DedupMode.KEEP else found
    told_by = {} if mode is DedupMode.DROP else found
    distinct = [scored for scored in ranked if scored.record.id not in removed]
    packed, skipped = pack(distinct, request.max_tokens, request.k)
    taken = {scored.record.id for scored in (*packed, *skipped)}
    left = [scored for scored in distinct if scored.record.id not in taken]
    return Chosen(
        hits=tuple(packed),
        supporting=_supporting(told_by),
        repeats=len(found),
        passed_over=(
            *((scored, "over the token budget") for scored in skipped),
            *((s, f"says the same as {removed[s.record.id]}") for s in ranked if s.record.id in removed),
            *((scored, "beyond k") for scored in left),
        ),
    )


async def _repeats(ranked: Sequence[Scored], dedup: Dedup, embedder: Embedder) -> dict[str, str]:
    """For each repetition the id of the better memory. Only look-alikes are embedded, so mostly none is."""
    groups = await asyncio.to_thread(lookalikes, ranked)
    alike = [record for group in groups for record, _ in group]
    vectors = await embedder.embed([statement(record) for record in alike]) if alike else []
    by_id = {record.id: vector for record, vector in zip(alike, vectors, strict=True)}
    return repeats(groups, by_id, dedup.threshold)


def _supporting(told_by: Mapping[str, str]) -> dict[str, tuple[str, ...]]:
    support: dict[str, list[str]] = {}
    for repeat, better in told_by.items():
        support.setdefault(better, []).append(repeat)
    return {better: tuple(ids) for better, ids in support.items()}
