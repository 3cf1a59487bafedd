"""Memories in a CSV table, one a row: as `export --format csv` writes it, or any with a column `content`."""

import csv
from collections.abc import Iterator, Mapping
from pathlib import Path

from memorywire.migrate.chronicle import kept_so
from memorywire.migrate.lines import record_of
from memorywire.migrate.sources.documents import plain
from memorywire.migrate.sources.found import Found, Origin, Source, moment, named, source, written_at
from memorywire.model.change import Change
from memorywire.model.record import Json, MemoryType
from memorywire.model.spreadsheet import from_cell

WANTED = "a CSV file with a column `content`"
_LONGEST = 16 * 1024 * 1024
_OWN = frozenset({"id", "content", "created_at", "type", "tags", "source", "agent_id", "user_id"})
TEXTS = frozenset({"id", "agent_id", "user_id", "source", "session_id", "type", "standing", "trust"})
"""Columns that are text as they stand; the others are JSON."""


def recognises(path: Path) -> bool:
    if path.suffix.lower() != ".csv" or not path.is_file():
        return False
    return "content" in next(_rows(path), {})


def read(origin: Origin) -> Source:
    path = origin.path
    if "agent_id" in next(_rows(path)) and "version" in next(_rows(path)):
        losses = ("versions before the last: a row has one",)
        return Source(name=named("csv", origin), changes=lambda: _changes(origin), losses=losses)
    return source("csv", origin, lambda: _found(path))


def _rows(path: Path) -> Iterator[Mapping[str, str]]:
    csv.field_size_limit(_LONGEST)
    with path.open(encoding="utf-8-sig", newline="") as file:
        yield from csv.DictReader(file)


def _changes(origin: Origin) -> Iterator[Change]:
    for row in _rows(origin.path):
        said: dict[str, Json] = {
            name: from_cell(value) if name in TEXTS else plain(from_cell(value))
            for name, value in row.items()
            if value
        }
        yield kept_so(record_of(said, origin.scope.tenant))


def _found(path: Path) -> Iterator[Found]:
    at = written_at(path)
    for number, row in enumerate(_rows(path), start=1):
        kind = row.get("type", "")
        yield Found(
            key=row.get("id") or f"{number}\n{row['content']}",
            content=row["content"],
            at=moment(plain(row.get("created_at")), at),
            type=MemoryType(kind) if kind in set(MemoryType) else MemoryType.SEMANTIC,
            agent=row.get("agent_id") or None,
            user=row.get("user_id") or None,
            source=row.get("source") or path.name,
            tags=tuple(row.get("tags", "").split()),
            metadata={name: value for name, value in row.items() if name not in _OWN and value},
        )
