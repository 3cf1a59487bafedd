"""Problems that came over the wire, as the errors they were."""

from collections.abc import Iterator, Mapping
from functools import cache

from memorywire.model.errors import (
    ApprovalPending,
    BudgetExceeded,
    Conflict,
    Duplicate,
    MemorywireError,
    Overloaded,
    RateLimited,
)
from memorywire.model.record import Json

_A_WHILE = 1


def error_of(problem: Mapping[str, Json]) -> MemorywireError:
    """The error of this code; one nobody here knows is just a MemorywireError."""
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
    """The problem of an error, with what a store must know besides: which memory says the same."""
    more = {"existing": error.existing} if isinstance(error, Duplicate) else {}
    return error.problem() | more


@cache
def _kinds() -> dict[str, type[MemorywireError]]:
    """Every kind by its code; where a kind shares the code of its parent, the parent."""
    return {kind.code: kind for kind in reversed(list(_all(MemorywireError)))}


def _all(kind: type[MemorywireError]) -> Iterator[type[MemorywireError]]:
    yield kind
    for child in kind.__subclasses__():
        yield from _all(child)
