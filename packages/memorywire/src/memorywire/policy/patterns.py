"""Matches the patterns of rules against the texts of a case; `*` stands for any characters.

`fits` compares text after folding case, width and invisible characters. `names` compares the names of
tenants, agents, users and callers exactly: names that differ in case are different.
"""

import re
import unicodedata
from collections.abc import Iterable, Sequence
from functools import lru_cache

from memorywire.model.errors import InvalidRequest


def fold_case(text: str) -> str:
    """Fold case and width, collapse spaces, and remove invisible characters."""
    if not text.isascii():
        wide = unicodedata.normalize("NFKC", text)
        text = "".join(char for char in wide if unicodedata.category(char) != "Cf")
    return " ".join(text.casefold().split())


def fits(patterns: Iterable[str], text: str | None) -> bool:
    """Whether the folded text matches one of the patterns; None counts as the empty text."""
    words = fold_case(text or "")
    return any(_matches(_parts(pattern), words) for pattern in patterns)


def names(patterns: Iterable[str], name: str | None) -> bool:
    """Whether one of the patterns matches this name without folding; None counts as the empty name."""
    return any(_matches(pattern.split("*"), name or "") for pattern in patterns)


@lru_cache(maxsize=4096)
def _parts(pattern: str) -> tuple[str, ...]:
    return tuple(fold_case(pattern).split("*"))


def _matches(parts: Sequence[str], text: str) -> bool:
    """Whether the text consists of these parts in order, with anything between them."""
    first, *rest = parts
    if not rest:
        return text == first
    *middle, last = rest
    if not text.startswith(first):
        return False
    at = len(first)
    for part in middle:
        index = text.find(part, at)
        if index < 0:
            return False
        at = index + len(part)
    return text.endswith(last) and len(text) - len(last) >= at


_SITE = re.compile(r"[^:]*(?::/*[^/?#]*)?")
_COLONS = re.compile("[:\u2236\ua789\ufe13\ufe55\uff1a]")  # the colon, and characters that look like it
# Invisible letters and variation selectors.
_UNDRAWN = re.compile("[\u034f\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0\ufe00-\ufe0f\U000e0100-\U000e01ef]")
_LOOKALIKES = {  # letters that look like ASCII letters, by alphabet
    "\u0430\u0432\u0433\u0435\u04bb\u043d\u0456\u0458\u043a\u04cf\u043c\u043e": "abrehhijklmo",  # Cyrillic
    "\u0440\u051b\u0441\u0455\u0442\u0443\u04af\u0445\u0501\u051d\u0475\u043f": "pqcstyyxdwvn",
    "\u03b1\u03b5\u03b7\u03b9\u03ba\u03bd\u03bf\u03c1\u03c3\u03c4\u03c5\u03c7": "aenikvopotux",  # Greek
    "\u03b3\u03c9\u03b2": "ywb",
    "\u0585\u0578\u057d\u0570\u0581\u0566\u0575": "onuhgqj",  # Armenian
    "\u0131\u0251\u0261\u0269\u029f\u0280\u0274\u029c\u1d00\u0299\u1d04\u1d05": "iagilrnhabcd",  # phonetic
    "\u1d07\u1d0a\u1d0b\u1d0d\u1d0f\u1d18\u1d1b\u1d1c\u1d20\u1d21\u1d22\ua731": "ejkmoptuvwzs",
    "\u026a\u028f\ua730\u0262": "iyfg",
}
_AS_ASCII = {
    ord(letter): drawn
    for letters, plain in _LOOKALIKES.items()
    for letter, drawn in zip(letters, plain, strict=True)
}


def kind_of(source: str) -> str:
    """Return the kind that a source claims: the part before the first colon, or all of it."""
    return _COLONS.split(source, maxsplit=1)[0]


@lru_cache(maxsize=1024)
def refuse_lookalike(source: str, schemes: frozenset[str]) -> None:
    """Raise InvalidRequest if the kind of a source is spelled to look like another one.

    That is a kind that becomes ASCII once width, invisible characters and look-alike letters are replaced.
    A word wholly in another alphabet may be a word of that language; it is refused only if it looks like
    one of the kinds in `schemes`.
    """
    colon = _COLONS.search(source)
    kind = kind_of(source)
    if kind.isascii() and (colon is None or colon.group() == ":"):
        return
    wide = unicodedata.normalize("NFKC", kind)
    plain = "".join(
        char for char in wide if not _UNDRAWN.match(char) and unicodedata.category(char) not in ("Cf", "Cc")
    ).casefold()
    ascii_form = plain.translate(_AS_ASCII)
    if not ascii_form.isascii() or not ascii_form:
        return
    whole_word = not plain.isascii() and not re.search("[a-z]", plain)
    if whole_word and ascii_form not in schemes:
        return
    raise InvalidRequest(
        f"the kind of source {kind!a} is written to look like {ascii_form!r}",
        field="source",
        fix=f"write it with the plain letters, as {ascii_form}:..., or give it a name of its own",
    )


def kinds_in(patterns: Iterable[str]) -> frozenset[str]:
    """Return the kinds that patterns of sources name."""
    return frozenset(kind_of(pattern).rstrip("*").casefold() for pattern in patterns) - {""}


def source_group(source: str | None) -> str:
    """Return a source without its path: `web:forum.example/a` and `/b` are one source."""
    match = None if source is None else _SITE.match(source)
    return match.group() if match else ""
