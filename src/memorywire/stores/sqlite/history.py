"""Reads the chains of versions and the changes that made them, inside a snapshot that the caller holds."""

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
