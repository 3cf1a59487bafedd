"""Encodes values of the model as JSON and decodes them by their type hints, for files and other servers."""

import json
import json.encoder
import types
from base64 import b64decode, b64encode
from collections.abc import Callable, Mapping, Sequence
from enum import Enum
from functools import cache, partial
from operator import attrgetter
from typing import Any, TypeVar, Union, get_args, get_origin, get_type_hints

from msgspec import NODEFAULT, Struct
from msgspec.json import Decoder, Encoder
from msgspec.structs import fields

T = TypeVar("T")

_KIND = "$"  # the class name of a value, if its hint allows several classes
_PLAIN = frozenset({str, int, float, bool, types.NoneType})
_encode, _decode = Encoder().encode, Decoder().decode


def parse_json(text: str | bytes) -> Any:
    """Parse untrusted JSON; raises ValueError, also if it is nested too deeply."""
    try:
        return json.loads(text)
    except RecursionError as error:
        raise ValueError("it is nested too deeply") from error


def write_json(value: Any) -> str:
    """Return the value as compact JSON; characters beyond ASCII are not escaped."""
    return _encode(value).decode()


def read_json(text: str) -> Any:
    """Parse JSON that `write_json` wrote; raises ValueError if it is damaged."""
    return _decode(text)


def dumps(value: object) -> str:
    """Return one line of JSON from which `loads` restores an equal value."""
    return write_json(dump(value))


def loads(kind: type[T], text: str) -> T:
    """Restore a value of this type from the JSON that `dumps` wrote."""
    value: T = load(kind, read_json(text))
    return value


def dump(value: Any) -> Any:
    """Return plain JSON from which `load` restores an equal value."""
    kind: type = type(value)
    return value if kind in _PLAIN else _choose_encoder(kind)(value)


@cache
def _choose_encoder(kind: type) -> Callable[[Any], Any]:
    """Return the function that encodes values of this class."""
    if issubclass(kind, Enum):
        return attrgetter("value")
    if issubclass(kind, Struct):
        return partial(
            _dump_value, kind.__name__, tuple((field.name, field.default) for field in fields(kind))
        )
    if issubclass(kind, bytes):
        return lambda value: b64encode(value).decode()
    if issubclass(kind, Mapping):
        return lambda value: {name: dump(inner) for name, inner in value.items()}
    if issubclass(kind, list | tuple | frozenset):
        return lambda value: [inner if type(inner) in _PLAIN else dump(inner) for inner in value]
    return lambda value: value


def _dump_value(kind: str, defaults: Sequence[tuple[str, Any]], value: object) -> Any:
    document = {_KIND: kind}
    for name, default in defaults:
        inner = getattr(value, name)
        if default is NODEFAULT or (inner is not default and inner != default):
            document[name] = inner if type(inner) in _PLAIN else dump(inner)
    return document


@cache
def _hints(kind: type) -> Mapping[str, Any]:
    return get_type_hints(kind)


def load(hint: Any, data: Any) -> Any:
    """Restore a value of the type hint from plain JSON."""
    if isinstance(data, dict):
        kind = _find_class(hint, data.get(_KIND))
        return data if kind is None else _load_value(kind, data)
    origin = get_origin(hint)
    if origin is tuple:
        inner = get_args(hint)
        each = [inner[0]] * len(data) if inner[-1] is Ellipsis else inner
        return tuple(load(kind, item) for kind, item in zip(each, data, strict=True))
    if origin is frozenset:
        return frozenset(load(get_args(hint)[0], item) for item in data)
    if origin in (Union, types.UnionType):
        choices = [choice for choice in get_args(hint) if choice is not types.NoneType]
        return data if data is None or len(choices) > 1 else load(choices[0], data)
    if isinstance(hint, type) and issubclass(hint, Enum | float) and data is not None:
        return hint(data)
    return b64decode(data) if hint is bytes else data


def _load_value(kind: type, data: Mapping[str, Any]) -> Any:
    hints = _hints(kind)
    return kind(**{name: load(hints[name], inner) for name, inner in data.items() if name != _KIND})


def _find_class(hint: Any, name: Any) -> type | None:
    """Return the class of that name among those the hint allows, or None for free-form JSON."""
    choices = [kind for kind in (hint, *get_args(hint)) if isinstance(kind, type)]
    fitting = (kind for kind in choices if issubclass(kind, Struct) and name in (None, kind.__name__))
    return next(fitting, None)
