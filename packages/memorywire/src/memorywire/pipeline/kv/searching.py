"""Search in key-value entries: a recall over the owner's keys, ranked by a sum of signals."""

import json
import math
import sys
from collections.abc import Mapping, Sequence

from msgspec import Struct
from msgspec.structs import replace

from memorywire.model.answers import Hit, Recalled
from memorywire.model.capabilities import Feature
from memorywire.model.errors import InvalidRequest, VectorUnsupported
from memorywire.model.kv import MARK, Entry, Match, Search, Searched, entry_of, is_entry
from memorywire.model.query import And, Compare, Operator, Scored
from memorywire.model.record import Record
from memorywire.model.requests import DedupMode, RankWeights, Recall
from memorywire.pipeline.kv.keys import Keys
from memorywire.pipeline.recall import Chosen, choose, recall
from memorywire.search.embed import Embedder
from memorywire.search.rank import RECALLS, rank

_INDEXED = Compare(("metadata", MARK, "embedded"), Operator.EQ, True)
"""An entry that was set without `embed` is not in the index."""


async def search(keys: Keys, wanted: Search) -> Searched:
    """Find the owner's entries that match the query best, best first."""
    if Feature.VECTOR not in keys.context.store.features:
        raise VectorUnsupported("the store keeps no vectors", fix="list by prefix, or use a store that does")
    if not 0 < wanted.top_k <= keys.limits.top_k:
        raise InvalidRequest(f"top_k must be 1 to {keys.limits.top_k}", field="top_k")
    request = Recall(
        scope=keys.owner.scope,
        query=wanted.query,
        k=wanted.top_k,
        filter=And((keys.entries(wanted.prefix), _INDEXED)),
        min_relevance=wanted.min_relevance,
        rank=wanted.rank,
        dedup=wanted.dedup,
    )
    by_value = _ByValue(keys)
    answer = await recall(request, keys.context, by_value)
    return await _build_answer(keys, wanted, answer, by_value.repeats)


class _ByValue(Struct):
    """Chooses among entries by their values alone, so that equal values under two keys are duplicates."""

    keys: Keys
    repeats: int = 0

    async def __call__(
        self, candidates: Sequence[Scored], request: Recall, now: int, embedder: Embedder
    ) -> Chosen:
        key_values = [candidate for candidate in candidates if is_entry(candidate.record)]
        counting = await self.keys.counting([candidate.record for candidate in key_values])
        entries = [candidate for candidate in key_values if candidate.record.id in counting]
        texts = [replace(candidate, record=_show_value(candidate.record)) for candidate in entries]
        records = {candidate.record.id: candidate.record for candidate in entries}
        choice = await choose(texts, request, now, embedder, rank_by_sum)
        self.repeats = choice.repeats
        return replace(choice, hits=tuple(replace(hit, record=records[hit.record.id]) for hit in choice.hits))


def _show_value(record: Record) -> Record:
    value = entry_of(record).value
    return replace(record, content=value if isinstance(value, str) else json.dumps(value, ensure_ascii=False))


def rank_by_sum(candidates: Sequence[Scored], weights: RankWeights, now: int) -> list[Scored]:
    """Sort by `a*semantic + b*recency_decay + c*source_weight + d*log(1 + access)`, then relevance and id.

    The signals come from the ranker of recalls; only here they are added up, and frequency is not damped.
    """
    ranking = rank(candidates, weights, now)
    by_sum = [replace(candidate, score=_sum(candidate.signals, weights)) for candidate in ranking]
    return sorted(by_sum, key=lambda one: (-one.score, -one.signals["relevance"], one.record.id))


def _sum(signals: Mapping[str, float], weights: RankWeights) -> float:
    total = (
        weights.semantic * signals["relevance"]
        + weights.recency * signals["recency"]
        + weights.source * signals["source"]
        + weights.frequency * math.log1p(signals.get(RECALLS, 0.0))
    )
    return min(total, sys.float_info.max)  # JSON has no infinity


async def _build_answer(keys: Keys, request: Search, answer: Recalled, repeats: int) -> Searched:
    merging = request.dedup is not None and request.dedup.mode is DedupMode.MERGE
    others = sorted({id for hit in answer for id in hit.supporting}) if merging else []
    records = await keys.context.store.get(keys.owner.scope, others) if others else []
    twins = {record.id: entry_of(record) for record in records}
    matches = tuple(_match(hit, twins) for hit in answer)
    return Searched(
        matches=matches,
        dimension=keys.context.embedder.space.dimension,
        truncated=len(matches) == request.top_k,
        repeats=repeats,
        degraded=answer.degraded,
        recall_id=answer.recall_id,
    )


def _match(hit: Hit, twins: Mapping[str, Entry]) -> Match:
    merged_keys = tuple(twins[id] for id in hit.supporting if id in twins)
    return Match(entry=entry_of(hit.record), score=hit.score, merged_from=merged_keys)
