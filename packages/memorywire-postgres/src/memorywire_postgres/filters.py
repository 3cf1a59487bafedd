"""Compiles a `Where` to SQL wherever SQL has exactly the meaning of `Where.matches`.

Every field is read as jsonb, whose equality is JSON equality. Every compiled expression is true or false,
never NULL, so that `not` and `or` around it are safe. Parts of the filter without an exact SQL equivalent
are evaluated in Python, on the rows that the compiled part selects.
"""

from collections.abc import Callable, Iterable
from typing import Any

from msgspec import Struct

from memorywire.model.errors import InvalidRequest
from memorywire.model.query import FIELDS, STANDING, And, Compare, Filter, Operator, Where
from memorywire.model.record import Json
from memorywire.stores.sql import ORDER, Compiler, NoSql, check_type
from memorywire_postgres.rows import COLUMNS, bind_scope, dumps, encode_text

# Below this, a decimal number and the float parsed from it compare the same way with other numbers.
_EXACT = 2**53


class Conditions(Struct, frozen=True):
    """A conjunction of SQL on `version`, its bindings, and the part of the filter to evaluate in Python."""

    sql: str
    bindings: dict[str, Any]
    rest: Filter


# Selects versions current at a given time, by the time of each change; see `stores/sqlite/pushdown.py`.
_CURRENT_THEN = """version.began > 0 AND version.content IS NOT NULL AND EXISTS (
  SELECT FROM change WHERE change.tenant = version.tenant AND change.agent = version.agent
    AND change.seq = version.began AND change.at <= %(as_of)s
) AND (version.ended IS NULL OR EXISTS (
  SELECT FROM change WHERE change.tenant = version.tenant AND change.agent = version.agent
    AND change.seq = version.ended AND change.at > %(as_of)s
)) AND NOT EXISTS (
  SELECT FROM version AS later JOIN change ON change.tenant = later.tenant AND change.agent = later.agent
    AND change.seq = later.began
  WHERE later.tenant = version.tenant AND later.id = version.id AND later.number > version.number
    AND change.at <= %(as_of)s
)"""


# The condition of the index `version_standing`, implied by `STANDING`: the planner needs it spelt out.
_STANDING = """(
  strpos((version.facts -> 'metadata')::text, '"constraint"') > 0
  OR strpos((version.facts -> 'metadata')::text, '"pinned"') > 0
  OR strpos((version.facts -> 'tags')::text, '"blacklist"') > 0
  OR strpos((version.facts -> 'tags')::text, '"do"') > 0
  OR strpos((version.facts -> 'tags')::text, '"know"') > 0
)"""


def conditions(where: Where) -> Conditions:
    """Compile the conditions that select the matching versions."""
    compiler = _Compiler()
    rest = compiler.take(where.filter)
    parts = [*_scope_and_life(where, compiler.bindings), *compiler.parts]
    if isinstance(where.filter, And) and STANDING in where.filter.parts and where.as_of is None:
        parts.append(_STANDING)
    return Conditions(" AND ".join(parts), compiler.bindings, rest)


def _scope_and_life(where: Where, bindings: dict[str, Any]) -> list[str]:
    bounds: list[tuple[str, str, Any]] = [
        ("version.tenant = %(tenant)s", "tenant", encode_text(where.scope.tenant)),
        ("version.agent = %(agent)s", "agent", encode_text(where.scope.agent)),
        ("version.user_id = %(user)s", "user", bind_scope(where.scope)["user"]),
        (_CURRENT_THEN, "as_of", where.as_of),
        ("(version.expires_at IS NULL OR version.expires_at > %(alive_at)s)", "alive_at", where.alive_at),
        ("version.standing = ANY(%(standings)s)", "standings", _names(where.standings)),
        ("version.type = ANY(%(types)s)", "types", _names(where.types) if where.types else None),
        ("version.created_at >= %(created_since)s", "created_since", where.created_since),
        ("version.created_at <= %(created_until)s", "created_until", where.created_until),
        (
            "greatest(version.created_at, (SELECT recall.at FROM recall WHERE recall.tenant = version.tenant"
            " AND recall.id = version.id)) <= %(idle_since)s",
            "idle_since",
            where.idle_since,
        ),
        ("version.confidence < %(confidence_below)s", "confidence_below", where.confidence_below),
    ]
    active = [(sql, name, value) for sql, name, value in bounds if value is not None]
    bindings.update({name: value for _, name, value in active})
    return [*(sql for sql, _, _ in active), *(["version.ended IS NULL"] if where.as_of is None else [])]


def _names(values: Iterable[str]) -> list[str]:
    return sorted(str(value) for value in values)


class _Compiler(Compiler):
    """Compiles comparisons of fields as jsonb, and of plain content as text."""

    def compare(self, part: Compare) -> str:
        if part.path[0] == "content":
            return self._on_content(part)
        return self._on_value(part, self._read(part.path))

    def _read(self, path: tuple[str, ...]) -> str:
        """Return the field as jsonb: NULL, or the JSON null, if it is missing."""
        if path[0] in COLUMNS:
            return f"to_jsonb(version.{COLUMNS[path[0]]})"
        steps = (path[0],) if path[0] in FIELDS else ("metadata", *path[1:])
        return f"(version.facts{''.join(f' -> {self._bind(_encode(step))}::text' for step in steps)})"

    def _on_value(self, part: Compare, value: str) -> str:
        match part.operator:
            case Operator.EQ:
                return self._compare_equal(value, part.value)
            case Operator.NE:
                return f"(NOT {self._compare_equal(value, part.value)})"
            case Operator.IN:
                return self._compare_any(value, part.value)
            case Operator.NIN:
                return f"(NOT {self._compare_any(value, part.value)})"
            case Operator.EXISTS:
                there = f"coalesce({value} <> ALL(ARRAY['null', '[]']::jsonb[]), false)"
                return f"({there} = {check_type(part.value, bool)})"
            case Operator.CONTAINS:
                return self._compare_contains(value, part.value)
            case Operator.PREFIX:
                return self._if_kind(value, "string", lambda text: self._compare_prefix(text, part.value))
            case Operator.GT | Operator.GTE | Operator.LT | Operator.LTE:
                return self._compare_order(value, ORDER[part.operator], part.value)

    def _on_content(self, part: Compare) -> str:
        """Compile a condition on plain content, which has a column; structured content is left to Python."""
        match part.operator:
            case Operator.EXISTS:
                return "true" if check_type(part.value, bool) else "false"
            case Operator.PREFIX:
                test = self._compare_prefix("version.content", part.value)
            case Operator.CONTAINS:
                test = self._compare_inside("version.content", check_type(part.value, str))
            case Operator.EQ | Operator.IN:
                return self._is_content(part)
            case Operator.NE | Operator.NIN:
                return f"(NOT {self._is_content(part)})"
            case _:
                sign = ORDER[part.operator]
                test = f"version.content {sign} {self._bind(_encode(check_type(part.value, str)))}"
        return f"(NOT version.structured AND {test})"

    def _is_content(self, part: Compare) -> str:
        operand = part.value if part.operator in (Operator.IN, Operator.NIN) else [part.value]
        self.count(len(check_type(operand, list)))
        texts = [f"version.content = {self._bind(_encode(check_type(text, str)))}" for text in operand]
        return f"(NOT version.structured AND ({' OR '.join(texts) or 'false'}))"

    def _compare_equal(self, value: str, operand: Json) -> str:
        other = f"{self._bind(_encode_json(operand))}::jsonb"
        same = f"coalesce({value}, 'null'::jsonb) = {other}"
        if isinstance(operand, list):
            return f"({same})"
        is_list = f"jsonb_typeof({value}) = 'array'"
        return f"(CASE WHEN {is_list} THEN has_element({value}, {other}) ELSE {same} END)"

    def _compare_any(self, value: str, choices: Json) -> str:
        self.count(len(check_type(choices, list)))
        return f"({' OR '.join(self._compare_equal(value, choice) for choice in choices) or 'false'})"

    def _compare_contains(self, value: str, operand: Json) -> str:
        text = "false"
        if isinstance(operand, str):
            text = self._if_kind(
                value, "string", lambda value_text: self._compare_inside(value_text, operand)
            )
        if isinstance(operand, list):
            other = f"{self._bind(_encode_json(operand))}::jsonb"
            return f"({text} OR coalesce(jsonb_typeof({value}) = 'array' AND {value} = {other}, false))"
        other = f"{self._bind(_encode_json(operand))}::jsonb"
        in_list = (
            f"CASE WHEN jsonb_typeof({value}) = 'array' THEN has_element({value}, {other}) ELSE false END"
        )
        return f"({text} OR {in_list})"

    def _compare_order(self, value: str, sign: str, operand: Json) -> str:
        if isinstance(operand, str):
            name = f'{self._bind(_encode(operand))}::text COLLATE "C"'
            return self._if_kind(value, "string", lambda text: f"{text} {sign} {name}")
        if isinstance(operand, int | float) and not isinstance(operand, bool):
            number = f"{self._bind(_encode_json(operand))}::numeric"
            return self._if_kind(value, "number", lambda text: f"{text}::numeric {sign} {number}")
        return "false"

    def _if_kind(self, value: str, kind: str, test: Callable[[str], str]) -> str:
        holds = test(f"({value} #>> ARRAY[]::text[])")
        return f"(CASE WHEN jsonb_typeof({value}) = '{kind}' THEN {holds} ELSE false END)"

    def _compare_inside(self, text: str, operand: str) -> str:
        if operand and operand[0] in "\x00\x01\x02":
            raise NoSql  # a match could begin in the middle of an escape sequence
        return f"position({self._bind(_encode(operand))}::text IN {text}) > 0"

    def _compare_prefix(self, text: str, operand: Json) -> str:
        return f"starts_with({text}, {self._bind(_encode(check_type(operand, str)))}::text)"

    def _bind(self, value: str) -> str:
        name = f"f{len(self.bindings)}"
        self.bindings[name] = value
        return f"%({name})s"


def _encode_json(value: Json) -> str:
    if not _is_comparable(value):
        raise NoSql
    return dumps(value)


def _is_comparable(value: Json) -> bool:
    """Return whether jsonb compares it as Python does: no huge numbers, no text that needs escapes."""
    if isinstance(value, dict):
        return all(_is_comparable(name) and _is_comparable(inner) for name, inner in value.items())
    if isinstance(value, list):
        return all(map(_is_comparable, value))
    if isinstance(value, str):
        return _encode(value) == value
    return (
        value is None or isinstance(value, bool) or (isinstance(value, int | float) and abs(value) < _EXACT)
    )


def _encode(text: str) -> str:
    try:
        return encode_text(text)
    except InvalidRequest as error:
        raise NoSql from error
