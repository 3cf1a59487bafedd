"""SQL as named documents: a file of blocks, each under a line `-- name: live`."""

import re
from collections.abc import Iterator, Mapping
from functools import cached_property

from memorywire.model.packaged import folder

_HEADING = re.compile(r"^-- name: (\w+)$", re.MULTILINE)


class Document(Mapping[str, str]):
    """A file of named blocks, read when the first of them is asked for."""

    def __init__(self, package: str, file: str) -> None:
        self._package = package
        self._file = file

    @cached_property
    def _blocks(self) -> dict[str, str]:
        text = (folder(self._package) / self._file).read_text(encoding="utf-8")
        _, *parts = _HEADING.split(text)
        return {name: body.strip() for name, body in zip(parts[::2], parts[1::2], strict=True)}

    def __getitem__(self, name: str) -> str:
        return self._blocks[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._blocks)

    def __len__(self) -> int:
        return len(self._blocks)
