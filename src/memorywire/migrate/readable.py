"""Memories as they are now, in files that people read: Markdown, CSV, Open Knowledge Format."""

import asyncio
import csv
import json
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from urllib.parse import quote

from memorywire.migrate.chronicle import agents_of, current, told_by
from memorywire.migrate.sources.okf import LINKS, OURS
from memorywire.migrate.sources.table import TEXTS
from memorywire.model.record import Json, Record, Scope
from memorywire.stores.contract import Store
from memorywire.stores.markdown.sheet import sheet
from memorywire.stores.markdown.yaml import written
from memorywire.wire.codec import encode_record

LOSSES = (
    "versions before the last, and what was forgotten",
    "proposals, rules and the ledger",
    "vectors, and how often a memory was recalled",
)
_TITLE = 80
COLUMNS = (
    "id agent_id user_id type content created_at updated_at occurred_at expires_at version confidence source"
    " session_id tags standing trust supersedes merged_from derived_from metadata"
).split()


async def write_readable(
    path: Path, format_: str, store: Store, tenant: str, agents: Sequence[str]
) -> tuple[int, tuple[str, ...]]:
    """Write the live memories, with expired and archived ones; gives how many, and what was left out."""
    told = told_by(store)
    write = _WRITERS[format_]
    count = 0
    for agent in await agents_of(told, tenant, agents):
        async for page in current(told, Scope(tenant=tenant, agent=agent)):
            await asyncio.to_thread(write, path, page, count == 0)
            count += len(page)
    return count, LOSSES


def _sheets(path: Path, records: Sequence[Record], fresh: bool) -> None:
    for record in records:
        _file(path, record).write_text(sheet(record), encoding="utf-8", newline="\n")


def _concepts(path: Path, records: Sequence[Record], fresh: bool) -> None:
    for record in records:
        _file(path, record).write_text(concept(record), encoding="utf-8", newline="\n")
    with (path / "index.md").open("w" if fresh else "a", encoding="utf-8", newline="\n") as index:
        index.write('---\nokf_version: "0.1"\n---\n\n# Memories\n\n' if fresh else "")
        index.writelines(f"- [{_title(record)}]({_place(record)})\n" for record in records)


def concept(record: Record) -> str:
    """One memory as an OKF concept: the common fields first, all others under our own name."""
    ours = {name: value for name, value in _said(record).items() if value not in ([], {})}
    if record.content == record.words.strip("\n") and LINKS not in record.words:
        del ours["content"]  # the text of the file says it
    fields = {
        "type": record.type.value,
        "title": _title(record),
        "tags": list(record.tags),
        "timestamp": datetime.fromtimestamp(record.updated_at / 1000, UTC).isoformat(),
        OURS: ours,
    }
    lines = [f"{name}: {written(value)}" for name, value in fields.items() if value not in ([], {})]
    links = [*record.supersedes, *record.merged_from, *record.derived_from]
    related = LINKS + "\n".join(f"- [{id}](./{_name(id)})" for id in links) if links else ""
    return "\n".join(("---", *lines, "---", "", record.words + related)) + "\n"


def _rows(path: Path, records: Sequence[Record], fresh: bool) -> None:
    with path.open("w" if fresh else "a", encoding="utf-8", newline="") as file:
        table = csv.DictWriter(file, COLUMNS, lineterminator="\n")
        if fresh:
            table.writeheader()
        table.writerows(_cells(_said(record)) for record in records)


def _cells(said: Mapping[str, Json]) -> dict[str, str]:
    return {
        name: value if name in TEXTS else json.dumps(value, ensure_ascii=False)
        for name, value in said.items()
    }


def _said(record: Record) -> dict[str, Json]:
    said = encode_record(record)
    said.pop("recalled_at", None)
    return said


def _title(record: Record) -> str:
    return " ".join(record.words.split())[:_TITLE] or record.id


def _name(id: str) -> str:
    return f"{quote(id, safe='')}.md"


def _place(record: Record) -> str:
    return f"{quote(record.scope.agent, safe='')}/{_name(record.id)}"


def _file(path: Path, record: Record) -> Path:
    file = path / _place(record)
    file.parent.mkdir(parents=True, exist_ok=True)
    return file


_WRITERS: Mapping[str, Callable[[Path, Sequence[Record], bool], None]] = {
    "markdown": _sheets,
    "csv": _rows,
    "okf": _concepts,
}
