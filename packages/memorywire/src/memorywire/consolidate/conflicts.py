"""Memories that cannot both hold: the later one supersedes, unless there is reason to doubt it."""

from collections.abc import Iterator, Sequence
from itertools import combinations

from memorywire.consolidate.draft import Wording
from memorywire.consolidate.frames import Contrast, contrast, frame
from memorywire.consolidate.steps import Pass, Step
from memorywire.model.consolidation import Retention
from memorywire.model.record import MemoryType, Record, Trust
from memorywire.search.slots import Slots, slots

_DENIALS = frozenset("no not never".split())
_ANY_MORE = frozenset("any more anymore longer".split())
_SURER = 0.15
"""By how much the older one must be surer to make the later one doubtful."""


def conflicts(wordings: Sequence[Wording], retention: Retention) -> Iterator[Step]:
    """A step for each two that contradict each other; of several, each against the one said last."""
    facts = [wording for wording in wordings if wording[0].type is MemoryType.SEMANTIC]
    ended: set[str] = set()
    for older, later, found in sorted(_contradictions(facts), key=_latest_first):
        if older.id in ended or later.id in ended:
            continue
        doubt = _doubt(older, later, found, pinned=retention.pinned(older))
        ended.add(older.id)
        yield Step(
            name=Pass.CONFLICT,
            kept=later.id,
            ids=(older.id,),
            why=doubt or "contradicts what was said later",
            sure=doubt is None,
        )


def _contradictions(facts: Sequence[Wording]) -> Iterator[tuple[Record, Record, Contrast]]:
    about: dict[object, list[Wording]] = {}
    for wording in facts:
        record = wording[0]
        built = frame(record)
        if built is not None:
            key = (record.scope, record.speaker, built.subject, built.attribute)
            about.setdefault(key, []).append(wording)
        about.setdefault((record.scope, record.speaker, *_undenied(slots(record))), []).append(wording)
    for group in about.values():
        for (one, mine), (other, yours) in combinations(group, 2):
            found = _between(one, other) if mine.id != yours.id else Contrast.NONE
            if found is not Contrast.NONE:
                older, later = sorted((mine, yours), key=lambda record: (record.moment, record.id))
                yield older, later, found


def _between(one: Record, other: Record) -> Contrast:
    mine, yours = slots(one), slots(other)
    if _undenied(mine) == _undenied(yours):
        return Contrast.CLEAR if _denied(mine) != _denied(yours) else Contrast.NONE
    built, its = frame(one), frame(other)
    if built is None or its is None or _denied(mine) != _denied(yours):
        return Contrast.NONE
    return contrast(built, its)


def _undenied(stated: Slots) -> tuple[str, ...]:
    return tuple(term for term in stated.said if term not in _DENIALS and term not in _ANY_MORE)


def _denied(stated: Slots) -> bool:
    return sum(term in _DENIALS for term in stated.said) % 2 == 1


def _latest_first(found: tuple[Record, Record, Contrast]) -> tuple[int, str, str, bool]:
    older, later, contrast = found
    return -later.moment, later.id, older.id, contrast is not Contrast.CLEAR


def _doubt(older: Record, later: Record, found: Contrast, *, pinned: bool) -> str | None:
    """Why a person should decide: recency alone does not beat a surer, better or pinned memory."""
    if found is Contrast.PERHAPS:
        return "may contradict what was said later"
    if pinned:
        return "is pinned, but contradicts what was said later"
    if older.moment == later.moment:
        return "contradicts what was said at the same moment"
    if list(Trust).index(older.trust) > list(Trust).index(later.trust):
        return "contradicts a later one of a less trusted source"
    if older.confidence - later.confidence > _SURER:
        return "contradicts a later one that is less sure"
    return None
