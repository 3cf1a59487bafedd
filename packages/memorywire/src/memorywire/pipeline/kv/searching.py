"""Searching entries: a recall over the owner's keys, ranked by a sum of signals, without repetitions."""

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
"""An entry that was set without `embed` is not in the index, whatever words it holds."""


async def search(keys: Keys, wanted: Search) -> Searched:
    """The owner's entries that are nearest to the query, best first."""
    if Feature.VECTOR not in keys.context.store.features:
        raise VectorUnsupported("the store keeps no vectors", fix="list by prefix, or use a store that does")
    if not 0 < wanted.top_k <= keys.limits.top_k:
        raise InvalidRequest(f"top_k is 1 to {keys.limits.top_k}", field="top_k")
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
    found = await recall(request, keys.context, by_value)
    return await _told(keys, wanted, found, by_value.repeats)


class _ByValue(Struct):
    """Chooses among entries: what they say is in their values, so that keys do not tell two of them apart."""

    keys: Keys
    repeats: int = 0

    async def __call__(
        self, admitted: Sequence[Scored], request: Recall, now: int, embedder: Embedder
    ) -> Chosen:
        found = [scored for scored in admitted if is_entry(scored.record)]
        counting = await self.keys.counting([scored.record for scored in found])
        entries = [scored for scored in found if scored.record.id in counting]
        said = [replace(scored, record=_said(scored.record)) for scored in entries]
        records = {scored.record.id: scored.record for scored in entries}
        chosen = await choose(said, request, now, embedder, rank_by_sum)
        self.repeats = chosen.repeats
        return replace(chosen, hits=tuple(replace(hit, record=records[hit.record.id]) for hit in chosen.hits))


def _said(record: Record) -> Record:
    value = entry_of(record).value
    return replace(record, content=value if isinstance(value, str) else json.dumps(value, ensure_ascii=False))


def rank_by_sum(candidates: Sequence[Scored], weights: RankWeights, now: int) -> list[Scored]:
    """The candidates by `a*semantic + b*recency_decay + c*source_weight + d*log(1 + access)`, ties by id.

    Each signal is as the ranker of a recall knows it; only here they are added up, and use is not damped.
    """
    known = rank(candidates, weights, now)
    summed = [replace(scored, score=_sum(scored.signals, weights)) for scored in known]
    return sorted(summed, key=lambda one: (-one.score, -one.signals["relevance"], one.record.id))


def _sum(signals: Mapping[str, float], weights: RankWeights) -> float:
    total = (
        weights.semantic * signals["relevance"]
        + weights.recency * signals["recency"]
        + weights.source * signals["source"]
        + weights.frequency * math.log1p(signals.get(RECALLS, 0.0))
    )
    return min(total, sys.float_info.max)  # JSON has no infinity


async def _told(keys: Keys, wanted: Search, found: Recalled, repeats: int) -> Searched:
    merging = wanted.dedup is not None and wanted.dedup.mode is DedupMode.MERGE
    others = sorted({id for hit in found for id in hit.supporting}) if merging else []
    twins = {record.id: entry_of(record) for record in await _records(keys, others)}
    matches = tuple(_match(hit, twins) for hit in found)
    return Searched(
        matches=matches,
        dimension=keys.context.embedder.space.dimension,
        truncated=len(matches) == wanted.top_k,
        repeats=repeats,
        degraded=found.degraded,
        recall_id=found.recall_id,
    )


async def _records(keys: Keys, ids: Sequence[str]) -> list[Record]:
    return await keys.context.store.get(keys.owner.scope, ids) if ids else []


def _match(hit: Hit, twins: Mapping[str, Entry]) -> Match:
    merged = tuple(twins[id] for id in hit.supporting if id in twins)
    return Match(entry=entry_of(hit.record), score=hit.score, merged_from=merged)
