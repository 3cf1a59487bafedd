"""What a reader of other products' files finds, and how it becomes changes with ids that stay the same."""

import hashlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path

from memorywire.migrate.chronicle import kept_so
from memorywire.migrate.names import derived
from memorywire.model.change import Base, Change, Put
from memorywire.model.parts import CONTENT_CHARS_MAX, in_parts
from memorywire.model.record import Json, MemoryType, Record, Scope

_SECONDS_UP_TO = 100_000_000_000  # a moment below this is in seconds: as milliseconds it would be 1973
_LONGEST_SOURCE = 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class Origin:
    """The file or folder to read, and whose its memories become where it does not say."""

    path: Path
    scope: Scope


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """One memory of another product: `key` is what it is called there.

    `earlier` is what it said before, oldest first, each with the moment since when.
    """

    key: str
    content: str | Mapping[str, Json]
    at: int
    type: MemoryType = MemoryType.SEMANTIC
    updated_at: int | None = None
    occurred_at: int | None = None
    expires_at: int | None = None
    agent: str | None = None
    user: str | None = None
    session: str | None = None
    source: str | None = None
    tags: tuple[str, ...] = ()
    confidence: float = 1.0
    metadata: Mapping[str, Json] = field(default_factory=dict)
    earlier: tuple[tuple[str, int], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """A file that was recognised: what it is called, the changes that bring it in, what cannot come along."""

    name: str
    changes: Callable[[], Iterator[Change]]
    losses: tuple[str, ...] = ()


def source(
    product: str, origin: Origin, found: Callable[[], Iterator[Found]], losses: tuple[str, ...] = ()
) -> Source:
    """A source whose memories get ids of their product's names for them."""

    def changes() -> Iterator[Change]:
        for one in found():
            for part in _parts(one) if one.content else ():
                yield from _lived(part, _record(part, product, origin.scope))

    return Source(name=named(product, origin), changes=changes, losses=losses)


def _parts(found: Found) -> Iterator[Found]:
    """The memory, or several if it is too long for one; the first keeps its name and its past.

    A procedure cannot be split: it stays whole, and is refused where it arrives.
    """
    content, whole = found.content, found.type is MemoryType.PROCEDURAL
    earlier = tuple((next(in_parts(words)), at) for words, at in found.earlier)
    if not isinstance(content, str) or len(content) <= CONTENT_CHARS_MAX or whole:
        yield replace(found, earlier=earlier)
        return
    parts = list(in_parts(content))
    for number, part in enumerate(parts, start=1):
        told = {**found.metadata, "part": number, "parts": len(parts)}
        if number == 1:
            yield replace(found, content=part, metadata=told, earlier=earlier)
        else:
            yield replace(found, key=f"{found.key}\npart {number}", content=part, metadata=told, earlier=())


def _lived(found: Found, record: Record) -> Iterator[Change]:
    """A change for each version of a memory, oldest first."""
    said = [replace(record, content=words, updated_at=at) for words, at in found.earlier]
    for number, version in enumerate((*said, record), start=1):
        change = kept_so(version)
        put = Put(record=replace(change.put[0].record, version=number), base=Base.LIVE)
        yield change if number == 1 else replace(change, put=(put,))


def named(product: str, origin: Origin) -> str:
    """A digest of product and path that reveals neither."""
    return hashlib.sha256(f"{product}\n{origin.path.resolve()}".encode()).hexdigest()


def _record(found: Found, product: str, scope: Scope) -> Record:
    agent = found.agent or scope.agent
    return Record(
        id=derived(product, agent, found.key),
        scope=Scope(tenant=scope.tenant, agent=agent, user=found.user or scope.user),
        type=found.type,
        content=found.content,
        created_at=found.at,
        updated_at=found.updated_at or found.at,
        occurred_at=found.occurred_at,
        expires_at=found.expires_at,
        confidence=found.confidence,
        source=(found.source or product)[:_LONGEST_SOURCE],
        session_id=found.session,
        tags=tuple(dict.fromkeys(tag for tag in found.tags if tag)),
        metadata=found.metadata,
    )


def moment(value: Json, otherwise: int) -> int:
    """Epoch milliseconds of whatever a product writes: ISO 8601, seconds or milliseconds."""
    if isinstance(value, bool) or value is None:
        return otherwise
    if isinstance(value, int | float):
        return round(value * 1000) if abs(value) < _SECONDS_UP_TO else round(value)
    try:
        at = datetime.fromisoformat(str(value))
    except ValueError:
        return otherwise
    return round((at if at.tzinfo else at.replace(tzinfo=UTC)).timestamp() * 1000)


def written_at(path: Path) -> int:
    """When the file was last written: the moment of what does not say its own."""
    return path.stat().st_mtime_ns // 1_000_000
