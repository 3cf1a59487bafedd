"""The result of an importer: memories of another product, and their conversion to changes with stable ids."""

import hashlib
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import ClassVar
from urllib.parse import urlsplit

from msgspec import Struct, field
from msgspec.structs import replace

from memorywire.migrate.history import build_snapshot_change, derive_id
from memorywire.model.change import Base, Change, Put
from memorywire.model.record import Json, MemoryType, Record, Scope
from memorywire.model.secrets import Confidential
from memorywire.model.text import CONTENT_CHARS_MAX, in_parts

# Numbers below this are seconds: as milliseconds they would be before March 1973.
_SECONDS_BELOW = 100_000_000_000
_SOURCE_CHARS_MAX = 1024  # as the wire schema limits `source`


class Origin(Struct, frozen=True, kw_only=True):
    """The file or folder to read, and the scope of memories without an agent or user."""

    path: Path
    scope: Scope


class Service(Confidential, frozen=True, kw_only=True):
    """The address of a product's API or database, its key, and the default scope."""

    HIDDEN: ClassVar = frozenset({"key"})

    url: str
    scope: Scope
    key: str | None = None

    @property
    def protocol(self) -> str:
        """The protocol of the address: `http` or `postgres`."""
        return "http" if self.url.startswith("http") else "postgres"

    @property
    def host(self) -> str:
        return urlsplit(self.url).hostname or ""

    @property
    def origin(self) -> Origin:
        """Identifies the service, without the credentials in its URL."""
        parts = urlsplit(self.url)
        path = Path("/", self.host, str(parts.port or ""), parts.path.lstrip("/"))
        return Origin(path=path, scope=self.scope)


class ImportedMemory(Struct, frozen=True, kw_only=True):
    """One memory of another product; `key` identifies it there.

    `earlier` has its previous texts, oldest first, each with the time from which it was valid.
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


class Source(Struct, frozen=True, kw_only=True):
    """A recognised file or service: its name, its changes, and notes on what cannot be imported."""

    name: str
    changes: Callable[[], Iterator[Change]]
    losses: tuple[str, ...] = ()


class ServiceImporter(Struct, frozen=True, kw_only=True):
    """Reads a product over its API or from its Postgres database. All functions block.

    `readers` has a function for each kind of address, `http` or `postgres`. `key_variable` is the environment
    variable from which the product reads the key of its API.
    """

    recognises: Callable[[Service], bool]
    readers: Mapping[str, Callable[[Service], Source]]
    key_variable: str | None = None


class Importer(Struct, frozen=True, kw_only=True):
    """Reads the files of one product or format; the type of entry points of `memorywire.importers`.

    `recognises` and `read` block. `expects` describes the files, for an error's `fix`.
    """

    expects: str
    recognises: Callable[[Path], bool]
    read: Callable[[Origin], Source]
    service: ServiceImporter | None = None


def build_source(
    product: str,
    origin: Origin,
    memories: Callable[[], Iterator[ImportedMemory]],
    losses: tuple[str, ...] = (),
) -> Source:
    """Build a source with ids derived from the memories' keys, so that a second import changes nothing."""

    def changes() -> Iterator[Change]:
        for memory in memories():
            for part in _split(memory) if memory.content else ():
                record = _build_record(part, product, origin.scope)
                earlier = [replace(record, content=text, updated_at=at) for text, at in part.earlier]
                for number, version in enumerate((*earlier, record), start=1):
                    change = build_snapshot_change(version)
                    put = Put(record=replace(change.put[0].record, version=number), base=Base.LIVE)
                    yield change if number == 1 else replace(change, put=(put,))

    return Source(name=name_source(product, origin), changes=changes, losses=losses)


def build_importer(
    product: str,
    expects: str,
    recognises: Callable[[Path], bool],
    memories: Callable[[Path], Iterator[ImportedMemory]],
    losses: tuple[str, ...],
) -> Importer:
    """Build an importer from a function that lists the memories of a file."""

    def read(origin: Origin) -> Source:
        return build_source(product, origin, lambda: memories(origin.path), losses)

    return Importer(expects=expects, recognises=recognises, read=read)


def _split(memory: ImportedMemory) -> Iterator[ImportedMemory]:
    """Split a memory whose text is too long; the first part keeps its key and its earlier texts.

    A procedure cannot be split: it stays whole, and the import refuses it if it is too long.
    """
    content, is_procedure = memory.content, memory.type is MemoryType.PROCEDURAL
    earlier = tuple((next(in_parts(text)), at) for text, at in memory.earlier)
    if not isinstance(content, str) or len(content) <= CONTENT_CHARS_MAX or is_procedure:
        yield replace(memory, earlier=earlier)
        return
    parts = list(in_parts(content))
    for number, part in enumerate(parts, start=1):
        metadata = {**memory.metadata, "part": number, "parts": len(parts)}
        if number == 1:
            yield replace(memory, content=part, metadata=metadata, earlier=earlier)
        else:
            key = f"{memory.key}\npart {number}"
            yield replace(memory, key=key, content=part, metadata=metadata, earlier=())


def name_source(product: str, origin: Origin) -> str:
    """Return a digest of product and path, which reveals neither."""
    return hashlib.sha256(f"{product}\n{origin.path.resolve()}".encode()).hexdigest()


def _build_record(memory: ImportedMemory, product: str, scope: Scope) -> Record:
    agent = memory.agent or scope.agent
    return Record(
        id=derive_id(product, agent, memory.key),
        scope=Scope(tenant=scope.tenant, agent=agent, user=memory.user or scope.user),
        type=memory.type,
        content=memory.content,
        created_at=memory.at,
        updated_at=memory.updated_at or memory.at,
        occurred_at=memory.occurred_at,
        expires_at=memory.expires_at,
        confidence=memory.confidence,
        source=(memory.source or product)[:_SOURCE_CHARS_MAX],
        session_id=memory.session,
        tags=tuple(dict.fromkeys(tag for tag in memory.tags if tag)),
        metadata=memory.metadata,
    )


def parse_time(value: Json, default: int) -> int:
    """Convert ISO 8601, seconds or milliseconds to epoch milliseconds; `default` for anything else."""
    if isinstance(value, bool) or value is None:
        return default
    if isinstance(value, int | float):
        return round(value * 1000) if abs(value) < _SECONDS_BELOW else round(value)
    try:
        at = datetime.fromisoformat(str(value))
    except ValueError:
        return default
    return round((at if at.tzinfo else at.replace(tzinfo=UTC)).timestamp() * 1000)


def read_file_time(path: Path) -> int:
    """Return the modification time of a file, for memories without a time."""
    return path.stat().st_mtime_ns // 1_000_000
