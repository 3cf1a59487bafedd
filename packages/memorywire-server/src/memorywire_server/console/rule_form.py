"""Converts rules between the table of a policy file and the fields of a form."""

from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Any

from msgspec import Struct

from memorywire.model.record import Json, MemoryType, Trust
from memorywire.model.requests import Owners
from memorywire.policy.rules import Operation, Verdict
from memorywire_server.console.page import Form, whole
from memorywire_server.console.rule_text import read_keys, write_keys

NONE = "(none)"
"""The form's text for the empty string, which means a memory without a source or a user."""


class Kind(StrEnum):
    CHOICES = "choices"
    LINES = "lines"
    FLAG = "flag"
    WHOLE = "whole"
    SHARE = "share"
    TABLE = "table"


class Field(Struct, frozen=True):
    """A condition: its form control, its label and help, and its options."""

    name: str
    label: str
    kind: Kind
    help: str = ""
    options: tuple[str, ...] = ()


def _choose(name: str, label: str, kinds: type[StrEnum]) -> Field:
    return Field(name, label, Kind.CHOICES, options=tuple(kinds))


GROUPS: tuple[tuple[str, tuple[Field, ...]], ...] = (
    (
        "What is asked for",
        (
            _choose("operation", "Operation", Operation),
            Field("destructive", "It ends or erases memories", Kind.FLAG),
            Field("erases", "It erases for good", Kind.FLAG),
            Field("by_filter", "A filter chose the memories", Kind.FLAG),
            Field("affects_at_least", "Memories it affects, at least", Kind.WHOLE),
        ),
    ),
    (
        "The memory",
        (
            Field("source", "Source", Kind.LINES, f"web:*, tool:browser; {NONE} for no source"),
            Field("content_contains", "Contains one of", Kind.LINES, "words, one on each line"),
            Field("tags", "Tag", Kind.LINES, "private*"),
            _choose("type", "Type", MemoryType),
            _choose("trust", "Trust", Trust),
            Field("confidence_below", "Confidence below", Kind.SHARE, "0.5"),
        ),
    ),
    (
        "What was noticed",
        (
            Field("contains_secret", "It contains a secret", Kind.FLAG),
            Field("looks_like_instruction", "It reads like an instruction", Kind.FLAG),
            Field("similar_to_existing", "A live memory says nearly the same", Kind.FLAG),
            Field("rejected_before", "A person rejected the same words", Kind.FLAG),
            Field("undoes_person", "An agent undoes what a person did", Kind.FLAG),
        ),
    ),
    (
        "Who and where",
        (
            Field("caller", "Caller", Kind.LINES, "agent:*, operator:ana"),
            Field("agent", "Agent", Kind.LINES, "support"),
            Field("user", "User", Kind.LINES, f"ana; {NONE} for no user"),
            Field("tenant", "Tenant", Kind.LINES),
            _choose("scope", "A recall covers", Owners),
        ),
    ),
    (
        "Except when",
        (Field("not", "All of this holds", Kind.TABLE, 'tags = ["reviewed"]'),),
    ),
)

FIELDS = tuple(field for _, fields in GROUPS for field in fields)
VERDICTS = {
    Verdict.HOLD: "Hold it for a person",
    Verdict.REFUSE: "Refuse it",
    Verdict.ALLOW: "Allow it",
    Verdict.REDACT: "Keep what it says from the caller",
}


def read_rule(form: Form) -> dict[str, Json]:
    """Build the rule's table from the fields of the form; leaves out empty ones."""
    table: dict[str, Json] = {"name": form.get("name") or "", "verdict": form.get("verdict") or ""}
    if form.get("enabled") == "no":
        table["enabled"] = False
    for name in ("note", "learned", "reviewers"):
        if (text := form.get(name)) is not None:
            table[name] = _OWN[name](text)
    if table.get("reviewers") == 1:
        del table["reviewers"]
    if form.get("everything") is not None:
        table["everything"] = True
    for field in FIELDS:
        if (value := _read(field, form)) is not None:
            table[field.name] = value
    return table


_OWN: Mapping[str, Any] = {
    "note": str,
    "learned": lambda text: text == "yes",
    "reviewers": lambda text: whole(text, "reviewers", "reviewers is a whole number"),
}


def fill(table: Mapping[str, Json]) -> dict[str, Any]:
    """Return the values of the form's fields for a table, even if it is not a valid rule."""
    values: dict[str, Any] = {name: table.get(name) for name in ("name", "verdict", "note", "reviewers")}
    values["enabled"] = table.get("enabled", True) is not False
    values["learned"] = table.get("learned") is True
    values["everything"] = table.get("everything") is True
    for field in FIELDS:
        values[field.name] = _show(field, table.get(field.name))
    return values


def can_fill(table: Mapping[str, Json]) -> bool:
    """Return whether the form can show the whole rule; for example, not a text with a line break."""
    filled = fill(table)
    fields: dict[str, tuple[str, ...]] = {}
    for name in ("name", "verdict", "note", "reviewers"):
        if filled[name] is not None and filled[name] != "":
            fields[name] = (str(filled[name]),)
    fields |= {name: ("yes",) for name in ("learned", "everything") if filled[name]}
    fields |= {} if filled["enabled"] else {"enabled": ("no",)}
    for field in FIELDS:
        shown = filled[field.name]
        if shown:
            fields[field.name] = tuple(shown) if field.kind is Kind.CHOICES else (str(shown),)
    return read_rule(Form(fields)) == dict(table)


def _read(field: Field, form: Form) -> Json:
    texts = form.many(field.name)
    last = texts[-1].strip() if texts else ""
    if not last and field.kind is not Kind.CHOICES:
        return None
    match field.kind:
        case Kind.CHOICES:
            return list(texts) or None
        case Kind.LINES:
            lines = [line for line in texts[-1].split("\n") if line.strip()]
            return ["" if line == NONE else line for line in lines]
        case Kind.FLAG:
            return {"yes": True, "no": False}.get(last)
        case Kind.WHOLE:
            return whole(last, field.name, f"{field.name} is a whole number")
        case Kind.SHARE:
            return _number(last)
        case Kind.TABLE:
            return read_keys(texts[-1], field.name)


def _number(text: str) -> Json:
    """Parse a number, or return the text: the validation of the rule then reports it."""
    try:
        return float(text)
    except ValueError:
        return text


def _show(field: Field, value: Json) -> Any:
    match field.kind, value:
        case Kind.CHOICES, [*words]:
            return words
        case Kind.CHOICES, _:
            return []
        case Kind.FLAG, bool():
            return "yes" if value else "no"
        case Kind.LINES, [*words]:
            return "\n".join(NONE if word == "" else str(word) for word in words)
        case Kind.TABLE, Mapping():
            return write_keys(value).rstrip("\n")
    return "" if value is None else str(value)


def describe(table: Mapping[str, Json]) -> Sequence[tuple[str, str]]:
    """Return the conditions of a rule as (label, value), as in the form."""
    said = []
    labels = {field.name: field.label for field in FIELDS}
    for name, value in table.items():
        if name in labels or name == "everything":
            said.append((labels.get(name, "Everything"), _describe_value(value)))
    return said


def _describe_value(value: Json) -> str:
    match value:
        case bool():
            return "yes" if value else "no"
        case list():
            return " or ".join(NONE if one == "" else str(one) for one in value)
        case Mapping():
            return "; ".join(f"{name}: {_describe_value(inner)}" for name, inner in value.items())
    return str(value)
