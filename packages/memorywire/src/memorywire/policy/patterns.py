"""How the words of a rule are compared with those of a case; `*` stands for any characters.

What somebody wrote is compared as it reads (`fits`), so that no spelling slips by. Names of tenants,
agents, users and callers are compared as they are (`names`): another case is somebody else.
"""

import unicodedata
from collections.abc import Iterable, Sequence
from functools import lru_cache


def folded(text: str) -> str:
    """One case, one width, single spaces and nothing invisible."""
    if not text.isascii():
        wide = unicodedata.normalize("NFKC", text)
        text = "".join(char for char in wide if unicodedata.category(char) != "Cf")
    return " ".join(text.casefold().split())


def fits(patterns: Iterable[str], text: str | None) -> bool:
    """Whether the text reads like one of the patterns; None reads as the empty text."""
    words = folded(text or "")
    return any(_matches(_parts(pattern), words) for pattern in patterns)


def names(patterns: Iterable[str], name: str | None) -> bool:
    """Whether one of the patterns matches this name exactly; None is the empty name."""
    return any(_matches(pattern.split("*"), name or "") for pattern in patterns)


@lru_cache(maxsize=4096)
def _parts(pattern: str) -> tuple[str, ...]:
    return tuple(folded(pattern).split("*"))


def _matches(parts: Sequence[str], text: str) -> bool:
    """Whether the text is these parts in this order, with anything between them."""
    first, *rest = parts
    if not rest:
        return text == first
    *middle, last = rest
    if not text.startswith(first):
        return False
    at = len(first)
    for part in middle:
        found = text.find(part, at)
        if found < 0:
            return False
        at = found + len(part)
    return text.endswith(last) and len(text) - len(last) >= at
