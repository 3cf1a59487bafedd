"""Markdown files as people keep them: front matter, where there is some, and the text below."""

import re
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from memorywire.model.record import Json
from memorywire.stores.markdown.yaml import Unreadable, read_fields

_PARTS = re.compile(r"---\r?\n(.*?)^---[ \t]*(?:\r?\n|\Z)(.*)\Z", re.DOTALL | re.MULTILINE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """A file: where it lies in its folder, what its front matter says, and its text."""

    path: Path
    name: str
    fields: dict[str, Json]
    body: str
    text: str

    @property
    def tags(self) -> tuple[str, ...]:
        said = self.fields.get("tags")
        return tuple(map(str, said)) if isinstance(said, list) else tuple(str(said).split()) if said else ()


def pages(path: Path) -> Iterator[Page]:
    """The Markdown files of a folder, by their names, or the one file; hidden ones are left out."""
    files = [path] if path.is_file() else sorted(path.rglob("*.md"))
    root = path.parent if path.is_file() else path
    for file in files:
        inside = file.relative_to(root)
        if not any(part.startswith(".") for part in inside.parts):
            yield _page(file, inside.as_posix())


def first(path: Path) -> Page | None:
    """A look at what lies there; None where it is no Markdown."""
    if path.is_file() and path.suffix != ".md":
        return None
    return next(pages(path), None)


def _page(file: Path, name: str) -> Page:
    text = file.read_bytes().decode("utf-8-sig")  # line ends as they are: they may be part of what is said
    found = _PARTS.match(text)
    fields: dict[str, Json] = {}
    if found is not None:
        with suppress(Unreadable):  # what is no front matter of ours stays part of nothing
            fields = read_fields(found[1])
    return Page(path=file, name=name, fields=fields, body=text if found is None else found[2], text=text)
