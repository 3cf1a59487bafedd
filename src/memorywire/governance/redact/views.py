"""A text with a disguise undone, and the way back from its places to those of the original."""

import re
import unicodedata
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from typing import Any

from memorywire.governance.redact.rules import Span
from memorywire.model.values import dataclass

_TWINS = (
    "АВЕКМНОРСТУХІЈЅавекмнорстухіјѕԁһӏԛԝɡɑΑΒΕΖΗΙΚΜΝΟΡΤΥΧορν",
    "ABEKMHOPCTYXIJSabekmhopctyxijsdhlqwgaABEZHIKMNOPTYXopv",
)
"""Letters of other scripts that look like Latin ones."""

_HIDDEN = (
    "\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180e\u200b-\u200f\u202a-\u202e\u2060-\u206f\u3164"
    "\ufe00-\ufe0f\ufeff"
)
_WIDE = "\uff0d\uff10-\uff19\uff21-\uff3a\uff3f\uff41-\uff5a\U0001d400-\U0001d7ff"
_FOREIGN = "\u0400-\u052f\u0391-\u03c9\u0261\u0251"
_INVISIBLE = re.compile(f"[{_HIDDEN}]+")
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
    return _without([found.span() for found in _INVISIBLE.finditer(text)], text.translate(_faces()))


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
def _disguised() -> Any:
    import re2

    return re2.compile(
        f"[!-~][{_HIDDEN}]+[!-~]|[{_WIDE}]|[0-9A-Za-z_-][{_FOREIGN}]|[{_FOREIGN}][0-9A-Za-z_-]"
    )


@cache
def _faces() -> dict[int, str]:
    """Characters that look like a Latin one, each with that Latin character."""
    wide = (
        chr(code) for first, last in ((0xFF01, 0xFF5E), (0x1D400, 0x1D7FF)) for code in range(first, last + 1)
    )
    plain = {ord(char): unicodedata.normalize("NFKC", char) for char in wide}
    twins = {ord(char): twin for char, twin in zip(*_TWINS, strict=True)}
    return {code: char for code, char in (plain | twins).items() if len(char) == 1}
