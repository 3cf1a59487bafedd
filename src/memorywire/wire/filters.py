"""The filter language: JSON in, a typed filter out. The schema has already refused what is not one."""

from collections.abc import Mapping

from memorywire.model.record import Json
from memorywire.model.where import FIELDS, And, Compare, Filter, Not, Operator, Or


def decode_filter(document: Mapping[str, Json]) -> Filter:
    """Keys of one object are ANDed; a plain value means equality."""
    parts = tuple(_decode_entry(key, value) for key, value in document.items())
    return parts[0] if len(parts) == 1 else And(parts)


def _decode_entry(key: str, value: Json) -> Filter:
    match key:
        case "and":
            return And(tuple(decode_filter(part) for part in value))
        case "or":
            return Or(tuple(decode_filter(part) for part in value))
        case "not":
            return Not(decode_filter(value))
    path = _path(key)
    if not isinstance(value, Mapping):
        return Compare(path, Operator.EQ, value)
    comparisons = tuple(Compare(path, Operator(name), wanted) for name, wanted in value.items())
    return comparisons[0] if len(comparisons) == 1 else And(comparisons)


def _path(key: str) -> tuple[str, ...]:
    """A record field by its name; anything else reads inside the metadata."""
    if key in FIELDS:
        return (key,)
    steps = tuple(key.split("."))
    return steps if steps[0] == "metadata" else ("metadata", *steps)
