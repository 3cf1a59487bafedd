"""The databases of memorywire 0.x, the reference implementation of the paper."""

from collections.abc import Iterator
from pathlib import Path

from memorywire.migrate.sources.documents import plain, table
from memorywire.migrate.sources.found import Found, Origin, Source, source
from memorywire.migrate.sources.rows import rows, tables
from memorywire.model.record import MemoryType

WANTED = "the file of its sqlite-vec store"

_LIVE = "SELECT * FROM memories WHERE deleted_at IS NULL ORDER BY created_at, id"


def recognises(path: Path) -> bool:
    return {"memories", "procedures", "episodes", "audit_log"} <= tables(path)


def read(origin: Origin) -> Source:
    losses = (
        "what was forgotten there, and what waits for approval",
        "the audit log: it vouches for that store, not for this one",
        "episodes and when a memory was last recalled",
    )
    return source("memorywire-0", origin, lambda: _found(origin.path), losses)


def _found(path: Path) -> Iterator[Found]:
    for row in rows(path, _LIVE):
        kind = MemoryType(row["type"])
        said = plain(row["content"]) if kind is MemoryType.PROCEDURAL else row["content"]
        yield Found(
            key=str(row["id"]),
            content=said,
            at=row["created_at"],
            updated_at=row["updated_at"],
            expires_at=row["expires_at"],
            type=kind,
            agent=row["agent_id"],
            user=row["user_id"],
            source=row["source"],
            confidence=1.0 if row["confidence"] is None else row["confidence"],
            metadata=table(row["metadata"]) | {"memorywire_0_id": row["id"]},
        )
