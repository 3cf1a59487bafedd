"""What a reader of other products' files finds, and how it becomes changes with ids that stay the same."""

import hashlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from memorywire.migrate.chronicle import kept_so
from memorywire.migrate.names import derived
from memorywire.model.change import Change
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
    """One memory of another product: `key` is what it is called there."""

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
        return (kept_so(_record(one, product, origin.scope)) for one in found() if one.content)

    return Source(name=named(product, origin), changes=changes, losses=losses)


def named(product: str, origin: Origin) -> str:
    """The same for the same product and path, and nothing that tells either."""
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
