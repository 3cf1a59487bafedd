"""Text as a reviewer must see it: what hides, reorders the line or poses as another letter is spelt out."""

import re
import unicodedata
from collections import Counter
from collections.abc import Mapping

from memorywire.model.lookalikes import ignorable
from memorywire.model.record import Json

OPEN, CLOSE = "⟦", "⟧"

_HIDDEN = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})
_BLANK = "\u2800"  # a Braille cell without dots
_EMOJI = "\ufe0f"  # a variation selector can hide a message, but that of emoji is too common to count
_LAYOUT = frozenset("\n\t")
_WORD = re.compile(r"[^\W\d_]+")
_ALIKE = ("LATIN", "CYRILLIC", "GREEK")  # alphabets whose letters pass for one another


def visible(text: str) -> str:
    """The text with such characters written as ⟦U+202E⟧; different texts stay different."""
    if text.isascii() and text.isprintable():
        return text
    foreign = _foreign(text)
    return "".join(
        f"{OPEN}U+{ord(char):04X}{CLOSE}" if index in foreign or _unseen(char) else char
        for index, char in enumerate(text)
    )


def visible_json(value: Json) -> Json:
    """A JSON value with every text in it, keys too, made visible."""
    if isinstance(value, str):
        return visible(value)
    if isinstance(value, Mapping):
        return {visible(key): visible_json(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [visible_json(inner) for inner in value]
    return value


def _unseen(char: str) -> bool:
    if char in _LAYOUT or " " <= char <= "~":
        return False
    kind = unicodedata.category(char)
    return (
        kind in _HIDDEN
        or (kind == "Zs" and char != " ")
        or (ord(char) in ignorable() and char != _EMOJI)
        or char in (OPEN, CLOSE, _BLANK)
    )


def _foreign(text: str) -> frozenset[int]:
    """Places of letters from another alphabet than most letters of their word."""
    found: set[int] = set()
    for word in _WORD.finditer(text):
        if word.group().isascii():
            continue
        scripts = {at: _script(char) for at, char in enumerate(word.group(), word.start())}
        counted = Counter(script for script in scripts.values() if script)
        if len(counted) > 1:
            main = max(counted, key=lambda script: (counted[script], -_ALIKE.index(script)))
            found.update(at for at, script in scripts.items() if script and script != main)
    return frozenset(found)


def _script(char: str) -> str | None:
    name = unicodedata.name(char, "").partition(" ")[0]
    return name if name in _ALIKE else None
