"""Words of a question that may name somebody, told by how they are written."""

import re
from functools import lru_cache

from memorywire.search.text import terms

_WORD = re.compile(r"\w+(?:['’]\w+)*")
_POSSESSIVE = re.compile(r"['’]s$")
_BEGINNING = re.compile(r"(?:^|[.!?]\s)\W*$")
_LOOK_BACK = 8


def names(text: str) -> tuple[str, ...]:
    """Every word with a capital letter that begins no sentence, or is a possessive; in order, once each."""
    return tuple(dict.fromkeys(_POSSESSIVE.sub("", match.group()) for match in _naming(text)))


def without_names(text: str) -> str | None:
    """The text without names; None when it has none, or when nothing meaningful would be left."""
    return _rest(text)[0]


def asks_more(text: str) -> bool:
    """Whether the text asks for more than a person: two meaningful words or more beside the names."""
    return _rest(text)[1] > 1


@lru_cache(maxsize=256)
def _rest(text: str) -> tuple[str | None, int]:
    """The text without names, if it has any, and how many meaningful words are left."""
    rest, end = [], 0
    for match in _naming(text):
        rest.append(text[end : match.start()])
        end = match.end()
    if not rest:
        return None, 0
    left = " ".join("".join((*rest, text[end:])).split())
    meaning = len(terms(left))
    return (left if meaning else None), meaning


@lru_cache(maxsize=256)
def _naming(text: str) -> tuple[re.Match[str], ...]:
    written = [match for match in _WORD.finditer(text) if not match.group().islower()]  # as most are
    return tuple([match for match in written if _names_somebody(match, text)])


def _names_somebody(match: re.Match[str], text: str) -> bool:
    word = match.group()
    name = _POSSESSIVE.sub("", word)
    before = text[max(match.start() - _LOOK_BACK, 0) : match.start()]
    begins = _BEGINNING.search(before) is not None
    return len(name) > 1 and name.istitle() and (not begins or name != word)
