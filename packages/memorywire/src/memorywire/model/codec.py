"""Values of the model as JSON and back, driven by their type hints: to be kept, or sent to another house."""

import json
import types
from base64 import b64decode, b64encode
from collections.abc import Callable, Mapping, Sequence
from enum import Enum
from functools import cache, partial
from operator import attrgetter
from typing import Any, TypeVar, Union, get_args, get_origin, get_type_hints

from msgspec import NODEFAULT, Struct
from msgspec.structs import fields

from memorywire.model.jsontext import encoder
from memorywire.model.record import Json

T = TypeVar("T")

_KIND = "$"  # names the class of a value where a hint allows several
_PLAIN = frozenset({str, int, float, bool, types.NoneType})
_written = encoder()


def dumps(value: object) -> str:
    """One line of JSON that `loads` reads back to an equal value."""
    return _written(dump(value))


def loads(kind: type[T], text: str) -> T:
    """The value of that kind which `dumps` wrote."""
    loaded: T = load(kind, json.loads(text))
    return loaded


def dump(value: Any) -> Json:
    """Plain JSON that `load` reads back to an equal value."""
    kind: type = type(value)
    return value if kind in _PLAIN else _way(kind)(value)


@cache
def _way(kind: type) -> Callable[[Any], Json]:
    """How values of a kind are written; worked out once."""
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


def _dump_value(kind: str, defaults: Sequence[tuple[str, Any]], value: object) -> Json:
    said = {_KIND: kind}
    for name, default in defaults:
        inner = getattr(value, name)
        if default is NODEFAULT or (inner is not default and inner != default):
            said[name] = inner if type(inner) in _PLAIN else dump(inner)
    return said


@cache
def _hints(kind: type) -> Mapping[str, Any]:
    return get_type_hints(kind)


def load(hint: Any, data: Any) -> Any:
    """The value that the hint describes."""
    if isinstance(data, dict):
        kind = _named(hint, data.get(_KIND))
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


def _load_value(kind: type, data: Mapping[str, Json]) -> Any:
    hints = _hints(kind)
    return kind(**{name: load(hints[name], inner) for name, inner in data.items() if name != _KIND})


def _named(hint: Any, name: Json) -> type | None:
    """The class of that name among those the hint allows; free-form JSON names none."""
    choices = [kind for kind in (hint, *get_args(hint)) if isinstance(kind, type)]
    fitting = (kind for kind in choices if issubclass(kind, Struct) and name in (None, kind.__name__))
    return next(fitting, None)
