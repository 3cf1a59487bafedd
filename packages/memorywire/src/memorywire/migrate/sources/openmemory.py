"""The memories of OpenMemory: its database `openmemory.db`."""

from collections.abc import Iterator
from pathlib import Path

from memorywire.migrate.sources.documents import table
from memorywire.migrate.sources.found import Found, Origin, Source, moment, source
from memorywire.migrate.sources.rows import rows, tables

WANTED = "openmemory.db"

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


def recognises(path: Path) -> bool:
    return {"memories", "users", "apps"} <= tables(path)


def read(origin: Origin) -> Source:
    losses = ("access rules and the log of who read what", "that a memory was paused or archived there")
    return source("openmemory", origin, lambda: _found(origin.path), losses)


def _found(path: Path) -> Iterator[Found]:
    labels: dict[str, list[str]] = {}
    if "memory_categories" in tables(path):
        for row in rows(path, _CATEGORIES):
            labels.setdefault(str(row["memory_id"]), []).append(str(row["name"]))
    for row in rows(path, _MEMORIES):
        at = moment(row["created_at"], 0)
        yield Found(
            key=str(row["id"]),
            content=str(row["content"]),
            at=at,
            updated_at=moment(row["updated_at"], at),
            user=row["person"],
            tags=tuple(labels.get(str(row["id"]), ())),
            metadata=table(row["metadata"]) | {"app": row["app"], "state": row["state"]},
        )
