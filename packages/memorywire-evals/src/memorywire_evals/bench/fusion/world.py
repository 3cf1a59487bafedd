"""The world of the sweep: the facts of the microbenchmark, how they rank, and stores that see them dimly."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from msgspec import Struct

from memorywire.model.change import Base, Change, Put
from memorywire.model.query import Query, Scored, Where
from memorywire.model.record import MemoryType, Record, Scope
from memorywire.pipeline.candidates import by_vector
from memorywire.search.embed import Embedder
from memorywire.search.reference import cosine, floats
from memorywire.stores.memory import MemoryStore
from memorywire_evals.datasets import oblique

SCOPE = Scope(agent="fusion")
DEPTH = 20
"""So many hits are asked of every store."""

_JITTER = 0.05
"""How far the idea that a store of quality 0.9 has of a relevance may be off."""


class Asked(Struct, frozen=True, kw_only=True):
    """A question: everything ranked by it, what answers it, and what each is worth read again here."""

    ranking: tuple[Scored, ...]
    gold: frozenset[str]
    local: dict[str, float]


class World(Struct, frozen=True, kw_only=True):
    records: dict[str, Record]
    questions: tuple[Asked, ...]


async def make_world(embedder: Embedder) -> World:
    """The facts in a store of the reference, asked every roundabout question that has an answer."""
    dataset = oblique.read(Path(), split="all", roles="all")
    records: dict[str, Record] = {}
    questions: list[Asked] = []
    for case in map(dataset.build, dataset.case_ids):
        mine = [_record(item.ref, str(item.content), item.type) for item in case.items]
        records |= {record.id: record for record in mine}
        vectors = await embedder.embed([record.meaning for record in mine])
        store = MemoryStore(embedder.space)
        puts = [
            Put(record=record, base=Base.NOTHING, vector=vector)
            for record, vector in zip(mine, vectors, strict=True)
        ]
        await store.write(Change(id=case.id, operation="fill", scope=SCOPE, at=0, put=tuple(puts)))
        near = {record.id: floats(vector) for record, vector in zip(mine, vectors, strict=True)}
        answerable = [question for question in case.questions if question.gold]
        questions += [
            await _asked(question.text, frozenset(question.gold), store, near, embedder)
            for question in answerable
        ]
    return World(records=records, questions=tuple(questions))


async def _asked(
    text: str,
    gold: frozenset[str],
    store: MemoryStore,
    near: dict[str, tuple[float, ...]],
    embedder: Embedder,
) -> Asked:
    (vector,) = await embedder.embed([text])
    query = Query(where=Where(scope=SCOPE, alive_at=0), text=text, vector=vector)
    ranking = await store.search(query, len(near))
    asked = floats(vector)
    local = {
        hit.record.id: by_vector(hit.record, cosine(asked, near[hit.record.id])).score for hit in ranking
    }
    return Asked(ranking=tuple(ranking), gold=gold, local=local)


def _record(id: str, content: str, kind: str) -> Record:
    return Record(id=id, scope=SCOPE, type=MemoryType(kind), content=content, created_at=0, updated_at=0)


def dim_view(ranking: Sequence[Scored], quality: float, dice: np.random.Generator) -> list[Scored]:
    """What a store of this quality returns: some memories it does not find, the others in disorder."""
    seen = [hit for hit in ranking if dice.random() < quality]
    spread = _JITTER * (1 - quality) / 0.1
    noisy = [(hit.score + dice.normal(0, spread), hit) for hit in seen]
    return [hit for _, hit in sorted(noisy, key=lambda pair: -pair[0])[:DEPTH]]
