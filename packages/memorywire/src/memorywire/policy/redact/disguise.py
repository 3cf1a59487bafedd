"""A text with its escapes decoded and its skeleton: a registered value is found behind any disguise."""

import html
import re
from collections.abc import Callable, Sequence
from urllib.parse import unquote

from memorywire.model.lookalikes import skeleton_places

_LAYERS = 3
_SIGNS = ("\\", "%", "&")
_ESCAPE = re.compile(
    r"(?:%[0-9a-f]{2})+|%u[0-9a-f]{4}|(?:\\u[0-9a-f]{4})+|\\u\{[0-9a-f]{1,6}\}|(?:\\x[0-9a-f]{2})+"
    r"|\\[0-7]{3}|\\[abfnrtv0\"'\\/]|&(?:#\d{1,7}|#x[0-9a-f]{1,6}|[a-z][a-z0-9]{1,31});",
    re.IGNORECASE,
)
_LETTERS = dict(zip("abfnrtv0", "\a\b\f\n\r\t\v\0", strict=True))


def is_escaped(text: str) -> bool:
    """Whether the text has a character that begins an escape."""
    return any(sign in text for sign in _SIGNS)


def decode_escapes(text: str) -> str:
    """Return the text with JSON, C, percent and HTML escapes decoded, up to three deep."""
    for _ in range(_LAYERS):
        decoded = _ESCAPE.sub(lambda escape: _decoded(escape.group()), text)
        if decoded == text:
            break
        text = decoded
    return text


def disguised_places(text: str) -> tuple[str, Sequence[tuple[int, int]]]:
    """Return the skeleton of the decoded text, and for each of its characters the span in the text."""
    spans: list[tuple[int, int]] = [(at, at + 1) for at in range(len(text))]
    for _ in range(_LAYERS):
        pieces: list[str] = []
        moved: list[tuple[int, int]] = []
        end = 0
        for escape in _ESCAPE.finditer(text):
            start, stop = escape.span()
            inside = _decoded(escape.group())
            pieces += [text[end:start], inside]
            moved += spans[end:start]
            moved += [(spans[start][0], spans[stop - 1][1])] * len(inside)
            end = stop
        if not pieces:
            break
        text, spans = "".join((*pieces, text[end:])), moved + spans[end:]
    folded, places = skeleton_places(text)
    return folded, [spans[at] for at in places]


def _decoded(escape: str) -> str:
    """The characters an escape stands for; the escape itself if it stands for none."""
    if escape[0] == "&":
        return html.unescape(escape)
    kind = escape[:2].lower()
    if kind == "%u" or kind == "\\u":
        return _by_codes(escape, re.findall(r"[0-9a-f]{4,6}|(?<=\{)[0-9a-f]{1,3}", escape.lower()))
    if escape[0] == "%":
        return unquote(escape, errors="replace")
    if kind == "\\x":
        return bytes.fromhex(escape[2:].lower().replace("\\x", "")).decode(errors="replace")
    if escape[1:].isdigit() and len(escape) > 2:
        return chr(int(escape[1:], 8) & 0xFF)
    return _LETTERS.get(escape[1], escape[1])


def _by_codes(escape: str, codes: Sequence[str]) -> str:
    numbers = [int(code, 16) for code in codes]
    if any(number > 0x10FFFF for number in numbers):
        return escape
    units = "".join(map(chr, numbers))
    return units.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def widen(span: tuple[int, int], text: str, is_part: Callable[[str], bool]) -> tuple[int, int]:
    """Return the span with the characters around it that belong to the same run."""
    start, end = span
    while start and is_part(text[start - 1]):
        start -= 1
    while end < len(text) and is_part(text[end]):
        end += 1
    return start, end
