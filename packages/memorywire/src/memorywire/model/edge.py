"""Edges: what one memory says of another."""

from collections.abc import Iterator, Mapping
from enum import StrEnum

from msgspec import Struct

from memorywire.model.record import Record

LINKS = "links"
"""Where the metadata of a memory names others: {"relates_to": [id, ...], "contradicts": [id, ...]}."""


class Kind(StrEnum):
    """What one memory is to another, read from the source to the target."""

    RELATES_TO = "relates_to"
    CONTRADICTS = "contradicts"
    SUPERSEDES = "supersedes"
    DERIVED_FROM = "derived_from"


class Edge(Struct, frozen=True, order=True):
    """The source says this of the target; `by_name`: both only mention the same name, and neither says it."""

    source: str
    kind: Kind
    target: str
    by_name: bool = False


def relate(one: str, other: str) -> Edge:
    """The edge between two memories that mention the same name; neither comes first."""
    source, target = sorted((one, other))
    return Edge(source, Kind.RELATES_TO, target, by_name=True)


def find_edges(record: Record) -> Iterator[Edge]:
    """The edges to other memories that the memory itself names."""
    own_links = {
        Kind.SUPERSEDES: record.supersedes,
        Kind.DERIVED_FROM: (*record.derived_from, *record.merged_from),
    }
    for kind, targets in (*own_links.items(), *_read_links(record)):
        yield from (Edge(record.id, kind, target) for target in targets if target != record.id)


def _read_links(record: Record) -> Iterator[tuple[Kind, list[str]]]:
    links = record.metadata.get(LINKS)
    for kind in Kind:
        targets = links.get(kind) if isinstance(links, Mapping) else None
        if isinstance(targets, list):
            yield kind, [target for target in targets if isinstance(target, str)]
