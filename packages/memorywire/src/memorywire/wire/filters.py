"""The filter language: decodes a valid filter, and warns of probable misspellings."""

from collections.abc import Iterator, Mapping, Sequence

from memorywire.model.clock import SECONDS
from memorywire.model.errors import InvalidRequest
from memorywire.model.query import FIELDS, And, Compare, Filter, Not, Operator, Or
from memorywire.model.record import Json


def check_moment(value: Json, field: str) -> None:
    """Raise InvalidRequest if this number is certainly in seconds instead of milliseconds."""
    if isinstance(value, int | float) and SECONDS.start <= value < SECONDS.stop:
        raise in_seconds(field)


def in_seconds(field: str) -> InvalidRequest:
    return InvalidRequest(
        f"{field} is a time in seconds; the wire uses milliseconds",
        field=field,
        fix="multiply it by 1000",
    )


_MOMENTS = frozenset({"created_at", "updated_at", "occurred_at", "expires_at"})


def decode_filter(document: Mapping[str, Json], place: str = "filter") -> Filter:
    """Decode a filter: keys of an object are ANDed, a plain value means equality; `place` is its path."""
    parts = tuple(_decode_entry(key, value, f"{place}.{key}") for key, value in document.items())
    return parts[0] if len(parts) == 1 else And(parts)


def _decode_entry(key: str, value: Json, place: str) -> Filter:
    match key:
        case "and":
            return And(_decode_each(value, place))
        case "or":
            return Or(_decode_each(value, place))
        case "not":
            return Not(decode_filter(value, place))
    path = _build_path(key)
    if not isinstance(value, Mapping):
        return _build_comparison(path, Operator.EQ, value, place)
    comparisons = tuple(
        _build_comparison(path, Operator(name), operand, f"{place}.{name}") for name, operand in value.items()
    )
    return comparisons[0] if len(comparisons) == 1 else And(comparisons)


def _decode_each(filters: Sequence[Mapping[str, Json]], place: str) -> tuple[Filter, ...]:
    return tuple(decode_filter(part, f"{place}.{at}") for at, part in enumerate(filters))


def _build_comparison(path: tuple[str, ...], operator: Operator, operand: Json, place: str) -> Compare:
    if path[0] in _MOMENTS:
        for value in operand if isinstance(operand, list) else (operand,):
            check_moment(value, place)
    return Compare(path, operator, operand)


def _build_path(key: str) -> tuple[str, ...]:
    """Return the path of a record field; any other name is a path inside the metadata."""
    if key in FIELDS:
        return (key,)
    steps = tuple(key.split("."))
    return steps if steps[0] == "metadata" else ("metadata", *steps)


def encode_filter(filter: Filter) -> dict[str, Json]:
    """Return the document that `decode_filter` reads as this filter."""
    match filter:
        case Compare():
            return {".".join(filter.path): {filter.operator.value: filter.value}}
        case Not():
            return {"not": encode_filter(filter.part)}
        case And() | Or():
            name = "and" if isinstance(filter, And) else "or"
            return {name: [encode_filter(part) for part in filter.parts]}


_JOINTS = ("and", "or", "not")
_ALIKE = 0.7  # `user` is taken for user_id, `sorce` for source


def doubts(filter: Json) -> tuple[str, ...]:
    """Return a warning for each name in the filter that is nearly the name of a record field."""
    return tuple(
        f"the filter looks for {name} in the metadata; did you mean the field {suggestion}?"
        for name, suggestion in dict(_doubtful(filter)).items()
    )


def _doubtful(filter: Json) -> Iterator[tuple[str, str]]:
    if isinstance(filter, list):
        for part in filter:
            yield from _doubtful(part)
    if not isinstance(filter, dict):
        return
    for name, value in filter.items():
        if name in _JOINTS:
            yield from _doubtful(value)
        elif name not in FIELDS and "." not in name:
            from difflib import get_close_matches  # few filters name anything but fields

            for suggestion in get_close_matches(name.lower(), FIELDS, n=1, cutoff=_ALIKE):
                yield name, suggestion
