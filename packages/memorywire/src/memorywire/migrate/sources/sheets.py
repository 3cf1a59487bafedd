"""Memories as sheets of Markdown, one a file, as `export --format markdown` writes them."""

from collections.abc import Iterator
from pathlib import Path

from memorywire.migrate.chronicle import kept_so
from memorywire.migrate.sources.found import Origin, Source, named, written_at
from memorywire.migrate.sources.pages import first, pages
from memorywire.model.change import Change
from memorywire.model.errors import InvalidRequest
from memorywire.stores.markdown.sheet import Broken, Defaults
from memorywire.stores.markdown.sheet import read as read_sheet

WANTED = "a folder of sheets, each with an id and an agent in its front matter"


def recognises(path: Path) -> bool:
    page = first(path)
    return page is not None and {"id", "agent"} <= page.fields.keys()


def read(origin: Origin) -> Source:
    losses = ("versions before the last: a sheet has one",)
    return Source(name=named("markdown", origin), changes=lambda: _changes(origin), losses=losses)


def _changes(origin: Origin) -> Iterator[Change]:
    for page in pages(origin.path):
        defaults = Defaults(scope=None, id=page.path.stem, written_at=written_at(page.path))
        try:
            yield kept_so(read_sheet(page.text, defaults))
        except Broken as error:
            raise InvalidRequest(f"{page.name}: {error}", field="file", fix="mend the sheet") from error
