"""Fills the tables of a Postgres store with one agent's memories: its own rows, but by COPY."""

from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from itertools import islice
from typing import Any

import numpy as np
import psycopg
from psycopg.types.json import Jsonb

from memorywire.model.change import Base, Change, Put
from memorywire.model.clock import system_clock
from memorywire.model.ids import IdMint
from memorywire.model.record import MemoryType, Record, Scope
from memorywire_evals.bench.corpus import Fact, facts
from memorywire_postgres.rows import build_change_row, build_version_row
from scale import NOW, SPACE, Vectors

_PROCESSES, _PART = 2, 10_000

# A vector and a digest are sent as the bytes that the server keeps.
_COLUMNS = {
    "position": "int8",
    "began": "int8",
    "number": "int4",
    "length": "int4",
    "created_at": "int8",
    "confidence": "float8",
    "machine_said": "bool",
    "structured": "bool",
    "tenant": "text",
    "agent": "text",
    "id": "text",
    "standing": "text",
    "vector": "bytea",
    "type": "text",
    "digest": "bytea",
    "terms": "int8[]",
    "counts": "int4[]",
    "facts": "jsonb",
    "body": "text",
    "content": "text",
}
_POSTINGS = """
INSERT INTO posting (key, position, count, tenant)
SELECT entry.key, position, entry.count, tenant
FROM version CROSS JOIN LATERAL unnest(terms, counts) AS entry (key, count)
WHERE tenant = %(tenant)s ORDER BY entry.key, position
"""
_AGENT = """
INSERT INTO agent (tenant, agent, live, words)
SELECT tenant, agent, count(*), sum(length) FROM version WHERE tenant = %(tenant)s GROUP BY tenant, agent
"""
_CHANGE = """
INSERT INTO change (seq, id, tenant, agent, operation, at)
VALUES (nextval('sequence'), %(id)s, %(tenant)s, %(agent)s, %(operation)s, %(at)s) RETURNING seq
"""

mint = IdMint(system_clock)


@dataclass(frozen=True)
class Part:
    """Some of an agent's memories, one change; their positions are those behind `first`."""

    dsn: str
    schema: str
    scope: Scope
    number: int
    first: int
    size: int


def put(scope: Scope, fact: Fact, vector: bytes | None) -> Put:
    record = Record(
        id=mint(),
        scope=scope,
        type=MemoryType.SEMANTIC,
        content=fact.content,
        created_at=NOW,
        updated_at=NOW,
    )
    return Put(record=record, base=Base.NOTHING, vector=vector)


def load(dsn: str, schema: str, scope: Scope, count: int) -> None:
    """So many memories for somebody who has none yet."""
    with _connected(dsn, schema) as db:
        [(behind,)] = db.execute("SELECT coalesce(max(position), 0) FROM version").fetchall()
        parts = [
            Part(dsn, schema, scope, number, behind + first, min(_PART, count - first))
            for number, first in enumerate(range(0, count, _PART), 2)
        ]
        with ProcessPoolExecutor(_PROCESSES) as processes:
            list(processes.map(_copy, parts))
        whose = {"tenant": scope.tenant, "last": behind + count}
        db.execute("SELECT setval(pg_get_serial_sequence('version', 'position'), %(last)s)", whose)
        db.execute(_POSTINGS, whose)
        db.execute(_AGENT, whose)


def _copy(part: Part) -> None:
    vectors = Vectors(part.number)(part.size)
    change = Change(id=mint(), operation="remember", scope=part.scope, at=NOW)
    statement = f"COPY version ({', '.join(_COLUMNS)}) FROM STDIN WITH (FORMAT binary)"
    with _connected(part.dsn, part.schema) as db, db.transaction():
        [(sequence,)] = db.execute(_CHANGE, build_change_row(change)).fetchall()
        with db.cursor().copy(statement) as copy:
            copy.set_types(list(_COLUMNS.values()))
            # Each part has words of its own, beside those of the tenants that are asked about.
            for place, fact in enumerate(islice(facts(part.number), part.size)):
                where = {"position": part.first + place + 1, "began": sequence}
                row = _row(put(part.scope, fact, None), vectors[place]) | where
                copy.write_row([row[column] for column in _COLUMNS])


def _row(one: Put, vector: bytes) -> dict[str, Any]:
    """What the store writes, in the server's own form where that is smaller."""
    row = build_version_row(one, SPACE)
    halves = np.frombuffer(vector, "<f4").astype(">f2").tobytes()
    return row | {
        "vector": SPACE.dimension.to_bytes(2) + bytes(2) + halves,
        "digest": bytes.fromhex(row["digest"]),
        "facts": Jsonb(row["facts"]),
    }


def _connected(dsn: str, schema: str) -> psycopg.Connection[Any]:
    db = psycopg.connect(dsn, autocommit=True)
    db.execute(f"SET search_path = {schema}, public")
    db.execute("SET synchronous_commit = off")
    return db
