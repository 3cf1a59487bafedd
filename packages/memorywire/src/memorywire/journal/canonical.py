"""JSON with exactly one spelling (RFC 8785), so that equal values have equal hashes."""

import math
from collections.abc import Mapping
from decimal import Decimal
from json.encoder import encode_basestring as quoted

from msgspec import Raw, Struct
from msgspec.json import Encoder

from memorywire.model.errors import InvalidRequest
from memorywire.model.record import Json

_SAME = frozenset({str, int, bool, type(None), Raw})  # msgspec spells these as RFC 8785 does
_AS_IS = (str, Struct)
_encode = Encoder(order="sorted").encode
_WORDS = {True: "true", False: "false", None: "null"}
# Between these, the shortest digits that Python prints are those of ECMAScript.
_PLAIN_FROM, _PLAIN_BELOW = 1e-4, 1e16
_LONGEST_WHOLE, _SMALLEST_POINT = 21, -6


def canonical_bytes(value: Json) -> bytes:
    """The one text of a value, in UTF-8: what the journal hashes and signs.

    Integers keep all their digits, where RFC 8785 would round beyond 2**53. A Struct is taken as it is: its
    fields must be in alphabetical order and hold text, integers, Raw JSON or Structs of such fields.
    Raises InvalidRequest for a lone surrogate or a number that is not finite.
    """
    try:
        return _encode(value) if _is_simple(value) else _spelled(value).encode()
    except UnicodeEncodeError as error:
        raise InvalidRequest("the text holds a lone surrogate") from error


def canonical(value: Json) -> str:
    """The same as text."""
    return canonical_bytes(value).decode()


def _is_simple(value: Json) -> bool:
    """Whether msgspec spells it the same. It writes floats and sorts non-ASCII keys differently."""
    kind = type(value)
    if kind is dict:
        if not "".join(value).isascii():
            return False
        value = value.values()
    elif kind is not list and kind is not tuple:
        return kind in _SAME or isinstance(value, _AS_IS)
    others = [inner for inner in value if type(inner) not in _SAME]
    return all(map(_is_simple, others))


def _spelled(value: Json) -> str:
    if isinstance(value, str):
        return quoted(value)
    if isinstance(value, Mapping):
        names = sorted(value, key=None if "".join(value).isascii() else _utf16)
        return "{" + ",".join([f"{quoted(name)}:{_spelled(value[name])}" for name in names]) + "}"
    if value is None or isinstance(value, bool):
        return _WORDS[value]
    if isinstance(value, int):
        return str(int(value))
    if isinstance(value, float):
        return _number(value)
    return "[" + ",".join([_spelled(item) for item in value]) + "]"


def encoded(text: str) -> bytes:
    """The bytes that are hashed."""
    try:
        return text.encode()
    except UnicodeEncodeError as error:
        raise InvalidRequest("the text holds a lone surrogate") from error


def _utf16(name: str) -> bytes:
    return name.encode("utf-16-be", "surrogatepass")


def _number(value: float) -> str:
    if not math.isfinite(value):
        raise InvalidRequest("a number of the entry is not finite")
    if value == 0:
        return "0"  # -0 too
    if _PLAIN_FROM <= abs(value) < _PLAIN_BELOW:
        return repr(value).removesuffix(".0")
    return ("-" if value < 0 else "") + _ecmascript(Decimal(repr(abs(value))).normalize())


def _ecmascript(value: Decimal) -> str:
    """Number::toString of ECMA-262: `point` is where the decimal point stands among the digits."""
    parts = value.as_tuple()
    digits = "".join(map(str, parts.digits))
    point = len(digits) + int(parts.exponent)
    if len(digits) <= point <= _LONGEST_WHOLE:
        return digits.ljust(point, "0")
    if _SMALLEST_POINT < point <= 0:
        return f"0.{'0' * -point}{digits}"
    fraction = f".{digits[1:]}" if len(digits) > 1 else ""
    return f"{digits[0]}{fraction}e{point - 1:+d}"
