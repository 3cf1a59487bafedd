"""One memory as a Markdown file: its fields as YAML front matter, then its text.

The output is valid YAML for any parser, and is read back to an equal record. Files written by hand may be
simpler: every field but the text has a default.
"""

import json
import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from enum import StrEnum

from msgspec import Struct

from memorywire.model.codec import parse_json
from memorywire.model.errors import MemorywireError
from memorywire.model.record import (
    DEFAULT_TENANT,
    END_OF_CALENDAR,
    Json,
    MemoryType,
    Record,
    Scope,
    Standing,
    Trust,
)

_FIELD = re.compile(r"([A-Za-z_][A-Za-z0-9_]*):(?:[ \t]+(.*))?")
_ITEM = re.compile(r"[ \t]*-[ \t]+(.*)")
_WORD = re.compile(r"[A-Za-z][A-Za-z0-9_./-]*(?: [A-Za-z0-9_./-]+)*")
_MOMENT = re.compile(r"\d{4}-\d\d-\d\dT[\d:.]+Z")
_COMMENT = re.compile(r"[ \t]+#.*$")
_KEYWORDS = frozenset({"true", "false", "null", "yes", "no", "on", "off", "y", "n"})
_CONTROL = re.compile("[\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff\ud800-\udfff]")


class BadFrontMatter(ValueError):
    """A line is not valid front matter."""


def write_value(value: Json) -> str:
    """Format a value on one line."""
    if isinstance(value, str) and (_is_word(value) or _MOMENT.fullmatch(value)):
        return value
    if isinstance(value, list) and value and all(isinstance(one, str) and _is_word(one) for one in value):
        return f"[{', '.join(value)}]"
    return _CONTROL.sub(_escape, json.dumps(value, ensure_ascii=False))


def _escape(match: re.Match[str]) -> str:
    return f"\\u{ord(match.group()):04x}"


def _is_word(text: str) -> bool:
    return _WORD.fullmatch(text) is not None and text.lower() not in _KEYWORDS


def read_fields(text: str) -> dict[str, Json]:
    """Parse the fields of the front matter; raises BadFrontMatter with the number of a bad line."""
    fields: dict[str, Json] = {}
    name = None
    for number, line in _lines(text):
        item, field = _ITEM.fullmatch(line), _FIELD.fullmatch(line)
        if item and name and (fields[name] is None or isinstance(fields[name], list)):
            fields[name] = [*(fields[name] or []), _parse_value(item[1], number)]
        elif field and field[1] not in fields:
            name = field[1]
            fields[name] = _parse_value(field[2] or "", number)
        else:
            raise BadFrontMatter(f"line {number} of the front matter is not `name: value`")
    return fields


def _lines(text: str) -> Iterator[tuple[int, str]]:
    # Not `splitlines`, which also splits at characters that do not end a line in a file.
    for number, line in enumerate(re.split(r"\r?\n", text), 2):
        if line.strip() and not line.lstrip().startswith("#"):
            yield number, line.rstrip()


def _parse_value(text: str, number: int) -> Json:
    try:
        return parse_json(text)
    except ValueError:
        return _parse_plain(_COMMENT.sub("", text).strip(), number)


def _parse_plain(text: str, number: int) -> Json:
    """Parse a value that is not JSON, as people write it."""
    if text in ("", "~"):
        return None
    with suppress(ValueError):
        return parse_json(text)  # JSON before a comment
    if text.startswith("[") and text.endswith("]"):
        return [_parse_value(part.strip(), number) for part in text[1:-1].split(",") if part.strip()]
    if len(text) > 1 and text[0] == text[-1] == "'":
        return text[1:-1].replace("''", "'")
    if text[0] in "[{\"'&*!|>%@`":
        raise BadFrontMatter(f"line {number} of the front matter cannot be read; write its value as JSON")
    return text


_FENCE = "---"
_PARTS = re.compile(rf"{_FENCE}\r?\n(.*?)^{_FENCE}[ \t]*(?:\r?\n|\Z)(.*)\Z", re.DOTALL | re.MULTILINE)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)

_MOMENTS = frozenset({"created_at", "updated_at", "occurred_at", "expires_at"})
_LISTS = frozenset({"tags", "supersedes", "merged_from", "derived_from"})
# The names in files on the left, the names of the record's fields on the right.
_RENAMED = {"session": "session_id", "relevancy": "confidence", "status": "standing"}
_PLAIN = frozenset({"id", "type", "source", "trust", "version", "metadata", "content"})
_WHOSE = frozenset({"agent", "user", "tenant"})
_OWN = _MOMENTS | _LISTS | _PLAIN | _WHOSE
# Other status words for memories that are stored but not recalled.
_SET_ASIDE = frozenset({"superseded", "blacklisted"})
_KINDS: Mapping[str, type[StrEnum]] = {"type": MemoryType, "standing": Standing, "trust": Trust}


class Broken(MemorywireError):
    """A file that is not a valid memory; it is left unchanged until a person repairs it."""

    code = "store_corrupt"


class Defaults(Struct, frozen=True, kw_only=True):
    """Defaults for missing fields: the scope of the folder, the file's name and its modification time.

    Without a scope the file itself must name its agent.
    """

    scope: Scope | None
    id: str
    written_at: int


def sheet(record: Record) -> str:
    """Format the record as text."""
    lines = [f"{name}: {write_value(value)}" for name, value in _fields(record).items()]
    body = record.content if isinstance(record.content, str) else ""
    return "\n".join((_FENCE, *lines, _FENCE, body)) + "\n"


def _fields(record: Record) -> dict[str, Json]:
    scope = record.scope
    fields: dict[str, Json] = {
        "id": record.id,
        "agent": scope.agent,
        "user": scope.user,
        "tenant": None if scope.tenant == DEFAULT_TENANT else scope.tenant,
        "type": record.type.value,
        "created_at": _format_time(record.created_at),
        "updated_at": _format_time(record.updated_at),
        "occurred_at": _format_time(record.occurred_at),
        "expires_at": _format_time(record.expires_at),
        "session": record.session_id,
        "relevancy": record.confidence,
        "source": record.source,
        "tags": list(record.tags),
        "status": record.standing.value,
        "supersedes": list(record.supersedes),
        "merged_from": list(record.merged_from),
        "derived_from": list(record.derived_from),
        "trust": record.trust.value,
        "version": record.version,
        "metadata": dict(record.metadata),
    }
    present = {name: value for name, value in fields.items() if value not in (None, [], {})}
    return present if isinstance(record.content, str) else {**present, "content": dict(record.content)}


def read(text: str, defaults: Defaults) -> Record:
    """Parse a file to a record; raises Broken."""
    match = _PARTS.match(text)
    if match is None:
        raise Broken("there is no front matter between two lines of ---")
    try:
        fields = read_fields(match[1])
    except BadFrontMatter as error:
        raise Broken(str(error)) from error
    return _record(_rename_fields(fields), match[2].removesuffix("\n"), defaults)


def _rename_fields(raw: Mapping[str, Json]) -> dict[str, Json]:
    """Rename the fields to the record's names; unknown fields become metadata."""
    fields = {_RENAMED[name]: value for name, value in raw.items() if name in _RENAMED}
    fields |= {name: value for name, value in raw.items() if name in _OWN}
    others = {name: value for name, value in raw.items() if name not in _OWN and name not in _RENAMED}
    if others and isinstance(fields.get("metadata", {}), dict):
        fields["metadata"] = {**fields.get("metadata", {}), **others}
    return fields


def _record(fields: Mapping[str, Json], body: str, defaults: Defaults) -> Record:
    values: dict[str, Json] = {
        "id": defaults.id,
        "type": MemoryType.SEMANTIC,
        "created_at": defaults.written_at,
        **{name: _value(name, value) for name, value in fields.items() if name not in _WHOSE},
    }
    values.setdefault("updated_at", values["created_at"])
    values.setdefault("content", body)
    _check(values)
    return Record(scope=_scope(fields, defaults.scope), **values)


def _scope(fields: Mapping[str, Json], folder: Scope | None) -> Scope:
    user = fields.get("user")
    agent = fields.get("agent", None if folder is None else folder.agent)
    if agent is None:
        raise Broken("it does not name its agent")
    scope = Scope(
        agent=str(agent),
        tenant=str(fields.get("tenant", DEFAULT_TENANT if folder is None else folder.tenant)),
        user=None if user is None else str(user),
    )
    if folder is not None and not folder.covers(scope):
        raise Broken("it is in the folder of another agent")
    return scope


def _value(name: str, value: Json) -> Json:
    if name in _MOMENTS:
        return _moment(name, value)
    if name in _LISTS:
        return tuple(str(one) for one in (value if isinstance(value, list) else [value]) if one is not None)
    if name in _KINDS:
        if name == "standing" and value in _SET_ASIDE:
            return Standing.ARCHIVED
        try:
            return _KINDS[name](value)
        except ValueError as error:
            raise Broken(f"{name} is not one of: {', '.join(_KINDS[name])}") from error
    return value if value is None or name not in ("id", "source", "session_id") else str(value)


def _check(values: Mapping[str, Json]) -> None:
    version, confidence = values.get("version", 1), values.get("confidence", 1.0)
    problems = {
        "id is empty": not values["id"],
        "version is not a number from 1": type(version) is not int or version < 1,
        "relevancy is not between 0 and 1": type(confidence) not in (int, float) or not 0 <= confidence <= 1,
        "metadata is not an object": not isinstance(values.get("metadata", {}), dict),
        "content is neither text nor an object": not isinstance(values["content"], str | dict),
    }
    for problem, there in problems.items():
        if there:
            raise Broken(problem)


def _format_time(moment: int | None) -> str | int | None:
    """Format a time in ISO 8601, if the calendar can represent it."""
    if moment is None or not 0 <= moment < END_OF_CALENDAR:
        return moment
    at = _EPOCH + timedelta(milliseconds=moment)
    return at.strftime("%Y-%m-%dT%H:%M:%S") + (f".{moment % 1000:03}Z" if moment % 1000 else "Z")


def _moment(name: str, value: Json) -> int | None:
    if value is None or type(value) is int:
        return value
    try:
        at = datetime.fromisoformat(str(value))
    except ValueError as error:
        raise Broken(f"{name} is not a time; write 2026-06-16T22:14:05Z") from error
    aware = at if at.tzinfo is not None else at.replace(tzinfo=UTC)
    return (aware - _EPOCH) // timedelta(milliseconds=1)
