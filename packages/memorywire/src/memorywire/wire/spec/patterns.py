"""Patterns of a schema, which are ECMAScript's, as this interpreter's: what both mean alike, and no more."""

import re
from collections.abc import Callable

_SPACE = r"\t\n\v\f\r \u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000\ufeff"
_ESCAPED = r"\\u[0-9a-fA-F]{4}|\\[\\^$.*+?()\[\]{}|/]"
_PIECE = re.compile(
    r"(?P<end>\$)"
    r"|(?P<space>\\s)"
    rf"|(?P<any_of>\[(?!\^?\])\^?(?:(?<!-)\\s(?!-[^\]])|{_ESCAPED}|\\-|[^\\\[\]])+\])"
    rf"|{_ESCAPED}"
    r"|\((?:\?[:=!]|(?!\?))|[)|^]"
    r"|(?:[*+?]|\{\d+(?:,\d*)?\})(?![*+?{])"
    r"|[^\\.*+?(){}\[\]|^$]"
)
_MEMBER = re.compile(r"\\.|[^\\]", re.DOTALL)


def searching(pattern: str) -> Callable[[str], object]:
    """What finds the pattern in a text: `$` is the very end, and white space ECMAScript's own list.

    Raises ValueError for what the two may read differently, such as `.` or `\\d`.
    """
    translated, at = "", 0
    while at < len(pattern):
        piece = _PIECE.match(pattern, at)
        if piece is None:
            raise ValueError(f"{pattern} has something from place {at} on that is not known here")
        translated += _translated(piece)
        at = piece.end()
    return re.compile(translated).search


def _translated(piece: re.Match[str]) -> str:
    if piece["end"]:
        return "\\Z"
    if piece["space"]:
        return f"[{_SPACE}]"
    if piece["any_of"]:
        return "".join(_SPACE if member == "\\s" else member for member in _MEMBER.findall(piece[0]))
    return piece[0]
