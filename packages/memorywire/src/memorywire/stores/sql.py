"""SQL as named documents: a file of blocks, each under a line `-- name: live`."""

import re
from abc import ABC, abstractmethod
from importlib import import_module
from pathlib import Path
from typing import Any

from memorywire.model.query import EVERYTHING, And, Compare, Filter, Not, Operator, Or
from memorywire.model.record import Json

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


ORDER = {Operator.GT: ">", Operator.GTE: ">=", Operator.LT: "<", Operator.LTE: "<="}

# Engines limit the depth of an expression; a filter this long is cheaper in Python anyway.
_MOST_NODES = 100


class NoSql(Exception):
    """This part of a filter has no SQL that means exactly the same."""


class Compiler(ABC):
    """Collects expressions and the values they are bound to; a store says how it compares."""

    def __init__(self) -> None:
        self.parts: list[str] = []
        self.bindings: dict[str, Any] = {}
        self._nodes = 0

    @abstractmethod
    def compare(self, part: Compare) -> str:
        """One comparison as SQL, or NoSql."""

    def take(self, whole: Filter) -> Filter:
        """Compile the parts that have exact SQL, and give the rest for Python to check."""
        parts = whole.parts if isinstance(whole, And) else (whole,)
        rest = tuple(part for part in parts if not self._push(part))
        return And(rest) if rest else EVERYTHING

    def _push(self, part: Filter) -> bool:
        try:
            self.parts.append(self._compile(part))
        except NoSql:
            return False
        return True

    def _compile(self, part: Filter) -> str:
        self.count(1)
        match part:
            case Compare():
                return self.compare(part)
            case And(parts):
                return f"({' AND '.join(map(self._compile, parts)) or 'true'})"
            case Or(parts):
                return f"({' OR '.join(map(self._compile, parts)) or 'false'})"
            case Not(inner):
                return f"(NOT {self._compile(inner)})"

    def count(self, nodes: int) -> None:
        """Refuse what would become too long."""
        self._nodes += nodes
        if self._nodes > _MOST_NODES:
            raise NoSql


def check_type(value: Json, kind: type) -> Json:
    """The value, if it is of the kind that the operator needs."""
    if not isinstance(value, kind):
        raise NoSql
    return value


def folder(package: str) -> Path:
    """The folder of the package; `importlib.resources` knows it too, but takes longer to load."""
    return Path(next(iter(import_module(package).__path__)))
