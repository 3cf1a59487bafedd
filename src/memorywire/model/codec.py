"""Values of the model as JSON and back, driven by their type hints: to be kept, or sent to another house."""

import json
import types
from base64 import b64decode, b64encode
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from enum import Enum
from functools import cache
from typing import Any, TypeVar, Union, get_args, get_origin, get_type_hints

from memorywire.model.record import Json

T = TypeVar("T")

_KIND = "$"  # names the class of a value where a hint allows several
_PLAIN = frozenset({str, int, float, bool, types.NoneType})
_written = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode


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
    if kind in _PLAIN:
        return value
    if isinstance(value, Enum):
        return value.value
    if is_dataclass(value):
        named = ((name, getattr(value, name), default) for name, default in _defaults(kind).items())
        said = {name: dump(inner) for name, inner, default in named if inner != default}
        return {_KIND: kind.__name__, **said}
    if isinstance(value, bytes):
        return b64encode(value).decode()
    if isinstance(value, Mapping):
        return {name: dump(inner) for name, inner in value.items()}
    return [dump(inner) for inner in value] if isinstance(value, list | tuple | frozenset) else value


@cache
def _defaults(kind: type) -> Mapping[str, Any]:
    return {field.name: field.default for field in fields(kind)}


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
    """The class of that name, or of none, among those the hint allows; free-form JSON has none."""
    choices = [kind for kind in (hint, *get_args(hint)) if isinstance(kind, type)]
    fitting = (kind for kind in choices if is_dataclass(kind) and name in (None, kind.__name__))
    return next(fitting, None)
