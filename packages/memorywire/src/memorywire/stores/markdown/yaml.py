"""The part of YAML that front matter needs: `name: value` lines whose values are JSON or plain words.

Written values are JSON, or words that YAML takes for text. Read are also lists of plain words, lists of lines
that begin with `-`, quoted text and comments. Anything deeper has to be JSON; the rest is refused.
"""

import json
import re
from collections.abc import Iterator
from contextlib import suppress

from memorywire.model.jsontext import parse_json
from memorywire.model.record import Json

_FIELD = re.compile(r"([A-Za-z_][A-Za-z0-9_]*):(?:[ \t]+(.*))?")
_ITEM = re.compile(r"[ \t]*-[ \t]+(.*)")
_WORD = re.compile(r"[A-Za-z][A-Za-z0-9_./-]*(?: [A-Za-z0-9_./-]+)*")
_MOMENT = re.compile(r"\d{4}-\d\d-\d\dT[\d:.]+Z")
_COMMENT = re.compile(r"[ \t]+#.*$")
_KEYWORDS = frozenset({"true", "false", "null", "yes", "no", "on", "off", "y", "n"})
_CONTROL = re.compile("[\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff\ud800-\udfff]")


class Unreadable(ValueError):
    """A line that is not what front matter may hold."""


def written(value: Json) -> str:
    """A value on one line."""
    if isinstance(value, str) and (_is_word(value) or _MOMENT.fullmatch(value)):
        return value
    if isinstance(value, list) and value and all(isinstance(one, str) and _is_word(one) for one in value):
        return f"[{', '.join(value)}]"
    return _CONTROL.sub(_escaped, json.dumps(value, ensure_ascii=False))


def _escaped(found: re.Match[str]) -> str:
    return f"\\u{ord(found.group()):04x}"


def _is_word(text: str) -> bool:
    return _WORD.fullmatch(text) is not None and text.lower() not in _KEYWORDS


def read_fields(text: str) -> dict[str, Json]:
    """Every field of the front matter; Unreadable names the line that is none."""
    fields: dict[str, Json] = {}
    name = None
    for number, line in _lines(text):
        item, field = _ITEM.fullmatch(line), _FIELD.fullmatch(line)
        if item and name and (fields[name] is None or isinstance(fields[name], list)):
            fields[name] = [*(fields[name] or []), _value(item[1], number)]
        elif field and field[1] not in fields:
            name = field[1]
            fields[name] = _value(field[2] or "", number)
        else:
            raise Unreadable(f"line {number} of the front matter is not `name: value`")
    return fields


def _lines(text: str) -> Iterator[tuple[int, str]]:
    # Not `splitlines`: it would cut a value at signs that end no line in a file.
    for number, line in enumerate(re.split(r"\r?\n", text), 2):
        if line.strip() and not line.lstrip().startswith("#"):
            yield number, line.rstrip()


def _value(text: str, number: int) -> Json:
    try:
        return parse_json(text)
    except ValueError:
        return _plain(_COMMENT.sub("", text).strip(), number)


def _plain(text: str, number: int) -> Json:
    """A value as people write it."""
    if text in ("", "~"):
        return None
    with suppress(ValueError):
        return parse_json(text)  # what stood before a comment
    if text.startswith("[") and text.endswith("]"):
        return [_value(part.strip(), number) for part in text[1:-1].split(",") if part.strip()]
    if len(text) > 1 and text[0] == text[-1] == "'":
        return text[1:-1].replace("''", "'")
    if text[0] in "[{\"'&*!|>%@`":
        raise Unreadable(f"line {number} of the front matter cannot be read; write its value as JSON")
    return text
