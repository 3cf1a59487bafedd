"""Rules as TOML, as in policy files, and line diffs of them."""

import json
import tomllib
from collections.abc import Mapping, Sequence
from difflib import unified_diff

from memorywire.model.errors import InvalidRequest
from memorywire.model.record import Json
from memorywire.policy.documents import rules_from

_CONTEXT = 2


def write_rules(rules: Sequence[Mapping[str, Json]]) -> str:
    """Format rules as TOML that `read_rules` parses to the same rules."""
    return "\n".join(f"[[rule]]\n{write_keys(rule)}" for rule in rules)


def write_keys(table: Mapping[str, Json]) -> str:
    """Format the keys of a table, one per line."""
    return "".join(f"{name} = {_write(value)}\n" for name, value in table.items())


def read_rules(text: str) -> list[dict[str, Json]]:
    """Parse rules from TOML and validate them as for a file."""
    document = read_keys(text, "rule")
    for key in document:
        if key != "rule":
            fix = "put the rest into the file of the setting `policy`"
            raise InvalidRequest("the text has more than [[rule]] tables", field=key, fix=fix)
    rules = document.get("rule", [])
    rules_from(rules)
    return list(rules)


def read_keys(text: str, field: str) -> dict[str, Json]:
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise InvalidRequest(f"this is not TOML: {error}", field=field) from error


def compare_lines(before: str, after: str) -> list[tuple[str, str]]:
    """Return a diff with context lines as (sign, line); a gap has the sign @."""
    lines = unified_diff(before.splitlines(), after.splitlines(), lineterm="", n=_CONTEXT)
    body = list(lines)[2:]
    shown = [("@", "") if line.startswith("@@") else (line[0], line[1:]) for line in body]
    return shown[1:] if shown[:1] == [("@", "")] else shown


def _write(value: Json) -> str:
    match value:
        case bool():
            return "true" if value else "false"
        case str():
            # JSON strings are valid TOML, except for DEL, which TOML requires to be escaped.
            return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007F")
        case list() | tuple():
            return f"[{', '.join(map(_write, value))}]"
        case Mapping():
            return f"{{ {', '.join(f'{name} = {_write(inner)}' for name, inner in value.items())} }}"
    return json.dumps(value)
