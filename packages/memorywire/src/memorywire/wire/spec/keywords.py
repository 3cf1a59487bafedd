"""The checks of the JSON Schema 2020-12 keywords that the wire format uses."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from math import inf
from typing import Any, Final, Protocol, TypeAlias

from msgspec import Struct
from msgspec.structs import replace

_SPACE = r"\t\n\v\f\r \u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000\ufeff"
_ESCAPES = r"\\u[0-9a-fA-F]{4}|\\[\\^$.*+?()\[\]{}|/]"
_PIECE = re.compile(
    r"(?P<end>\$)"
    r"|(?P<space>\\s)"
    rf"|(?P<any_of>\[(?!\^?\])\^?(?:(?<!-)\\s(?!-[^\]])|{_ESCAPES}|\\-|[^\\\[\]])+\])"
    rf"|{_ESCAPES}"
    r"|\((?:\?[:=!]|(?!\?))|[)|^]"
    r"|(?:[*+?]|\{\d+(?:,\d*)?\})(?![*+?{])"
    r"|[^\\.*+?(){}\[\]|^$]"
)
_MEMBER = re.compile(r"\\.|[^\\]", re.DOTALL)


def searching(pattern: str) -> Callable[[str], object]:
    """Return the search function of a pattern: `$` is the end of the text, white space as in ECMAScript.

    Raises ValueError for syntax with another meaning in Python, such as `.` or `\\d`.
    """
    translated, at = "", 0
    while at < len(pattern):
        piece = _PIECE.match(pattern, at)
        if piece is None:
            raise ValueError(f"{pattern} is not supported from position {at} on")
        translated += _translate(piece)
        at = piece.end()
    return re.compile(translated).search


def _translate(piece: re.Match[str]) -> str:
    if piece["end"]:
        return "\\Z"
    if piece["space"]:
        return f"[{_SPACE}]"
    if piece["any_of"]:
        return "".join(_SPACE if member == "\\s" else member for member in _MEMBER.findall(piece[0]))
    return piece[0]


Schema: TypeAlias = Any  # a mapping, or a boolean


class Fault(Struct, frozen=True, kw_only=True):
    """A violation: the keyword, the schema that contains it, and the path in the value.

    `names` are the missing or unknown properties, `branches` the faults of each alternative.
    """

    keyword: str
    schema: Schema
    path: tuple[str | int, ...] = ()
    names: tuple[str, ...] = ()
    branches: tuple[tuple["Fault", ...], ...] = ()

    def __str__(self) -> str:
        place = "/".join(map(str, self.path)) or "it"
        return f"{place} is not valid ({', '.join([self.keyword, *self.names])})"


Faults: TypeAlias = Sequence[Fault]
Check: TypeAlias = Callable[[Any], Faults]
"""Returns the faults of a value; empty if it is valid."""

FALSE: Final = "falseSchema"
"""The keyword in faults of the schema `false`, which no value satisfies."""

FINE: Final[Faults] = ()
KINDS: Mapping[type, str] = {
    **{str: "string", bool: "boolean", int: "integer", float: "number"},
    **{dict: "object", list: "array", type(None): "null"},
}
_ANY = tuple(KINDS.values())
_NUMBERS = ("integer", "number")
_TEXT, _LIST, _OBJECT = ("string",), ("array",), ("object",)


class Shape(dict[type, Check]):
    """A compiled schema: for each type of a value, the checks that apply to it."""

    def __missing__(self, kind: type) -> Check:
        """Return the checks for a subclass, such as a string enumeration: those of its base type."""
        for base in KINDS:
            if issubclass(kind, base):
                return self[base]
        raise TypeError(f"{kind.__name__} is not a JSON value")

    def faults(self, value: object) -> Faults:
        return self[type(value)](value)

    def of(self, kind: type) -> Check:
        """Return the checks for values of a type; a recursive reference defers them."""
        return self[kind]


class Compiler(Protocol):
    """Compiles the subschemas of a schema in the document `home`."""

    def of(self, schema: Schema, home: str) -> Shape: ...

    def refer(self, address: str) -> Shape: ...


Part: TypeAlias = tuple[Sequence[str], Check]
"""A check, and the types of values that it applies to."""

Build: TypeAlias = Callable[[Mapping[str, Any], Compiler, str], Iterator[Part]]


def join_checks(checks: Sequence[Check]) -> Check:
    """Join checks to one that makes all of them in order."""
    if len(checks) == 1:
        return checks[0]
    if not checks:
        return lambda _: FINE

    def check(value: Any) -> Faults:
        problems: Faults = FINE
        for one in checks:
            faults = one(value)
            if faults:
                problems = (*problems, *faults)
        return problems

    return check


def _inside(step: str | int, faults: Faults) -> Iterator[Fault]:
    return (replace(fault, path=(step, *fault.path)) for fault in faults)


def _types(schema: Mapping[str, Any], _: Compiler, __: str) -> Iterator[Part]:
    """Compile `type`: the Python type decides, except for numbers, because 2.0 is an integer to a schema."""
    types, faults = schema["type"], (Fault(keyword="type", schema=schema),)
    names = {types} if isinstance(types, str) else {*types}
    if "number" in names:
        names.add("integer")
    elif "integer" in names:
        names.add("number")
        yield ("number",), lambda value: FINE if value.is_integer() else faults
    yield [kind for kind in _ANY if kind not in names], lambda _: faults


def _options(schema: Mapping[str, Any], _: Compiler, __: str) -> Iterator[Part]:
    faults = (Fault(keyword="enum", schema=schema),)
    texts = frozenset(one for one in schema["enum"] if isinstance(one, str))
    rest = [one for one in schema["enum"] if not isinstance(one, str)]
    yield _TEXT, lambda value: FINE if value in texts else faults
    others = [kind for kind in _ANY if kind not in _TEXT]
    yield others, lambda value: FINE if any(_same(value, one) for one in rest) else faults


def _constant(schema: Mapping[str, Any], _: Compiler, __: str) -> Iterator[Part]:
    constant, faults = schema["const"], (Fault(keyword="const", schema=schema),)
    yield _ANY, lambda value: FINE if _same(value, constant) else faults


def _check_size(low: str, high: str, kinds: Sequence[str]) -> Build:
    def build(schema: Mapping[str, Any], _: Compiler, __: str) -> Iterator[Part]:
        least, most = schema.get(low, 0), schema.get(high, inf)

        def check(value: Any) -> Faults:
            if least <= len(value) <= most:
                return FINE
            return (Fault(keyword=low if len(value) < least else high, schema=schema),)

        yield kinds, check

    return build


def _check_range(schema: Mapping[str, Any], _: Compiler, __: str) -> Iterator[Part]:
    least, most = schema.get("minimum", -inf), schema.get("maximum", inf)
    below = schema.get("exclusiveMinimum", -inf)

    def check(value: float) -> Faults:
        if least <= value <= most and below < value:
            return FINE
        keyword = "minimum" if value < least else "maximum" if value > most else "exclusiveMinimum"
        return (Fault(keyword=keyword, schema=schema),)

    yield _NUMBERS, check


def _pattern(schema: Mapping[str, Any], _: Compiler, __: str) -> Iterator[Part]:
    search, faults = searching(schema["pattern"]), (Fault(keyword="pattern", schema=schema),)
    yield _TEXT, lambda value: FINE if search(value) else faults


def _members(schema: Mapping[str, Any], shapes: Compiler, home: str) -> Iterator[Part]:
    """Compile `properties`, `patternProperties` and `additionalProperties`, which share the members."""
    properties = {name: shapes.of(one, home) for name, one in schema.get("properties", {}).items()}
    patterns = schema.get("patternProperties", {})
    alike = [(searching(pattern), shapes.of(one, home)) for pattern, one in patterns.items()]
    rest = schema.get("additionalProperties", True)
    if rest is True and not alike:
        yield _OBJECT, _some(properties)
        return
    others = [] if rest is False else [shapes.of(rest, home)]

    def meant(name: str) -> list[Shape]:
        """Return the checks for a member of this name; empty if it is not allowed."""
        matches = [properties[name]] if name in properties else []
        return [*matches, *(one for search, one in alike if search(name))] or others

    by_name = {name: meant(name) for name in properties}

    def check(value: Mapping[str, Any]) -> Faults:
        problems: list[Fault] = []
        unknown: list[str] = []
        for name, inner in value.items():
            shapes_of_name = by_name.get(name) or meant(name)
            if not shapes_of_name:
                unknown.append(name)
            for one in shapes_of_name:
                faults = one[type(inner)](inner)
                if faults:
                    problems += _inside(name, faults)
        if unknown:
            problems.append(Fault(keyword="additionalProperties", schema=schema, names=tuple(unknown)))
        return problems

    yield _OBJECT, check


def _some(properties: Mapping[str, Shape]) -> Check:
    """Compile checks of named members only; others are ignored."""

    def check(value: Mapping[str, Any]) -> Faults:
        problems: Faults = FINE
        for name, shape in properties.items():
            if name in value:
                faults = shape[type(value[name])](value[name])
                if faults:
                    problems = (*problems, *_inside(name, faults))
        return problems

    return check


def _property_names(schema: Mapping[str, Any], shapes: Compiler, home: str) -> Iterator[Part]:
    name_shape = shapes.of(schema["propertyNames"], home)
    fault = Fault(keyword="propertyNames", schema=schema)
    yield _OBJECT, lambda value: [fault for name in value if name_shape.faults(name)]


def _items(schema: Mapping[str, Any], shapes: Compiler, home: str) -> Iterator[Part]:
    one = shapes.of(schema["items"], home)

    def check(value: Sequence[Any]) -> Faults:
        problems: Faults = FINE
        for at, item in enumerate(value):
            faults = one[type(item)](item)
            if faults:
                problems = (*problems, *_inside(at, faults))
        return problems

    yield _LIST, check


def _unique(schema: Mapping[str, Any], _: Compiler, __: str) -> Iterator[Part]:
    faults = (Fault(keyword="uniqueItems", schema=schema),)
    if schema["uniqueItems"]:
        yield _LIST, lambda value: FINE if _all_differ(value) else faults


def _all_differ(value: Sequence[Any]) -> bool:
    if all(isinstance(one, str) for one in value):
        return len({*value}) == len(value)
    return not any(_same(one, other) for at, one in enumerate(value) for other in value[:at])


def _check_required(schema: Mapping[str, Any], _: Compiler, __: str) -> Iterator[Part]:
    names = {name: _missing(name, schema) for name in schema["required"]}

    def check(value: Mapping[str, Any]) -> Faults:
        return FINE if value.keys() >= names.keys() else [names[one] for one in names if one not in value]

    yield _OBJECT, check


def _dependent(schema: Mapping[str, Any], _: Compiler, __: str) -> Iterator[Part]:
    pairs = [(name, other) for name, others in schema["dependentRequired"].items() for other in others]

    def check(value: Mapping[str, Any]) -> Faults:
        return [_missing(other, schema) for name, other in pairs if name in value and other not in value]

    yield _OBJECT, check


def _missing(name: str, schema: Mapping[str, Any]) -> Fault:
    return Fault(keyword="required", schema=schema, names=(name,))


def _ref(schema: Mapping[str, Any], shapes: Compiler, home: str) -> Iterator[Part]:
    document, mark, pointer = schema["$ref"].partition("#")
    if document and ":" not in document:
        document = home[: home.rindex("/") + 1] + document
    target = shapes.refer(f"{document or home}{mark}{pointer}")
    for kind, name in KINDS.items():
        yield (name,), target.of(kind)


def _if(schema: Mapping[str, Any], shapes: Compiler, home: str) -> Iterator[Part]:
    condition, then = shapes.of(schema["if"], home), shapes.of(schema["then"], home)
    yield _ANY, lambda value: FINE if condition[type(value)](value) else then[type(value)](value)


def _not(schema: Mapping[str, Any], shapes: Compiler, home: str) -> Iterator[Part]:
    inner, faults = shapes.of(schema["not"], home), (Fault(keyword="not", schema=schema),)
    yield _ANY, lambda value: FINE if inner[type(value)](value) else faults


def _alternatives(keyword: str) -> Build:
    """Compile `anyOf`, of which at least one must match, or `oneOf`, of which exactly one must match."""

    def build(schema: Mapping[str, Any], shapes: Compiler, home: str) -> Iterator[Part]:
        each = [shapes.of(one, home) for one in schema[keyword]]

        def check(value: Any) -> Faults:
            branches = tuple(tuple(one.faults(value)) for one in each)
            fitting = branches.count(())
            if fitting == 1 or (fitting and keyword == "anyOf"):
                return FINE
            return (Fault(keyword=keyword, schema=schema, branches=branches),)

        yield _ANY, check

    return build


def _same(one: Any, other: Any) -> bool:
    """Compare as JSON: 1 equals 1.0, and true does not equal 1."""
    if isinstance(one, bool) or isinstance(other, bool):
        return one is other
    if isinstance(one, Mapping) and isinstance(other, Mapping):
        return one.keys() == other.keys() and all(_same(one[name], other[name]) for name in one)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(_same, one, other))
    return bool(one == other)


SAYS_NOTHING = frozenset(
    {
        *("$schema", "$id", "$defs", "$comment", "title", "description", "default", "examples", "deprecated"),
        "then",  # `if` handles it
    }
)
KEYWORDS: Mapping[str, Build] = {
    "$ref": _ref,
    "type": _types,
    "enum": _options,
    "const": _constant,
    "anyOf": _alternatives("anyOf"),
    "oneOf": _alternatives("oneOf"),
    "not": _not,
    "if": _if,
    "pattern": _pattern,
    "items": _items,
    "uniqueItems": _unique,
    "propertyNames": _property_names,
    "required": _check_required,
    "dependentRequired": _dependent,
    **dict.fromkeys(("minLength", "maxLength"), _check_size("minLength", "maxLength", _TEXT)),
    **dict.fromkeys(("minItems", "maxItems"), _check_size("minItems", "maxItems", _LIST)),
    **dict.fromkeys(
        ("minProperties", "maxProperties"), _check_size("minProperties", "maxProperties", _OBJECT)
    ),
    **dict.fromkeys(("minimum", "maximum", "exclusiveMinimum"), _check_range),
    **dict.fromkeys(("properties", "patternProperties", "additionalProperties"), _members),
}
