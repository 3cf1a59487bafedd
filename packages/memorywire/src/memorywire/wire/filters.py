"""The filter language: JSON in, a typed filter out. The schema has already refused what is not one."""

from collections.abc import Mapping, Sequence

from memorywire.model.record import Json
from memorywire.model.where import FIELDS, And, Compare, Filter, Not, Operator, Or
from memorywire.wire.moments import check_moment

_MOMENTS = frozenset({"created_at", "updated_at", "occurred_at", "expires_at"})


def decode_filter(document: Mapping[str, Json], place: str = "filter") -> Filter:
    """Keys of one object are ANDed, a plain value means equality; `place` is where the filter stands."""
    parts = tuple(_decode_entry(key, value, f"{place}.{key}") for key, value in document.items())
    return parts[0] if len(parts) == 1 else And(parts)


def _decode_entry(key: str, value: Json, place: str) -> Filter:
    match key:
        case "and":
            return And(_each(value, place))
        case "or":
            return Or(_each(value, place))
        case "not":
            return Not(decode_filter(value, place))
    path = _path(key)
    if not isinstance(value, Mapping):
        return _compared(path, Operator.EQ, value, place)
    comparisons = tuple(
        _compared(path, Operator(name), wanted, f"{place}.{name}") for name, wanted in value.items()
    )
    return comparisons[0] if len(comparisons) == 1 else And(comparisons)


def _each(filters: Sequence[Mapping[str, Json]], place: str) -> tuple[Filter, ...]:
    return tuple(decode_filter(part, f"{place}.{at}") for at, part in enumerate(filters))


def _compared(path: tuple[str, ...], operator: Operator, wanted: Json, place: str) -> Compare:
    if path[0] in _MOMENTS:
        for value in wanted if isinstance(wanted, list) else (wanted,):
            check_moment(value, place)
    return Compare(path, operator, wanted)


def _path(key: str) -> tuple[str, ...]:
    """The path of a record field; a name that is none reads inside the metadata."""
    if key in FIELDS:
        return (key,)
    steps = tuple(key.split("."))
    return steps if steps[0] == "metadata" else ("metadata", *steps)
