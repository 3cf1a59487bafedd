"""Reads records, version chains and changes inside the caller's transaction."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from memorywire.model.change import Change, Footprint, Version
from memorywire.model.kv import saying
from memorywire.model.query import EVERYTHING, Where
from memorywire.model.record import Record, Scope
from memorywire_postgres.database import Connection, Row, Statement, fetch
from memorywire_postgres.filters import Conditions, conditions
from memorywire_postgres.rows import (
    CHANGE,
    QUERIES,
    RECORD,
    VERSION,
    bind_scope,
    decode_text,
    encode_optional,
    encode_text,
    read_change,
    read_record,
    read_version,
)

_PAGE = 256


async def get(db: Connection, scope: Scope, ids: Sequence[str]) -> list[Record]:
    bindings = bind_scope(scope) | {"ids": [encode_text(id) for id in ids]}
    return [read_record(row) for row in await fetch(db, QUERIES["get"].format(record=RECORD), bindings)]


async def recalls(db: Connection, tenant: str, ids: Sequence[str]) -> list[int]:
    """Return how often each memory was recalled."""
    bindings = {"tenant": encode_text(tenant), "ids": [encode_text(id) for id in ids]}
    return [int(count) for (count,) in await fetch(db, QUERIES["recalls"], bindings)]


async def find(
    db: Connection, where: Where, after: str | None, limit: int, *, backwards: bool = False
) -> list[Record]:
    """Return a page of matching records; fetches rows in pages until it is full or no rows are left."""
    query, sign = ("find_backwards", "<") if backwards else ("find", ">")
    filters = conditions(where)
    page = limit if filters.rest == EVERYTHING else max(limit, _PAGE)
    matches: list[Record] = []
    while len(matches) < limit:
        behind = filters.sql if after is None else f"{filters.sql} AND version.id {sign} %(after)s"
        page_of = QUERIES[query].format(record=RECORD, conditions=behind)
        rows = await fetch(db, page_of, filters.bindings | {"after": encode_optional(after), "limit": page})
        records = [read_record(row) for row in rows]
        matches += [record for record in records if filters.rest.matches(record)]
        if len(rows) < page:
            break
        after = records[-1].id
    return matches[:limit]


async def owners(db: Connection, tenant: str) -> list[tuple[str, int]]:
    rows = await fetch(db, QUERIES["owners"], {"tenant": encode_text(tenant)})
    return sorted((decode_text(agent), int(live)) for agent, live in rows)


async def count(db: Connection, where: Where) -> int:
    filters = conditions(where)
    if filters.rest != EVERYTHING:
        return len(await positions(db, filters))
    [(number,)] = await fetch(db, QUERIES["count"].format(conditions=filters.sql), filters.bindings)
    return int(number)


async def positions(db: Connection, filters: Conditions) -> list[int]:
    """Return the positions of the matching versions."""
    if filters.rest == EVERYTHING:
        query = QUERIES["positions"].format(conditions=filters.sql)
        return [int(position) for (position,) in await fetch(db, query, filters.bindings)]
    rows = await fetch(db, QUERIES["scan"].format(record=RECORD, conditions=filters.sql), filters.bindings)
    return [int(row[0]) for row in rows if filters.rest.matches(read_record(row))]


async def at_positions(db: Connection, tenant: str, positions: Sequence[int]) -> dict[int, Row]:
    """Return the rows at these positions, in the columns of RECORD; erased ones are missing."""
    return {int(row[0]): row for row in await fetch(db, *records_at(tenant, positions))}


def records_at(tenant: str, positions: Sequence[int]) -> Statement:
    """Return the query for the rows at these positions."""
    bindings = {"tenant": encode_text(tenant), "positions": list(positions)}
    return QUERIES["at_positions"].format(record=RECORD), bindings


async def duplicate(db: Connection, record: Record, at: int) -> Record | None:
    """Return the oldest live record with the same content in exactly this scope."""
    digest = saying(record)
    if digest is None:
        return None
    name = bind_scope(record.scope) | {
        "id": encode_text(record.id),
        "digest": bytes.fromhex(digest),
        "at": at,
    }
    [(id,)] = await fetch(db, QUERIES["same_content"], name)
    return None if id is None else (await get(db, record.scope, [decode_text(id)]))[0]


async def history(db: Connection, scope: Scope, id: str) -> list[Version]:
    condition = "version.tenant = %(tenant)s AND version.agent = %(agent)s AND version.id = %(id)s"
    user = "(%(user)s::text IS NULL OR version.user_id = %(user)s::text)"
    return await _versions(db, f"{condition} AND {user}", bind_scope(scope) | {"id": encode_text(id)})


async def footprint(db: Connection, scope: Scope, change_id: str) -> Footprint | None:
    name = {"tenant": encode_text(scope.tenant), "id": encode_text(change_id)}
    rows = await fetch(db, QUERIES["change_by_id"].format(change=CHANGE), name)
    return await _footprint(db, rows[0]) if rows and scope.covers(read_change(rows[0]).scope) else None


async def committed(db: Connection, scope: Scope, key: str) -> Footprint | None:
    name = bind_scope(scope) | {"key": encode_text(key)}
    rows = await fetch(db, QUERIES["change_by_key"].format(change=CHANGE), name)
    return await _footprint(db, rows[0]) if rows else None


async def changes(db: Connection, scope: Scope, limit: int) -> list[Change]:
    query = QUERIES["newest_changes"].format(change=CHANGE)
    return [read_change(row) for row in await fetch(db, query, bind_scope(scope) | {"limit": limit})]


async def agents(db: Connection, tenant: str) -> list[str]:
    rows = await fetch(db, QUERIES["agents"], {"tenant": encode_text(tenant)})
    return sorted(decode_text(agent) for (agent,) in rows)


async def log(db: Connection, scope: Scope, after: int, limit: int) -> list[Footprint]:
    page = bind_scope(scope) | {"after": after, "limit": limit}
    return [await _footprint(db, row) for row in await fetch(db, QUERIES["log"].format(change=CHANGE), page)]


async def origins(db: Connection, tenant: str, ids: Sequence[str]) -> dict[str, str]:
    return await _map_ids(db, "origins", tenant, ids)


async def known(db: Connection, tenant: str, change_ids: Sequence[str]) -> dict[str, str]:
    return await _map_ids(db, "owners_of_changes", tenant, change_ids)


async def _map_ids(db: Connection, query: str, tenant: str, ids: Sequence[str]) -> dict[str, str]:
    rows = await fetch(
        db, QUERIES[query], {"tenant": encode_text(tenant), "ids": [encode_text(id) for id in ids]}
    )
    return {decode_text(id): decode_text(answer) for id, answer in rows}


async def vectors(db: Connection, tenant: str, versions: Sequence[tuple[str, int]]) -> list[bytes | None]:
    bindings = {"tenant": encode_text(tenant), "ids": [encode_text(id) for id, _ in versions]}
    rows = await fetch(db, QUERIES["vectors_of"], bindings | {"numbers": [number for _, number in versions]})
    return [None if text is None else _floats(text) for (text,) in rows]


def _floats(text: str) -> bytes:
    return np.array(text.strip("[]").split(","), "<f4").tobytes()


async def _footprint(db: Connection, row: Row) -> Footprint:
    change, sequence = read_change(row), int(row[0])
    bindings = bind_scope(change.scope) | {"seq": sequence}
    agent = "version.tenant = %(tenant)s AND version.agent = %(agent)s"
    return Footprint(
        change=change,
        sequence=sequence,
        began=tuple(
            await _versions(db, f"{agent} AND version.began = %(seq)s AND version.began > 0", bindings)
        ),
        ended=tuple(await _versions(db, f"{agent} AND version.ended = %(seq)s", bindings)),
    )


async def _versions(db: Connection, which: str, bindings: dict[str, Any]) -> list[Version]:
    query = QUERIES["history"].format(version=VERSION, conditions=which)
    return [read_version(row) for row in await fetch(db, query, bindings)]
