"""What a terminal needs and no more: aligned tables, safe text, moments, a progress bar."""

import os
import shutil
import sys
import unicodedata
from collections.abc import Sequence
from datetime import UTC, datetime
from types import TracebackType
from typing import Self

import click

_GAP = "  "
_NARROWEST = 20


def safe(text: str) -> str:
    """One line that cannot steer the terminal: control characters are shown, line breaks become spaces."""
    return _visible(" ".join(text.split()))


def safe_lines(text: str) -> list[str]:
    """The lines of a text, each unable to steer the terminal, with the spaces they have."""
    return [_visible(line.expandtabs()) for line in text.replace("\r\n", "\n").split("\n")]


def _visible(line: str) -> str:
    return "".join(c if c.isprintable() or c == "\u200d" else f"\\u{ord(c):04x}" for c in line)


def without_secrets(url: str) -> str:
    """Return a URL as it may be shown or typed again: without password or token, with keys masked."""
    from memorywire.model.secrets import MASK, mask_url

    return mask_url(url).replace(f":{MASK}@", "@").replace(f"//{MASK}@", "//")


def styled(text: str, *, colour: str | None = None, dim: bool | None = None) -> str:
    """For a terminal; click takes it away where nobody could see it, and NO_COLOR does."""
    return text if "NO_COLOR" in os.environ else click.style(text, fg=colour, dim=dim)


def moment(epoch_ms: int | None) -> str:
    """A moment in UTC, to the second; nothing when there is none."""
    if epoch_ms is None:
        return ""
    return datetime.fromtimestamp(epoch_ms / 1000, UTC).strftime("%Y-%m-%d %H:%M:%S")


def terminal_width() -> int | None:
    """How wide lines may be, or None when nobody looks: a pipe gets every character."""
    return shutil.get_terminal_size().columns if sys.stdout.isatty() else None


def table(
    headers: Sequence[str], rows: Sequence[Sequence[str]], *, elastic: str, width: int | None
) -> list[str]:
    """Aligned columns; the elastic one is cut so that lines fit the width, where one is given."""
    cells = [list(headers), *([safe(cell) for cell in row] for row in rows)]
    sizes = [max(columns(row[i]) for row in cells) for i in range(len(headers))]
    bend = headers.index(elastic)
    if width is not None:
        others = sum(sizes) - sizes[bend] + len(_GAP) * (len(sizes) - 1)
        sizes[bend] = min(sizes[bend], max(width - others, _NARROWEST))
    return [_line(row, sizes) for row in cells]


def entries(
    headers: Sequence[str], rows: Sequence[Sequence[str]], *, lead: int, width: int | None
) -> list[str]:
    """Rows that end in a long text: one line each in a pipe, where lines are searched.

    On a terminal, where they are read, the text stands beside the first `lead` cells and has the rest
    of the line; the other cells follow on a line of their own, whole, so that ids can be copied.
    """
    if width is None:
        return table(headers, rows, elastic=headers[-1], width=None)
    short = [[*row[:lead], row[-1]] for row in rows]
    heading, *lines = table([*headers[:lead], headers[-1]], short, elastic=headers[-1], width=width)
    below = ["  " + _GAP.join(safe(cell) for cell in row[lead:-1]) for row in rows]
    return [heading, *(line for pair in zip(lines, below, strict=True) for line in pair)]


def columns(text: str) -> int:
    """How many terminal columns a text takes: wide characters two, combining marks none."""
    return sum(_character_columns(character) for character in text)


def _character_columns(character: str) -> int:
    if unicodedata.combining(character):
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1


def _line(row: Sequence[str], sizes: Sequence[int]) -> str:
    return _GAP.join(_padded(cell, size) for cell, size in zip(row, sizes, strict=True)).rstrip()


def _padded(cell: str, size: int) -> str:
    cell = shortened(cell, size)
    return cell + " " * (size - columns(cell))


def shortened(text: str, size: int) -> str:
    """The text, or as much of its beginning as fits in so many columns."""
    return text if columns(text) <= size else _cut(text, size - 1) + "…"


def _cut(text: str, size: int) -> str:
    taken = 0
    for position, character in enumerate(text):
        taken += _character_columns(character)
        if taken > size:
            return text[:position]
    return text


class Progress:
    """A bar on a terminal's standard error; silent everywhere else."""

    def __init__(self, label: str, total: int | None) -> None:
        self._label = label
        self._total = total
        self._shown = sys.stderr.isatty()
        self._drawn = ""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._drawn:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()

    def reached(self, done: float, note: str = "", *, of: int | None = None) -> None:
        """So much is done; `of` how much, where that is known only now."""
        self._total = self._total if of is None else of
        line = f"{self._label} {self._bar(done)} {note}".rstrip()
        if self._shown and line != self._drawn:
            sys.stderr.write(f"\r\x1b[K{line}")
            sys.stderr.flush()
            self._drawn = line

    def _bar(self, done: float) -> str:
        if not self._total:
            return ""
        share = min(done / self._total, 1.0)
        full = round(share * 24)
        return f"[{'#' * full}{'.' * (24 - full)}] {share:4.0%}"
