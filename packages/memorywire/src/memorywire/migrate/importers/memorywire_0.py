"""Imports the databases of memorywire 0.x, the reference implementation of the paper."""

from collections.abc import Iterator
from pathlib import Path

from memorywire.migrate.importers.json_files import as_object, parse_if_json
from memorywire.migrate.importers.source import ImportedMemory, build_importer
from memorywire.model.record import MemoryType
from memorywire.stores.sqlite.foreign import list_tables, read_rows

_LIVE = "SELECT * FROM memories WHERE deleted_at IS NULL ORDER BY created_at, id"


def _list_memories(path: Path) -> Iterator[ImportedMemory]:
    for row in read_rows(path, _LIVE):
        kind, text = MemoryType(row["type"]), row["content"]
        yield ImportedMemory(
            key=str(row["id"]),
            content=parse_if_json(text) if kind is MemoryType.PROCEDURAL else text,
            at=row["created_at"],
            updated_at=row["updated_at"],
            expires_at=row["expires_at"],
            type=kind,
            agent=row["agent_id"],
            user=row["user_id"],
            source=row["source"],
            confidence=1.0 if row["confidence"] is None else row["confidence"],
            metadata=as_object(row["metadata"]) | {"memorywire_0_id": row["id"]},
        )


IMPORTER = build_importer(
    "memorywire-0",
    "the file of its sqlite-vec store",
    lambda path: {"memories", "procedures", "episodes", "audit_log"} <= list_tables(path),
    _list_memories,
    losses=(
        "forgotten memories and pending approvals",
        "the audit log: it vouches for that store, not for this one",
        "episodes and when a memory was last recalled",
    ),
)
