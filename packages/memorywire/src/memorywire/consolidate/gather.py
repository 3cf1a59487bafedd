"""What a model is asked about: the memories of one session, or of something that was done again and again."""

import hashlib
from collections.abc import Iterator, Sequence

from msgspec import Struct

from memorywire.consolidate.duplicates import linked, owner
from memorywire.consolidate.likeness import Vectors, cosine, near_pairs
from memorywire.consolidate.promote import SHORT_TERM
from memorywire.consolidate.steps import Pass
from memorywire.model.clock import DAY_MS
from memorywire.model.record import MemoryType, Record

SUMMARY = "summary"
INDUCED = "induced"
_SESSION_LEAST = 5
_AGAIN_LEAST = 3
_MOST_CHARS = 12_000


class Group(Struct, frozen=True):
    """Memories of one owner in the order they happened, and what is to be made of them."""

    name: Pass
    records: tuple[Record, ...]

    @property
    def ids(self) -> tuple[str, ...]:
        return tuple(record.id for record in self.records)

    @property
    def key(self) -> str:
        """A digest of these memories and what they say, to know a group again."""
        said = f"{self.name} {sorted((record.id, record.digest) for record in self.records)}"
        return f"dream:{hashlib.blake2b(said.encode(), digest_size=16).hexdigest()}"


def sessions(records: Sequence[Record]) -> Iterator[Group]:
    """The memories of each session, where there are enough to sum up; short-term notes do not count."""
    found: dict[object, list[Record]] = {}
    for record in records:
        lasting = SHORT_TERM not in record.tags and not made(record)
        if record.session_id is not None and lasting:
            found.setdefault((record.scope, record.trust, record.session_id), []).append(record)
    for group in found.values():
        if len(group) >= _SESSION_LEAST:
            yield Group(Pass.SUMMARY, _fitting(group))


def repetitions(records: Sequence[Record], vectors: Vectors, related: float) -> Iterator[Group]:
    """Events of several days that are about one thing."""
    events = [record for record in records if record.type is MemoryType.EPISODIC and not made(record)]
    alike = {
        frozenset((one.id, other.id)): cosine(vectors[one.id], vectors[other.id])
        for one, other in near_pairs(events, vectors, related)
        if owner(one) == owner(other)
    }
    known = {record.id: record for record in events}
    for ids in linked(alike):
        group = [known[id] for id in ids]
        days = {record.moment // DAY_MS for record in group}
        if min(len(group), len(days)) >= _AGAIN_LEAST:
            yield Group(Pass.PROCEDURE, _fitting(group))


def made(record: Record) -> bool:
    """Whether a model made this memory from others; it is not used to make more."""
    return SUMMARY in record.tags or INDUCED in record.tags


def _fitting(group: Sequence[Record]) -> tuple[Record, ...]:
    """In the order they happened; of more than a model should read at once, the last."""
    ordered = sorted(group, key=lambda record: (record.moment, record.id))
    chars = 0
    for count, record in enumerate(reversed(ordered)):
        chars += len(record.words)
        if chars > _MOST_CHARS:
            return tuple(ordered[len(ordered) - count :])
    return tuple(ordered)
