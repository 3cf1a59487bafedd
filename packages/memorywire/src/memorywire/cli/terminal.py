"""Output for a terminal: aligned tables, text without control characters, local times, a progress bar."""

import os
import shutil
import sys
import unicodedata
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from typing import Self

import click

_GAP = "  "
_NARROWEST = 20
_TERMINAL = 0  # the width of the terminal, if there is one
_LONGEST_ZONE = 5  # "NZDT", "+0545"


def clean(text: str) -> str:
    """Return one line without control characters: they are escaped, and line breaks become spaces."""
    return _escape(" ".join(text.split()))


def clean_lines(text: str) -> list[str]:
    """Return the lines of a text, each without control characters, with its spaces."""
    return [_escape(line.expandtabs()) for line in text.replace("\r\n", "\n").split("\n")]


def _escape(line: str) -> str:
    return "".join(c if c.isprintable() or c == "\u200d" else f"\\u{ord(c):04x}" for c in line)


def mask_secrets(url: str) -> str:
    """Return a URL that may be shown or typed again: without password or token, with keys masked."""
    from memorywire.model.secrets import MASK, mask_url

    return mask_url(url).replace(f":{MASK}@", "@").replace(f"//{MASK}@", "//")


def style(text: str, *, colour: str | None = None, dim: bool | None = None, bold: bool | None = None) -> str:
    """Return the text with a style. NO_COLOR disables it, and click removes it where there is no terminal."""
    return text if "NO_COLOR" in os.environ else click.style(text, fg=colour, dim=dim, bold=bold)


def format_time(epoch_ms: int | None) -> str:
    """Return a local time to the second, with its zone; an empty text for None."""
    if epoch_ms is None:
        return ""
    local = datetime.fromtimestamp(epoch_ms / 1000, UTC).astimezone()
    zone = local.tzname() or ""
    # Some systems have only a long name, such as "W. Europe Standard Time".
    return f"{local:%Y-%m-%d %H:%M:%S} {zone if 0 < len(zone) <= _LONGEST_ZONE else local.strftime('%z')}"


def terminal_width() -> int | None:
    """Return the width of the terminal; None for a pipe or file, where nothing is cut."""
    return shutil.get_terminal_size().columns if sys.stdout.isatty() else None


def format_table(
    headers: Sequence[str],
    rows: Iterable[Sequence[object]],
    *,
    elastic: str | None = None,
    width: int | None = _TERMINAL,
    empty: str | None = None,
) -> list[str]:
    """Return aligned columns, or the text `empty` if there are no rows.

    The elastic column (default: the last) is cut so that lines fit the width, if there is one.
    """
    width = terminal_width() if width == _TERMINAL else width
    texts = [[clean("" if cell is None else str(cell)) for cell in row] for row in rows]
    if not texts and empty is not None:
        return [empty]
    cells = [list(headers), *texts]
    sizes = [max(count_columns(row[i]) for row in cells) for i in range(len(headers))]
    elastic_at = len(headers) - 1 if elastic is None else headers.index(elastic)
    if width is not None:
        others = sum(sizes) - sizes[elastic_at] + len(_GAP) * (len(sizes) - 1)
        sizes[elastic_at] = min(sizes[elastic_at], max(width - others, _NARROWEST))
    heading, *lines = (
        _GAP.join(_pad(cell, size) for cell, size in zip(row, sizes, strict=True)).rstrip() for row in cells
    )
    return [style(heading, bold=True), *lines]


def format_entries(
    headers: Sequence[str], rows: Sequence[Sequence[str]], *, lead: int, width: int | None = _TERMINAL
) -> list[str]:
    """Return rows that end in a long text: in a pipe one line each, for tools such as grep.

    On a terminal the first `lead` cells and the text share a line; the other cells follow on a second
    line, uncut, so that ids can be copied.
    """
    width = terminal_width() if width == _TERMINAL else width
    if width is None:
        return format_table(headers, rows, width=None)
    short = [[*row[:lead], row[-1]] for row in rows]
    heading, *lines = format_table([*headers[:lead], headers[-1]], short, width=width)
    below = ["  " + _GAP.join(clean(cell) for cell in row[lead:-1]) for row in rows]
    return [heading, *(line for pair in zip(lines, below, strict=True) for line in pair)]


def count_columns(text: str) -> int:
    """Return the number of terminal columns of a text: two for wide characters, none for combining marks."""
    return sum(_character_width(character) for character in text)


def _character_width(character: str) -> int:
    if unicodedata.combining(character):
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1


def _pad(cell: str, size: int) -> str:
    cell = shorten(cell, size)
    return cell + " " * (size - count_columns(cell))


def shorten(text: str, size: int) -> str:
    """Return the text, cut to so many columns."""
    if count_columns(text) <= size:
        return text
    width = 0
    for position, character in enumerate(text):
        width += _character_width(character)
        if width > size - 1:
            return text[:position] + "…"
    return text + "…"


class Progress:
    """A bar on a terminal's standard error; silent everywhere else."""

    def __init__(self, label: str, total: int | None) -> None:
        self._label = label
        self._total = total
        self._shown = sys.stderr.isatty()
        self._drawn = ""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        if self._drawn:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()

    def update(self, done: float, note: str = "", *, of: int | None = None) -> None:
        """Draw the progress; `of` is the total, if it became known only now."""
        self._total = self._total if of is None else of
        bar = ""
        if self._total:
            share = min(done / self._total, 1.0)
            full = round(share * 24)
            bar = f"[{'#' * full}{'.' * (24 - full)}] {share:4.0%}"
        line = f"{self._label} {bar} {note}".rstrip()
        if self._shown and line != self._drawn:
            sys.stderr.write(f"\r\x1b[K{line}")
            sys.stderr.flush()
            self._drawn = line
