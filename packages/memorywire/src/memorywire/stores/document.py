"""Loads SQL files of named blocks, each under a line such as `-- name: live`, and numbered migrations."""

import re
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import TypeAlias

_HEADING = re.compile(r"^-- name: (\w+)$", re.MULTILINE)
_NUMBERED = re.compile(r"(\d{4})_\w+\.sql")

Scripts: TypeAlias = tuple[tuple[int, str], ...]
"""Migrations by number."""


class Document(dict[str, str]):
    """Named blocks of SQL files; the files are read at the first lookup."""

    def __init__(self, package: str, *files: str) -> None:
        super().__init__()
        self._package = package
        self._files = files

    def __missing__(self, name: str) -> str:
        if self:
            raise KeyError(name)
        return self.read()[name]

    def read(self) -> "Document":
        """Read the files now, for callers that need all blocks."""
        path = folder(self._package)
        text = "".join((path / file).read_text(encoding="utf-8") for file in self._files)
        _, *parts = _HEADING.split(text)
        blocks = {name: body.strip() for name, body in zip(parts[::2], parts[1::2], strict=True)}
        self.update(blocks)  # one assignment, because another thread may do the same
        return self


@cache
def migrations(package: str) -> Scripts:
    """Return the numbered scripts in the folder `migrations` of a package, in order."""
    files = (folder(package) / "migrations").iterdir()
    scripts = ((_NUMBERED.fullmatch(file.name), file) for file in files)
    return tuple(sorted((int(name[1]), file.read_text(encoding="utf-8")) for name, file in scripts if name))


def folder(package: str) -> Path:
    """Return the folder of the package; faster to load than `importlib.resources`."""
    return Path(next(iter(import_module(package).__path__)))
