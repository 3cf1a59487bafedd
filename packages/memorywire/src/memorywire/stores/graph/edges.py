"""Edges as they follow from memories: what a version says, what ended it, whom two of them name.

`metadata.links` says more: {"relates_to": [id, ...], "contradicts": [id, ...]}.
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from enum import StrEnum

import apsw
from msgspec import Struct

from memorywire.model.change import EndReason
from memorywire.model.record import Record, Scope
from memorywire.search.text import STOP_WORDS, name_words
from memorywire.stores.document import Document
from memorywire.stores.sqlite.rows import Bindings, Row, bind_scope, hash_term, read_record

QUERIES = Document(__package__, "queries.sql")

LINKS = "links"
"""Where the metadata of a memory names others."""

_RECORD, _END = "record", "end"
_NAME = re.compile(r"\b[^\W\d_]\w+")


class Kind(StrEnum):
    """What one memory is to another, read from the source to the target."""

    RELATES_TO = "relates_to"
    CONTRADICTS = "contradicts"
    SUPERSEDES = "supersedes"
    DERIVED_FROM = "derived_from"


class Edge(Struct, frozen=True, order=True):
    source: str
    kind: Kind
    target: str


_ENDED_BY = {EndReason.SUPERSEDED: Kind.SUPERSEDES, EndReason.MERGED: Kind.DERIVED_FROM}


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


def find_names(record: Record) -> set[str]:
    """Whom or what the memory names: words with a capital letter, its speaker, its tags."""
    words = (match.group() for match in _NAME.finditer(record.words))
    capitals = {word.casefold() for word in words if word[0].isupper()} - STOP_WORDS
    speaker = name_words(record.person) if record.person else frozenset()
    return capitals | speaker | {tag.casefold() for tag in record.tags}


def hash_names(names: set[str]) -> list[int]:
    return sorted(map(hash_term, names))


def has_edges(db: apsw.Connection) -> bool:
    """Whether the file has edges at all."""
    return bool(db.execute(QUERIES["made"]).get)


def is_current(db: apsw.Connection) -> bool:
    return _read_seen(db) == _read_head(db)


def catch_up(db: apsw.Connection) -> None:
    """Bring the edges up to the last commit of any process, inside a transaction of the caller's."""
    start, head = _read_seen(db), _read_head(db)
    if start == head:
        return
    for tenant, agent in db.execute(QUERIES["agents_since"], {"seen": start}).fetchall():
        owner: Bindings = {"tenant": tenant, "agent": agent}
        ends: list[Row] = db.execute(QUERIES["ended_since"], owner | {"seen": start}).fetchall()
        for id, user, reason, into in ends:
            _end(db, owner | {"id": id, "user": user}, EndReason(reason), into)
    for row in db.execute(QUERIES["began_since"], {"seen": start}).fetchall():
        _begin(db, read_record(row))
    db.execute(QUERIES["keep_seen"], {"seen": str(head)})


def remove_erased(db: apsw.Connection, tenant: str, ids: tuple[str, ...]) -> None:
    """Remove every edge of erased memories, also of those that had ended before."""
    for id in ids:
        name: Bindings = {"tenant": tenant, "id": id}
        if db.execute(QUERIES["erased"], name).get is not None:
            _drop(db, name)


def _read_seen(db: apsw.Connection) -> int:
    return int(db.execute(QUERIES["seen"]).get or 0)


def _read_head(db: apsw.Connection) -> int:
    return int(db.execute(QUERIES["head"]).get)


def _end(db: apsw.Connection, name: Bindings, reason: EndReason, into: str | None) -> None:
    db.execute(QUERIES["drop_names"], name)
    if reason is EndReason.ERASED:
        _drop(db, name)
    elif reason is EndReason.UNDONE:
        db.execute(QUERIES["drop_from"], name)
    elif into is not None and reason in _ENDED_BY:
        _add(db, name, Edge(into, _ENDED_BY[reason], str(name["id"])), _END)


def _begin(db: apsw.Connection, record: Record) -> None:
    name = bind_scope(record.scope) | {"id": record.id}
    db.execute(QUERIES["drop_told"], name)
    db.execute(QUERIES["drop_names"], name)
    for edge in find_edges(record):
        _add(db, name, edge, _RECORD)
    db.executemany(QUERIES["add_name"], [name | {"name": one} for one in hash_names(find_names(record))])


def _add(db: apsw.Connection, name: Bindings, edge: Edge, origin: str) -> None:
    columns: Bindings = {"source": edge.source, "kind": edge.kind, "target": edge.target, "told": origin}
    db.execute(QUERIES["add_edge"], name | columns)


def _drop(db: apsw.Connection, name: Bindings) -> None:
    for query in ("drop_from", "drop_to", "drop_names"):
        db.execute(QUERIES[query], name)


EDGE_SHARE = 0.5
"""How much of its evidence a memory lends over an explicit edge."""

NAMESAKE_SHARE = 0.15
"""How much is lent over a shared name: too little to be shown for that alone."""

MAX_NAME_SHARE = 8
"""A name that a larger share of the memories has links none of them."""

MAX_FRONT = 256
"""How many memories one step looks at."""

STEPS = 2
"""How far a walk goes."""

MIN_WORTH = 0.05
"""A walk does not go on where a memory would get less evidence than this."""


class Node(Struct, frozen=True):
    """How many steps away a memory is, and the evidence that this gives it."""

    distance: int
    worth: float


def walk(
    db: apsw.Connection, scope: Scope, seeds: Mapping[str, float], query_names: Sequence[int]
) -> dict[str, Node]:
    """What is linked to the seeds inside the scope, with the best way to each.

    Names among `asked` link nothing: every seed mentions whom the query names.
    """
    nodes = {id: Node(0, worth) for id, worth in seeds.items()}
    front = set(seeds)
    for distance in range(1, STEPS + 1):
        better: dict[str, Node] = {}
        starts = sorted(front, key=lambda id: (-nodes[id].worth, id))[:MAX_FRONT]
        for start, end, share in _read_steps(db, scope, starts, query_names):
            worth = nodes[start].worth * share
            best = better.get(end) or nodes.get(end)
            if worth >= MIN_WORTH and (best is None or worth > best.worth):
                better[end] = Node(distance, worth)
        nodes |= better
        front = set(better)
    return {id: node for id, node in nodes.items() if node.distance}


def _read_steps(
    db: apsw.Connection, scope: Scope, front: Sequence[str], query_names: Sequence[int]
) -> Iterator[tuple[str, str, float]]:
    starts = set(front)
    for edge in read_edges(db, scope, front):
        if edge.source in starts:
            yield edge.source, edge.target, EDGE_SHARE
        if edge.target in starts:
            yield edge.target, edge.source, EDGE_SHARE
    for start, end in read_namesakes(db, scope, front, query_names):
        yield start, end, NAMESAKE_SHARE


def read_edges(db: apsw.Connection, scope: Scope, ids: Sequence[str]) -> list[Edge]:
    """Every edge that begins or ends at one of these, and was made in the scope."""
    rows = db.execute(QUERIES["edges"], _bind_ids(scope, ids))
    return [Edge(source, Kind(kind), target) for source, kind, target in rows]


def read_namesakes(
    db: apsw.Connection, scope: Scope, ids: Sequence[str], query_names: Sequence[int] = ()
) -> list[tuple[str, str]]:
    """Pairs of one of these and another memory of the scope that names the same."""
    bindings = _bind_ids(scope, ids) | {"asked": json.dumps(list(query_names)), "crowd": MAX_NAME_SHARE}
    return [(mine, other) for mine, other in db.execute(QUERIES["namesakes"], bindings)]


def _bind_ids(scope: Scope, ids: Sequence[str]) -> Bindings:
    return bind_scope(scope) | {"ids": json.dumps(list(ids))}
