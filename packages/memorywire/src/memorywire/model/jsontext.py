"""JSON as text and back, by encoders made once: for short texts the library's functions take longer."""

import json
import json.encoder
from collections.abc import Callable
from typing import Any, TypeAlias

Encode: TypeAlias = Callable[[Any], str]


def encoder(*, sort_keys: bool = False, ensure_ascii: bool = False, spaced: bool = False) -> Encode:
    """What writes a JSON value as `json.dumps` with these options would; without spaces unless `spaced`."""
    item, key = (", ", ": ") if spaced else (",", ":")
    usual = json.JSONEncoder(sort_keys=sort_keys, ensure_ascii=ensure_ascii, separators=(item, key))
    made_of = getattr(json.encoder, "c_make_encoder", None)
    if made_of is None:  # an interpreter without the library's extension
        return usual.encode
    quoted = json.encoder.encode_basestring_ascii if ensure_ascii else json.encoder.encode_basestring
    pieces = made_of(None, usual.default, quoted, None, key, item, sort_keys, False, True)
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
