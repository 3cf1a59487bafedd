"""Edges derived from memories: from a version's fields, from what ended it, and from common names."""

import json
import re
from collections.abc import Sequence

import apsw

from memorywire.model.change import EndReason
from memorywire.model.edge import Edge, Kind, find_edges
from memorywire.model.record import Record, Scope
from memorywire.search.text import STOP_WORDS, name_words
from memorywire.stores.document import Document
from memorywire.stores.sqlite.rows import Bindings, Row, bind_scope, hash_term, read_record

QUERIES = Document(__package__, "queries.sql")

_RECORD, _END = "record", "end"
_NAME = re.compile(r"\b[^\W\d_]\w+")

_ENDED_BY = {EndReason.SUPERSEDED: Kind.SUPERSEDES, EndReason.MERGED: Kind.DERIVED_FROM}


def find_names(record: Record) -> set[str]:
    """Return the names in a memory: capitalised words, its speaker and its tags."""
    words = (match.group() for match in _NAME.finditer(record.words))
    capitals = {word.casefold() for word in words if word[0].isupper()} - STOP_WORDS
    speaker = name_words(record.person) if record.person else frozenset()
    return capitals | speaker | {tag.casefold() for tag in record.tags}


def hash_names(names: set[str]) -> list[int]:
    return sorted(map(hash_term, names))


def has_edges(db: apsw.Connection) -> bool:
    """Return whether the file has tables of edges."""
    return bool(db.execute(QUERIES["made"]).get)


def is_current(db: apsw.Connection) -> bool:
    return _read_seen(db) == _read_head(db)


def catch_up(db: apsw.Connection) -> None:
    """Update the edges for all new commits of any process, inside a transaction of the caller."""
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
    """Remove every edge of erased memories, even of memories that had ended before."""
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


MAX_NAME_SHARE = 8
"""A name that occurs in a larger share of the memories creates no edges."""


def read_edges(db: apsw.Connection, scope: Scope, ids: Sequence[str]) -> list[Edge]:
    """Return every edge from or to one of these memories that was created in the scope."""
    rows = db.execute(QUERIES["edges"], _bind_ids(scope, ids))
    return [Edge(source, Kind(kind), target) for source, kind, target in rows]


def read_namesakes(
    db: apsw.Connection, scope: Scope, ids: Sequence[str], query_names: Sequence[int] = ()
) -> list[tuple[str, str]]:
    """Return pairs of one of these and another memory of the scope with a common name."""
    bindings = _bind_ids(scope, ids) | {"asked": json.dumps(list(query_names)), "crowd": MAX_NAME_SHARE}
    return [(mine, other) for mine, other in db.execute(QUERIES["namesakes"], bindings)]


def _bind_ids(scope: Scope, ids: Sequence[str]) -> Bindings:
    return bind_scope(scope) | {"ids": json.dumps(list(ids))}
