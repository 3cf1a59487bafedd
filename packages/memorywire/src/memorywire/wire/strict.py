"""Strict JSON: no duplicate keys, limited depth and size, only values that every store can keep."""

import json
import math
from collections.abc import Iterator
from itertools import repeat
from typing import NoReturn

from memorywire.model.errors import InvalidJson, InvalidRequest
from memorywire.model.record import Json

MAX_BYTES = 16 * 1024 * 1024
MAX_DEPTH = 32
_INT_MIN, _INT_MAX = -(2**63), 2**63 - 1
_INT_DIGITS = 20
_FIXES = {
    "datetime is not a JSON value": "give epoch milliseconds: round(moment.timestamp() * 1000)",
    "bytes is not a JSON value": "decode them: data.decode()",
    "date is not a JSON value": "give a datetime with a time zone, or epoch milliseconds",
    "generator is not a JSON value": "give a list",
    "set is not a JSON value": "give a list",
    "tuple is not a JSON value": "give a list",
}
"""Fixes for Python values that JSON cannot represent."""


def parse(data: bytes | str) -> Json:
    """Parse a JSON document; raises InvalidJson or InvalidRequest with the position."""
    if len(data) > MAX_BYTES:
        raise InvalidJson(f"larger than {MAX_BYTES} bytes")
    try:
        text = data.decode("utf-8") if isinstance(data, bytes) else data
        value = json.loads(
            text,
            object_pairs_hook=_object,
            parse_int=_integer,
            parse_float=_float,
            parse_constant=_constant,
        )
    except UnicodeDecodeError as error:
        raise InvalidJson(f"not UTF-8 at byte {error.start}") from error
    except json.JSONDecodeError as error:
        raise InvalidJson(f"not JSON: {error.msg} at line {error.lineno}, column {error.colno}") from error
    except RecursionError as error:
        raise InvalidJson(f"nested deeper than {MAX_DEPTH}") from error
    check(value)
    return value


def check(value: Json) -> None:
    """Raise InvalidRequest for a value that JSON cannot represent or a store cannot keep."""
    if _is_sound(value, 1):
        return
    for path, fault in _faults(value, (), 1):
        raise InvalidRequest(fault, field=".".join(path) or None, fix=_FIXES.get(fault))


def _is_sound(value: Json, depth: int) -> bool:
    """Whether the value has no fault. Faster than `_faults`, which finds the position."""
    if depth > MAX_DEPTH:
        return False
    kind = type(value)
    if kind is str:
        return (value.isascii() and "\x00" not in value) or _text_fault(value) is None
    if kind is dict:
        for key, inner in value.items():
            if type(key) is not str or not _is_sound(key, depth) or not _is_sound(inner, depth + 1):
                return False
        return True
    if kind is list:
        return all(map(_is_sound, value, repeat(depth + 1)))
    return value is None or (kind is int and _INT_MIN <= value <= _INT_MAX) or _fault(value) is None


def _faults(value: Json, path: tuple[str, ...], depth: int) -> Iterator[tuple[tuple[str, ...], str]]:
    fault = _fault(value) if depth <= MAX_DEPTH else f"nested deeper than {MAX_DEPTH}"
    if fault:
        yield path, fault
    elif isinstance(value, dict):
        for key, inner in value.items():
            place = (*path, str(key))
            if not isinstance(key, str) or _text_fault(key):
                yield place, "a key must be text without NUL or lone surrogates"
            yield from _faults(inner, place, depth + 1)
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            yield from _faults(inner, (*path, str(index)), depth + 1)


def _fault(leaf: Json) -> str | None:
    if isinstance(leaf, str):
        return _text_fault(leaf)
    if isinstance(leaf, bool) or leaf is None or isinstance(leaf, dict | list):
        return None
    if isinstance(leaf, int):
        return None if _INT_MIN <= leaf <= _INT_MAX else "an integer beyond 64 bits"
    if isinstance(leaf, float):
        return None if math.isfinite(leaf) else "a number must be finite"
    return f"{type(leaf).__name__} is not a JSON value"


def _text_fault(text: str) -> str | None:
    if "\x00" in text:
        return "text must not contain a NUL character"
    if not text.isascii():
        try:
            text.encode("utf-8")
        except UnicodeEncodeError:
            return "text must not contain a lone surrogate"
    return None


def _object(pairs: list[tuple[str, Json]]) -> dict[str, Json]:
    members = dict(pairs)
    if len(members) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise InvalidJson("the same key appears twice in one object", field=twice)
    return members


def _integer(digits: str) -> int:
    if len(digits) > _INT_DIGITS:
        raise InvalidJson("an integer beyond 64 bits")
    return int(digits)


def _float(digits: str) -> float:
    value = float(digits)
    if not math.isfinite(value):
        raise InvalidJson("a number too large")
    return value


def _constant(name: str) -> NoReturn:
    raise InvalidJson(f"{name} is not JSON")
