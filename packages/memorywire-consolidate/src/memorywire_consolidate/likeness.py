"""How similar two memories are: the cosine of their vectors, unless a rule shows that they differ.

Vectors overlook numbers, negation, opposites and word order; `can_agree` compares those first. The thresholds
are fitted to labelled pairs (data/pairs.jsonl), so that they hold for any embedder.
"""

import json
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

from memorywire.model.record import MemoryType, Record, Scope
from memorywire.search.duplicates import Slots, Stated, parse_slots
from memorywire.search.embed import Embedder
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
    """How two statements differ: in word order, in one word, by added words, or by more."""

    ORDER = "order"
    SWAPPED = "swapped"
    TURNED = "turned"
    ADDED = "added"
    REWORDED = "reworded"


class Likeness(Struct, frozen=True):
    """How two memories differ, and the cosine of their vectors: 0 if a rule shows that they differ."""

    change: Change
    score: float


def measure_likeness(one: Stated, other: Stated, vectors: Vectors) -> Likeness:
    change = _classify_change(one[1], other[1])
    if not can_agree(one[1], other[1]):
        return Likeness(change, 0.0)
    return Likeness(change, cosine(vectors[one[0].id], vectors[other[0].id]))


def cosine(one: bytes, other: bytes) -> float:
    return float(_as_floats(one) @ _as_floats(other))


def _classify_change(one: Slots, other: Slots) -> Change:
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
    """Yield each pair whose cosine is at least `least`, once."""
    if len(records) < 2:
        return
    matrix = np.stack([_as_floats(vectors[record.id]) for record in records])
    for start in range(0, len(records), _BLOCK):
        alike = matrix[start : start + _BLOCK] @ matrix.T >= least
        for row, column in zip(*np.nonzero(alike), strict=True):
            if start + row < column:
                yield records[start + row], records[column]


def can_agree(one: Slots, other: Slots) -> bool:
    """Return whether the statements agree in the aspects that a vector overlooks.

    These are: owner, numbers, order of names, denials, opposites, words for something ended, who does what to
    whom, subject, value, or a single function word.
    """
    names = one.names | other.names
    return (
        one.owner == other.owner
        and (one.said != other.said or one.told == other.told)
        and list_numbers(one) == list_numbers(other)
        and len(_select(one.said, _DENIALS)) % 2 == len(_select(other.said, _DENIALS)) % 2
        and _select(one.said, _TURNS) == _select(other.said, _TURNS)
        and one.names <= other.words
        and other.names <= one.words
        and _select(one.said, names, sort=False) == _select(other.said, names, sort=False)
        and not are_opposed(one, other)
        and one.words & _OVER == other.words & _OVER
        and _order_agrees(one, other)
        and not _differs_in_subject_or_value(one.said, other.said)
    )


def _differs_in_subject_or_value(one: Sequence[str], other: Sequence[str]) -> bool:
    """Return whether only the subject differs, or only the value: the rest, after over half equal words."""
    shorter = min(len(one), len(other))
    if shorter > 1 and one[0] != other[0] and one[1:] == other[1:]:
        return True
    begin = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(one, other, strict=False)))
    return shorter > begin > shorter / 2


def _order_agrees(one: Slots, other: Slots) -> bool:
    """Return whether the word order agrees. For the same words, only a rotation counts as agreement."""
    if one.said == other.said or one.words != other.words:
        return True
    is_rotation = any(one.said[at:] + one.said[:at] == other.said for at in range(1, len(one.said)))
    return is_rotation and len(one.said) > 3  # with three words a rotation would change the subject


def list_numbers(slots: Slots) -> list[str]:
    return sorted(filter(is_number, slots.said))


def is_number(term: str) -> bool:
    return term.lstrip("#+-−")[:1].isdigit()


def _select(terms: Sequence[str], words: frozenset[str], *, sort: bool = True) -> list[str]:
    selection = [term for term in terms if term in words]
    return sorted(selection) if sort else selection


def are_opposed(one: Slots, other: Slots) -> bool:
    """Return whether one statement has the opposite of a word in the other."""
    mine, yours = (set(map(_stem, a.words - b.words)) for a, b in ((one, other), (other, one)))
    return any(not yours.isdisjoint(load_opposites().get(word, ())) for word in mine)


def _stem(word: str) -> str:
    return next(iter(terms(word)), word)


@cache
def load_opposites() -> Mapping[str, frozenset[str]]:
    """Return the opposites of each word stem."""
    opposites: dict[str, set[str]] = {}
    for line in (files(__package__) / "data" / "opposites.txt").read_text(encoding="utf-8").splitlines():
        one, other = map(_stem, line.split())
        opposites.setdefault(one, set()).add(other)
        opposites.setdefault(other, set()).add(one)
    return {word: frozenset(others) for word, others in opposites.items()}


def _as_floats(vector: bytes) -> NDArray[np.float32]:
    return np.frombuffer(vector, dtype="<f4")


class Thresholds(Struct, frozen=True):
    """The lowest score of two equal statements, for each kind of change; kinds without one are never equal.

    Two memories with a cosine of at least `related` have the same topic. The labelled statements have at most
    `longest` words: in longer ones a single word affects the vector less, so a person decides.
    """

    least: Mapping[Change, float]
    related: float = 1.0
    longest: int = 0

    @property
    def lowest(self) -> float:
        """The cosine below which no pair can be equal."""
        return min(self.least.values(), default=1.0)

    def is_same(self, likeness: Likeness) -> bool:
        least = self.least.get(likeness.change)
        return least is not None and likeness.score >= least


async def fit_thresholds(embedder: Embedder) -> Thresholds:
    """Fit the lowest thresholds without a false positive: halfway to the next equal pair."""
    lines = (files(__package__) / "data" / "pairs.jsonl").read_text(encoding="utf-8").splitlines()
    pairs = [json.loads(line) for line in lines]
    texts = sorted({pair[side] for pair in pairs for side in ("first", "second")})
    vectors = dict(zip(texts, await embedder.embed(texts), strict=True))
    statements = {text: _parse_statement(text) for text in texts}
    labels = [
        (measure_likeness(statements[pair["first"]], statements[pair["second"]], vectors), bool(pair["same"]))
        for pair in pairs
    ]
    thresholds = {change: _fit_least(change, labels) for change in Change}
    alike = sorted(cosine(vectors[pair["first"]], vectors[pair["second"]]) for pair in pairs)
    return Thresholds(
        {change: score for change, score in thresholds.items() if score is not None},
        related=alike[len(alike) // 20],  # the cosine that 19 in 20 pairs on one topic reach
        longest=max(len(slots.said) for _, slots in statements.values()),
    )


def _fit_least(change: Change, labels: Sequence[tuple[Likeness, bool]]) -> float | None:
    scores = [(likeness.score, same) for likeness, same in labels if likeness.change is change]
    highest = max((score for score, same in scores if not same), default=0.0)
    above = [score for score, same in scores if same and score > highest]
    return (highest + min(above)) / 2 if above else None


def _parse_statement(text: str) -> Stated:
    scope = Scope(agent="calibration")
    record = Record(id=text, scope=scope, type=MemoryType.SEMANTIC, content=text, created_at=0, updated_at=0)
    return record, parse_slots(record)
