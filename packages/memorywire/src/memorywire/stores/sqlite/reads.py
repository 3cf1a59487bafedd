"""Reads records inside a snapshot that the caller holds."""

import json
from collections.abc import Iterator, Sequence
from typing import Any

import apsw

from memorywire.model.change import Change, Footprint, Version
from memorywire.model.codec import write_json
from memorywire.model.query import EVERYTHING, Where
from memorywire.model.record import Record, Scope
from memorywire.stores.contract import Glimpse
from memorywire.stores.sqlite.filters import Conditions, conditions
from memorywire.stores.sqlite.rows import (
    Bindings,
    LastRecalled,
    Row,
    bind_scope,
    compute_digest,
    read_change,
    read_position,
    read_record,
    read_version,
)
from memorywire.stores.sqlite.sql import QUERIES

_PAGE = 256


def get(db: apsw.Connection, scope: Scope, ids: Sequence[str]) -> list[Record]:
    rows = db.execute(QUERIES["get"], bind_scope(scope) | {"ids": json.dumps(ids)})
    return [read_record(row) for row in rows]


def glance(db: apsw.Connection, scope: Scope, ids: Sequence[str], name: str) -> list[Glimpse]:
    bindings = bind_scope(scope) | {"ids": json.dumps(ids), "name": name}
    rows: list[Any] = db.execute(QUERIES["glance"], bindings).fetchall()
    return rows


def recalls(db: apsw.Connection, records: Sequence[Record]) -> list[int]:
    keys = json.dumps([(record.scope.tenant, record.id) for record in records])
    return [count for (count,) in db.execute(QUERIES["recalls"], {"asked": keys})]


def find(
    db: apsw.Connection, where: Where, after: str | None, limit: int, *, backwards: bool = False
) -> list[Record]:
    """A page of matching records, by id; pages of rows are fetched until it is full or nothing is left."""
    filters = conditions(where)
    page = limit if filters.rest == EVERYTHING else max(limit, _PAGE)
    records: list[Record] = []
    while len(records) < limit:
        rows = _page(db, filters, after, page, backwards=backwards)
        records += [record for record in rows if filters.rest.matches(record)]
        if len(rows) < page:
            break
        after = rows[-1].id
    return records[:limit]


def _page(
    db: apsw.Connection, filters: Conditions, after: str | None, limit: int, *, backwards: bool
) -> list[Record]:
    behind = "<" if backwards else ">"
    sql = filters.sql if after is None else f"{filters.sql} AND {filters.id} {behind} :after"
    bindings = filters.bindings | {"after": after, "limit": limit}
    query = QUERIES["find_backwards" if backwards else "find"].format(conditions=sql)
    return [read_record(row) for row in db.execute(query, bindings)]


def owners(db: apsw.Connection, tenant: str) -> list[tuple[str, int]]:
    return [(agent, count) for agent, count in db.execute(QUERIES["owners"], {"tenant": tenant})]


def count(db: apsw.Connection, where: Where) -> int:
    filters = conditions(where)
    if filters.rest == EVERYTHING:
        return int(db.execute(QUERIES["count"].format(conditions=filters.sql), filters.bindings).get)
    return sum(1 for _ in _scan_positions(db, filters))


def positions(db: apsw.Connection, where: Where) -> list[int]:
    """Where the matching versions stand in the file, in ascending order."""
    filters = conditions(where)
    if filters.rest == EVERYTHING:
        rows = db.execute(QUERIES["positions"].format(conditions=filters.sql), filters.bindings)
        return sorted(position for (position,) in rows)
    return sorted(_scan_positions(db, filters))


def _scan_positions(db: apsw.Connection, filters: Conditions) -> Iterator[int]:
    for row in db.execute(QUERIES["scan"].format(conditions=filters.sql), filters.bindings):
        if filters.rest.matches(read_record(row)):
            yield read_position(row)


def at_positions(
    db: apsw.Connection, positions: Sequence[int], last_recalled: LastRecalled
) -> dict[int, Record]:
    rows = db.execute(QUERIES["by_position"], {"positions": write_json(list(positions))})
    return {read_position(row): read_record(row, last_recalled) for row in rows}


def ids_at(db: apsw.Connection, positions: Sequence[int]) -> list[str]:
    """The ids of these versions, in this order."""
    return [id for (id,) in db.execute(QUERIES["ids_at"], {"positions": json.dumps(positions)})]


def duplicate(db: apsw.Connection, record: Record, at: int) -> list[Record]:
    """The oldest live record of exactly this scope that says the same thing, if there is one."""
    name = bind_scope(record.scope) | {"id": record.id, "digest": compute_digest(record), "at": at}
    id = db.execute(QUERIES["same_content"], name).get
    return [] if id is None else get(db, record.scope, [str(id)])


def history(db: apsw.Connection, scope: Scope, id: str) -> list[Version]:
    return _versions(db, "history", bind_scope(scope) | {"id": id})


def footprint(db: apsw.Connection, scope: Scope, change_id: str) -> Footprint | None:
    row = db.execute(QUERIES["committed_by_id"], {"tenant": scope.tenant, "id": change_id}).fetchone()
    return None if row is None or not scope.covers(read_change(row).scope) else _footprint(db, row)


def committed(db: apsw.Connection, scope: Scope, key: str) -> Footprint | None:
    name = {"tenant": scope.tenant, "agent": scope.agent, "key": key}
    row = db.execute(QUERIES["committed_by_key"], name).fetchone()
    return None if row is None else _footprint(db, row)


def changes(db: apsw.Connection, scope: Scope, limit: int) -> list[Change]:
    return [
        read_change(row)
        for row in db.execute(QUERIES["newest_changes"], bind_scope(scope) | {"limit": limit})
    ]


def agents(db: apsw.Connection, tenant: str) -> list[str]:
    return sorted(agent for (agent,) in db.execute(QUERIES["agents"], {"tenant": tenant}))


def log(db: apsw.Connection, scope: Scope, after: int, limit: int) -> list[Footprint]:
    page = db.execute(QUERIES["log"], bind_scope(scope) | {"after": after, "limit": limit}).fetchall()
    return [_footprint(db, row) for row in page]


def origins(db: apsw.Connection, tenant: str, ids: Sequence[str]) -> dict[str, str]:
    return _map_ids(db, "origins", tenant, ids)


def known(db: apsw.Connection, tenant: str, change_ids: Sequence[str]) -> dict[str, str]:
    return _map_ids(db, "known_changes", tenant, change_ids)


def _map_ids(db: apsw.Connection, query: str, tenant: str, ids: Sequence[str]) -> dict[str, str]:
    bindings: Bindings = {"tenant": tenant, "ids": json.dumps(list(ids))}
    return {str(id): str(answer) for id, answer in db.execute(QUERIES[query], bindings)}


def vectors(db: apsw.Connection, tenant: str, versions: Sequence[tuple[str, int]]) -> list[bytes | None]:
    import numpy as np  # slow to load, and a process that asks one thing rarely needs arrays

    names = [{"tenant": tenant, "id": id, "number": number} for id, number in versions]
    blobs = [db.execute(QUERIES["vector_of"], name).get for name in names]
    return [None if half is None else np.frombuffer(half, "<f2").astype("<f4").tobytes() for half in blobs]


def _footprint(db: apsw.Connection, row: Row) -> Footprint:
    change, sequence = read_change(row), int(row[0])
    bindings: Bindings = {"tenant": change.scope.tenant, "agent": change.scope.agent, "seq": sequence}
    return Footprint(
        change=change,
        sequence=sequence,
        began=tuple(_versions(db, "began_by", bindings)),
        ended=tuple(_versions(db, "ended_by", bindings)),
    )


def _versions(db: apsw.Connection, query: str, bindings: Bindings) -> list[Version]:
    return [read_version(row) for row in db.execute(QUERIES[query], bindings)]
