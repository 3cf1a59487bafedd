"""The passes of a run: duplicates, contradictions, unused memories. Each yields steps."""

import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from enum import StrEnum
from itertools import combinations

from msgspec import Struct
from msgspec.structs import replace

from memorywire.facts.rules import match_rule
from memorywire.model.clock import DAY_MS
from memorywire.model.consolidation import Pass, Retention, Step
from memorywire.model.record import MemoryType, Record, Trust
from memorywire.search.duplicates import (
    Slots,
    Stated,
    is_same_statement,
    parse_slots,
    parse_statement,
    read_content,
)
from memorywire_consolidate.likeness import (
    Thresholds,
    Vectors,
    are_opposed,
    is_number,
    measure_likeness,
    near_pairs,
)
from memorywire_consolidate.steps import Wording

# Attributes that have one value at a time, and phrases that state them.
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
# Verbs whose new object replaces the old one, unlike those that allow several (likes, owns, knows).
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
_LONGEST_STATEMENT = 300


class Contrast(StrEnum):
    """Whether two statements about one thing contradict each other."""

    NONE = "none"
    PERHAPS = "perhaps"
    CLEAR = "clear"


class Frame(Struct, frozen=True):
    """The subject, the attribute and its value; `many` if several values may hold at once."""

    subject: tuple[str, ...]
    attribute: str
    value: Slots
    many: bool = False


def parse_frame(record: Record) -> Frame | None:
    """Parse a short statement into subject, attribute and value; None if it has no such form."""
    text = read_content(record)
    if len(text) > _LONGEST_STATEMENT:
        return None
    ways = ((match, parse_statement(text[: match.start()]).said) for match in _PREDICATE.finditer(text))
    match, subject = next(((match, terms) for match, terms in ways if terms), (None, ()))
    if match is None:
        return None
    way, value = match.group().lower(), parse_statement(f"is {text[match.end() :]}")
    if not value.said:
        return None
    attribute = _WAYS.get(way) or " ".join(parse_statement(way).said) or "be"
    return Frame(subject, attribute, value, many=way in _MANY)


def compare_frames(one: Frame, other: Frame) -> Contrast:
    """Return whether the two contradict each other. A statement that only adds to the other does not."""
    mine, yours = (set(a.value.said) - set(b.value.said) for a, b in ((one, other), (other, one)))
    if not mine or not yours:
        return Contrast.NONE
    if one.attribute in _SINGLE or all(map(is_number, mine | yours)):
        return Contrast.CLEAR
    if len(mine) > 1 or len(yours) > 1:
        return Contrast.NONE
    if are_opposed(one.value, other.value):
        return Contrast.CLEAR
    if one.many:
        return Contrast.NONE
    is_name = all(
        terms <= {term for name in frame.value.names for term in parse_statement(name).said}
        for frame, terms in ((one, mine), (other, yours))
    )
    return Contrast.CLEAR if is_name else Contrast.PERHAPS


def find_exact(records: Sequence[Record], retention: Retention) -> Iterator[Step]:
    """Yield steps for memories with the same words, apart from case and spaces."""
    groups: dict[object, list[Record]] = {}
    for record in records:
        groups.setdefault((*merge_key(record), record.digest), []).append(record)
    yield from _merge_steps(groups.values(), Pass.EXACT, "says exactly the same", retention)


def find_near(records: Sequence[Record], retention: Retention) -> Iterator[Step]:
    """Yield steps for memories with the same statement, apart from filler words."""
    groups: dict[object, list[list[Stated]]] = {}
    for record in records:
        statement = parse_slots(record)
        candidates = groups.setdefault((*merge_key(record), statement.key), [])
        group = next((one for one in candidates if is_same_statement(one[0][1], statement)), None)
        if group is None:
            candidates.append([(record, statement)])
        else:
            group.append((record, statement))
    same = [[record for record, _ in group] for candidates in groups.values() for group in candidates]
    yield from _merge_steps(same, Pass.NEAR, "says the same apart from filler words", retention)


def find_semantic(
    wordings: Sequence[Wording], vectors: Vectors, thresholds: Thresholds, retention: Retention
) -> Iterator[Step]:
    """Yield steps for memories that say the same in other words.

    The most similar are grouped first, and only if all pairs in a group are similar. Every record merged
    into a memory is compared, so that repeated runs do not drift further than one run. Statements longer than
    those the thresholds were fitted to are proposed to a person.
    """
    standing = {memory.id: memory for _, memory in wordings}
    statements: dict[str, list[Stated]] = {}
    for record, memory in wordings:
        statements.setdefault(memory.id, []).append((record, parse_slots(record)))
    alike: dict[frozenset[str], float] = {}
    for one, other in near_pairs(list(standing.values()), vectors, thresholds.lowest):
        if merge_key(one) == merge_key(other):
            likenesses = [
                measure_likeness(a, b, vectors) for a in statements[one.id] for b in statements[other.id]
            ]
            if all(map(thresholds.is_same, likenesses)):
                alike[frozenset((one.id, other.id))] = min(likely.score for likely in likenesses)
    groups = [[standing[id] for id in group] for group in group_linked(alike)]
    for step in _merge_steps(groups, Pass.SEMANTIC, "says the same in other words", retention):
        touched_slots = [statement for id in step.touched for _, statement in statements[id]]
        if max(len(statement.said) for statement in touched_slots) > thresholds.longest:
            step = replace(step, why="may say the same in other words", sure=False)
        yield step


def group_linked(alike: Mapping[frozenset[str], float]) -> list[list[str]]:
    """Return groups in which every two are similar; an id similar to two groups joins the closer one."""
    group_of: dict[str, list[str]] = {}
    for pair in sorted(alike, key=lambda pair: (-alike[pair], sorted(pair))):
        one, other = (group_of.setdefault(id, [id]) for id in sorted(pair))
        if one is not other and all(frozenset((a, b)) in alike for a in one for b in other):
            one.extend(other)
            group_of.update(dict.fromkeys(other, one))
    return list({id(group): group for group in group_of.values()}.values())


def _merge_steps(
    groups: Iterable[Sequence[Record]], name: Pass, why: str, retention: Retention
) -> Iterator[Step]:
    for group in groups:
        by_priority = sorted(group, key=lambda record: (not retention.pinned(record), *_keep_order(record)))
        survivor, *others = by_priority
        ids = tuple(record.id for record in others if not retention.pinned(record))
        if ids:
            yield Step(name=name, kept=survivor.id, ids=ids, why=why)


def merge_key(record: Record) -> tuple[object, ...]:
    """Return the merge key: only memories with equal scope, type, trust and standing are merged."""
    return record.scope, record.type, record.trust, record.standing


def _keep_order(record: Record) -> tuple[int, int, float, str]:
    """Return the sort key of the survivor: expires last, newest, most confident."""
    lasting = 1 << 62 if record.expires_at is None else record.expires_at
    return -lasting, -record.moment, -record.confidence, record.id


_DENIALS = frozenset("no not never".split())
_ANY_MORE = frozenset("any more anymore longer".split())
_SURER = 0.15
"""If the older memory is more confident by more than this, a person decides."""


def find_conflicts(wordings: Sequence[Wording], retention: Retention) -> Iterator[Step]:
    """Yield a step for each contradiction; of several memories, each older one against the newest."""
    facts = [wording for wording in wordings if wording[0].type is MemoryType.SEMANTIC]
    ended_ids: set[str] = set()
    for older, later, contrast in sorted(_find_contradictions(facts), key=_sort_key):
        if older.id in ended_ids or later.id in ended_ids:
            continue
        doubt = _find_doubt(older, later, contrast, pinned=retention.pinned(older))
        ended_ids.add(older.id)
        why = doubt or "contradicts what was said later"
        yield Step(name=Pass.CONFLICT, kept=later.id, ids=(older.id,), why=why, sure=doubt is None)


def _find_contradictions(facts: Sequence[Wording]) -> Iterator[tuple[Record, Record, Contrast]]:
    about: dict[object, list[Wording]] = {}
    for wording in facts:
        record = wording[0]
        frame = parse_frame(record)
        if frame is not None:
            key = (record.scope, record.speaker, frame.subject, frame.attribute)
            about.setdefault(key, []).append(wording)
        words = _terms_without_denials(parse_slots(record))
        about.setdefault((record.scope, record.speaker, *words), []).append(wording)
    for group in about.values():
        for (one, mine), (other, yours) in combinations(group, 2):
            contrast = _compare_records(one, other) if mine.id != yours.id else Contrast.NONE
            if contrast is not Contrast.NONE:
                older, later = sorted((mine, yours), key=lambda record: (record.moment, record.id))
                yield older, later, contrast


def _compare_records(one: Record, other: Record) -> Contrast:
    mine, yours = parse_slots(one), parse_slots(other)
    if _terms_without_denials(mine) == _terms_without_denials(yours):
        return Contrast.CLEAR if _is_denied(mine) != _is_denied(yours) else Contrast.NONE
    frame, other_frame = parse_frame(one), parse_frame(other)
    if frame is None or other_frame is None or _is_denied(mine) != _is_denied(yours):
        return Contrast.NONE
    return compare_frames(frame, other_frame)


def _terms_without_denials(stated: Slots) -> tuple[str, ...]:
    return tuple(term for term in stated.said if term not in _DENIALS and term not in _ANY_MORE)


def _is_denied(statement: Slots) -> bool:
    return sum(term in _DENIALS for term in statement.said) % 2 == 1


def _sort_key(conflict: tuple[Record, Record, Contrast]) -> tuple[int, str, str, bool]:
    older, later, contrast = conflict
    return -later.moment, later.id, older.id, contrast is not Contrast.CLEAR


def _find_doubt(older: Record, later: Record, contrast: Contrast, *, pinned: bool) -> str | None:
    """Return why a person should decide; None if the newer memory may supersede the older one."""
    if contrast is Contrast.PERHAPS:
        return "may contradict what was said later"
    if pinned:
        return "is pinned, but contradicts what was said later"
    if older.moment == later.moment:
        return "contradicts what was said at the same moment"
    if list(Trust).index(older.trust) > list(Trust).index(later.trust):
        return "contradicts a later one of a less trusted source"
    if later.expires_at is not None and later.expires_at < (older.expires_at or math.inf):
        return "contradicts a later one that expires sooner"
    if older.confidence - later.confidence > _SURER:
        return "contradicts a later one that is less sure"
    return None


def find_unused(records: Sequence[Record], retention: Retention, now: int) -> Iterator[Step]:
    """Yield steps that archive memories unused for longer than the retention of their type."""
    for kind, days in retention.days.items():
        why = f"{kind.value} and unused for over {days} days"
        for record in records:
            idle = now - find_last_use(record) > days * DAY_MS
            if idle and record.type is kind and not _is_kept(record, retention):
                yield Step(name=Pass.RETENTION, ids=(record.id,), why=why)


def find_excess(records: Sequence[Record], retention: Retention) -> Iterator[Step]:
    """Yield steps that archive memories above the limit of a user and type, the least valuable first."""
    groups: dict[object, list[Record]] = {}
    for record in records:
        groups.setdefault((record.scope, record.type), []).append(record)
    for group in groups.values():
        kind = group[0].type
        most = retention.most.get(kind, len(group))
        spare = [record for record in group if not _is_kept(record, retention)]
        spare.sort(key=lambda record: _value_key(record, retention))
        for record in spare[: max(0, len(group) - most)]:
            yield Step(name=Pass.CAP, ids=(record.id,), why=f"least worth of more than {most} {kind.value}")


def _is_kept(record: Record, retention: Retention) -> bool:
    """Return whether the record is never archived: it is pinned, or reads as a rule and is not untrusted."""
    if retention.pinned(record):
        return True
    return record.trust is not Trust.UNTRUSTED and match_rule(record.words) is not None


def find_last_use(record: Record) -> int:
    """Return when the memory was last recalled or written."""
    return max(record.updated_at, record.created_at, record.recalled_at or 0)


def _value_key(record: Record, retention: Retention) -> tuple[float, int, str]:
    """Return a sort key: log2 of a confidence that halves per half-life without use since the epoch."""
    half_lives = find_last_use(record) / (retention.half_life_days * DAY_MS)
    sureness = max(record.confidence, 1e-6)
    return half_lives + math.log2(sureness), find_last_use(record), record.id
