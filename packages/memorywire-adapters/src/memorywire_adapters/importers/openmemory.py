"""Imports the memories of OpenMemory from its database `openmemory.db`."""

from collections.abc import Iterator
from pathlib import Path

from memorywire.migrate.importers import (
    ImportedMemory,
    Importer,
    Origin,
    Source,
    as_object,
    build_source,
    list_tables,
    parse_time,
    read_rows,
)

_MEMORIES = """
SELECT memories.*, users.user_id AS person, apps.name AS app
FROM memories
LEFT JOIN users ON users.id = memories.user_id
LEFT JOIN apps ON apps.id = memories.app_id
WHERE memories.state IN ('active', 'paused', 'archived')
ORDER BY memories.id
"""
_CATEGORIES = """
SELECT memory_categories.memory_id, categories.name
FROM memory_categories JOIN categories ON categories.id = memory_categories.category_id
"""


def _recognises(path: Path) -> bool:
    return {"memories", "users", "apps"} <= list_tables(path)


def _read(origin: Origin) -> Source:
    losses = ("access rules and the access log", "whether a memory was paused or archived there")
    return build_source("openmemory", origin, lambda: _list_memories(origin.path), losses)


def _list_memories(path: Path) -> Iterator[ImportedMemory]:
    labels: dict[str, list[str]] = {}
    if "memory_categories" in list_tables(path):
        for row in read_rows(path, _CATEGORIES):
            labels.setdefault(str(row["memory_id"]), []).append(str(row["name"]))
    for row in read_rows(path, _MEMORIES):
        at = parse_time(row["created_at"], 0)
        yield ImportedMemory(
            key=str(row["id"]),
            content=str(row["content"]),
            at=at,
            updated_at=parse_time(row["updated_at"], at),
            user=row["person"],
            tags=tuple(labels.get(str(row["id"]), ())),
            metadata=as_object(row["metadata"]) | {"app": row["app"], "state": row["state"]},
        )


IMPORTER = Importer(expects="openmemory.db", recognises=_recognises, read=_read)
