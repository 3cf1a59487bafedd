"""Open Knowledge Format: a folder of Markdown files, each a concept whose front matter has a `type`."""

from collections.abc import Iterator
from pathlib import Path

from memorywire.migrate.chronicle import kept_so
from memorywire.migrate.lines import record_of
from memorywire.migrate.sources.found import Found, Origin, Source, moment, named, source, written_at
from memorywire.migrate.sources.pages import Page, pages
from memorywire.model.change import Change
from memorywire.model.record import MemoryType

WANTED = "a folder of Markdown files with a `type` in their front matter"
RESERVED = frozenset({"index.md", "log.md"})
OURS = "x_memorywire"
LINKS = "\n\n## Related\n\n"

_OWN = frozenset({"type", "title", "description", "tags", "timestamp", OURS})


def recognises(path: Path) -> bool:
    concept = next(_concepts(path), None) if path.is_dir() else None
    if concept is None or not concept.fields.get("type"):
        return False
    return "permalink" not in concept.fields and bool(concept.fields.keys() & {"title", "timestamp", OURS})


def read(origin: Origin) -> Source:
    """Concepts of ours with everything they had, and those of others as well as they fit."""
    others = source("okf", origin, lambda: _found(origin.path))
    losses = ("versions before the last", "links to files, which stay text")

    def changes() -> Iterator[Change]:
        yield from _ours(origin)
        yield from others.changes()

    return Source(name=named("okf", origin), changes=changes, losses=losses)


def _concepts(path: Path) -> Iterator[Page]:
    return (page for page in pages(path) if page.path.name not in RESERVED)


def _ours(origin: Origin) -> Iterator[Change]:
    for page in _concepts(origin.path):
        said = page.fields.get(OURS)
        if isinstance(said, dict):
            body = page.body.partition(LINKS)[0].strip("\n")
            yield kept_so(record_of({"content": body, **said}, origin.scope.tenant))


def _found(path: Path) -> Iterator[Found]:
    for page in _concepts(path):
        fields = page.fields
        if OURS in fields:
            continue
        title, about = str(fields.get("title") or page.path.stem), str(fields.get("description") or "")
        kind = str(fields.get("type") or "Document")
        known = kind.lower() in set(MemoryType) - {MemoryType.PROCEDURAL}
        yield Found(
            key=page.name,
            content="\n\n".join(part for part in (title, about, page.body.strip()) if part),
            at=moment(fields.get("timestamp"), written_at(page.path)),
            type=MemoryType(kind.lower()) if known else MemoryType.SEMANTIC,
            source=page.name,
            tags=(*page.tags, kind),
            metadata={name: value for name, value in fields.items() if name not in _OWN} | {"okf_type": kind},
        )
