"""Queries: the filter that selects memories, the query that a store ranks by, and its results.

`Where.matches` defines the semantics of every filter for every store."""

from collections.abc import Callable, Mapping
from enum import StrEnum
from typing import TypeAlias

from msgspec import Struct

from memorywire.model.record import RECALLABLE, Json, MemoryType, Record, Scope, Standing


class Operator(StrEnum):
    EQ = "eq"
    NE = "ne"
    GT = "gt"
    GTE = "gte"
    LT = "lt"
    LTE = "lte"
    IN = "in"
    NIN = "nin"
    EXISTS = "exists"
    CONTAINS = "contains"
    PREFIX = "prefix"


FIELDS = frozenset(
    {
        "id",
        "type",
        "content",
        "user_id",
        "confidence",
        "source",
        "session_id",
        "tags",
        "created_at",
        "updated_at",
        "occurred_at",
        "expires_at",
        "version",
        "standing",
        "trust",
    }
)
"""Record fields that a path may name; any other path starts with `metadata`, followed by keys."""


class Compare(Struct, frozen=True):
    """One comparison; `path` is a record field, or `metadata` followed by keys."""

    path: tuple[str, ...]
    operator: Operator
    value: Json

    def matches(self, record: Record) -> bool:
        return _holds(self.operator, _read(record, self.path), self.value)


class And(Struct, frozen=True):
    parts: tuple["Filter", ...] = ()

    def matches(self, record: Record) -> bool:
        return all(part.matches(record) for part in self.parts)


class Or(Struct, frozen=True):
    parts: tuple["Filter", ...]

    def matches(self, record: Record) -> bool:
        return any(part.matches(record) for part in self.parts)


class Not(Struct, frozen=True):
    part: "Filter"

    def matches(self, record: Record) -> bool:
        return not self.part.matches(record)


Filter: TypeAlias = Compare | And | Or | Not

EVERYTHING = And()


def owned_by(*users: str | None) -> Filter:
    """Return a filter for the memories of these users; None means the memories without a user."""
    return Compare(("user_id",), Operator.IN, list(users))


def find_owners(filter: Filter) -> tuple[frozenset[str | None] | None, Filter]:
    """Split a filter into the users that it lists (None if it lists none) and its other conditions.

    An index has the user of each row, so this condition is free; for any other condition it must read
    rows.
    """
    parts = filter.parts if isinstance(filter, And) else (filter,)
    for at, part in enumerate(parts):
        if isinstance(part, Compare) and part.operator is Operator.IN and part.path == ("user_id",):
            others = parts[:at] + parts[at + 1 :]
            rest = others[0] if len(others) == 1 else And(others) if others else EVERYTHING
            return frozenset([name for name in part.value if name is None or isinstance(name, str)]), rest
    return None, filter


def asks_only_whose(filter: Filter) -> bool:
    """Whether a filter has conditions on the user only."""
    match filter:
        case Compare():
            return filter.path == ("user_id",)
        case Not():
            return asks_only_whose(filter.part)
        case _:
            return all(map(asks_only_whose, filter.parts))


STANDING = Or(
    (
        Compare(("metadata", "fact", "kind"), Operator.EQ, "constraint"),
        Compare(("metadata", "fact", "pinned"), Operator.EQ, True),
        *(Compare(("tags",), Operator.EQ, tag) for tag in ("blacklist", "do", "know")),
    )
)
"""Memories that may apply to every question: constraints, pinned memories and rules of sessions. Stores for
many memories have an index for exactly this filter."""


class Where(Struct, frozen=True, kw_only=True):
    """A scope, a moment and conditions. `alive_at` has no default: every query must state when.

    `as_of` selects the versions that were current at that moment instead of the current ones.
    """

    scope: Scope
    alive_at: int
    as_of: int | None = None
    types: frozenset[MemoryType] = frozenset()
    created_since: int | None = None
    created_until: int | None = None
    idle_since: int | None = None
    confidence_below: float | None = None
    standings: frozenset[Standing] = RECALLABLE
    filter: Filter = EVERYTHING

    def matches(self, record: Record) -> bool:
        return (
            self.scope.covers(record.scope)
            and record.alive(self.alive_at)
            and record.standing in self.standings
            and (not self.types or record.type in self.types)
            and (self.created_since is None or record.created_at >= self.created_since)
            and (self.created_until is None or record.created_at <= self.created_until)
            and (self.idle_since is None or _last_used(record) <= self.idle_since)
            and (self.confidence_below is None or record.confidence < self.confidence_below)
            and (self.filter is EVERYTHING or self.filter.matches(record))
        )


def _last_used(record: Record) -> int:
    """Return the time of the last use; the write counts as one, so a new memory is not idle."""
    return max(record.created_at, record.recalled_at or 0)


def _read(record: Record, path: tuple[str, ...]) -> Json:
    if path[0] == "user_id":
        return record.scope.user
    if path[0] == "tags":
        return list(record.tags)
    if path[0] in FIELDS:
        return getattr(record, path[0])
    value: Json = record.metadata
    for step in path[1:]:
        if not isinstance(value, Mapping) or step not in value:
            return None
        value = value[step]
    return value


def _holds(operator: Operator, actual: Json, operand: Json) -> bool:
    match operator:
        case Operator.EQ:
            return _equal(actual, operand)
        case Operator.NE:
            return not _equal(actual, operand)
        case Operator.IN:
            return any(_equal(actual, choice) for choice in operand)
        case Operator.NIN:
            return not any(_equal(actual, choice) for choice in operand)
        case Operator.EXISTS:
            return bool((actual is not None and actual != []) == operand)
        case Operator.CONTAINS:
            return _contains(actual, operand)
        case Operator.PREFIX:
            return isinstance(actual, str) and actual.startswith(operand)
        case Operator.GT | Operator.GTE | Operator.LT | Operator.LTE:
            return _is_ordered(operator, actual, operand)


def _equal(actual: Json, operand: Json) -> bool:
    """Compare JSON values; a list also equals each of its elements, so that a tag is found by name."""
    if isinstance(actual, list) and not isinstance(operand, list):
        return any(_equal(element, operand) for element in actual)
    return _same(actual, operand)


def _same(actual: Json, operand: Json) -> bool:
    if isinstance(actual, bool) or isinstance(operand, bool):
        return actual is operand  # JSON true is not 1, at any depth
    if isinstance(actual, list) and isinstance(operand, list):
        return len(actual) == len(operand) and all(map(_same, actual, operand))
    if isinstance(actual, Mapping) and isinstance(operand, Mapping):
        return actual.keys() == operand.keys() and all(_same(actual[name], operand[name]) for name in actual)
    return bool(actual == operand)


def _contains(actual: Json, operand: Json) -> bool:
    if isinstance(actual, str):
        return isinstance(operand, str) and operand in actual
    return isinstance(actual, list) and _equal(actual, operand)


def _is_ordered(operator: Operator, actual: Json, operand: Json) -> bool:
    """Whether two values can be ordered: two numbers or two strings."""
    if not (_is_number(actual) and _is_number(operand)) and not (
        isinstance(actual, str) and isinstance(operand, str)
    ):
        return False
    match operator:
        case Operator.GT:
            return bool(actual > operand)
        case Operator.GTE:
            return bool(actual >= operand)
        case Operator.LT:
            return bool(actual < operand)
        case _:
            return bool(actual <= operand)


def _is_number(value: Json) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


DAMAGED_VECTORS = "damaged_vectors"
"""The signal with the number of damaged vectors that a store skipped."""


class QueryTokens(Struct, frozen=True):
    """The tokens of a query as the embedder reads them: the word and the direction of each."""

    words: tuple[str, ...]
    matrix: bytes


class Query(Struct, frozen=True, kw_only=True):
    """Words and their vector (float32, little endian), inside a `Where`.

    `times` are the intervals that the text mentions: start, and end (exclusive), in epoch milliseconds.
    `names` are words that may be names, `nameless` is the vector of the text without them.
    `boilerplate` are terms that count in the total weight, but that no memory earns.
    `ago`: the times are relative to now.
    `settled`: the question is about the past, so newer memories do not replace older ones.
    `replies`: the question asks for what an assistant said.
    `tokens` are there if the embedder compares word by word.
    `explain` asks for `Scored.tokens`.
    """

    where: Where
    text: str
    vector: bytes | None = None
    times: tuple[tuple[int, int], ...] = ()
    names: tuple[str, ...] = ()
    nameless: bytes | None = None
    boilerplate: frozenset[str] = frozenset()
    ago: bool = False
    settled: bool = False
    replies: bool = False
    tokens: QueryTokens | None = None
    explain: bool = False


class TokenMatch(Struct, frozen=True):
    """A token of a query: its word, its share of the weight, the index of the nearest token of a memory,
    and the cosine of the two."""

    word: str
    weight: float
    match: float
    nearest: int


class Scored(Struct, frozen=True, kw_only=True):
    """A candidate with its relevance in 0..1 and the raw signals that it was computed from.

    A store that counts recalls may add their number as the signal `recalls`. One that compares tokens
    returns them in `tokens` if the query has `explain`.
    """

    record: Record
    score: float
    signals: Mapping[str, float]
    tokens: tuple[TokenMatch, ...] = ()


class Enough(Struct, frozen=True):
    """When a store may stop: after `most` candidates, or at the first one with a score below the `level`.

    `level` is called with the score and the signals of the best candidate, and whether all are turns of
    sessions. It applies only if all candidates are admitted by the same rule.
    """

    most: int
    level: Callable[[float, Mapping[str, float], bool], float]
