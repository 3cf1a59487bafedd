"""Exports current memories to human-readable files: Markdown, CSV, Open Knowledge Format."""

import asyncio
import csv
import json
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from urllib.parse import quote

from msgspec import Struct

from memorywire.migrate.history import find_history_store, list_agents, read_current
from memorywire.migrate.importers.text_files import OKF_FIELD, OKF_LINKS, TEXT_COLUMNS
from memorywire.model.record import Json, Record, Scope
from memorywire.model.text import as_cell
from memorywire.stores.contract import Store
from memorywire.stores.sheet import sheet, write_value
from memorywire.wire.codec import encode_record

LOSSES = (
    "earlier versions and forgotten memories",
    "proposals, rules and the ledger",
    "vectors, and when a memory was recalled",
)
_TITLE_CHARS = 80
_PRIVATE, _PRIVATE_FOLDER = 0o600, 0o700  # as the store is
COLUMNS = (
    "id agent_id user_id type content created_at updated_at occurred_at expires_at version confidence source"
    " session_id tags standing trust supersedes merged_from derived_from metadata"
).split()


class ExportedFiles(Struct, frozen=True, kw_only=True):
    """The number of written memories, and the leftover files of an earlier export."""

    count: int
    others: tuple[str, ...]


async def export_files(
    path: Path, format_: str, store: Store, tenant: str, agents: Sequence[str], user: str | None = None
) -> ExportedFiles:
    """Write the current memories, with expired and archived ones, readable by the owner only."""
    source = find_history_store(store)
    write = _WRITERS[format_]
    # Files of an earlier export, perhaps of memories that do not exist any more.
    others = await asyncio.to_thread(lambda: set(path.rglob("*.md")) if path.is_dir() else set[Path]())
    count = 0
    for agent in await list_agents(source, tenant, agents):
        async for page in read_current(source, Scope(tenant=tenant, agent=agent, user=user)):
            others -= await asyncio.to_thread(write, path, page, count == 0)
            count += len(page)
    return ExportedFiles(count=count, others=tuple(sorted(str(file.relative_to(path)) for file in others)))


def _write_okf(path: Path, records: Sequence[Record], is_first: bool) -> set[Path]:
    files = {_write_file(path, record, _build_concept(record)) for record in records}
    index_file = path / "index.md"
    index_file.touch(_PRIVATE)
    with index_file.open("w" if is_first else "a", encoding="utf-8", newline="\n") as index:
        index.write('---\nokf_version: "0.1"\n---\n\n# Memories\n\n' if is_first else "")
        index.writelines(f"- [{_build_title(record)}]({_build_path(record)})\n" for record in records)
    return {*files, index_file}


def _build_concept(record: Record) -> str:
    """Return a memory as an OKF concept: the fields of the format, and all others in `x_memorywire`."""
    ours = {name: value for name, value in _encode(record).items() if value not in ([], {})}
    if record.content == record.words.strip("\n") and OKF_LINKS not in record.words:
        del ours["content"]  # the text of the file has it
    fields = {
        "type": record.type.value,
        "title": _build_title(record),
        "tags": list(record.tags),
        "timestamp": datetime.fromtimestamp(record.updated_at / 1000, UTC).isoformat(),
        OKF_FIELD: ours,
    }
    lines = [f"{name}: {write_value(value)}" for name, value in fields.items() if value not in ([], {})]
    links = [*record.supersedes, *record.merged_from, *record.derived_from]
    related = OKF_LINKS + "\n".join(f"- [{id}](./{_build_name(id)})" for id in links) if links else ""
    return "\n".join(("---", *lines, "---", "", record.words + related)) + "\n"


def _write_csv(path: Path, records: Sequence[Record], is_first: bool) -> set[Path]:
    path.touch(_PRIVATE)
    with path.open("w" if is_first else "a", encoding="utf-8", newline="") as file:
        table = csv.DictWriter(file, COLUMNS, lineterminator="\n")
        if is_first:
            table.writeheader()
        table.writerows(_build_row(_encode(record)) for record in records)
    return set()


def _build_row(fields: Mapping[str, Json]) -> dict[str, str]:
    return {
        name: as_cell(value if name in TEXT_COLUMNS else json.dumps(value, ensure_ascii=False))
        for name, value in fields.items()
    }


def _encode(record: Record) -> dict[str, Json]:
    fields = encode_record(record)
    fields.pop("recalled_at", None)
    return fields


def _build_title(record: Record) -> str:
    return " ".join(record.words.split())[:_TITLE_CHARS] or record.id


def _build_name(id: str) -> str:
    return f"{quote(id, safe='')}.md"


def _build_path(record: Record) -> str:
    return f"{quote(record.scope.agent, safe='')}/{_build_name(record.id)}"


def _write_file(path: Path, record: Record, text: str) -> Path:
    file = path / _build_path(record)
    for folder in (path, file.parent):
        folder.mkdir(mode=_PRIVATE_FOLDER, exist_ok=True)
    file.touch(_PRIVATE)
    file.write_text(text, encoding="utf-8", newline="\n")
    return file


_WRITERS: Mapping[str, Callable[[Path, Sequence[Record], bool], set[Path]]] = {
    "markdown": lambda path, records, is_first: {_write_file(path, one, sheet(one)) for one in records},
    "csv": _write_csv,
    "okf": _write_okf,
}
