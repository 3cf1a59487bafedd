"""Which kind of store a question is for: told by its words, or by questions whose kind is known.

A `Route` is a read policy of the router: instead of every store, those of one kind are asked.
"""

import math
import re
from collections.abc import Callable, Iterable, Sequence
from enum import StrEnum
from typing import TypeAlias

from memorywire.model.errors import InvalidRequest
from memorywire.model.query import Query
from memorywire.search.reference import cosine, floats
from memorywire.stores.contract import Store


class Kind(StrEnum):
    """What a question looks for: relations between memories, their meaning, or their exact words."""

    RELATIONSHIP = "relationship"
    SEMANTIC = "semantic"
    LITERAL = "literal"


Route: TypeAlias = Callable[[Query], Kind]

FALLBACK = (Kind.SEMANTIC, Kind.LITERAL, Kind.RELATIONSHIP)
"""Who is asked when those of the right kind fail or find nothing; the first, when no rule holds."""

_KINDS = {"graph": Kind.RELATIONSHIP, "graphiti": Kind.RELATIONSHIP, "markdown": Kind.LITERAL}

_STRONG = 3.0
_WEAK = 1.0
_MOST_WEAK = 2
_SHORT = 1.5
_FEW_WORDS = 2

# Strong and weak signs; patterns that are compiled when the first question comes.
_SIGNS: dict[Kind, tuple[str, str]] = {
    Kind.RELATIONSHIP: (
        r"(?i)\b(?:relat(?:ed|es?|ion\w*)|connect(?:ed|s|ion\w*)|linked|contradict\w*|conflict(?:s|ing)?"
        r"|supersede\w*|depends? on|derived? from|led to|caused? by|between\b.+\band)\b",
        r"(?i)\b(?:who|whose|instead|replaced?|with|because|both|before|after)\b",
    ),
    Kind.LITERAL: (
        # Something in quotes, an identifier, a path, a version, a number with a sign; or it says so itself.
        r"[\"`“][^\"`”]+[\"`”]|\b\w+_\w+\b|\b[a-z]+[A-Z]\w*\b|\w[/\\]\w|\b\w+\.\w+\b|[#$]\d"
        r"|\b(?i:exact(?:ly)?|verbatim|word for word|literal(?:ly)?)\b",
        r"\b(?:[A-Z]{2,}|\d+)\b|\b(?i:code|command|file|flag|key|number|path|port|url)\b",
    ),
    Kind.SEMANTIC: (
        r"(?i)\b(?:similar|about|why|explain|summar\w+|in general|feel\w*|mean\w*)\b",
        r"(?i)\b(?:how|what|like|prefer\w*|enjoy\w*|think\w*|should|kind)\b",
    ),
}


def by_rules(query: Query) -> Kind:
    """The kind that most words speak for; on a tie relations come first, then exact words, then meaning."""
    weights = {kind: _weight(kind, query.text) for kind in _SIGNS}
    best = max(weights, key=lambda kind: weights[kind])
    return best if weights[best] else FALLBACK[0]


def _weight(kind: Kind, text: str) -> float:
    strong, weak = _SIGNS[kind]
    short = kind is Kind.LITERAL and 0 < len(text.split()) <= _FEW_WORDS
    base = _STRONG if re.search(strong, text) else 0.0
    return base + _WEAK * min(len(re.findall(weak, text)), _MOST_WEAK) + (_SHORT if short else 0.0)


def learned(examples: Iterable[tuple[bytes, Kind]]) -> Route:
    """A route that goes by the vectors of questions whose kind is known: to the kind whose mean is nearest.

    A question without a vector is routed by rules.
    """
    sums: dict[Kind, list[float]] = {}
    for vector, kind in examples:
        numbers = floats(vector)
        total = sums.get(kind, [0.0] * len(numbers))
        sums[kind] = [one + other for one, other in zip(total, numbers, strict=True)]
    if not sums:
        raise InvalidRequest("there are no examples to learn from", field="examples")
    means = {kind: _normalise(total) for kind, total in sums.items()}

    def route(query: Query) -> Kind:
        if query.vector is None:
            return by_rules(query)
        vector = floats(query.vector)
        return max(sorted(means), key=lambda kind: cosine(vector, means[kind]))

    return route


def _normalise(total: Sequence[float]) -> tuple[float, ...]:
    length = math.hypot(*total) or 1.0
    return tuple(number / length for number in total)


def find_kind(store: Store) -> Kind:
    """What questions a store is best at, by what it is."""
    return _KINDS.get(store.name, Kind.SEMANTIC)


def order_kinds(first: Kind) -> tuple[Kind, ...]:
    """The kinds to ask, one after the other."""
    return (first, *(kind for kind in FALLBACK if kind is not first))
