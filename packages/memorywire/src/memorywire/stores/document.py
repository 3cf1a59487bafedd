"""SQL as named documents: a file of blocks, each under a line `-- name: live`."""

import re
from importlib import import_module
from pathlib import Path

_HEADING = re.compile(r"^-- name: (\w+)$", re.MULTILINE)


class Document(dict[str, str]):
    """Named blocks of SQL files; they are read when the first block is looked up."""

    def __init__(self, package: str, *files: str) -> None:
        super().__init__()
        self._package = package
        self._files = files

    def __missing__(self, name: str) -> str:
        if self:
            raise KeyError(name)
        return self.read()[name]

    def read(self) -> "Document":
        """Read the files now: for whoever needs all of the blocks."""
        path = folder(self._package)
        text = "".join((path / file).read_text(encoding="utf-8") for file in self._files)
        _, *parts = _HEADING.split(text)
        blocks = {name: body.strip() for name, body in zip(parts[::2], parts[1::2], strict=True)}
        self.update(blocks)  # at once: another thread may be here too
        return self


def folder(package: str) -> Path:
    """The folder of the package; `importlib.resources` knows it too, but takes longer to load."""
    return Path(next(iter(import_module(package).__path__)))
