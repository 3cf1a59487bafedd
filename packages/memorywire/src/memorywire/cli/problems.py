"""Errors as text or JSON, and the exit code of each."""

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


class UsageHint(click.UsageError):
    """Wrong usage, with the line to type instead."""

    def __init__(self, message: str, ctx: click.Context, fix: str) -> None:
        super().__init__(message, ctx)
        self.fix = fix


def exit_code(error: type[MemorywireError]) -> int:
    """Return the code of the nearest ancestor in the table."""
    return next((_CODES[kind] for kind in error.__mro__ if kind in _CODES), _BUG)


def problem_lines(problem: Mapping[str, str], *, as_json: bool) -> list[str]:
    if as_json:
        return [json.dumps(problem, ensure_ascii=True)]
    field = f" (field: {problem['field']})" if "field" in problem else ""
    from memorywire.cli.terminal import style

    lines = [f"{style('error:', colour='red')} {problem['detail']}{field}"]
    return [*lines, f"  fix: {problem['fix']}"] if "fix" in problem else lines


@contextmanager
def problems(*, as_json: bool) -> Iterator[None]:
    """Print an error on standard error and end the process with its exit code."""
    try:
        yield
    except MemorywireError as error:
        for line in problem_lines(error.problem(), as_json=as_json):
            click.echo(line, err=True)
        raise click.exceptions.Exit(exit_code(type(error))) from error


def bug(error: BaseException) -> dict[str, str]:
    """Return an unexpected error as a problem."""
    return {
        "code": "internal",
        "detail": f"{type(error).__name__}: {error}",
        "fix": "this is a bug in memorywire; `python -X dev -m memorywire ...` shows where",
    }
