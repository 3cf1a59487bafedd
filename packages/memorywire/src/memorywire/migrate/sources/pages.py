"""Markdown files as people keep them: front matter, where there is some, and the text below."""

import re
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from memorywire.model.errors import InvalidRequest
from memorywire.model.record import Json
from memorywire.stores.markdown.folder import is_inside
from memorywire.stores.markdown.yaml import Unreadable, read_fields

_MARKDOWN = ".md"
_NAMED = 5
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
    """The Markdown files of a folder, by their names, or the one file; hidden ones are left out.

    So is a name without a file behind it: a folder that is called so, a link that leads nowhere.
    """
    for file, name in [(path, path.name)] if path.is_file() else _files(path):
        if file.suffix == _MARKDOWN or file == path:
            yield _page(file, name)


def others(path: Path) -> tuple[str, ...]:
    """A note on the files of a folder that are not Markdown; nothing if there are none."""
    if path.is_file():
        return ()
    strange = [name for file, name in _files(path) if file.suffix != _MARKDOWN]
    outside = [name for file, name in _visible(path) if not is_inside(file, path)]
    return (
        *_named("files that are no Markdown", strange),
        *_named("links to files outside the folder", outside),
    )


def _named(what: str, names: list[str]) -> Iterator[str]:
    if names:
        more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
        yield f"{what} ({len(names)}): {', '.join(names[:_NAMED])}{more}"


def _files(folder: Path) -> Iterator[tuple[Path, str]]:
    """The files of a folder with their names in it, in order.

    Hidden ones are left out, and links that lead out of the folder: who names a folder names no more.
    """
    return ((file, name) for file, name in _visible(folder) if is_inside(file, folder))


def _visible(folder: Path) -> Iterator[tuple[Path, str]]:
    for file in sorted(folder.rglob("*")):
        inside = file.relative_to(folder)
        if file.is_file() and not any(part.startswith(".") for part in inside.parts):
            yield file, inside.as_posix()


def first(path: Path) -> Page | None:
    """The first page there; None where there is no Markdown."""
    if path.is_file() and path.suffix != _MARKDOWN:
        return None
    return next(pages(path), None)


def _page(file: Path, name: str) -> Page:
    text = _text(file, name)
    found = _PARTS.match(text)
    fields: dict[str, Json] = {}
    if found is not None:
        with suppress(Unreadable):  # what is no front matter of ours stays part of nothing
            fields = read_fields(found[1])
    return Page(path=file, name=name, fields=fields, body=text if found is None else found[2], text=text)


def _text(file: Path, name: str) -> str:
    """The text of the file, with its line ends unchanged: they may be part of what it says."""
    try:
        return file.read_bytes().decode("utf-8-sig")
    except UnicodeDecodeError as error:
        detail = f"{name} is not UTF-8 at byte {error.start}"
        raise InvalidRequest(
            detail, field="file", fix="save it as UTF-8, or move it out of the folder"
        ) from error
    except OSError as error:
        raise InvalidRequest(
            f"{name} cannot be read: {error.strerror}", field="file", fix="check its permissions"
        ) from error
