"""Invisible and confusable characters, by Unicode's tables, and texts without them."""

import unicodedata
from collections.abc import Sequence
from functools import cache

_HIDDEN = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp", "Mn", "Me"})
_BLANKS = frozenset("\u2800\ufffc")  # the Braille cell without dots, the object replacement character


@cache
def ignorable_class() -> str:
    """Return the ranges of default-ignorable code points, for a character class of a pattern."""
    from memorywire.model.unicode_tables import DEFAULT_IGNORABLE

    return "".join(f"\\x{{{low:x}}}-\\x{{{high:x}}}" for low, high in DEFAULT_IGNORABLE)


@cache
def ignorable() -> frozenset[int]:
    """Return all default-ignorable code points, which are invisible."""
    from memorywire.model.unicode_tables import DEFAULT_IGNORABLE

    return frozenset(code for low, high in DEFAULT_IGNORABLE for code in range(low, high + 1))


@cache
def _twins() -> dict[str, str]:
    from memorywire.model.unicode_tables import LOOKALIKES

    return {char: plain for plain, chars in LOOKALIKES.items() for char in chars}


def plain_face(char: str) -> str:
    """Return the ASCII character that a character reads as; the character itself if there is none."""
    if char < "\x80":
        return char
    compatible = unicodedata.normalize("NFKC", char)
    if len(compatible) == 1 and compatible.isascii():
        return compatible
    digit = unicodedata.digit(char, None)
    if digit is not None:
        return str(digit)
    base = unicodedata.normalize("NFKD", char)
    return _twins().get(char) or _twins().get(compatible) or (base[0] if base[:1].isascii() else char)


def is_hidden(char: str) -> bool:
    """Whether the character is invisible or only a mark on another one."""
    return ord(char) in ignorable() or unicodedata.category(char) in _HIDDEN or char in _BLANKS


class Faces(dict[int, str]):
    """For `str.translate`: maps a character to the ASCII character that it looks like; keeps the length."""

    def __missing__(self, code: int) -> str:
        self[code] = plain_face(chr(code))
        return self[code]


class Skeleton(dict[int, str | None]):
    """For `str.translate`: gives equal results for texts that look alike, even with invisible characters.

    Hidden characters and white space are removed; others become their ASCII lookalike in lower case, with one
    letter for each group that looks the same (`0` and `O`; `1`, `I`, `l` and `|`).
    """

    _ALIKE = str.maketrans("01i|", "olll")

    def __missing__(self, code: int) -> str | None:
        char = chr(code)
        self[code] = None if char.isspace() or is_hidden(char) else self._fold(plain_face(char))
        return self[code]

    def _fold(self, face: str) -> str:
        lower = face.lower()
        return lower.translate(self._ALIKE) if len(lower) == 1 else face


FACES, SKELETON = Faces(), Skeleton()


def skeleton(text: str) -> str:
    """Return the skeleton of a text: see `Skeleton`."""
    return text.translate(SKELETON)


def skeleton_places(text: str) -> tuple[str, Sequence[int]]:
    """Return the skeleton of a text, and the index in the text of each of its characters."""
    skeletons = [text[at].translate(SKELETON) for at in range(len(text))]
    places = [at for at, char in enumerate(skeletons) if char]
    return "".join(skeletons), places


class _Seen(dict[int, str | None]):
    """For `str.translate`: ASCII lookalikes; removes hidden characters, keeps line ends and tabs."""

    def __missing__(self, code: int) -> str | None:
        char = chr(code)
        self[code] = plain_face(char) if char in "\n\t" or not is_hidden(char) else None
        return self[code]


_SEEN = _Seen()


def seen(text: str) -> tuple[str, Sequence[int]]:
    """Return the text as ASCII lookalikes without hidden characters, and their indexes; keeps white space."""
    visible = text.translate(_SEEN)
    if len(visible) == len(text):
        return visible, range(len(text))
    return visible, [at for at, char in enumerate(text) if _SEEN[ord(char)]]
