"""Memories that say the same: word for word, but for what decorates, or in other words."""

from collections.abc import Iterable, Iterator, Mapping, Sequence

from msgspec.structs import replace

from memorywire.consolidate.draft import Wording
from memorywire.consolidate.likeness import Vectors, likeness, near_pairs
from memorywire.consolidate.steps import Pass, Step
from memorywire.consolidate.thresholds import Thresholds
from memorywire.model.consolidation import Retention
from memorywire.model.record import Record
from memorywire.search.dedup import Stated
from memorywire.search.slots import Slots, agree, slots

_FOREVER = 1 << 62


def exact(records: Sequence[Record], retention: Retention) -> Iterator[Step]:
    """Steps for memories with the same words, apart from case and spaces."""
    groups: dict[object, list[Record]] = {}
    for record in records:
        groups.setdefault((*owner(record), record.digest), []).append(record)
    yield from _merged(groups.values(), Pass.EXACT, "says exactly the same", retention)


def near(records: Sequence[Record], retention: Retention) -> Iterator[Step]:
    """Steps for memories with the same statement, apart from words that only decorate."""
    groups: dict[object, list[list[Stated]]] = {}
    for record in records:
        stated = slots(record)
        _join(groups.setdefault((*owner(record), stated.key), []), record, stated)
    same = [[record for record, _ in group] for found in groups.values() for group in found]
    yield from _merged(same, Pass.NEAR, "says the same but for words that decorate", retention)


def semantic(
    wordings: Sequence[Wording], vectors: Vectors, thresholds: Thresholds, retention: Retention
) -> Iterator[Step]:
    """Steps for memories that say the same in other words.

    The most alike are joined first, and only if all of a group are alike. Every wording that a memory ever
    stood for is compared, so that repeated nights lead no further astray than one. Statements longer than
    those the thresholds were fitted to are left to a person.
    """
    standing = {memory.id: memory for _, memory in wordings}
    said: dict[str, list[Stated]] = {}
    for record, memory in wordings:
        said.setdefault(memory.id, []).append((record, slots(record)))
    alike: dict[frozenset[str], float] = {}
    for one, other in near_pairs(list(standing.values()), vectors, thresholds.lowest):
        if owner(one) == owner(other):
            found = [likeness(a, b, vectors) for a in said[one.id] for b in said[other.id]]
            if all(map(thresholds.same, found)):
                alike[frozenset((one.id, other.id))] = min(likely.score for likely in found)
    groups = [[standing[id] for id in group] for group in linked(alike)]
    for step in _merged(groups, Pass.SEMANTIC, "says the same in other words", retention):
        told = [stated for id in step.touched for _, stated in said[id]]
        if max(len(stated.said) for stated in told) > thresholds.longest:
            step = replace(step, why="may say the same in other words", sure=False)
        yield step


def linked(alike: Mapping[frozenset[str], float]) -> list[list[str]]:
    """Groups in which every two are alike; one that is alike to two different ones joins the closer."""
    group_of: dict[str, list[str]] = {}
    for pair in sorted(alike, key=lambda pair: (-alike[pair], sorted(pair))):
        one, other = (group_of.setdefault(id, [id]) for id in sorted(pair))
        if one is not other and all(frozenset((a, b)) in alike for a in one for b in other):
            one.extend(other)
            group_of.update(dict.fromkeys(other, one))
    return list({id(group): group for group in group_of.values()}.values())


def _join(groups: list[list[Stated]], record: Record, stated: Slots) -> None:
    for group in groups:
        if agree(group[0][1], stated):
            group.append((record, stated))
            return
    groups.append([(record, stated)])


def _merged(groups: Iterable[Sequence[Record]], name: Pass, why: str, retention: Retention) -> Iterator[Step]:
    for group in groups:
        ranked = sorted(group, key=lambda record: (not retention.pinned(record), *_rank(record)))
        mergeable = [ranked[0], *(record for record in ranked[1:] if not retention.pinned(record))]
        if len(mergeable) > 1:
            yield _step(mergeable, name, why)


def _step(ranked: Sequence[Record], name: Pass, why: str) -> Step:
    return Step(name=name, kept=ranked[0].id, ids=tuple(record.id for record in ranked[1:]), why=why)


def owner(record: Record) -> tuple[object, ...]:
    """A key that must be equal: only memories of one scope, kind, trust and standing are ever merged."""
    return record.scope, record.type, record.trust, record.standing


def _rank(record: Record) -> tuple[int, int, float, str]:
    """The order in which a memory is kept, after pinned ones: lasts longest, said last, surest."""
    lasting = _FOREVER if record.expires_at is None else record.expires_at
    return -lasting, -record.moment, -record.confidence, record.id
