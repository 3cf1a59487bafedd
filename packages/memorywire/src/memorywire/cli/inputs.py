"""What is typed or piped in, made into wire values: text, JSON, moments."""

import re
import sys
from collections.abc import Callable, Iterable, Iterator
from datetime import UTC, datetime
from io import IOBase
from typing import Any, Literal, TypeVar

import click

from memorywire.model.clock import SECONDS, system_clock
from memorywire.model.errors import InvalidJson, InvalidRequest, MemorywireError
from memorywire.model.record import Json, MemoryType

F = TypeVar("F", bound=Callable[..., Any])

_SPAN = re.compile(r"(\d+)\s*(s|m|h|d|w)(\s+ago|\s+from now)?")
_SIGNS = {"ago": -1, "from now": 1}
_UNIT_MS = {"s": 1_000, "m": 60_000, "h": 3_600_000, "d": 86_400_000, "w": 604_800_000}

PAST = "epoch ms, ISO 8601 (UTC unless it says otherwise), or `7d` or `7d ago`"
FUTURE = "epoch ms, ISO 8601 (UTC unless it says otherwise), or `7d` from now"
TYPES = click.Choice([kind.value for kind in MemoryType])


def json_object(text: str) -> dict[str, Json]:
    """A JSON object, as strict as the wire; never a null or a list that reads like an option left out."""
    from memorywire.wire.strict import parse

    try:
        value = parse(text)
    except MemorywireError as error:
        raise click.BadParameter(error.detail) from error
    if not isinstance(value, dict):
        raise click.BadParameter(f"{text!r} is not a JSON object")
    return value


def lines_of(what: str) -> Callable[[F], F]:
    """The option `--file`, for a file with one such JSON object a line."""
    said = f"Lines of {what}; `-` is stdin."
    return click.option("--file", type=click.File("rb"), default="-", metavar="FILE", help=said)


def json_lines(lines: Iterable[bytes]) -> Iterator[tuple[int, Json]]:
    """What each line says, with its number, as strict as the wire; empty ones are passed over."""
    from memorywire.wire.strict import parse

    if isinstance(lines, IOBase) and lines.isatty():
        click.echo("type one JSON object a line; Ctrl-D ends, and --file names a file instead", err=True)
    for number, line in enumerate(lines, start=1):
        if line.strip():
            text = decoded(line, field=f"line {number}")
            try:
                document = parse(text)
            except MemorywireError as error:
                raise InvalidJson(
                    f"line {number}: {error.detail}", field=error.field, fix=error.fix
                ) from error
            yield number, document


def ahead(text: str) -> int:
    """A moment as epoch milliseconds: given so, as ISO 8601, or as a span (`7d`) from now."""
    return _moment(text, sign=1)


def ago(text: str) -> int:
    """A moment as epoch milliseconds: given so, as ISO 8601, or as a span (`7d`) before now."""
    return _moment(text, sign=-1)


def _moment(text: str, sign: Literal[1, -1]) -> int:
    span = _SPAN.fullmatch(text)
    if span:
        towards = _SIGNS[span[3].strip()] if span[3] else sign
        return system_clock() + towards * int(span[1]) * _UNIT_MS[span[2]]
    if text.isdecimal():
        if int(text) in SECONDS:
            raise click.BadParameter(f"{text} is a moment in seconds; in milliseconds it is {text}000")
        return int(text)
    try:
        moment = datetime.fromisoformat(text)
        return round((moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp() * 1000)
    except (ValueError, OverflowError) as error:
        raise click.BadParameter(
            f"{text!r} is not epoch milliseconds, ISO 8601 or a span such as 7d (s, m, h, d, w)"
        ) from error


def min_relevance(text: str) -> float | str:
    """`auto`, `off`, or a number."""
    if text in ("auto", "off"):
        return text
    try:
        return float(text)
    except ValueError as error:
        raise click.BadParameter(f"{text!r} is not auto, off or a number") from error


def text_from(argument: str | None, *, field: str) -> str:
    """The argument itself, or standard input for `-` and for nothing in a pipe, as UTF-8."""
    if argument is not None and argument != "-":
        return argument
    if argument is None and sys.stdin.isatty():
        raise click.UsageError(f"give {field.upper()}, or `-` to read standard input")
    return decoded(sys.stdin.buffer.read(), field=field).removesuffix("\n").removesuffix("\r")


def decoded(data: bytes, *, field: str) -> str:
    """UTF-8, without the mark that some editors put before it."""
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InvalidRequest(
            f"not UTF-8 at byte {error.start}", field=field, fix="convert it, e.g. with `iconv -t UTF-8`"
        ) from error
