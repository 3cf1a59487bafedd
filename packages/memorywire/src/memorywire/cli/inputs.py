"""Parsers of arguments, options and standard input: text, JSON, times, limits."""

import re
import shlex
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import UTC, datetime
from io import IOBase
from pathlib import Path
from typing import Any, Literal, TypeVar

import click

from memorywire.cli.problems import UsageHint
from memorywire.model.clock import SECONDS, system_clock
from memorywire.model.errors import InvalidJson, InvalidRequest, MemorywireError
from memorywire.model.record import Json, MemoryType

F = TypeVar("F", bound=Callable[..., Any])

_SPAN = re.compile(r"(\d+)\s*(s|m|h|d|w)(\s+ago|\s+from now)?")
_SIGNS = {"ago": -1, "from now": 1}
_UNIT_MS = {"s": 1_000, "m": 60_000, "h": 3_600_000, "d": 86_400_000, "w": 604_800_000}

PAST = "epoch ms, ISO 8601 (UTC without a zone), or a span such as `7d` or `7d ago`"
FUTURE = "epoch ms, ISO 8601 (UTC without a zone), or a span from now such as `7d`"
TYPES = click.Choice([kind.value for kind in MemoryType])
EXISTING_FILE = click.Path(exists=True, dir_okay=False, path_type=Path)


class TextCommand(click.Command):
    """A command whose argument is one text: unquoted text and a leading dash get the line to type instead."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        words = list(args)
        try:
            return super().parse_args(ctx, args)
        except click.NoSuchOption as error:
            if error.option_name.startswith("--"):
                raise
            reason = "text that begins with a dash must come after `--`"
        except click.UsageError as error:
            if type(error) is not click.UsageError or len(self._split(words)[1]) < 2:
                raise
            reason = "text of several words must be in quotes"
        options, text = self._split(words)
        dashes = ["--"] if text and text[0].startswith("-") else []
        line = [*ctx.command_path.split(), *options, *dashes, " ".join(text)]
        raise UsageHint(reason, ctx, f"type: {shlex.join(line)}")

    def _split(self, words: Sequence[str]) -> tuple[list[str], list[str]]:
        """Return the options with their values, and the words of the text."""
        with_value = {
            name: isinstance(option, click.Option) and not option.is_flag
            for option in self.params
            for name in option.opts
        }
        options, text, rest = list[str](), list[str](), list(words)
        while rest:
            word = rest.pop(0)
            name = word.partition("=")[0]
            if word == "--":
                text += rest
                break
            if not word.startswith("--") and name not in with_value:
                text.append(word)
                continue
            options.append(word)
            if with_value.get(name) and name == word and rest:
                options.append(rest.pop(0))
        return options, text


def option(declaration: str, help: str, *, name: str | None = None, **settings: Any) -> Callable[[F], F]:
    """As `click.option`, declared as it is typed: `--limit N`. A default is shown in the help.

    Without a metavariable, a type and a default it is a flag.
    """
    flag, _, metavar = declaration.partition(" ")
    names = [flag] if name is None else [flag, name]
    if not metavar and "type" not in settings and "default" not in settings:
        settings["is_flag"] = True
    settings.setdefault("show_default", "default" in settings)
    return click.option(*names, metavar=metavar or None, help=help, **settings)


def add_options(*options: Callable[[F], F]) -> Callable[[F], F]:
    """Return one decorator for several options, in this order."""

    def add(command: F) -> F:
        for option in reversed(options):
            command = option(command)
        return command

    return add


approval_option = option("--approval-required", "Hold it until a person approves it.")
reasoning_option = option("--reasoning TEXT", "Why: the reviewer sees it, and the change keeps it.")
review_options = add_options(approval_option, reasoning_option)
"""The options of every command that changes memory."""


def limit_option(*, default: int | None = None, most: int | None = None) -> Callable[[F], F]:
    """The option `--limit`, also `-k`, of commands that list results."""
    return click.option(
        *("-k", "--limit", "limit"),
        type=click.IntRange(1, most),
        default=default,
        show_default=default is not None,
        metavar="N",
        help="Show at most N.",
    )


top_k_option = click.option(
    *("-k", "--limit", "--top-k", "top_k"),
    type=click.IntRange(1, 50),
    default=10,
    show_default=True,
    metavar="N",
    help="Return at most N.",
)


def parse_json_object(text: str) -> dict[str, Json]:
    """Parse a JSON object as strictly as the wire does."""
    from memorywire.wire.strict import parse

    try:
        value = parse(text)
    except MemorywireError as error:
        raise click.BadParameter(error.detail) from error
    if not isinstance(value, dict):
        raise click.BadParameter(f"{text!r} is not a JSON object")
    return value


def file_option(form: str) -> Callable[[F], F]:
    """The option `--file`, for a file with one such JSON object a line."""
    text = f"Read lines of {form}; `-` is standard input."
    return option("--file FILE", text, type=click.File("rb"), default="-", show_default=False)


def parse_json_lines(lines: Iterable[bytes]) -> Iterator[tuple[int, Json]]:
    """Parse each line as strictly as the wire does, with its number; skips empty lines."""
    from memorywire.wire.strict import parse

    if isinstance(lines, IOBase) and lines.isatty():
        click.echo("type one JSON object a line and end with Ctrl-D, or name a file with --file", err=True)
    for number, line in enumerate(lines, start=1):
        if line.strip():
            text = decode_text(line, field=f"line {number}")
            try:
                document = parse(text)
            except MemorywireError as error:
                raise InvalidJson(
                    f"line {number}: {error.detail}", field=error.field, fix=error.fix
                ) from error
            yield number, document


def parse_future(text: str) -> int:
    """Parse a time into epoch milliseconds: epoch ms, ISO 8601, or a span (`7d`) from now."""
    return _parse_time(text, sign=1)


def parse_past(text: str) -> int:
    """Parse a time into epoch milliseconds: epoch ms, ISO 8601, or a span (`7d`) before now."""
    return _parse_time(text, sign=-1)


def _parse_time(text: str, sign: Literal[1, -1]) -> int:
    span = _SPAN.fullmatch(text)
    if span:
        direction = _SIGNS[span[3].strip()] if span[3] else sign
        return system_clock() + direction * int(span[1]) * _UNIT_MS[span[2]]
    if text.isdecimal():
        if int(text) in SECONDS:
            raise click.BadParameter(f"{text} is in seconds; in milliseconds it is {text}000")
        return int(text)
    try:
        moment = datetime.fromisoformat(text)
        return round((moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp() * 1000)
    except (ValueError, OverflowError) as error:
        raise click.BadParameter(
            f"{text!r} is not epoch milliseconds, ISO 8601 or a span such as 7d (s, m, h, d, w)"
        ) from error


def parse_min_relevance(text: str) -> float | str:
    """Parse `auto`, `off`, or a number."""
    if text in ("auto", "off"):
        return text
    try:
        return float(text)
    except ValueError as error:
        raise click.BadParameter(f"{text!r} is not auto, off or a number") from error


def read_text(argument: str | None, *, field: str) -> str:
    """Return the argument, or standard input as UTF-8 if it is `-`, or missing in a pipe."""
    if argument is not None and argument != "-":
        return argument
    if argument is None and sys.stdin.isatty():
        raise click.UsageError(f"give {field.upper()}, or `-` to read standard input")
    return decode_text(sys.stdin.buffer.read(), field=field).removesuffix("\n").removesuffix("\r")


def decode_text(data: bytes, *, field: str) -> str:
    """Decode UTF-8, without a byte order mark."""
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InvalidRequest(
            f"not UTF-8 at byte {error.start}", field=field, fix="convert it, e.g. with `iconv -t UTF-8`"
        ) from error
