"""Helpers for text: plurals, what to install, cells of spreadsheets, storable text, and splitting."""

from collections.abc import Iterator


def counted(number: int, one: str, several: str | None = None) -> str:
    """Format a number with its noun: `1 memory`, `2 memories`; `several` is an irregular plural."""
    if number == 1:
        return f"1 {one}"
    return f"{number} {_several(one) if several is None else several}"


def _several(one: str) -> str:
    return f"{one[:-1]}ies" if one.endswith("y") and one[-2:-1] not in "aeiou" else f"{one}s"


def install_hint(package: str, extra: str = "") -> str:
    """Return how to install a package of this project, by name or from a clone."""
    name, quote = (f"{package}[{extra}]", "'") if extra else (package, "")
    return f"pip install {quote}{name}{quote} (in a clone: pip install {quote}./packages/{name}{quote})"


REPLACEMENT = "\ufffd"


def storable(text: str) -> str:
    """Replace NUL and unpaired surrogates by U+FFFD, because JSON stores refuse both."""
    whole = text if text.isascii() else text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return whole.replace("\0", REPLACEMENT)


_MARK = "'"
_FORMULA = frozenset("=+-@\t\r\n\uff1d\uff0b\uff0d\uff20")
"""The first characters of formulas; the last four are full-width forms, which some programs accept."""


def as_cell(text: str) -> str:
    """Prefix the text with an apostrophe if a spreadsheet would read it as a formula."""
    return f"{_MARK}{text}" if _begins_formula(text) else text


def from_cell(text: str) -> str:
    """Return the text of a cell that `as_cell` wrote."""
    return text[1:] if text[:1] == _MARK and _begins_formula(text) else text


def _begins_formula(text: str) -> bool:
    bare = text.lstrip(_MARK)[:1] if text[:1] == _MARK else text[:1]
    return bare in _FORMULA and bare != ""


CONTENT_CHARS_MAX = 65_536
"""The maximum number of characters of a text memory."""

_BLANKS = (" ", "\n")


def in_parts(text: str) -> Iterator[str]:
    """Split a text into parts of at most CONTENT_CHARS_MAX characters, between words if possible."""
    if len(text) <= CONTENT_CHARS_MAX:
        yield text
        return
    remainder = text.strip()
    while len(remainder) > CONTENT_CHARS_MAX:
        end = max(remainder.rfind(blank, 1, CONTENT_CHARS_MAX) for blank in _BLANKS)
        end = CONTENT_CHARS_MAX if end < 0 else end
        yield remainder[:end].rstrip()
        remainder = remainder[end:].strip()
    yield remainder
