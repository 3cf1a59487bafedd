"""How alike two memories are, once nothing that a vector overlooks tells them apart."""

from collections.abc import Iterator, Mapping, Sequence
from enum import StrEnum
from functools import cache
from importlib.resources import files
from itertools import takewhile
from operator import ne
from typing import TypeAlias

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from memorywire.model.record import Record
from memorywire.search.dedup import Stated
from memorywire.search.slots import Slots
from memorywire.search.text import terms

Vectors: TypeAlias = Mapping[str, bytes]

_BLOCK = 512
_DENIALS = frozenset(
    "no not never none nobody nothing neither nor without hardly barely rarely seldom".split()
)
_TURNS = frozenset("before after than or if can could would until unless except only".split())
_OVER = frozenset(
    "stopped quit gave former formerly ex anymore longer cancelled almost failed refuses back".split()
)


class Change(StrEnum):
    """How two statements differ: in order, in one word, by words that only one has, or by more."""

    ORDER = "order"
    SWAPPED = "swapped"
    TURNED = "turned"
    ADDED = "added"
    REWORDED = "reworded"


class Likeness(Struct, frozen=True):
    """How two memories differ, and the cosine of what they say: 0 when something tells them apart."""

    change: Change
    score: float


def likeness(one: Stated, other: Stated, vectors: Vectors) -> Likeness:
    change = _change(one[1], other[1])
    if not may_agree(one[1], other[1]):
        return Likeness(change, 0.0)
    return Likeness(change, cosine(vectors[one[0].id], vectors[other[0].id]))


def cosine(one: bytes, other: bytes) -> float:
    return float(_floats(one) @ _floats(other))


def _change(one: Slots, other: Slots) -> Change:
    mine, yours = (set(a.said) - set(b.said) - _DENIALS for a, b in ((one, other), (other, one)))
    if not mine and not yours:
        return Change.ORDER
    if not mine or not yours:
        return Change.ADDED
    if len(mine) > 1 or len(yours) > 1:
        return Change.REWORDED
    in_place = len(one.said) == len(other.said) and sum(map(ne, one.said, other.said)) == 1
    return Change.SWAPPED if in_place else Change.TURNED


def near_pairs(records: Sequence[Record], vectors: Vectors, least: float) -> Iterator[tuple[Record, Record]]:
    """All pairs whose vectors are at least so alike, each once."""
    if len(records) < 2:
        return
    matrix = np.stack([_floats(vectors[record.id]) for record in records])
    for start in range(0, len(records), _BLOCK):
        alike = matrix[start : start + _BLOCK] @ matrix.T >= least
        for row, column in zip(*np.nonzero(alike), strict=True):
            if start + row < column:
                yield records[start + row], records[column]


def may_agree(one: Slots, other: Slots) -> bool:
    """Whether nothing tells them apart that a vector overlooks.

    That is: owner, numbers, order of names, denials, opposites, being over, who does what to whom, subject,
    value, or a single little word.
    """
    return (
        one.owner == other.owner
        and (one.said != other.said or one.told == other.told)
        and numbers(one) == numbers(other)
        and _odd(one.said, _DENIALS) == _odd(other.said, _DENIALS)
        and _of(one.said, _TURNS) == _of(other.said, _TURNS)
        and one.names <= other.words
        and other.names <= one.words
        and _named(one, other) == _named(other, one)
        and not opposed(one, other)
        and one.words & _OVER == other.words & _OVER
        and _ordered(one, other)
        and not _of_another(one.said, other.said)
    )


def _of_another(one: Sequence[str], other: Sequence[str]) -> bool:
    """Whether only the subject differs, or only the value: more than half is alike, then a word differs."""
    shorter = min(len(one), len(other))
    if shorter > 1 and one[0] != other[0] and one[1:] == other[1:]:
        return True
    begin = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(one, other, strict=False)))
    return shorter > begin > shorter / 2


def _named(one: Slots, other: Slots) -> list[str]:
    """The names of either, in the order this one says them."""
    known = one.names | other.names
    return [term for term in one.said if term in known]


def _ordered(one: Slots, other: Slots) -> bool:
    """Whether the same words in another order mean the same: only if a beginning moved to the end."""
    if one.said == other.said or one.words != other.words:
        return True
    turned = any(one.said[at:] + one.said[:at] == other.said for at in range(1, len(one.said)))
    return turned and len(one.said) > _TOLD


_TOLD = 3
"""With three words (subject, verb, object) a moved beginning means another subject."""


def numbers(stated: Slots) -> list[str]:
    return sorted(filter(is_number, stated.said))


def is_number(term: str) -> bool:
    return term.lstrip("#+-−")[:1].isdigit()


def _odd(said: Sequence[str], words: frozenset[str]) -> bool:
    return len(_of(said, words)) % 2 == 1


def _of(said: Sequence[str], words: frozenset[str]) -> list[str]:
    return sorted(term for term in said if term in words)


def opposed(one: Slots, other: Slots) -> bool:
    """Whether one of them says the opposite of a word of the other."""
    mine, yours = (set(map(_stem, a.words - b.words)) for a, b in ((one, other), (other, one)))
    return any(not yours.isdisjoint(opposites().get(word, ())) for word in mine)


def _stem(word: str) -> str:
    return next(iter(terms(word)), word)


@cache
def opposites() -> Mapping[str, frozenset[str]]:
    """For each word those that turn its sentence around, all of them without their endings."""
    found: dict[str, set[str]] = {}
    for line in (files(__package__) / "data" / "opposites.txt").read_text(encoding="utf-8").splitlines():
        one, other = map(_stem, line.split())
        found.setdefault(one, set()).add(other)
        found.setdefault(other, set()).add(one)
    return {word: frozenset(others) for word, others in found.items()}


def _floats(vector: bytes) -> NDArray[np.float32]:
    return np.frombuffer(vector, dtype="<f4")
