"""Two texts as one: what stayed, what went and what came, by words where that can be told in bounded time."""

import re
from collections.abc import Callable, Iterable, Sequence
from itertools import groupby
from typing import TypeAlias

Segment: TypeAlias = tuple[str, str]
Comparison: TypeAlias = Callable[[Sequence[str], Sequence[str]], list[Segment] | None]

KEPT, GONE, CAME = "=", "-", "+"

# The time grows with the square of the edits; 400 of them in texts of 64 KiB take less than half a second.
_EDITS_MOST = 400
_KEPT_LEAST = 0.25  # of the shorter text; below, single words in common are coincidence

# Scripts without spaces are compared by character, all others by what stands between spaces and punctuation.
_CHARACTERS = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff"
_PUNCTUATION = re.escape("!\"#$%&'()*+,-./:;<=>?@[\\]^`{|}~")
_WORD = re.compile(rf"\s+|[^\s{_PUNCTUATION}{_CHARACTERS}]+|.", re.DOTALL)
_SENTENCE_END = re.compile(r"(?<=[.!?。！？\n])")


def segments(before: str, after: str) -> tuple[Segment, ...]:
    """What to keep ("="), take away ("-") and add ("+"), in order, so that `before` becomes `after`.

    By words; by sentences when too many words changed; and otherwise as one replacement from the first change
    to the last.
    """
    for units, compare in ((_words, _shortest), (_sentences, _shortest), (_words, _replaced)):
        joined = _joined(_script(units(before), units(after), compare) or ())
        kept = sum(len(text) for mark, text in joined if mark == KEPT)
        if kept > _KEPT_LEAST * min(len(before), len(after)):
            return joined
    return tuple(_settled([(GONE, before), (CAME, after)]))


def _words(text: str) -> list[str]:
    return _WORD.findall(text)


def _sentences(text: str) -> list[str]:
    return _SENTENCE_END.split(text)


def _script(a: Sequence[str], b: Sequence[str], compare: Comparison) -> list[Segment] | None:
    """The edit script; the common beginning and end are kept, and `compare` handles what is between."""
    head = _common(a, b)
    tail = _common(a[head:][::-1], b[head:][::-1])
    middle = compare(a[head : len(a) - tail], b[head : len(b) - tail])
    if middle is None:
        return None
    return [*((KEPT, word) for word in a[:head]), *middle, *((KEPT, word) for word in a[len(a) - tail :])]


def _common(a: Sequence[str], b: Sequence[str]) -> int:
    """How many words the two begin with alike."""
    pairs = enumerate(zip(a, b, strict=False))
    return next((at for at, (one, other) in pairs if one != other), min(len(a), len(b)))


def _replaced(a: Sequence[str], b: Sequence[str]) -> list[Segment]:
    return [*((GONE, word) for word in a), *((CAME, word) for word in b)]


def _shortest(a: Sequence[str], b: Sequence[str]) -> list[Segment] | None:
    """The shortest edit script by Myers' greedy method, or None when it takes too many edits."""
    if not a or not b:
        return _replaced(a, b)
    reach = {1: 0}
    rounds: list[dict[int, int]] = []
    for edits in range(_EDITS_MOST + 1):
        rounds.append(dict(reach))
        for diagonal in range(-edits, edits + 1, 2):
            down = _goes_down(reach, diagonal, edits)
            x = reach[diagonal + 1] if down else reach[diagonal - 1] + 1
            while x < len(a) and x - diagonal < len(b) and a[x] == b[x - diagonal]:
                x += 1
            reach[diagonal] = x
            if x >= len(a) and x - diagonal >= len(b):
                return _walked_back(rounds, a, b)
    return None


def _goes_down(reach: dict[int, int], diagonal: int, edits: int) -> bool:
    return diagonal == -edits or (diagonal != edits and reach[diagonal - 1] < reach[diagonal + 1])


def _walked_back(rounds: list[dict[int, int]], a: Sequence[str], b: Sequence[str]) -> list[Segment]:
    steps: list[Segment] = []
    x, y = len(a), len(b)
    for edits in range(len(rounds) - 1, -1, -1):
        reach = rounds[edits]
        down = _goes_down(reach, x - y, edits)
        origin = x - y + 1 if down else x - y - 1
        start = reach[origin]
        while x > start and y > start - origin:
            x, y = x - 1, y - 1
            steps.append((KEPT, a[x]))
        x, y = start, start - origin
        if edits:
            steps.append((CAME, b[y]) if down else (GONE, a[x]))
    return steps[::-1]


def _joined(script: Iterable[Segment]) -> tuple[Segment, ...]:
    """The script with neighbours of one kind joined; a single space between two changes is not kept apart."""
    joined: list[Segment] = []
    changed: list[Segment] = []
    for kept, run in groupby(script, key=lambda step: step[0] == KEPT):
        steps = list(run)
        text = "".join(word for _, word in steps)
        if not kept:
            changed += steps
        elif changed and not text.strip():
            changed += [(GONE, text), (CAME, text)]
        else:
            joined += [*_settled(changed), (KEPT, text)]
            changed = []
    return (*joined, *_settled(changed))


def _settled(changed: Iterable[Segment]) -> list[Segment]:
    """The changes with all removals before all additions."""
    steps = list(changed)
    sides = ((side, "".join(text for mark, text in steps if mark == side)) for side in (GONE, CAME))
    return [(side, text) for side, text in sides if text]
