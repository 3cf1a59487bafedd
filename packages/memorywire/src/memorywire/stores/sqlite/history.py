"""Reads the chains of versions and the changes that made them, inside a snapshot that the caller holds."""

import json
from collections.abc import Sequence

import apsw

from memorywire.model.change import Change, Footprint, Version
from memorywire.model.record import Scope
from memorywire.stores.sqlite.rows import Bindings, Row, change_of, scope_row, version_of
from memorywire.stores.sqlite.sql import QUERIES


def history(db: apsw.Connection, scope: Scope, id: str) -> list[Version]:
    return _versions(db, "history", scope_row(scope) | {"id": id})


def footprint(db: apsw.Connection, scope: Scope, change_id: str) -> Footprint | None:
    row = db.execute(QUERIES["committed_by_id"], {"tenant": scope.tenant, "id": change_id}).fetchone()
    return None if row is None or not scope.covers(change_of(row).scope) else _footprint(db, row)


def committed(db: apsw.Connection, scope: Scope, key: str) -> Footprint | None:
    name = {"tenant": scope.tenant, "agent": scope.agent, "key": key}
    row = db.execute(QUERIES["committed_by_key"], name).fetchone()
    return None if row is None else _footprint(db, row)


def changes(db: apsw.Connection, scope: Scope, limit: int) -> list[Change]:
    return [
        change_of(row) for row in db.execute(QUERIES["newest_changes"], scope_row(scope) | {"limit": limit})
    ]


def agents(db: apsw.Connection, tenant: str) -> list[str]:
    return sorted(agent for (agent,) in db.execute(QUERIES["agents"], {"tenant": tenant}))


def log(db: apsw.Connection, scope: Scope, after: int, limit: int) -> list[Footprint]:
    page = db.execute(QUERIES["log"], scope_row(scope) | {"after": after, "limit": limit}).fetchall()
    return [_footprint(db, row) for row in page]


def origins(db: apsw.Connection, tenant: str, ids: Sequence[str]) -> dict[str, str]:
    return _named(db, "origins", tenant, ids)


def known(db: apsw.Connection, tenant: str, change_ids: Sequence[str]) -> dict[str, str]:
    return _named(db, "known_changes", tenant, change_ids)


def _named(db: apsw.Connection, query: str, tenant: str, ids: Sequence[str]) -> dict[str, str]:
    asked: Bindings = {"tenant": tenant, "ids": json.dumps(list(ids))}
    return {str(id): str(answer) for id, answer in db.execute(QUERIES[query], asked)}


def vectors(db: apsw.Connection, tenant: str, versions: Sequence[tuple[str, int]]) -> list[bytes | None]:
    import numpy as np  # slow to load, and a process that asks one thing rarely needs arrays

    names = [{"tenant": tenant, "id": id, "number": number} for id, number in versions]
    found = [db.execute(QUERIES["vector_of"], name).get for name in names]
    return [None if half is None else np.frombuffer(half, "<f2").astype("<f4").tobytes() for half in found]


def _footprint(db: apsw.Connection, row: Row) -> Footprint:
    change, sequence = change_of(row), int(row[0])
    made: Bindings = {"tenant": change.scope.tenant, "agent": change.scope.agent, "seq": sequence}
    return Footprint(
        change=change,
        sequence=sequence,
        began=tuple(_versions(db, "began_by", made)),
        ended=tuple(_versions(db, "ended_by", made)),
    )


def _versions(db: apsw.Connection, query: str, bindings: Bindings) -> list[Version]:
    return [version_of(row) for row in db.execute(QUERIES[query], bindings)]
