"""Errors as text or JSON, and the exit code of each."""

import json
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

import click

from memorywire.model.errors import (
    CapabilityUnsupported,
    EmbedderFailed,
    InvalidRequest,
    MemorywireError,
    Overloaded,
    StoreError,
)

USAGE = 2
REFUSED = 3
STORE_FAILURE = 4
INTERRUPTED = 130

_CODES: Mapping[type[MemorywireError], int] = {
    MemorywireError: REFUSED,
    InvalidRequest: USAGE,
    CapabilityUnsupported: REFUSED,  # also where a store raises it
    Overloaded: STORE_FAILURE,
    StoreError: STORE_FAILURE,
    EmbedderFailed: STORE_FAILURE,
}
"""The exit code of an error and of those below it in the tree."""


class UsageHint(click.UsageError):
    """Wrong usage, with the line to type instead."""

    def __init__(self, message: str, ctx: click.Context, fix: str) -> None:
        super().__init__(message, ctx)
        self.fix = fix


def exit_code(error: type[MemorywireError]) -> int:
    """Return the code of the nearest ancestor in the table."""
    return next(_CODES[kind] for kind in error.__mro__ if kind in _CODES)


def problem_lines(
    problem: Mapping[str, str], *, as_json: bool, command: click.Command | None = None
) -> list[str]:
    """Return the problem as text or JSON; as text it names the options of the command, not the fields."""
    if as_json:
        return [json.dumps(problem, ensure_ascii=True)]
    from memorywire.cli.terminal import style

    options = {} if command is None else _name_parameters(command)
    field = problem.get("field", "")
    option = _find_option(field, options)
    detail, fix = (
        _replace_fields(problem.get(name, ""), field, option, options) for name in ("detail", "fix")
    )
    place = option or f"field: {field}"
    suffix = f" ({place})" if field and place not in detail and "--" not in detail else ""
    lines = [f"{style('error:', colour='red')} {detail}{suffix}"]
    return [*lines, f"  fix: {fix}"] if fix else lines


def _name_parameters(command: click.Command) -> dict[str, str]:
    """Return the options and arguments of a command as they are typed, by field."""
    names: dict[str, str] = {}
    for parameter in command.params:
        words = [parameter.name or "", *(word.lstrip("-").replace("-", "_") for word in parameter.opts)]
        if isinstance(parameter, click.Argument):
            label = (parameter.metavar or words[0]).strip("[].").partition("|")[0].upper()
            words.append(label.lower())
        else:
            label = next((word for word in parameter.opts if word.startswith("--")), parameter.opts[0])
        for word in words:
            names |= {word.rstrip("_"): label, f"{word.rstrip('_')}_id": label}
    # `call` sends JSON, whose fields have the names of the wire.
    return {} if "payload" in names else names


def _find_option(field: str, options: Mapping[str, str]) -> str | None:
    """Return the option of a field such as `if_version`, `policy.type` or `filter.tags.eq`."""
    head, _, rest = field.partition(".")
    for name in (field, field.replace(".", "_"), rest):
        if name in options:
            return options[name]
    if head not in options:
        return None
    return options[head] if not rest or rest.isdecimal() else f"{rest} in {options[head]}"


def _replace_fields(text: str, field: str, option: str | None, options: Mapping[str, str]) -> str:
    """Return the text with options in place of fields.

    A field is the first word, stands between backticks, or has an underscore; other words are English.
    """
    if option is not None:
        text = re.sub(rf"^{re.escape(field)}(?= |: )", option, text)
    for name, label in options.items():
        text = re.sub(rf"^{name}(?=: )|(?<=`){name}(?=`)", label, text)
        if "_" in name:
            text = re.sub(rf"(?<=[a-z] ){name}: (?=\w)", f"{label} ", text)  # `pass if_version: 1`
            text = re.sub(rf"(?<![\w.-]){name}(?![\w.-])", label, text)
    return text


@contextmanager
def problems(*, as_json: bool) -> Iterator[None]:
    """Print an error on standard error and end the process with its exit code."""
    try:
        yield
    except MemorywireError as error:
        command = click.get_current_context().command
        for line in problem_lines(error.problem(), as_json=as_json, command=command):
            click.echo(line, err=True)
        raise click.exceptions.Exit(exit_code(type(error))) from error


def bug(error: BaseException) -> dict[str, str]:
    """Return an unexpected error as a problem."""
    return {
        "code": "internal",
        "detail": f"{type(error).__name__}: {error}",
        "fix": "this is a bug in memorywire; `python -X dev -m memorywire ...` shows where",
    }
