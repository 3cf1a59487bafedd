"""Importers of text files: notes in Markdown, our own Markdown and CSV exports, Open Knowledge Format."""

import csv
import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path

from msgspec import Struct, field

from memorywire.migrate.bundle_lines import decode_record
from memorywire.migrate.history import build_snapshot_change
from memorywire.migrate.importers.json_files import parse_if_json
from memorywire.migrate.importers.source import (
    ImportedMemory,
    Importer,
    Origin,
    Source,
    build_source,
    name_source,
    parse_time,
    read_file_time,
)
from memorywire.model.change import Change
from memorywire.model.errors import InvalidRequest
from memorywire.model.record import Json, MemoryType
from memorywire.model.text import from_cell
from memorywire.runtime.files import is_inside
from memorywire.stores.sheet import BadFrontMatter, Broken, Defaults, read_fields
from memorywire.stores.sheet import read as read_sheet

_SUFFIX = ".md"
_NAMES_SHOWN = 5
_FRONT_MATTER = re.compile(r"---\r?\n(.*?)^---[ \t]*(?:\r?\n|\Z)(.*)\Z", re.DOTALL | re.MULTILINE)


class Page(Struct, frozen=True, kw_only=True):
    """A Markdown file: its path and name in the folder, the fields of its front matter, and its text."""

    path: Path
    name: str
    fields: dict[str, Json]
    body: str
    text: str

    @property
    def tags(self) -> tuple[str, ...]:
        tags = self.fields.get("tags")
        return tuple(map(str, tags)) if isinstance(tags, list) else tuple(str(tags).split()) if tags else ()


def read_pages(path: Path) -> Iterator[Page]:
    """Read the Markdown files of a folder, sorted by name, or the one file."""
    for file, name in [(path, path.name)] if path.is_file() else _list_files(path):
        if file.suffix == _SUFFIX or file == path:
            text = _read_text(file, name)
            match = _FRONT_MATTER.match(text)
            fields: dict[str, Json] = {}
            if match is not None:
                with suppress(BadFrontMatter):  # front matter that is not YAML is dropped
                    fields = read_fields(match[1])
            body = text if match is None else match[2]
            yield Page(path=file, name=name, fields=fields, body=body, text=text)


def _read_first_page(path: Path) -> Page | None:
    if path.is_file() and path.suffix != _SUFFIX:
        return None
    return next(read_pages(path), None)


def describe_skipped(path: Path) -> tuple[str, ...]:
    """Return notes on the files of a folder that are not read; empty if there are none."""
    if path.is_file():
        return ()
    skipped = {
        "files that are not Markdown": [name for file, name in _list_files(path) if file.suffix != _SUFFIX],
        "links to files outside the folder": [
            name for file, name in _list_visible(path) if not is_inside(file, path)
        ],
    }
    notes: list[str] = []
    for kind, names in skipped.items():
        more = f" and {len(names) - _NAMES_SHOWN} more" if len(names) > _NAMES_SHOWN else ""
        notes += [f"{kind} ({len(names)}): {', '.join(names[:_NAMES_SHOWN])}{more}"] if names else []
    return tuple(notes)


def _list_files(folder: Path) -> Iterator[tuple[Path, str]]:
    """Return the files of a folder with their relative names, sorted, without hidden ones.

    Links that lead out of the folder are skipped, because the operator named this folder only.
    """
    return ((file, name) for file, name in _list_visible(folder) if is_inside(file, folder))


def _list_visible(folder: Path) -> Iterator[tuple[Path, str]]:
    for file in sorted(folder.rglob("*")):
        inside = file.relative_to(folder)
        if file.is_file() and not any(part.startswith(".") for part in inside.parts):
            yield file, inside.as_posix()


def _read_text(file: Path, name: str) -> str:
    """Read a file with its line ends unchanged, because they may be part of a memory."""
    try:
        return file.read_bytes().decode("utf-8-sig")
    except UnicodeDecodeError as error:
        detail, fix = (
            f"{name} is not UTF-8 at byte {error.start}",
            "save it as UTF-8, or move it out of the folder",
        )
        raise InvalidRequest(detail, field="file", fix=fix) from error
    except OSError as error:
        detail = f"{name} cannot be read: {error.strerror}"
        raise InvalidRequest(detail, field="file", fix="check its permissions") from error


# Markdown as `export --format markdown` writes it: one file per memory.


def _recognises_markdown(path: Path) -> bool:
    page = _read_first_page(path)
    return page is not None and {"id", "agent"} <= page.fields.keys()


def _read_markdown(origin: Origin) -> Source:
    def changes() -> Iterator[Change]:
        for page in read_pages(origin.path):
            defaults = Defaults(scope=None, id=page.path.stem, written_at=read_file_time(page.path))
            try:
                yield build_snapshot_change(read_sheet(page.text, defaults))
            except Broken as error:
                raise InvalidRequest(f"{page.name}: {error}", field="file", fix="correct the file") from error

    losses = ("versions before the last: a file has one",)
    return Source(name=name_source("markdown", origin), changes=changes, losses=losses)


MARKDOWN = Importer(
    expects="a folder of Markdown files, each with an id and an agent in its front matter",
    recognises=_recognises_markdown,
    read=_read_markdown,
)

# CSV as `export --format csv` writes it, or any table with a column `content`.

_FIELD_CHARS_MAX = 16 * 1024 * 1024
_COLUMNS = frozenset({"id", "content", "created_at", "type", "tags", "source", "agent_id", "user_id"})
TEXT_COLUMNS = frozenset({"id", "agent_id", "user_id", "source", "session_id", "type", "standing", "trust"})
"""Columns of our export that are plain text; the others are JSON."""


def _recognises_csv(path: Path) -> bool:
    if path.suffix.lower() != ".csv" or not path.is_file():
        return False
    return "content" in next(_read_csv_rows(path), {})


def _read_csv(origin: Origin) -> Source:
    path = origin.path
    first = next(_read_csv_rows(path))
    if "agent_id" not in first or "version" not in first:
        return build_source("csv", origin, lambda: _list_row_memories(path))

    def changes() -> Iterator[Change]:
        for row in _read_csv_rows(path):
            fields: dict[str, Json] = {
                name: from_cell(value) if name in TEXT_COLUMNS else parse_if_json(from_cell(value))
                for name, value in row.items()
                if value
            }
            yield build_snapshot_change(decode_record(fields, origin.scope.tenant))

    losses = ("versions before the last: a row has one",)
    return Source(name=name_source("csv", origin), changes=changes, losses=losses)


def _read_csv_rows(path: Path) -> Iterator[Mapping[str, str]]:
    csv.field_size_limit(_FIELD_CHARS_MAX)
    with path.open(encoding="utf-8-sig", newline="") as file:
        yield from csv.DictReader(file)


def _list_row_memories(path: Path) -> Iterator[ImportedMemory]:
    at = read_file_time(path)
    for number, row in enumerate(_read_csv_rows(path), start=1):
        kind = row.get("type", "")
        yield ImportedMemory(
            key=row.get("id") or f"{number}\n{row['content']}",
            content=row["content"],
            at=parse_time(parse_if_json(row.get("created_at")), at),
            type=MemoryType(kind) if kind in set(MemoryType) else MemoryType.SEMANTIC,
            agent=row.get("agent_id") or None,
            user=row.get("user_id") or None,
            source=row.get("source") or path.name,
            tags=tuple(row.get("tags", "").split()),
            metadata={name: value for name, value in row.items() if name not in _COLUMNS and value},
        )


CSV = Importer(expects="a CSV file with a column `content`", recognises=_recognises_csv, read=_read_csv)

# Open Knowledge Format: a folder of Markdown files, each a concept whose front matter has a `type`.

OKF_FIELD = "x_memorywire"
OKF_LINKS = "\n\n## Related\n\n"
_OKF_RESERVED = frozenset({"index.md", "log.md"})
_OKF_FIELDS = frozenset({"type", "title", "description", "tags", "timestamp", OKF_FIELD})


def _recognises_okf(path: Path) -> bool:
    concept = next(_read_concepts(path), None) if path.is_dir() else None
    if concept is None or not concept.fields.get("type"):
        return False
    names = concept.fields.keys()
    return "permalink" not in names and bool(names & {"title", "timestamp", OKF_FIELD})


def _read_okf(origin: Origin) -> Source:
    """Return the memories of concepts as a source: our own with all fields, others with those that fit."""
    others = build_source("okf", origin, lambda: _list_concept_memories(origin.path))

    def changes() -> Iterator[Change]:
        for page in _read_concepts(origin.path):
            fields = page.fields.get(OKF_FIELD)
            if isinstance(fields, dict):
                body = page.body.partition(OKF_LINKS)[0].strip("\n")
                yield build_snapshot_change(decode_record({"content": body, **fields}, origin.scope.tenant))
        yield from others.changes()

    losses = ("versions before the last", "links to files, which stay text")
    return Source(name=name_source("okf", origin), changes=changes, losses=losses)


def _read_concepts(path: Path) -> Iterator[Page]:
    return (page for page in read_pages(path) if page.path.name not in _OKF_RESERVED)


def _list_concept_memories(path: Path) -> Iterator[ImportedMemory]:
    for page in _read_concepts(path):
        fields = page.fields
        if OKF_FIELD in fields:
            continue
        title, description = str(fields.get("title") or page.path.stem), str(fields.get("description") or "")
        kind = str(fields.get("type") or "Document")
        is_ours = kind.lower() in set(MemoryType) - {MemoryType.PROCEDURAL}
        metadata = {name: value for name, value in fields.items() if name not in _OKF_FIELDS}
        yield ImportedMemory(
            key=page.name,
            content="\n\n".join(part for part in (title, description, page.body.strip()) if part),
            at=parse_time(fields.get("timestamp"), read_file_time(page.path)),
            type=MemoryType(kind.lower()) if is_ours else MemoryType.SEMANTIC,
            source=page.name,
            tags=(*page.tags, kind),
            metadata=metadata | {"okf_type": kind},
        )


OKF = Importer(
    expects="a folder of Markdown files with a `type` in their front matter",
    recognises=_recognises_okf,
    read=_read_okf,
)

# Notes: MEMORY.md and CLAUDE.md, folders of Obsidian and of basic-memory. Each list item and each paragraph
# is a memory that begins with the headings above it: without them its subject would often be missing, and a
# query for the words of a heading would not find it.

_HEADING = re.compile(r"(#{1,6})[ \t]+(.*)")
_ITEM = re.compile(r"[ \t]*(?:[-*+]|\d+[.)])[ \t]+(?:\[[ xX]\][ \t]+)?(.*)")
_OBSERVATION = re.compile(r"\[([^\]\[]+)\][ \t]+(.*)")
_LINK = re.compile(r"\[\[([^\[\]|#]+)[^\[\]]*\]\]")  # a bracket inside would cost quadratic time
_TAG = re.compile(r"(?<![\w#])#([A-Za-z][\w/-]*)")
_FENCE = re.compile(r"[ \t]*(```|~~~)")


def _read_notes(origin: Origin) -> Source:
    layout = "the layout of the text: lists and paragraphs become memories of their own"
    losses = (layout, *describe_skipped(origin.path))

    def memories() -> Iterator[ImportedMemory]:
        for page in read_pages(origin.path):
            at = parse_time(page.fields.get("created") or page.fields.get("date"), read_file_time(page.path))
            for block in _split_blocks(page.body):
                yield _build_note(page, block, at)

    return build_source("notes", origin, memories, losses)


class _Block(Struct):
    """A list item or paragraph, and the headings above it."""

    headings: tuple[str, ...]
    lines: list[str] = field(default_factory=list)

    @property
    def text(self) -> str:
        return "\n".join(self.lines).strip()


def _split_blocks(body: str) -> Iterator[_Block]:
    headings: tuple[str, ...] = ()
    block, in_fence = _Block(headings), False
    for line in body.splitlines():
        if _FENCE.match(line):
            in_fence = not in_fence
        heading, item = _HEADING.fullmatch(line), _ITEM.fullmatch(line)
        begins = not in_fence and (heading or item or not line.strip())
        if begins and block.text:
            yield block
        if begins:
            if heading:
                headings = (*headings[: len(heading[1]) - 1], heading[2].strip())
            block = _Block(headings, [item[1]] if item else [])
        else:
            block.lines.append(line)
    if block.text:
        yield block


def _build_note(page: Page, block: _Block, at: int) -> ImportedMemory:
    text, heading = block.text, " > ".join(block.headings)
    observation = _OBSERVATION.fullmatch(text)
    category, content = (observation[1], observation[2]) if observation else (None, text)
    if heading:
        content = f"{heading}\n{content}" if "\n" in content else f"{heading.rstrip(':')}: {content}"
    metadata: dict[str, Json] = {
        "file": page.name,
        "heading": heading,
        "title": page.fields.get("title"),
        "permalink": page.fields.get("permalink"),
        "links": _LINK.findall(text),
    }
    return ImportedMemory(
        key="\n".join((page.name, *block.headings, text)),
        content=content,
        at=at,
        updated_at=parse_time(page.fields.get("modified") or page.fields.get("updated"), at),
        source=page.name,
        tags=(*page.tags, *_TAG.findall(text), *((category,) if category else ())),
        metadata={name: value for name, value in metadata.items() if value},
    )


NOTES = Importer(
    expects="a Markdown file, or a folder of them",
    recognises=lambda path: _read_first_page(path) is not None,
    read=_read_notes,
)
