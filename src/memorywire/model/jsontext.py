"""JSON as text, by encoders that are made once: those of the library make one more for every text."""

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
