"""A text with a disguise undone, and the way back from its places to those of the original."""

import re
import unicodedata
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from typing import Any

from memorywire.model.lookalikes import ignorable_class
from memorywire.model.values import dataclass
from memorywire.policy.redact.rules import Span

_MORE_TWINS = ("ВКМНТвкмнтԁһӏԛԝΒΕΖΗΚΜΝΡΤΥΧ", "BKMHTBKMHTdhlqwBEZHKMNPTYX")
"""Letters that look like Latin ones, beside those of Unicode's table."""

_CONTROLS = "\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f"
_MARKS = "\u0300-\u036f\u20d0-\u20f0"  # strokes and the like, written over a letter
_ENDS = "\u2028\u2029"
_WIDE = "\uff0d\uff10-\uff19\uff21-\uff3a\uff3f\uff41-\uff5a\U0001d400-\U0001d7ff"
_BEFORE_BREAK, _AFTER_BREAK = " \t\r\\", " \t>|+*\"'`"
_BREAK = re.compile(rf"(?:\n|\\n)[{_AFTER_BREAK}]*")


@dataclass(frozen=True, slots=True)
class View:
    """A text with gaps taken out; `starts` are the places in it where its pieces begin."""

    text: str
    starts: Sequence[int]
    origins: Sequence[int]

    def back(self, span: Span) -> Span:
        """The span in the original text that this span of the view stands for."""
        return replace(span, start=self._origin(span.start), end=self._origin(span.end - 1) + 1)

    def _origin(self, at: int) -> int:
        piece = bisect_right(self.starts, at) - 1
        return self.origins[piece] + at - self.starts[piece]


def unmasked(text: str) -> View | None:
    """Without invisible characters, in one width and one script; None where no word is so disguised."""
    if text.isascii() or not _disguised().search(text):
        return None
    return _without([found.span() for found in _invisible().finditer(text)], text.translate(_faces()))


def is_broken(text: str) -> bool:
    """Whether the text has more than one line, however it says so."""
    return "\n" in text or "\\n" in text


def joined(text: str) -> View | None:
    """The lines joined, without what stands between their words; None for a single line."""
    gaps = []
    for found in _BREAK.finditer(text):
        start, end = found.span()
        while start and text[start - 1] in _BEFORE_BREAK:
            start -= 1
        gaps.append((start, end))
    return _without(gaps, text) if gaps else None


def unbroken(text: str) -> str:
    """The text of `joined` alone; finding the way back costs ten times as much."""
    lines = text.replace("\\n", "\n").split("\n")
    return "".join([line.rstrip(_BEFORE_BREAK).lstrip(_AFTER_BREAK) for line in lines])


def _without(gaps: Sequence[tuple[int, int]], text: str) -> View:
    pieces, starts, origins = [], [], []
    at = length = 0
    for start, end in (*gaps, (len(text), len(text))):
        if start > at:
            pieces.append(text[at:start])
            starts.append(length)
            origins.append(at)
            length += start - at
        at = max(at, end)
    return View("".join(pieces), starts, origins)


@cache
def _invisible() -> re.Pattern[str]:
    """What hides in a text, by Unicode's own table of characters that a reader does not see."""
    from memorywire.model.unicode_tables import DEFAULT_IGNORABLE

    ranges = "".join(f"{chr(low)}-{chr(high)}" for low, high in DEFAULT_IGNORABLE)
    return re.compile(f"[{ranges}{_ENDS}{_MARKS}{_CONTROLS}]+")


@cache
def _disguised() -> Any:
    import re2

    hidden = f"{ignorable_class()}{_ENDS}{_MARKS}\\x00-\\x08\\x0e-\\x1f\\x7f-\\x{{9f}}"
    foreign = "".join(f"\\x{{{code:x}}}" for code, face in _faces().items() if face.isalnum())
    return re2.compile(f"[!-~][{hidden}]+[!-~]|[{_WIDE}]|[0-9A-Za-z_]-?[{foreign}]|[{foreign}]-?[0-9A-Za-z_]")


@cache
def _faces() -> dict[int, str]:
    """Characters that look like a Latin one, each with that Latin character."""
    from memorywire.model.unicode_tables import LOOKALIKES

    wide = (
        chr(code) for first, last in ((0xFF01, 0xFF5E), (0x1D400, 0x1D7FF)) for code in range(first, last + 1)
    )
    plain = {ord(char): unicodedata.normalize("NFKC", char) for char in wide}
    twins = {ord(char): face for face, chars in LOOKALIKES.items() if face.isalnum() for char in chars}
    more = {ord(char): face for char, face in zip(*_MORE_TWINS, strict=True)}
    return {code: char for code, char in (twins | plain | more).items() if len(char) == 1}
