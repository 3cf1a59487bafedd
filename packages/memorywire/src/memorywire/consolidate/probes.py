"""Questions that a dream must not spoil: asked of a copy of memory, before and after."""

from collections.abc import Mapping, Sequence

from msgspec import Struct
from msgspec.structs import replace

from memorywire.consolidate.likeness import Vectors
from memorywire.journal.contract import Journal
from memorywire.model.change import Base, Change, Put
from memorywire.model.record import Json, Record, Scope
from memorywire.model.requests import Recall
from memorywire.pipeline.commit import straight
from memorywire.pipeline.context import ALONE, Context, nowhere_else
from memorywire.pipeline.recall import recall
from memorywire.stores.registry import open_store

DEPTH = 5
_RECENT = 200
_MOST = 50


class Probe(Struct, frozen=True):
    """A question, and the memories that should be among the first answers."""

    query: str
    ids: frozenset[str]


class Probed(Struct, frozen=True, kw_only=True):
    """The share of memories found that should be found, before and after."""

    questions: int
    before: float
    after: float

    @property
    def worse(self) -> bool:
        return self.after < self.before

    def document(self) -> dict[str, Json]:
        return {
            "questions": self.questions,
            "recall_before": round(self.before, 4),
            "recall_after": round(self.after, 4),
        }


async def recent_probes(scope: Scope, journal: Journal) -> tuple[Probe, ...]:
    """The last questions that were really asked, with what they found then."""
    notes = await journal.recalls(scope.tenant, agent=scope.agent, user=scope.user, limit=_RECENT)
    found = {
        note.query: Probe(note.query, frozenset(id for id, _, _ in note.hits[:DEPTH]))
        for note in reversed(notes)
        if note.query and note.hits
    }
    return tuple(found.values())[-_MOST:]


async def rehearse(
    probes: Sequence[Probe], records: Sequence[Record], vectors: Vectors, change: Change, context: Context
) -> Probed:
    """Make the change on a copy of these memories, and ask before and after."""
    here = {record.id for record in records}
    asked = [replace(probe, ids=probe.ids & here) for probe in probes if probe.ids & here]
    copy = await open_store("sqlite://", space=context.embedder.space)
    alone = replace(context, store=copy, corridor=straight, office=None, routing=ALONE, placing=nowhere_else)
    try:
        puts = [_first(record, vectors[record.id]) for record in records]
        await copy.write(
            Change(id="copy", operation="copy", scope=change.scope, at=change.at, put=tuple(puts))
        )
        before = await found_by(asked, change.scope, alone, {})
        await copy.write(_second(change))
        after = await found_by(asked, change.scope, alone, {end.id: end.into or "" for end in change.end})
    finally:
        await copy.close()
    return Probed(questions=len(asked), before=before, after=after)


async def found_by(probes: Sequence[Probe], scope: Scope, context: Context, into: Mapping[str, str]) -> float:
    """The share of what should be found that is found; an ended memory counts where it went."""
    wanted = found = 0
    for probe in probes:
        answer = await recall(Recall(scope=scope, query=probe.query, k=DEPTH, min_relevance="off"), context)
        hits = {hit.id for hit in answer.hits}
        meant = {_now(id, into) for id in probe.ids}
        wanted += len(meant)
        found += len(meant & hits)
    return found / wanted if wanted else 1.0


def _now(id: str, into: Mapping[str, str]) -> str:
    seen = {id}
    while (following := into.get(id)) and following not in seen:
        seen.add(following)
        id = following
    return id


def _first(record: Record, vector: bytes) -> Put:
    return Put(record=replace(record, version=1), base=Base.NOTHING, vector=vector)


def _second(change: Change) -> Change:
    """The change adapted to the copy, whose memories have one version each."""
    puts = (replace(put, record=replace(put.record, version=2), like=1) for put in change.put)
    return replace(change, put=tuple(puts), end=tuple(replace(end, version=1) for end in change.end))
