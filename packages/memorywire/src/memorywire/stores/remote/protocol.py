"""The store contract as messages: the argument and result types of each verb."""

from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any

from msgspec import Struct

from memorywire.model.change import Change, Footprint, Version
from memorywire.model.edge import Edge
from memorywire.model.errors import (
    ApprovalPending,
    BudgetExceeded,
    Conflict,
    Duplicate,
    MemorywireError,
    Overloaded,
    RateLimited,
)
from memorywire.model.query import Query, Scored, Where
from memorywire.model.record import Json, Record, Scope
from memorywire.model.space import Space

PATH = "/v0/store"


class About(Struct, frozen=True, kw_only=True):
    """A description of the served store: its name, its features by name, the space of its vectors.

    `abilities` are its verbs beyond those of every store.
    """

    name: str
    features: tuple[str, ...]
    space: Space
    abilities: tuple[str, ...] = ()


class Verb(Struct, frozen=True):
    """The types of a verb's arguments, in order, and of its result."""

    takes: tuple[Any, ...]
    gives: Any


_IDS = tuple[str, ...]
_RECORDS = tuple[Record, ...]

VERBS: Mapping[str, Verb] = {
    "about": Verb((), About),
    "health": Verb((), Mapping[str, Json]),
    "write": Verb((Change,), int),
    "get": Verb((Scope, _IDS), _RECORDS),
    "find": Verb((Where, str | None, int), _RECORDS),
    "count": Verb((Where,), int),
    "search": Verb((Query, int), tuple[Scored, ...]),
    "duplicate": Verb((Record, int), Record | None),
    "history": Verb((Scope, str), tuple[Version, ...]),
    "footprint": Verb((Scope, str), Footprint | None),
    "committed": Verb((Scope, str), Footprint | None),
    "changes": Verb((Scope, int), tuple[Change, ...]),
    "touch": Verb((Scope, _IDS, int), None),
    "recalls": Verb((_RECORDS,), tuple[int, ...]),
    "edges": Verb((Scope, _IDS, _IDS), tuple[Edge, ...]),
}

HISTORIAN = ("history", "footprint", "committed", "changes")
TRACKER = ("touch",)
COUNTER = ("recalls",)
GRAPH = ("edges",)


_A_WHILE = 1


def error_of(problem: Mapping[str, Json]) -> MemorywireError:
    """Build the error of a problem document; MemorywireError for an unknown code."""
    kind = _kinds().get(str(problem["code"]), MemorywireError)
    detail = str(problem.get("detail", "no reason was given"))
    if kind is Conflict and "existing" in problem:
        return Duplicate(str(problem["existing"]))
    error: MemorywireError
    if issubclass(kind, RateLimited | Overloaded):
        error = kind(detail, retry_after=_A_WHILE)
    elif issubclass(kind, BudgetExceeded):
        error = kind(detail, retry_after=None)
    elif issubclass(kind, ApprovalPending):
        error = kind(detail, proposal_id=str(problem.get("proposal_id", "")))
    else:
        error = kind(detail)
    error.field, error.fix = problem.get("field"), problem.get("fix")
    return error


def problem_of(error: MemorywireError) -> dict[str, str]:
    """Return the problem document of an error; for Duplicate it includes the existing memory's id."""
    more = {"existing": error.existing} if isinstance(error, Duplicate) else {}
    return error.problem() | more


@cache
def _kinds() -> dict[str, type[MemorywireError]]:
    """Return error classes by code; if a class shares the code of its parent, the parent."""
    return {kind.code: kind for kind in reversed(list(_all(MemorywireError)))}


def _all(kind: type[MemorywireError]) -> Iterator[type[MemorywireError]]:
    yield kind
    for child in kind.__subclasses__():
        yield from _all(child)
