"""A screen that names signs of text addressed to the model, where a memory should be text about the world.

It only names what it sees; the policy decides what follows. It catches careless or copied attacks and is no
wall: who wrote a memory says more about it than its words.
"""

from collections.abc import Iterable, Mapping
from functools import lru_cache

from memorywire.policy.injection.readings import (
    decoded,
    disguises,
    glance,
    hidden_text,
    plain,
    words,
)
from memorywire.policy.injection.signs import marked, reserved, spoken, unremarkable

ENCODED = "encoded"
HIDDEN = "hidden_text"

_CODE = 20  # a single word shorter than this says nothing, in no code


def instructions(text: str) -> tuple[str, ...]:
    """The names of the signs found in a text, sorted; empty when there are none.

    A disguise (a code, look-alike letters, spelling backwards) is undone once and read again: what shows only
    then is named together with `encoded`. The time grows with the length of the text and nothing else.
    """
    if len(text) < _CODE and text.isalnum():
        return ()
    valid = text.encode(errors="replace").decode()  # half of a surrogate pair is no character
    shown = plain(valid)
    said = words(shown)
    found = marked(shown) | spoken(said)
    disguised = _disguised(valid, shown, said) - found
    if disguised:
        found |= disguised | {ENCODED}
    if hidden_text(valid):
        found.add(HIDDEN)
    return tuple(sorted(found))


def screen(places: Mapping[str, str]) -> tuple[tuple[str, str], ...]:
    """Every sign, with the place it was found in, of a memory given as text by place.

    Outside the content, somebody also wrote the names of the places, so they are read like text; and a name
    that agents use for their own settings is a sign. Names within a content are given as text already.
    """
    outside = (place for place in places if not place.startswith("content"))
    if unsuspicious(places.values(), outside):
        return ()
    return tuple((sign, place) for place, text in places.items() for sign in _signs(place, text))


def unsuspicious(texts: Iterable[str], names: Iterable[str]) -> bool:
    """Whether one reading of all texts shows no sign, nor any in the names of places outside the content."""
    return _is_plain("\n".join(texts)) and all(map(_is_plain_name, names))


def _is_plain(text: str) -> bool:
    """Whether one reading of several texts, joined as lines, shows that none holds a sign or a reserved name.

    This is safe because a line end also ends a sentence, and no sign needs more around it than the beginning
    of a line. False where letters or bytes could be put together to other words.
    """
    if not text.isascii() or hidden_text(text):
        return False
    shown = plain(text).encode()
    return unremarkable(shown, glance(shown))


_is_plain_name = lru_cache(maxsize=1024)(_is_plain)  # the same few names come again and again


def _signs(place: str, text: str) -> tuple[str, ...]:
    if place.startswith("content"):
        return instructions(text)
    return tuple(sorted({*_named(place), *instructions(text), *reserved(text)}))


@lru_cache(maxsize=1024)
def _named(place: str) -> frozenset[str]:
    """The signs in the name of a place."""
    return frozenset((*instructions(place), *reserved(place)))


def _disguised(text: str, shown: str, said: str) -> set[str]:
    # Each of them ends as a sentence does, so no phrase goes on in the next.
    found = spoken("".join(disguises(said, shown)))
    inner = [plain(code) for code in decoded(text)]
    return found.union(*(marked(code) | spoken(words(code)) for code in inner))
