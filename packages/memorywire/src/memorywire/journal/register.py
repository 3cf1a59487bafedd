"""The router's register: which memories there are, whose they are, and the digest of what they say."""

import json
from collections.abc import Mapping, Sequence

import apsw

from memorywire.journal.contract import Known
from memorywire.journal.rowstate import RowKey
from memorywire.model.change import Change
from memorywire.model.record import Scope
from memorywire.stores.sqlite.rows import scope_row
from memorywire.stores.sqlite.sql import Document

QUERIES = Document(__package__, "queries_register.sql")

_NEVER_AGAIN = 2**62  # no version follows this one


def enter(db: apsw.Connection, change: Change) -> None:
    """Register what the change begins, ends and erases; changes may come in any order."""
    owner = scope_row(change.scope)
    for end in change.end:
        db.execute(QUERIES["end"], owner | {"id": end.id, "version": end.version})
    for put in change.put:
        record = put.record
        said = {"id": record.id, "version": record.version, "digest": record.digest}
        db.execute(QUERIES["begin"], scope_row(record.scope) | said)
    for id in change.erase:
        db.execute(QUERIES["end"], owner | {"id": id, "version": _NEVER_AGAIN})


def keys_of(change: Change) -> list[RowKey]:
    """The rows that a change may touch."""
    ids = [*(end.id for end in change.end), *(put.record.id for put in change.put), *change.erase]
    return [("register", (change.scope.tenant, id)) for id in ids]


def known(db: apsw.Connection, tenant: str, ids: Sequence[str]) -> Mapping[str, Known]:
    """What the register says of these ids; those it never heard of are left out."""
    rows = db.execute(QUERIES["known"], {"tenant": tenant, "ids": json.dumps(list(ids))})
    return {
        id: Known(
            scope=Scope(tenant=tenant, agent=agent, user=user),
            version=version,
            digest=digest,
            live=bool(live),
        )
        for id, agent, user, version, digest, live in rows
    }
