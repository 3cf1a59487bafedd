"""Words of a question that may name somebody, told by how they are written."""

import re
from functools import lru_cache

from memorywire.stores.text import terms

_WORD = re.compile(r"\w+(?:['’]\w+)*")
_POSSESSIVE = re.compile(r"['’]s$")
_BEGINNING = re.compile(r"(?:^|[.!?]\s)\W*$")
_LOOK_BACK = 8


def names(text: str) -> tuple[str, ...]:
    """Every word with a capital letter that begins no sentence, or is a possessive; in order, once each."""
    return tuple(dict.fromkeys(_POSSESSIVE.sub("", match.group()) for match in _naming(text)))


@lru_cache(maxsize=256)
def without_names(text: str) -> str | None:
    """The text without those words, or None when nothing that means anything would be left or gone."""
    rest, end = [], 0
    for match in _naming(text):
        rest.append(text[end : match.start()])
        end = match.end()
    left = " ".join("".join((*rest, text[end:])).split())
    return left if rest and terms(left) else None


def asks_more(text: str) -> bool:
    """Whether the text asks for more than to hear about somebody: two words or more that mean something."""
    return len(terms(without_names(text) or "")) > 1


@lru_cache(maxsize=256)
def _naming(text: str) -> tuple[re.Match[str], ...]:
    return tuple(match for match in _WORD.finditer(text) if _names_somebody(match, text))


def _names_somebody(match: re.Match[str], text: str) -> bool:
    word = match.group()
    name = _POSSESSIVE.sub("", word)
    before = text[max(match.start() - _LOOK_BACK, 0) : match.start()]
    begins = _BEGINNING.search(before) is not None
    return len(name) > 1 and name.istitle() and (not begins or name != word)
