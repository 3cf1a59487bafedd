"""Reads records inside a snapshot of the caller."""

import json
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import apsw
from msgspec import Struct

from memorywire.model.change import Change, Footprint, Version
from memorywire.model.codec import write_json
from memorywire.model.query import EVERYTHING, STANDING, And, Compare, Filter, Operator, Where
from memorywire.model.record import Json, Record, Scope
from memorywire.stores.contract import Glimpse
from memorywire.stores.sql import ORDER, Compiler, NoSql, check_type
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

_TEXTS = {
    "id": "id",
    "type": "type",
    "user_id": "user",
    "source": "source",
    "session_id": "session",
    "standing": "standing",
    "trust": "trust",
}
_NUMBERS = {
    "confidence": "confidence",
    "created_at": "created_at",
    "updated_at": "updated_at",
    "occurred_at": "occurred_at",
    "expires_at": "expires_at",
    "version": "number",
}
_SMALLEST, _LARGEST = -(2**63), 2**63 - 1

# The elements of the list at a path and of nested lists, as (v, t): value and JSON type.
_ELEMENTS = """EXISTS (
  WITH RECURSIVE walk (v, t) AS (
    SELECT value, type FROM json_each({list})
    UNION ALL
    SELECT e.value, e.type FROM walk JOIN json_each(CASE walk.t WHEN 'array' THEN walk.v ELSE '[]' END) AS e
  )
  SELECT 1 FROM walk WHERE {test}
)"""


# The versions that were current at a time, by the times of changes. Commit order would be enough if clocks
# only went forward; after a step back, a version of an earlier commit may end before it begins, so the newest
# version that had begun by then decides.
_CURRENT_THEN = """position IN (
  SELECT past.position FROM change INDEXED BY change_agent
  CROSS JOIN version AS past ON past.position >= first AND past.position < first + puts
  WHERE change.tenant = :tenant AND change.agent = :agent AND change.at <= :as_of
) AND (ended IS NULL OR (SELECT change.at FROM change WHERE change.seq = ended) > :as_of)
AND content IS NOT NULL AND NOT EXISTS (
  SELECT 1 FROM version AS later JOIN change ON change.seq = later.began
  WHERE later.tenant = record.tenant AND later.id = record.id AND later.number > record.number
    AND change.at <= :as_of
)"""


# Exactly the condition of the index `version_standing`, which `STANDING` implies, so that SQLite uses it.
_STANDING = """(
  instr(metadata, '"constraint"') OR instr(metadata, '"pinned"') OR instr(tags, '"blacklist"')
  OR instr(tags, '"do"') OR instr(tags, '"know"')
)"""


class Conditions(Struct, frozen=True):
    """A conjunction in SQL, its values, and the part of the filter that must be checked in Python."""

    sql: str
    bindings: Bindings
    rest: Filter
    past: bool

    @property
    def id(self) -> str:
        """The SQL for ids in paging; `+id` prevents an index that is useless for reads of the past."""
        return "+id" if self.past else "id"


class _Reader(Struct, frozen=True, kw_only=True):
    """SQL that reads a field: each expression is NULL or 0 if the field has another type."""

    text: str = "NULL"
    number: str = "NULL"
    true: str = "0"
    false: str = "0"
    missing: str = "0"
    present: str
    elements: str | None = None  # the JSON list, for a field that may be a list


def conditions(where: Where) -> Conditions:
    """Return the conditions for matching rows of the view `record`."""
    compiler = _Compiler()
    rest = compiler.take(where.filter)
    parts = [*_scope_and_life(where, compiler.bindings), *compiler.parts]
    if isinstance(where.filter, And) and STANDING in where.filter.parts and where.as_of is None:
        parts.append(_STANDING)
    return Conditions(" AND ".join(parts), compiler.bindings, rest, past=where.as_of is not None)


def _scope_and_life(where: Where, bindings: Bindings) -> list[str]:
    no_index = "" if where.as_of is None else "+"  # reads of the past go through the changes
    bounds: list[tuple[str, str, str | int | float | None]] = [
        (f"{no_index}tenant = :tenant", "tenant", where.scope.tenant),
        (f"{no_index}agent = :agent", "agent", where.scope.agent),
        ("user = :user", "user", where.scope.user),
        (_CURRENT_THEN, "as_of", where.as_of),
        ("(expires_at IS NULL OR expires_at > :alive_at)", "alive_at", where.alive_at),
        ("standing IN (SELECT value FROM json_each(:standings))", "standings", _names(where.standings)),
        (
            "type IN (SELECT value FROM json_each(:types))",
            "types",
            _names(where.types) if where.types else None,
        ),
        ("created_at >= :created_since", "created_since", where.created_since),
        ("created_at <= :created_until", "created_until", where.created_until),
        ("max(created_at, IFNULL(recalled_at, 0)) <= :idle_since", "idle_since", where.idle_since),
        ("confidence < :confidence_below", "confidence_below", where.confidence_below),
    ]
    active = [(sql, name, value) for sql, name, value in bounds if value is not None]
    bindings.update({name: value for _, name, value in active})
    return [*(sql for sql, _, _ in active), *(["ended IS NULL"] if where.as_of is None else [])]


def _names(values: Iterable[str]) -> str:
    return json.dumps(sorted(values))


class _Compiler(Compiler):
    """Compares columns, and metadata with SQLite's JSON functions."""

    def compare(self, part: Compare) -> str:
        field_, operand = self._build_reader(part.path), part.value
        match part.operator:
            case Operator.EQ:
                return self._compare_equal(field_, operand)
            case Operator.NE:
                return f"NOT {self._compare_equal(field_, operand)}"
            case Operator.IN:
                return self._compare_any(field_, operand)
            case Operator.NIN:
                return f"NOT {self._compare_any(field_, operand)}"
            case Operator.EXISTS:
                return f"({field_.present}) = {int(check_type(operand, bool))}"
            case Operator.CONTAINS:
                return self._compare_contains(field_, operand)
            case Operator.PREFIX:
                return self._compare_prefix(field_, operand)
            case Operator.GT | Operator.GTE | Operator.LT | Operator.LTE:
                return self._compare_order(field_, ORDER[part.operator], operand)

    def _build_reader(self, path: tuple[str, ...]) -> _Reader:
        name = path[0]
        if name in _TEXTS:
            column = _TEXTS[name]
            return _Reader(text=column, missing=f"{column} IS NULL", present=f"{column} IS NOT NULL")
        if name in _NUMBERS:
            column = _NUMBERS[name]
            return _Reader(number=column, missing=f"{column} IS NULL", present=f"{column} IS NOT NULL")
        if name == "content":
            return _Reader(text="CASE structured WHEN 0 THEN content END", present="1")
        if name == "tags":
            return _Reader(present="tags <> '[]'", elements="tags")
        return self._metadata(path[1:])

    def _metadata(self, steps: tuple[str, ...]) -> _Reader:
        if not steps or any(c in '"\\' or c < " " for step in steps for c in step):
            raise NoSql  # such keys are escaped in the JSON text; how SQLite matches escapes may differ
        path = self._bind("$" + "".join(f'."{step}"' for step in steps))
        type_, value = f"json_type(metadata, {path})", f"(metadata ->> {path})"
        return _Reader(
            text=f"CASE {type_} WHEN 'text' THEN {value} END",
            number=f"CASE WHEN {type_} IN ('integer', 'real') THEN {value} END",
            true=f"IFNULL({type_} = 'true', 0)",
            false=f"IFNULL({type_} = 'false', 0)",
            missing=f"IFNULL({type_} = 'null', 1)",
            present=f"IFNULL({type_} <> 'null' AND (metadata -> {path}) <> '[]', 0)",
            elements=f"CASE {type_} WHEN 'array' THEN metadata -> {path} ELSE '[]' END",
        )

    def _compare_equal(self, field_: _Reader, operand: Json) -> str:
        direct = self._compare_same(field_, operand)
        if field_.elements is None:
            return f"({direct})"
        return f"({direct} OR {self._find_in_list(field_.elements, operand)})"

    def _compare_any(self, field_: _Reader, choices: Json) -> str:
        self.count(len(check_type(choices, list)))
        return f"({' OR '.join(self._compare_equal(field_, choice) for choice in choices) or 0})"

    def _find_in_list(self, elements: str, operand: Json) -> str:
        element = _Reader(
            text="CASE t WHEN 'text' THEN v END",
            number="CASE WHEN t IN ('integer', 'real') THEN v END",
            true="t = 'true'",
            false="t = 'false'",
            missing="t = 'null'",
            present="1",
        )
        return _ELEMENTS.format(list=elements, test=self._compare_same(element, operand))

    def _compare_same(self, field_: _Reader, operand: Json) -> str:
        match operand:
            case None:
                return field_.missing
            case True:
                return field_.true
            case False:
                return field_.false
            case str():
                return f"IFNULL({field_.text} = {self._bind(operand)}, 0)"
            case int() | float():
                return f"IFNULL({field_.number} = {self._bind(operand)}, 0)"
            case _:
                raise NoSql  # equality of lists and objects

    def _compare_order(self, field_: _Reader, sign: str, operand: Json) -> str:
        if isinstance(operand, str):
            return f"IFNULL({field_.text} {sign} {self._bind(operand)}, 0)"
        if isinstance(operand, int | float) and not isinstance(operand, bool):
            return f"IFNULL({field_.number} {sign} {self._bind(operand)}, 0)"
        return "0"

    def _compare_contains(self, field_: _Reader, operand: Json) -> str:
        # As bytes, because SQLite's text functions stop at a NUL.
        inside = "0"
        if isinstance(operand, str):
            inside = f"IFNULL(instr(CAST({field_.text} AS BLOB), {self._bind(_utf8(operand))}) > 0, 0)"
        if field_.elements is None:
            return inside
        return f"({inside} OR {self._find_in_list(field_.elements, operand)})"

    def _compare_prefix(self, field_: _Reader, operand: Json) -> str:
        start = _utf8(check_type(operand, str))
        if not start:
            return f"({field_.text}) IS NOT NULL"
        return f"IFNULL(substr(CAST({field_.text} AS BLOB), 1, {len(start)}) = {self._bind(start)}, 0)"

    def _bind(self, value: str | float | bytes) -> str:
        if isinstance(value, int) and not _SMALLEST <= value <= _LARGEST:
            raise NoSql
        if isinstance(value, str):
            _utf8(value)
        name = f"f{len(self.bindings)}"
        self.bindings[name] = value
        return f":{name}"


def _utf8(text: str) -> bytes:
    try:
        return text.encode()
    except UnicodeEncodeError as error:
        raise NoSql from error


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
    """Return a page of matching records by id; fetches pages of rows until it is full or none are left."""
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


def tally(db: apsw.Connection, where: Where) -> dict[str, dict[str, int]] | None:
    filters = conditions(where)
    if filters.rest != EVERYTHING:
        return None
    counts: dict[str, dict[str, int]] = {}
    for field, value, number in db.execute(QUERIES["tally"].format(conditions=filters.sql), filters.bindings):
        counts.setdefault(field, {})[value] = number
    return counts


def positions(db: apsw.Connection, where: Where) -> list[int]:
    """Return the positions of the matching versions in the file, in ascending order."""
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
    """Return the ids of these versions, in this order."""
    return [id for (id,) in db.execute(QUERIES["ids_at"], {"positions": json.dumps(positions)})]


def duplicate(db: apsw.Connection, record: Record, at: int) -> list[Record]:
    """Return the oldest live record of exactly this scope with the same content, in a list."""
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
    import numpy as np  # imported here: slow to load, and a process with a single request rarely needs it

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
