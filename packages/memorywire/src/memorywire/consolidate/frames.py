"""What a statement says of what: a subject, one of its attributes, and the value that holds now."""

import re
from enum import StrEnum

from msgspec import Struct

from memorywire.consolidate.likeness import is_number, opposed
from memorywire.model.record import Record
from memorywire.search.slots import Slots, plain, stated

# Attributes that have one value at a time, and ways to say so.
_SINGLE = {
    "place": "lives in|lives at|resides in|has moved to|moved to|relocated to|is based in|is located in|"
    "is hosted on|is hosted by|was migrated to|migrated to|home is in",
    "work": "works at|works for|is employed by|is employed at|joined|has joined",
    "role": "works as|was promoted to",
    "partner": "is engaged to|is married to",
    "boss": "reports to",
    "name": "is called|is named|is now called|was renamed to",
}
_WAYS = {way: name for name, ways in _SINGLE.items() for way in ways.split("|")}
_BEING = "is|are|will be|should be|must be|may be"
# Verbs whose new object pushes the old one out, unlike those that can have many (likes, owns, knows).
_VERBS = (
    "answer|arrive|begin|charge|close|cost|depart|deploy|end|expire|go|goes|happen|has|have|keep|last|leave|limit|live|"
    "meet|need|open|pay|prefer|require|return|rotate|run|send|ship|sit|start|store|take|use|want"
)
_MANY = frozenset("has have use uses used want wants need needs".split())
_PREDICATE = re.compile(
    r"(?<!\w)(?:"
    + "|".join(sorted(map(re.escape, _WAYS), key=len, reverse=True))
    + rf"|(?:{_BEING})|(?:{_VERBS})(?:e?s|ed)?)(?!\w)",
    re.IGNORECASE,
)
_LONGEST = 300


class Contrast(StrEnum):
    """How two statements about one thing stand: no contradiction, perhaps one, or one."""

    NONE = "none"
    PERHAPS = "perhaps"
    CLEAR = "clear"


class Frame(Struct, frozen=True):
    """The subject, the attribute, and what is said of it; `many` if several values may hold at once."""

    subject: tuple[str, ...]
    attribute: str
    value: Slots
    many: bool = False


def frame(record: Record) -> Frame | None:
    """How the statement is built, if it is a short one that says something of somebody."""
    text = plain(record)
    if len(text) > _LONGEST:
        return None
    ways = ((found, stated(text[: found.start()]).said) for found in _PREDICATE.finditer(text))
    found, subject = next(((found, said) for found, said in ways if said), (None, ()))
    if found is None:
        return None
    way, value = found.group().lower(), stated(f"is {text[found.end() :]}")
    if not value.said:
        return None
    attribute = _WAYS.get(way) or " ".join(stated(way).said) or "be"
    return Frame(subject, attribute, value, many=way in _MANY)


def contrast(one: Frame, other: Frame) -> Contrast:
    """How sure it is that both cannot hold at once; one that only says more than the other can."""
    mine, yours = (set(a.value.said) - set(b.value.said) for a, b in ((one, other), (other, one)))
    if not mine or not yours:
        return Contrast.NONE
    if one.attribute in _SINGLE or all(map(is_number, mine | yours)):
        return Contrast.CLEAR
    if len(mine) > 1 or len(yours) > 1:
        return Contrast.NONE
    if opposed(one.value, other.value):
        return Contrast.CLEAR
    if one.many:
        return Contrast.NONE
    if _names(one.value, mine) and _names(other.value, yours):
        return Contrast.CLEAR
    return Contrast.PERHAPS


def _names(value: Slots, terms: set[str]) -> bool:
    """Whether the one word that differs is a name."""
    named = {term for name in value.names for term in stated(name).said}
    return terms <= named
