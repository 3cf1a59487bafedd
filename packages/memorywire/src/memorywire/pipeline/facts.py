"""Answers questions to the message layer, from the kinds of memory that may answer them."""

import json

from memorywire.model.answers import Hit
from memorywire.model.kv import MARK as KEYED
from memorywire.model.layer import MARK, FoundFact, FoundFacts, Kind
from memorywire.model.record import Scope
from memorywire.model.requests import MinRelevance, Recall
from memorywire.model.values import dataclass
from memorywire.model.where import And, Compare, Filter, Not, Operator, Or
from memorywire.pipeline.context import Context
from memorywire.pipeline.recall import recall


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """A question to the layer, and which kinds of memory may answer it."""

    scope: Scope
    query: str
    top_k: int
    min_relevance: MinRelevance = "auto"
    sources: tuple[Kind, ...] = tuple(Kind)


async def facts(asked: Asked, usual: Context) -> FoundFacts:
    """The facts that answer the question; values of keys are never among them."""
    context = await usual.serving(asked.scope)
    request = Recall(
        scope=asked.scope,
        query=asked.query,
        k=asked.top_k,
        min_relevance=asked.min_relevance,
        filter=Or(tuple(_KINDS[kind] for kind in asked.sources)),
    )
    found = await recall(request, context)
    return FoundFacts(
        facts=tuple(_fact(hit) for hit in found),
        verdict=found.verdict,
        sources=asked.sources,
        recall_id=found.recall_id,
    )


def _fact(hit: Hit) -> FoundFact:
    record = hit.record
    said = record.content
    return FoundFact(
        id=record.id,
        memory=said if isinstance(said, str) else json.dumps(said, ensure_ascii=False),
        score=hit.score,
        kind=next(kind for kind in Kind if _KINDS[kind].matches(record)),
        metadata=record.metadata,
    )


def _kind(kind: Kind) -> Filter:
    return Compare(("metadata", MARK, "kind"), Operator.EQ, kind.value)


_KINDS: dict[Kind, Filter] = {
    Kind.FACT: _kind(Kind.FACT),
    Kind.TURN: _kind(Kind.TURN),
    Kind.NOTE: And(
        (
            Not(Or((_kind(Kind.FACT), _kind(Kind.TURN)))),
            Compare(("metadata", KEYED, "of"), Operator.EXISTS, False),
        )
    ),
}
