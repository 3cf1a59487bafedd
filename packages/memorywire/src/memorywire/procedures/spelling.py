"""Which names a definition may use, and JSON that can only be read one way."""

import json
import math
import re
from collections.abc import Mapping

from memorywire.model.errors import InvalidRequest
from memorywire.model.record import Json
from memorywire.model.requests import METADATA_BYTES_MAX

NAME_MAX = 64
_NAME = re.compile(r"[A-Za-z0-9_-]([A-Za-z0-9_ -]{0,62}[A-Za-z0-9_-])?")
_FACT = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,63}")
_DEPTH_MAX = 16
_VALUES_MAX = 4096


def fault(detail: str, place: str, fix: str) -> InvalidRequest:
    return InvalidRequest(detail, field=place, fix=fix)


def name(value: Json, place: str) -> str:
    """A name of a state, a trigger or a procedure; what is refused is not repeated."""
    if not isinstance(value, str):
        raise fault("a name must be text", place, "give a name between quotes")
    if not _NAME.fullmatch(value):
        raise fault(
            f"a name has 1 to {NAME_MAX} letters of ASCII, digits, spaces, `_` or `-`, no space at its ends",
            place,
            "rename it",
        )
    return _without_dunder(value, place)


def fact(value: Json, place: str) -> str:
    """A bare identifier: it is looked up among the caller's facts and nowhere else."""
    if not isinstance(value, str) or not _FACT.fullmatch(value):
        raise fault(
            "a condition is the bare name of a fact: letters of ASCII, digits and `_`, no dots, no calls",
            place,
            "name a fact, such as `approved`, and say whether it holds when you trigger",
        )
    return _without_dunder(value, place)


def shown(key: object, place: str) -> str:
    """The place of a key in an object; of a key that is not fit to be shown, the place of the object."""
    return f"{place}.{key}" if isinstance(key, str) and _NAME.fullmatch(key) else place


def _without_dunder(value: str, place: str) -> str:
    if value.startswith("__") or value.endswith("__"):
        raise fault("a name must not begin or end with two underscores", place, "rename it")
    return value


def json_object(text: str) -> Mapping[str, Json] | None:
    """The object that a text spells, or None for any other text."""
    bare = text.strip("\ufeff \t\r\n")
    if not bare.startswith("{"):
        return None
    try:
        found: dict[str, Json] = json.loads(bare, object_pairs_hook=_object)
    except RecursionError as error:
        raise fault(f"nested deeper than {_DEPTH_MAX}", "content", "make it flatter") from error
    except json.JSONDecodeError:
        return None
    except ValueError as error:  # a number with more digits than Python will read
        raise fault("an integer beyond 64 bits", "content", "write it as text") from error
    return found


def _object(pairs: list[tuple[str, Json]]) -> dict[str, Json]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise fault(
            "the same key appears twice in one object, and readers differ in which one counts",
            "content",
            "write every key once",
        )
    return found


def plain(metadata: Json, place: str) -> dict[str, Json]:
    """A JSON object of modest size and depth that does not contain itself."""
    if not isinstance(metadata, dict):
        raise fault("metadata must be an object", place, "write {} or leave it out")
    _walk(metadata, place)
    size = len(json.dumps(metadata, ensure_ascii=False, separators=(",", ":")).encode())
    if size > METADATA_BYTES_MAX:
        raise fault(
            f"the metadata is {size} bytes of JSON, {METADATA_BYTES_MAX} are allowed",
            place,
            "keep large things elsewhere and refer to them",
        )
    return metadata


def _walk(root: dict[str, Json], place: str) -> None:
    """Visit every value once per mention; the bounds end a walk that would otherwise never end."""
    pending: list[tuple[Json, str, tuple[int, ...]]] = [(root, place, ())]
    seen = 0
    while pending:
        value, at, above = pending.pop()
        seen += 1
        if seen > _VALUES_MAX:
            raise fault(f"more than {_VALUES_MAX} values", place, "keep large things elsewhere")
        if id(value) in above:
            raise fault("an object that contains itself", at, "refer to it by name")
        if len(above) >= _DEPTH_MAX:
            raise fault(f"nested deeper than {_DEPTH_MAX}", place, "make it flatter")
        pending += [(inner, where, (*above, id(value))) for inner, where in _inside(value, at)]


def _inside(value: Json, at: str) -> list[tuple[Json, str]]:
    if isinstance(value, list):
        return [(inner, f"{at}[{index}]") for index, inner in enumerate(value)]
    if isinstance(value, dict):
        if not all(isinstance(key, str) for key in value):
            raise fault("a key must be text", at, "write keys between quotes")
        return [part for key, inner in value.items() for part in ((key, at), (inner, shown(key, at)))]
    if not _is_leaf(value):
        raise fault("not a JSON value that every store can keep", at, "write it as text")
    return []


def _is_leaf(value: Json) -> bool:
    """Text without NUL or lone surrogates, an integer of 64 bits, a finite number, true, false or null."""
    if isinstance(value, str):
        lone = not value.isascii() and any("\ud800" <= letter <= "\udfff" for letter in value)
        return "\x00" not in value and not lone
    if isinstance(value, int):
        return -(2**63) <= value <= 2**63 - 1
    return value is None or (isinstance(value, float) and math.isfinite(value))
