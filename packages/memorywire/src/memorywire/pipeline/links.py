"""Follows links between memories in a recall: edges kept by stores, and links derived from the hits."""

from collections.abc import Sequence
from contextlib import suppress

from msgspec.structs import replace

from memorywire.model.edge import Edge, find_edges
from memorywire.model.errors import StoreError
from memorywire.model.query import Query, Scored
from memorywire.model.record import Record
from memorywire.model.requests import Recall
from memorywire.pipeline.candidates import SearchResult
from memorywire.pipeline.context import Context
from memorywire.pipeline.transaction import find_primary
from memorywire.search.links import Links, boost, choose_seeds, lend, link_names
from memorywire.search.text import name_words
from memorywire.stores.contract import SupportsEdges, SupportsReplicas

MAX_FRONT = 256
"""The maximum number of memories that one hop reads."""


async def raise_linked(
    admitted: Sequence[Scored], request: Recall, query: Query, context: Context
) -> tuple[Scored, ...]:
    """Raise the scores of hits that are linked to each other."""
    stores = _find_keepers(context)
    _, links = await _read_links([hit.record for hit in admitted], request.hops, query, stores, context)
    return tuple(boost(admitted, links, request.hops))


async def add_neighbours(
    answer: SearchResult, request: Recall, query: Query, context: Context
) -> SearchResult:
    """Add the memories that are linked to the best candidates.

    Only the authoritative store is queried, and fused results get no neighbours: so a store that invents
    edges cannot add candidates.
    """
    keeper, name = _find_trusted_keeper(context)
    seeds = [] if answer.fused is not None else choose_seeds(answer.candidates)
    if keeper is None or not seeds:
        return answer
    start = [hit.record for hit in seeds]
    records, links = await _read_links(start, request.hops, query, [keeper], context)
    trust = {**links.trust, **{hit.record.id: hit.record.trust for hit in answer.candidates}}
    neighbours = [record for record in records if query.where.matches(record)]
    candidates = lend(answer.candidates, neighbours, Links(links.edges, trust), request.hops)
    if answer.returned_by is None:
        return replace(answer, candidates=candidates)
    return replace(
        answer,
        candidates=candidates,
        returned_by={hit.record.id: (name,) for hit in candidates} | dict(answer.returned_by),
    )


def _find_keepers(context: Context) -> list[SupportsEdges]:
    store = context.store
    each = map(store.replica, store.replica_names) if isinstance(store, SupportsReplicas) else [store]
    return [one for one in each if isinstance(one, SupportsEdges)]


def _find_trusted_keeper(context: Context) -> tuple[SupportsEdges | None, str]:
    """Return the only store, or the primary of several, if it keeps edges (else None); and its name."""
    name, store = context.names[0], context.store
    if isinstance(store, SupportsReplicas):
        primary = None if context.governance is None else find_primary(store, context.governance.journal)
        if primary is None:
            return None, name
        name, store = primary, store.replica(primary)
    return (store if isinstance(store, SupportsEdges) else None), name


async def _read_links(
    hits: Sequence[Record], hops: int, query: Query, stores: Sequence[SupportsEdges], context: Context
) -> tuple[list[Record], Links]:
    """Read the links up to `hops` steps around the hits, and the linked memories.

    For a query about the past, only edges stated in the memories count. Stores that fail are skipped.
    """
    scope, besides = query.where.scope, name_words(query.text)
    records = {record.id: record for record in hits}
    edges: set[Edge] = set(link_names(hits, query.names))
    front = list(hits)
    for _ in range(hops):
        ids = [record.id for record in front]
        edges.update(edge for record in front for edge in find_edges(record))
        if query.where.as_of is not None or not ids:
            break
        for store in stores:
            with suppress(StoreError):
                edges.update(await store.edges(scope, ids, besides))
        ends = {id for edge in edges for id in (edge.source, edge.target)} - records.keys()
        front = await context.store.get(scope, sorted(ends)[:MAX_FRONT]) if ends else []
        records |= {record.id: record for record in front}
    trust = {id: record.trust for id, record in records.items()}
    return list(records.values()), Links(frozenset(edges), trust)
