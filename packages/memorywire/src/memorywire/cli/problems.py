"""Errors as a person or a program reads them, and the exit code each one ends the process with."""

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

import click

from memorywire.model.errors import (
    ApprovalPending,
    BudgetExceeded,
    CapabilityUnsupported,
    Conflict,
    EmbedderFailed,
    Forbidden,
    InvalidRequest,
    MemorywireError,
    NotFound,
    Overloaded,
    QuotaExceeded,
    RateLimited,
    Refused,
    SecretLeakage,
    StoreError,
    TooManyAffected,
    Unauthenticated,
)

USAGE = 2
REFUSED = 3
STORE_FAILURE = 4
INTERRUPTED = 130
_BUG = 1

_CODES: Mapping[type[MemorywireError], int] = {
    InvalidRequest: USAGE,
    NotFound: REFUSED,
    Conflict: REFUSED,
    TooManyAffected: REFUSED,
    QuotaExceeded: REFUSED,
    Refused: REFUSED,
    ApprovalPending: REFUSED,
    BudgetExceeded: REFUSED,
    SecretLeakage: REFUSED,
    Unauthenticated: REFUSED,
    Forbidden: REFUSED,
    RateLimited: REFUSED,
    Overloaded: STORE_FAILURE,
    CapabilityUnsupported: REFUSED,
    StoreError: STORE_FAILURE,
    EmbedderFailed: STORE_FAILURE,
}


def exit_code(error: type[MemorywireError]) -> int:
    """The code of the nearest named ancestor in the error tree."""
    return next((_CODES[kind] for kind in error.__mro__ if kind in _CODES), _BUG)


def problem_lines(problem: Mapping[str, str], *, as_json: bool) -> list[str]:
    if as_json:
        return [json.dumps(problem, ensure_ascii=True)]
    field = f" (field: {problem['field']})" if "field" in problem else ""
    lines = [f"error: {problem['detail']}{field}"]
    return [*lines, f"  fix: {problem['fix']}"] if "fix" in problem else lines


@contextmanager
def problems(*, as_json: bool) -> Iterator[None]:
    """A problem in here is told on standard error, and ends the process with its code."""
    try:
        yield
    except MemorywireError as error:
        for line in problem_lines(error.problem(), as_json=as_json):
            click.echo(line, err=True)
        raise click.exceptions.Exit(exit_code(type(error))) from error


def bug(error: BaseException) -> dict[str, str]:
    """An unforeseen error as a problem."""
    return {
        "code": "internal",
        "detail": f"{type(error).__name__}: {error}",
        "fix": "this is a bug in memorywire; `python -X dev -m memorywire ...` shows where",
    }
