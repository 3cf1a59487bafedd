"""Memories as they are now, in files that people read: Markdown, CSV, Open Knowledge Format."""

import asyncio
import csv
import json
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from urllib.parse import quote

from msgspec import Struct

from memorywire.migrate.chronicle import agents_of, current, told_by
from memorywire.migrate.importers.text_files import OKF_FIELD, OKF_LINKS, TEXT_COLUMNS
from memorywire.model.record import Json, Record, Scope
from memorywire.model.spreadsheet import as_cell
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
_PRIVATE, _PRIVATE_FOLDER = 0o600, 0o700  # as the store is
COLUMNS = (
    "id agent_id user_id type content created_at updated_at occurred_at expires_at version confidence source"
    " session_id tags standing trust supersedes merged_from derived_from metadata"
).split()


class Written(Struct, frozen=True, kw_only=True):
    """How many memories were written, and which files were there before and are none of them."""

    count: int
    others: tuple[str, ...]


async def write_readable(
    path: Path,
    format_: str,
    store: Store,
    tenant: str,
    agents: Sequence[str],
    user: str | None = None,
) -> Written:
    """Write the live memories, with expired and archived ones, for nobody but the owner to read."""
    told = told_by(store)
    write = _WRITERS[format_]
    before = await asyncio.to_thread(_sheets_in, path)
    count = 0
    for agent in await agents_of(told, tenant, agents):
        async for page in current(told, Scope(tenant=tenant, agent=agent, user=user)):
            before -= await asyncio.to_thread(write, path, page, count == 0)
            count += len(page)
    return Written(count=count, others=tuple(sorted(str(file.relative_to(path)) for file in before)))


def _sheets_in(path: Path) -> set[Path]:
    """What an earlier export may have written: of a memory that is gone since, a file may be left."""
    return set(path.rglob("*.md")) if path.is_dir() else set()


def _sheets(path: Path, records: Sequence[Record], fresh: bool) -> set[Path]:
    return {_kept(path, record, sheet(record)) for record in records}


def _concepts(path: Path, records: Sequence[Record], fresh: bool) -> set[Path]:
    files = {_kept(path, record, concept(record)) for record in records}
    index_file = path / "index.md"
    index_file.touch(_PRIVATE)
    with index_file.open("w" if fresh else "a", encoding="utf-8", newline="\n") as index:
        index.write('---\nokf_version: "0.1"\n---\n\n# Memories\n\n' if fresh else "")
        index.writelines(f"- [{_title(record)}]({_place(record)})\n" for record in records)
    return {*files, index_file}


def concept(record: Record) -> str:
    """One memory as an OKF concept: the common fields first, all others under our own name."""
    ours = {name: value for name, value in _said(record).items() if value not in ([], {})}
    if record.content == record.words.strip("\n") and OKF_LINKS not in record.words:
        del ours["content"]  # the text of the file says it
    fields = {
        "type": record.type.value,
        "title": _title(record),
        "tags": list(record.tags),
        "timestamp": datetime.fromtimestamp(record.updated_at / 1000, UTC).isoformat(),
        OKF_FIELD: ours,
    }
    lines = [f"{name}: {written(value)}" for name, value in fields.items() if value not in ([], {})]
    links = [*record.supersedes, *record.merged_from, *record.derived_from]
    related = OKF_LINKS + "\n".join(f"- [{id}](./{_name(id)})" for id in links) if links else ""
    return "\n".join(("---", *lines, "---", "", record.words + related)) + "\n"


def _rows(path: Path, records: Sequence[Record], fresh: bool) -> set[Path]:
    path.touch(_PRIVATE)
    with path.open("w" if fresh else "a", encoding="utf-8", newline="") as file:
        table = csv.DictWriter(file, COLUMNS, lineterminator="\n")
        if fresh:
            table.writeheader()
        table.writerows(_cells(_said(record)) for record in records)
    return set()


def _cells(said: Mapping[str, Json]) -> dict[str, str]:
    return {
        name: as_cell(value if name in TEXT_COLUMNS else json.dumps(value, ensure_ascii=False))
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


def _kept(path: Path, record: Record, text: str) -> Path:
    file = path / _place(record)
    for folder in (path, file.parent):
        folder.mkdir(mode=_PRIVATE_FOLDER, exist_ok=True)
    file.touch(_PRIVATE)
    file.write_text(text, encoding="utf-8", newline="\n")
    return file


_WRITERS: Mapping[str, Callable[[Path, Sequence[Record], bool], set[Path]]] = {
    "markdown": _sheets,
    "csv": _rows,
    "okf": _concepts,
}
