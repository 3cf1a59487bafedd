"""Selects the kind of store for a question, by its words or by labelled example questions.

A `Route` is a read policy of the router: it queries the stores of one kind instead of all.
"""

import math
import re
from collections.abc import Callable, Iterable, Sequence
from enum import StrEnum
from pathlib import Path
from typing import TypeAlias

import msgspec
from msgspec import Struct

from memorywire.model.errors import InvalidRequest
from memorywire.model.query import Query
from memorywire.search.reference import cosine, floats
from memorywire.stores.contract import Store


class Kind(StrEnum):
    """The target of a question: relations between memories, their meaning, or their exact words."""

    RELATIONSHIP = "relationship"
    SEMANTIC = "semantic"
    LITERAL = "literal"


Route: TypeAlias = Callable[[Query], Kind]

FALLBACK = (Kind.SEMANTIC, Kind.LITERAL, Kind.RELATIONSHIP)
"""The order of kinds if stores of the right kind fail or find nothing; the first is the default."""

_KINDS = {"graph": Kind.RELATIONSHIP, "graphiti": Kind.RELATIONSHIP, "markdown": Kind.LITERAL}

_STRONG = 3.0
_WEAK = 1.0
_MOST_WEAK = 2
_SHORT = 1.5
_FEW_WORDS = 2

# Strong and weak signs; the patterns are compiled at the first question.
_SIGNS: dict[Kind, tuple[str, str]] = {
    Kind.RELATIONSHIP: (
        r"(?i)\b(?:relat(?:ed|es?|ion\w*)|connect(?:ed|s|ion\w*)|linked|contradict\w*|conflict(?:s|ing)?"
        r"|supersede\w*|depends? on|derived? from|led to|caused? by|between\b.+\band)\b",
        r"(?i)\b(?:who|whose|instead|replaced?|with|because|both|before|after)\b",
    ),
    Kind.LITERAL: (
        # A quotation, an identifier, a path, a version, a number with a sign; or an explicit request.
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
    """Return the kind with most matching words; ties go to relations, then exact words, then meaning."""
    return kind_by_rules(query.text)


def kind_by_rules(text: str) -> Kind:
    """Return the kind of a question with these words, by the rules."""
    weights = {kind: _weight(kind, text) for kind in _SIGNS}
    best = max(weights, key=lambda kind: weights[kind])
    return best if weights[best] else FALLBACK[0]


def _weight(kind: Kind, text: str) -> float:
    strong, weak = _SIGNS[kind]
    short = kind is Kind.LITERAL and 0 < len(text.split()) <= _FEW_WORDS
    base = _STRONG if re.search(strong, text) else 0.0
    return base + _WEAK * min(len(re.findall(weak, text)), _MOST_WEAK) + (_SHORT if short else 0.0)


class LearnedRoute(Struct, frozen=True, kw_only=True):
    """A route learned from labelled questions: to the kind with the nearest mean vector.

    `signs` is the weight of a sign of the rules relative to the cosine. `space` is the space of the
    vectors. A question without a vector is routed by rules.
    """

    means: dict[Kind, tuple[float, ...]]
    signs: float = 0.0
    space: str = ""

    def __call__(self, query: Query) -> Kind:
        return by_rules(query) if query.vector is None else self.route(query.text, floats(query.vector))

    def route(self, text: str, vector: tuple[float, ...]) -> Kind:
        """Return the kind of a question with these words and this vector."""
        return max(sorted(self.means), key=lambda kind: self._score(kind, text, vector))

    def _score(self, kind: Kind, text: str, vector: tuple[float, ...]) -> float:
        near = cosine(vector, self.means[kind])
        return near + self.signs * _weight(kind, text) if self.signs else near


def learned(examples: Iterable[tuple[bytes, Kind]], *, signs: float = 0.0, space: str = "") -> LearnedRoute:
    """Learn a route from vectors of questions and their kinds."""
    sums: dict[Kind, list[float]] = {}
    for vector, kind in examples:
        numbers = floats(vector)
        total = sums.get(kind, [0.0] * len(numbers))
        sums[kind] = [one + other for one, other in zip(total, numbers, strict=True)]
    if not sums:
        raise InvalidRequest("there are no examples to learn from", field="examples")
    means = {kind: _normalise(total) for kind, total in sums.items()}
    return LearnedRoute(means=means, signs=signs, space=space)


def load_route(path: str) -> LearnedRoute:
    """Load a route from a file that `memorywire calibrate --routes` wrote."""
    fix = "write one with: memorywire calibrate --routes FILE --to ROUTES"
    try:
        route = msgspec.json.decode(Path(path).read_bytes(), type=LearnedRoute)
    except OSError as error:
        raise InvalidRequest(f"cannot read {path}: {error.strerror}", field="router", fix=fix) from error
    except msgspec.MsgspecError as error:
        raise InvalidRequest(f"{path} has no routes: {error}", field="router", fix=fix) from error
    if len({*map(len, route.means.values())}) != 1:
        raise InvalidRequest(f"{path} has vectors of unequal lengths, or none", field="router", fix=fix)
    return route


def _normalise(total: Sequence[float]) -> tuple[float, ...]:
    length = math.hypot(*total) or 1.0
    return tuple(number / length for number in total)


def find_kind(store: Store) -> Kind:
    """Return the kind of question that a store of this type answers best."""
    return _KINDS.get(store.name, Kind.SEMANTIC)


def order_kinds(first: Kind) -> tuple[Kind, ...]:
    """Return the kinds to query, in order."""
    return (first, *(kind for kind in FALLBACK if kind is not first))
