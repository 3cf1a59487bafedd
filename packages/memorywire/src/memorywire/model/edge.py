"""Edges: typed links from one memory to another."""

from collections.abc import Iterator, Mapping
from enum import StrEnum

from msgspec import Struct

from memorywire.model.record import Record

LINKS = "links"
"""The metadata key with links to other memories: {"relates_to": [id, ...], "contradicts": [id, ...]}."""


class Kind(StrEnum):
    """The relation of the source to the target."""

    RELATES_TO = "relates_to"
    CONTRADICTS = "contradicts"
    SUPERSEDES = "supersedes"
    DERIVED_FROM = "derived_from"


class Edge(Struct, frozen=True, order=True):
    """A link that the source states; `by_name`: neither states it, both only mention the same name."""

    source: str
    kind: Kind
    target: str
    by_name: bool = False


def relate(one: str, other: str) -> Edge:
    """Return the edge between two memories that mention the same name; the order does not matter."""
    source, target = sorted((one, other))
    return Edge(source, Kind.RELATES_TO, target, by_name=True)


def find_edges(record: Record) -> Iterator[Edge]:
    """Yield the edges to other memories that the record states."""
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
