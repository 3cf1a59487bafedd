"""Values of the model as JSON and back, driven by their type hints: to be kept, or sent to another house."""

import json
import json.encoder
import types
from base64 import b64decode, b64encode
from collections.abc import Callable, Mapping, Sequence
from enum import Enum
from functools import cache, partial
from operator import attrgetter
from typing import Any, TypeAlias, TypeVar, Union, get_args, get_origin, get_type_hints

from msgspec import NODEFAULT, Struct
from msgspec.structs import fields

Encode: TypeAlias = Callable[[Any], str]


def encoder(*, sort_keys: bool = False, ensure_ascii: bool = False, spaced: bool = False) -> Encode:
    """What writes a JSON value as `json.dumps` with these options would; without spaces unless `spaced`."""
    item, key = (", ", ": ") if spaced else (",", ":")
    usual = json.JSONEncoder(sort_keys=sort_keys, ensure_ascii=ensure_ascii, separators=(item, key))
    made_of = getattr(json.encoder, "c_make_encoder", None)
    if made_of is None:  # an interpreter without the library's extension
        return usual.encode
    quote = json.encoder.encode_basestring_ascii if ensure_ascii else json.encoder.encode_basestring
    pieces = made_of(None, usual.default, quote, None, key, item, sort_keys, False, True)
    return lambda value: "".join(pieces(value, 0))


def parse_json(text: str | bytes) -> Any:
    """What `json.loads` makes of text from outside; one that is nested too deep is a ValueError, too."""
    try:
        return json.loads(text)
    except RecursionError as error:
        raise ValueError("it is nested too deep") from error


_read = json.JSONDecoder().raw_decode


def decoded(text: str) -> Any:
    """What `json.loads` makes of a text, in less time where nothing is around the value."""
    try:
        value, end = _read(text)
    except json.JSONDecodeError:
        return json.loads(text)
    return value if end == len(text) else json.loads(text)


T = TypeVar("T")

_KIND = "$"  # names the class of a value where a hint allows several
_PLAIN = frozenset({str, int, float, bool, types.NoneType})
_written = encoder()


def dumps(value: object) -> str:
    """One line of JSON that `loads` reads back to an equal value."""
    return _written(dump(value))


def loads(kind: type[T], text: str) -> T:
    """The value of that kind which `dumps` wrote."""
    value: T = load(kind, json.loads(text))
    return value


def dump(value: Any) -> Any:
    """Plain JSON that `load` reads back to an equal value."""
    kind: type = type(value)
    return value if kind in _PLAIN else _way(kind)(value)


@cache
def _way(kind: type) -> Callable[[Any], Any]:
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


def _load_value(kind: type, data: Mapping[str, Any]) -> Any:
    hints = _hints(kind)
    return kind(**{name: load(hints[name], inner) for name, inner in data.items() if name != _KIND})


def _named(hint: Any, name: Any) -> type | None:
    """The class of that name among those the hint allows; free-form JSON names none."""
    choices = [kind for kind in (hint, *get_args(hint)) if isinstance(kind, type)]
    fitting = (kind for kind in choices if issubclass(kind, Struct) and name in (None, kind.__name__))
    return next(fitting, None)
