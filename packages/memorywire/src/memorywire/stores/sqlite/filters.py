"""A `Where` as SQL, as far as SQL means exactly what `Where.matches` means.

Every compiled expression is 0 or 1, never NULL, so that `not` and `or` are safe around it. A part of
the filter that has no exact SQL stays behind for Python, on the rows that the rest lets through.
"""

import json
from collections.abc import Iterable

from msgspec import Struct

from memorywire.model.query import Compare, Filter, Operator, Where
from memorywire.model.record import Json
from memorywire.stores.sql import ORDER, Compiler, NoSql, check_type
from memorywire.stores.sqlite.rows import Bindings

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

# The elements of the list at a path, and of the lists inside it, as (v, t): value and JSON type.
_ELEMENTS = """EXISTS (
  WITH RECURSIVE walk (v, t) AS (
    SELECT value, type FROM json_each({list})
    UNION ALL
    SELECT e.value, e.type FROM walk JOIN json_each(CASE walk.t WHEN 'array' THEN walk.v ELSE '[]' END) AS e
  )
  SELECT 1 FROM walk WHERE {test}
)"""


# What was current at a moment, by the time that each change carries. Commit order would do while clocks only
# go forward; after a step back, a version of an earlier commit may end before it begins, so the newest
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


class Conditions(Struct, frozen=True):
    """A conjunction of SQL, its values, and the part of the filter that Python must still check."""

    sql: str
    bindings: Bindings
    rest: Filter
    past: bool

    @property
    def id(self) -> str:
        """The SQL for ids in paging; `+id` keeps the engine from an index that the past cannot use."""
        return "+id" if self.past else "id"


class _Reader(Struct, frozen=True, kw_only=True):
    """SQL that reads a field: each expression is NULL, or 0, when the field is of another type."""

    text: str = "NULL"
    number: str = "NULL"
    true: str = "0"
    false: str = "0"
    missing: str = "0"
    present: str
    elements: str | None = None  # the JSON list, for a field that may be one


def conditions(where: Where) -> Conditions:
    """The rows of the view `record` that match."""
    compiler = _Compiler()
    rest = compiler.take(where.filter)
    parts = [*_scope_and_life(where, compiler.bindings), *compiler.parts]
    return Conditions(" AND ".join(parts), compiler.bindings, rest, past=where.as_of is not None)


def _scope_and_life(where: Where, bindings: Bindings) -> list[str]:
    no_index = "" if where.as_of is None else "+"  # the way into the past leads through the changes alone
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
    """Compares columns, and metadata by the engine's JSON functions."""

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
            raise NoSql  # such keys are escaped in the text, and matching escapes is the engine's affair
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
        # As bytes, because the engine's text functions stop at a NUL.
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
