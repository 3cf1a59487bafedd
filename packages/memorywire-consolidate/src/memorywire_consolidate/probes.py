"""Probes: queries run on a copy of memory before and after a run, to compare recall."""

from collections.abc import Mapping, Sequence

from msgspec import Struct
from msgspec.structs import replace

from memorywire.journal.journal import Journal
from memorywire.model.change import Base, Change, Put
from memorywire.model.consolidation import Probe
from memorywire.model.record import Json, Record, Scope
from memorywire.model.requests import Recall
from memorywire.pipeline.context import ALONE, Context, nowhere_else
from memorywire.pipeline.recall import recall
from memorywire.stores.registry import open_store
from memorywire_consolidate.likeness import Vectors

DEPTH = 5
_RECENT = 200
_MOST = 50


class ProbeResult(Struct, frozen=True, kw_only=True):
    """The recall of the probes before and after."""

    questions: int
    before: float
    after: float

    @property
    def is_worse(self) -> bool:
        return self.after < self.before

    def document(self) -> dict[str, Json]:
        recall = {"recall_before": round(self.before, 4), "recall_after": round(self.after, 4)}
        return {"questions": self.questions, **recall}


async def recent_probes(scope: Scope, journal: Journal) -> tuple[Probe, ...]:
    """Return the latest recalls of the scope as probes, with the hits they had."""
    notes = await journal.list_recalls(scope.tenant, agent=scope.agent, user=scope.user, limit=_RECENT)
    probes = {
        note.query: Probe(note.query, frozenset(id for id, _, _ in note.hits[:DEPTH]))
        for note in reversed(notes)
        if note.query and note.hits
    }
    return tuple(probes.values())[-_MOST:]


async def rehearse(
    probes: Sequence[Probe], records: Sequence[Record], vectors: Vectors, change: Change, context: Context
) -> ProbeResult:
    """Apply the change to a copy of these memories, and measure recall before and after."""
    ids = {record.id for record in records}
    usable = [replace(probe, ids=probe.ids & ids) for probe in probes if probe.ids & ids]
    copy = await open_store("sqlite://", space=context.embedder.space)
    alone = replace(context, store=copy, governance=None, routing=ALONE, placing=nowhere_else)
    try:
        puts = tuple(
            Put(record=replace(record, version=1), base=Base.NOTHING, vector=vectors[record.id])
            for record in records
        )
        await copy.write(Change(id="copy", operation="copy", scope=change.scope, at=change.at, put=puts))
        before = await measure_recall(usable, change.scope, alone, {})
        # In the copy each memory has one version.
        puts = tuple(replace(put, record=replace(put.record, version=2), like=1) for put in change.put)
        ends = tuple(replace(end, version=1) for end in change.end)
        await copy.write(replace(change, put=puts, end=ends))
        into = {end.id: end.into or "" for end in change.end}
        after = await measure_recall(usable, change.scope, alone, into)
    finally:
        await copy.close()
    return ProbeResult(questions=len(usable), before=before, after=after)


async def measure_recall(
    probes: Sequence[Probe], scope: Scope, context: Context, into: Mapping[str, str]
) -> float:
    """Return the share of expected ids that are found; a merged memory counts as its survivor."""
    expected_count = hit_count = 0
    for probe in probes:
        answer = await recall(Recall(scope=scope, query=probe.query, k=DEPTH, min_relevance="off"), context)
        hits = {hit.id for hit in answer.hits}
        ids = {_follow_merges(id, into) for id in probe.ids}
        expected_count += len(ids)
        hit_count += len(ids & hits)
    return hit_count / expected_count if expected_count else 1.0


def _follow_merges(id: str, into: Mapping[str, str]) -> str:
    visited_ids = {id}
    while (following := into.get(id)) and following not in visited_ids:
        visited_ids.add(following)
        id = following
    return id
