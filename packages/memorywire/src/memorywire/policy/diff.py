"""Field-by-field difference that a change would make to memory, shown to reviewers."""

import json
import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from typing import TypeAlias

from msgspec import Struct, field
from msgspec.structs import asdict

from memorywire.model.change import Change
from memorywire.model.label import strip_label
from memorywire.model.lookalikes import ignorable
from memorywire.model.record import Json, Record

Segment: TypeAlias = tuple[str, str]
Comparison: TypeAlias = Callable[[Sequence[str], Sequence[str]], list[Segment] | None]

KEPT, GONE, CAME = "=", "-", "+"

# The time grows with the square of the edits; 400 of them in texts of 64 KiB take less than half a second.
_EDITS_MOST = 400
_KEPT_LEAST = 0.25  # of the shorter text; with less in common, shared words are coincidence

# Scripts without spaces are compared by character, all others by words between spaces and punctuation.
_CHARACTERS = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff"
_PUNCTUATION = re.escape("!\"#$%&'()*+,-./:;<=>?@[\\]^`{|}~")
_WORD = re.compile(rf"\s+|[^\s{_PUNCTUATION}{_CHARACTERS}]+|.", re.DOTALL)
_SENTENCE_END = re.compile(r"(?<=[.!?。！？\n])")


def segments(before: str, after: str) -> tuple[Segment, ...]:
    """Return what to keep ("="), remove ("-") and add ("+"), in order, to turn `before` into `after`.

    Compares by words; by sentences if too many words changed; otherwise returns one replacement from the
    first change to the last.
    """
    words, sentences = _WORD.findall, _SENTENCE_END.split
    for divide, compare in ((words, _shortest), (sentences, _shortest), (words, _replace_runs)):
        parts = _join_segments(_script(divide(before), divide(after), compare) or ())
        same_length = sum(len(text) for mark, text in parts if mark == KEPT)
        if same_length > _KEPT_LEAST * min(len(before), len(after)):
            return parts
    return tuple(_order_changes([(GONE, before), (CAME, after)]))


def _script(a: Sequence[str], b: Sequence[str], compare: Comparison) -> list[Segment] | None:
    """Return the edit script: keeps the common beginning and end, and uses `compare` for the middle."""
    head = _common(a, b)
    tail = _common(a[head:][::-1], b[head:][::-1])
    middle = compare(a[head : len(a) - tail], b[head : len(b) - tail])
    if middle is None:
        return None
    return [*((KEPT, word) for word in a[:head]), *middle, *((KEPT, word) for word in a[len(a) - tail :])]


def _common(a: Sequence[str], b: Sequence[str]) -> int:
    """Return the length of the common prefix in words."""
    pairs = enumerate(zip(a, b, strict=False))
    return next((at for at, (one, other) in pairs if one != other), min(len(a), len(b)))


def _replace_runs(a: Sequence[str], b: Sequence[str]) -> list[Segment]:
    return [*((GONE, word) for word in a), *((CAME, word) for word in b)]


def _shortest(a: Sequence[str], b: Sequence[str]) -> list[Segment] | None:
    """Return the shortest edit script by Myers' greedy algorithm; None if it needs too many edits."""
    if not a or not b:
        return _replace_runs(a, b)
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
                return _walk_back(rounds, a, b)
    return None


def _goes_down(reach: dict[int, int], diagonal: int, edits: int) -> bool:
    return diagonal == -edits or (diagonal != edits and reach[diagonal - 1] < reach[diagonal + 1])


def _walk_back(rounds: list[dict[int, int]], a: Sequence[str], b: Sequence[str]) -> list[Segment]:
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


def _join_segments(script: Iterable[Segment]) -> tuple[Segment, ...]:
    """Join adjacent steps of one kind; white space between two changes becomes part of them."""
    segments: list[Segment] = []
    changes: list[Segment] = []
    for is_same, run in groupby(script, key=lambda step: step[0] == KEPT):
        steps = list(run)
        text = "".join(word for _, word in steps)
        if not is_same:
            changes += steps
        elif changes and not text.strip():
            changes += [(GONE, text), (CAME, text)]
        else:
            segments += [*_order_changes(changes), (KEPT, text)]
            changes = []
    return (*segments, *_order_changes(changes))


def _order_changes(changes: Iterable[Segment]) -> list[Segment]:
    """Return the changes with all removals before all additions."""
    steps = list(changes)
    sides = ((side, "".join(text for mark, text in steps if mark == side)) for side in (GONE, CAME))
    return [(side, text) for side, text in sides if text]


OPEN, CLOSE = "⟦", "⟧"

_HIDDEN = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})
_BLANK = "\u2800"  # a Braille cell without dots
_EMOJI = "\ufe0f"  # a variation selector can hide a message, but that of emoji is too common to count
_LAYOUT = frozenset("\n\t")
_VISIBLE_WORD = re.compile(r"[^\W\d_]+")
_ALIKE = ("LATIN", "CYRILLIC", "GREEK")  # alphabets with letters that look alike


def visible(text: str) -> str:
    """Write invisible and look-alike characters as ⟦U+202E⟧; different texts stay different."""
    if text.isascii() and text.isprintable():
        return text
    foreign = _foreign(text)
    return "".join(
        f"{OPEN}U+{ord(char):04X}{CLOSE}" if index in foreign or _unseen(char) else char
        for index, char in enumerate(text)
    )


def visible_json(value: Json) -> Json:
    """Return a JSON value with `visible` applied to every text in it, including keys."""
    if isinstance(value, str):
        return visible(value)
    if isinstance(value, Mapping):
        return {visible(key): visible_json(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [visible_json(inner) for inner in value]
    return value


def _unseen(char: str) -> bool:
    if char in _LAYOUT or " " <= char <= "~":
        return False
    kind = unicodedata.category(char)
    return (
        kind in _HIDDEN
        or (kind == "Zs" and char != " ")
        or (ord(char) in ignorable() and char != _EMOJI)
        or char in (OPEN, CLOSE, _BLANK)
    )


def _foreign(text: str) -> frozenset[int]:
    """Return the indexes of letters from another alphabet than most letters of their word."""
    offsets: set[int] = set()
    for word in _VISIBLE_WORD.finditer(text):
        if word.group().isascii():
            continue
        names = ((at, unicodedata.name(char, "")) for at, char in enumerate(word.group(), word.start()))
        scripts = {at: name.partition(" ")[0] for at, name in names if name.startswith(_ALIKE)}
        counts = Counter(scripts.values())
        if len(counts) > 1:
            main = max(counts, key=lambda script: (counts[script], -_ALIKE.index(script)))
            offsets.update(at for at, script in scripts.items() if script != main)
    return frozenset(offsets)


_PLAIN_FIELDS = (
    *("type", "confidence", "source", "trust", "session_id", "tags", "occurred_at", "expires_at"),
    *("standing", "supersedes", "merged_from", "derived_from"),
)
_PLAIN_KEY = re.compile(r"[A-Za-z0-9_-]+")


class Modified(Struct, frozen=True, kw_only=True):
    """A field with a changed value; if both values are texts, `segments` has their differences."""

    field: str
    before: Json
    after: Json
    segments: tuple[Segment, ...] = ()


class Diff(Struct, frozen=True, kw_only=True):
    """Fields by path (`content`, `metadata.a.b`): added, removed and modified ones."""

    added: Mapping[str, Json] = field(default_factory=dict)
    removed: Mapping[str, Json] = field(default_factory=dict)
    modified: tuple[Modified, ...] = ()


def diff(before: Record | None, after: Record | None) -> Diff:
    """Compare two versions of a record, ignoring storage times; None stands for a missing version."""
    old = {} if before is None else dict(_facts(before))
    new = {} if after is None else dict(_facts(after))
    return Diff(
        added={path: value for path, value in new.items() if path not in old},
        removed={path: value for path, value in old.items() if path not in new},
        modified=tuple(
            Modified(field=path, before=old[path], after=value, segments=_compare_texts(old[path], value))
            for path, value in new.items()
            # Compared as JSON text, because in Python True == 1, at any depth.
            if path in old and json.dumps(old[path], sort_keys=True) != json.dumps(value, sort_keys=True)
        ),
    )


def _compare_texts(before: Json, after: Json) -> tuple[Segment, ...]:
    return segments(before, after) if isinstance(before, str) and isinstance(after, str) else ()


def diff_change(change: Change, before: Mapping[str, Record]) -> dict[str, list[dict[str, Json]]]:
    """Build the `{added, removed, modified}` of a governance review, with all texts in visible form.

    `before` has the current versions of the memories that the change affects. A memory missing from it is
    shown as new, or as removed without its content.
    """
    additions: list[dict[str, Json]] = []
    modifications: list[dict[str, Json]] = []
    for put in change.put:
        entry = {"id": visible(put.record.id), "version": put.record.version}
        existing = before.get(put.record.id)
        delta = diff(existing, put.record)
        if existing is None:
            additions.append(entry | {"fields": visible_json(delta.added)})
            continue
        fields = [
            {name: value for name, value in asdict(one).items() if value or name != "segments"}
            for one in delta.modified
        ]
        parts = {"added": delta.added, "removed": delta.removed, "modified": fields}
        values = {name: visible_json(part) for name, part in parts.items()}
        modifications.append(entry | {"from_version": existing.version} | values)
    removals = [
        _diff_gone(end.id, before)
        | {"reason": str(end.reason), "erased": False}
        | ({} if end.into is None else {"into": visible(end.into)})
        for end in change.end
    ]
    removals += [_diff_gone(id, before) | {"reason": "erased", "erased": True} for id in change.erase]
    return {"added": additions, "removed": removals, "modified": modifications}


def _diff_gone(id: str, before: Mapping[str, Record]) -> dict[str, Json]:
    record = before.get(id)
    version = {} if record is None else {"version": record.version}
    return {"id": visible(id), **version, "fields": visible_json(diff(record, None).removed)}


def _facts(record: Record) -> Iterator[tuple[str, Json]]:
    """Yield the paths and values of a record's fields; leaves out empty values."""
    yield from _leaves("content", record.content)
    for name in _PLAIN_FIELDS:
        value = getattr(record, name)
        if value is not None and value != ():
            yield name, list(value) if isinstance(value, tuple) else value
    if record.scope.user is not None:
        yield "user_id", record.scope.user
    if metadata := strip_label(record.metadata):
        yield from _leaves("metadata", metadata)


def _leaves(path: str, value: Json) -> Iterator[tuple[str, Json]]:
    if not isinstance(value, Mapping) or not value:
        yield path, value
        return
    for key, inner in value.items():
        step = key if _PLAIN_KEY.fullmatch(key) else json.dumps(key, ensure_ascii=False)
        yield from _leaves(f"{path}.{step}", inner)
