"""Detects duplicates: distinguishes two similar memories from one memory that was stored twice.

A cosine hardly changes with a number, a swapped name or a "not". So the words are compared first: the
speaker, names, numbers, negations and their order. Words without meaning of their own are ignored.
"""

import json
import re
import struct
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby
from typing import TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from memorywire.model.query import Scored
from memorywire.model.record import MemoryType, Record
from memorywire.search.text import STOP_WORDS, terms

_TOKEN = re.compile(
    r"(?<!\w)[-+−]?\d+(?:[.,:/]\d+)*(?!\w)"  # 5, -5, 1,000, 10:30, 3.11
    r"|[^\W_]+(?:['’][^\W_]+)*[+#]*"  # words, don't, C++
    r"|[^\w\s.,;:!'\"“”‘’„«»()\[\]{}\-–—…*`#/\\。、，！]"  # signs with a meaning: $, ?, an emoji
)
_SENTENCE_END = re.compile(r"[.!?:;\n]\s*$")
_THOUSANDS = re.compile(r"\d{1,3}(?:,\d{3})+")
_ORDINAL = re.compile(r"(\d+)(?:st|nd|rd|th)")

_CONTRACTED = {"won't": ("will", "not"), "can't": ("can", "not"), "cannot": ("can", "not")}
_ENDINGS = {"n't": ("not",), "'m": (), "'re": (), "'ve": (), "'s": (), "'ll": ("will",), "'d": ("would",)}

_UNITS = "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen "
_UNITS += "sixteen seventeen eighteen nineteen"
_TENS = "twenty thirty forty fifty sixty seventy eighty ninety"
_NUMBERS = {
    **{word: number for number, word in enumerate(_UNITS.split())},
    **{word: 10 * number for number, word in enumerate(_TENS.split(), 2)},
    "dozen": 12,
    "hundred": 100,
    "thousand": 1_000,
    "million": 1_000_000,
}
_ORDINALS = {
    word: number
    for number, word in enumerate(
        "first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth".split(), 1
    )
}

_DENIALS = frozenset(
    "no not never none nobody nothing nowhere neither nor without "
    "hardly barely scarcely rarely seldom".split()
)
# Stop words in the index, but they change the meaning of a sentence.
_TURNING = frozenset(
    "before after over up out from into or than more most all some any if because can could should would "
    "will was were had did i you he she we they my your his her our their".split()
)
# Function words about who, where and when. Not "for": if it is replaced, the other word shows the change.
_RELATING = frozenset(
    "me us him them hers ours to with by at in on of about as who whom what which when where why how "
    "this these those then".split()
)
_DECORATION = frozenset("also indeed just now please quite really so then too very".split())

_SHORT = 4
"""Below this many words, a changed order is a changed statement."""


class Slots(Struct, frozen=True):
    """The parts in which two statements must agree to be the same.

    `said` are the index terms in order, `told` the same with the function words between. With `steps`, a
    rotation of the words is not the same statement.
    """

    owner: tuple[str | None, ...]
    said: tuple[str, ...]
    told: tuple[str, ...]
    past: frozenset[str]
    names: frozenset[str]
    words: frozenset[str]
    steps: bool = False

    @property
    def key(self) -> tuple[object, ...]:
        """A key that is equal for all statements that can be the same, so that only those are compared."""
        return self.owner, self.past, tuple(sorted(self.told))


def parse_slots(record: Record) -> Slots:
    """Return the slots of a record; the owner is its type, user and speaker, and of an event its time."""
    moment = str(record.occurred_at) if record.type is MemoryType.EPISODIC else None
    owner = (record.type.value, record.scope.user, record.speaker, moment)
    return parse_statement(read_content(record), owner, steps=record.type is MemoryType.PROCEDURAL)


def read_content(record: Record) -> str:
    """Return the content as text; of an object, its JSON with the numbers."""
    if isinstance(record.content, str):
        return record.content
    return json.dumps(record.content, ensure_ascii=False, sort_keys=True)


def parse_statement(text: str, owner: tuple[str | None, ...] = (), *, steps: bool = False) -> Slots:
    """Return the slots of a text."""
    tokens, names = _tokenize(unicodedata.normalize("NFKC", text))
    words = _parse_numbers(tokens)
    return Slots(
        owner=owner,
        said=tuple(term for token in words for term in _find_terms(token)),
        told=tuple(
            term for token in words for term in ((token,) if token in _RELATING else _find_terms(token))
        ),
        past=frozenset(term for token in words if token.endswith("ed") for term in terms(token)),
        names=frozenset(names),
        words=frozenset(tokens),
        steps=steps,
    )


def is_same_statement(one: Slots, other: Slots) -> bool:
    """Whether two statements agree in all slots; only then may their cosine mark them as duplicates."""
    return (
        one.key == other.key
        and one.names <= other.words
        and other.names <= one.words
        and (one.told == other.told or (not one.steps and _is_rotation(one.told, other.told)))
    )


def _is_rotation(one: tuple[str, ...], other: tuple[str, ...]) -> bool:
    """Whether the beginning was moved to the end: "on Friday we ship", "we ship on Friday"."""
    starts = (at for at in range(1, len(one)) if one[at] == other[0])
    return len(one) >= _SHORT and any(one[at:] + one[:at] == other for at in starts)


def _tokenize(text: str) -> tuple[list[str], set[str]]:
    """Return lower-case tokens in order, and the names among them: capitalised inside a sentence.

    A capital A inside a sentence is a name too: of a vitamin, of a plan.
    """
    tokens: list[str] = []
    names: set[str] = set()
    for match in _TOKEN.finditer(text):
        parts = _expand(match.group().lower().replace("’", "'"))
        begins = not tokens or _SENTENCE_END.search(text, max(match.start() - 8, 0), match.start())
        is_word = parts and (parts[0] not in STOP_WORDS or match.group() == "A")
        if is_word and match.group()[0].isupper() and not begins:
            names.add(parts[0])
        tokens.extend(parts)
    return tokens, names


def _expand(word: str) -> tuple[str, ...]:
    if word in _CONTRACTED:
        return _CONTRACTED[word]
    for ending, words in _ENDINGS.items():
        if word.endswith(ending):
            return (word.removesuffix(ending), *words)
    if _THOUSANDS.fullmatch(word):
        return (word.replace(",", ""),)
    ordinal = _ORDINAL.fullmatch(word)
    return (f"#{ordinal[1]}",) if ordinal else (word,)


def _parse_numbers(tokens: list[str]) -> list[str]:
    """Return the tokens with spelled-out numbers as digits: "twenty five" is 25, "third" is #3."""
    words: list[str] = []
    for is_number, run in groupby(tokens, key=_NUMBERS.__contains__):
        if is_number:
            words.extend(_sum_numbers(run))
        else:
            words.extend(f"#{_ORDINALS[token]}" if token in _ORDINALS else token for token in run)
    return words


def _sum_numbers(run: Iterable[str]) -> list[str]:
    numbers: list[int] = []
    for word in run:
        number = _NUMBERS[word]
        last = numbers[-1] if numbers else None
        if last is not None and number >= 100:
            numbers[-1] = last * number if last < number else last + number
        elif last is not None and _continues(last, number):
            numbers[-1] = last + number
        else:
            numbers.append(number)
    return [str(number) for number in numbers]


def _continues(last: int, number: int) -> bool:
    """Whether a number below 100 continues the last one: "twenty" and "five" do, "one" and "five" do not."""
    return (last >= 100 and last % 100 == 0) or (last % 100 >= 20 and last % 10 == 0 and 0 < number < 10)


def _find_terms(token: str) -> tuple[str, ...]:
    if token in _DENIALS or token in _TURNING or not token[0].isalnum():
        return (token,)
    if token in _DECORATION:
        return ()
    return tuple(terms(token)) if token.isalnum() else (token,)


_ROUNDING = 1e-6
"""The rounding error of float32 in the cosine of equal texts."""


Stated: TypeAlias = tuple[Record, Slots]


def group_lookalikes(hits: Sequence[Scored]) -> list[list[Stated]]:
    """Group records that may be duplicates, best first; only vectors within a group need be compared."""
    groups: dict[tuple[object, ...], list[Stated]] = {}
    for hit in hits:
        own = parse_slots(hit.record)
        groups.setdefault(own.key, []).append((hit.record, own))
    return [group for group in groups.values() if len(group) > 1]


def format_statement(record: Record) -> str:
    """Return the text to embed for the comparison: content and speaker, without time and full stop."""
    text = replace(record, occurred_at=None).text
    return text.rstrip(" .!\n") or text


def find_repeats(
    groups: Iterable[Sequence[Stated]], vectors: Mapping[str, bytes], threshold: float
) -> dict[str, str]:
    """Map each record that repeats a better one to the id of the better one.

    Two are duplicates if they agree in every slot and their cosine is at least `threshold`.
    """
    better_ids: dict[str, str] = {}
    for group in groups:
        firsts: list[Stated] = []
        for record, own in group:
            better = _find_better(record, own, firsts, vectors, threshold - _ROUNDING)
            if better is None:
                firsts.append((record, own))
            else:
                better_ids[record.id] = better
    return better_ids


def _find_better(
    record: Record, own: Slots, firsts: Iterable[Stated], vectors: Mapping[str, bytes], least: float
) -> str | None:
    for other, its in firsts:
        if is_same_statement(its, own) and cosine(vectors[other.id], vectors[record.id]) >= least:
            return other.id
    return None


def cosine(one: bytes, other: bytes) -> float:
    """Return the cosine of two unit vectors, float32 little-endian."""
    return sum(a * b for a, b in zip(_floats(one), _floats(other), strict=True))


def _floats(vector: bytes) -> tuple[float, ...]:
    return struct.unpack(f"<{len(vector) // 4}f", vector)
