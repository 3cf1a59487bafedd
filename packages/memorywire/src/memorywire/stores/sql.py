"""Compiles the parts of filters that have exactly equivalent SQL."""

from abc import ABC, abstractmethod
from typing import Any

from memorywire.model.query import EVERYTHING, And, Compare, Filter, Not, Operator, Or
from memorywire.model.record import Json

ORDER = {Operator.GT: ">", Operator.GTE: ">=", Operator.LT: "<", Operator.LTE: "<="}

# Databases limit the depth of expressions; longer filters are cheaper in Python anyway.
_MOST_NODES = 100


class NoSql(Exception):
    """This part of a filter has no exactly equivalent SQL."""


class Compiler(ABC):
    """Collects SQL expressions and their parameters; each store implements `compare`."""

    def __init__(self) -> None:
        self.parts: list[str] = []
        self.bindings: dict[str, Any] = {}
        self._nodes = 0

    @abstractmethod
    def compare(self, part: Compare) -> str:
        """Return the SQL of one comparison; raises NoSql."""

    def take(self, whole: Filter) -> Filter:
        """Compile the parts that have exact SQL, and return the rest, to be checked in Python."""
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
        """Add to the length of the expression; raises NoSql if it is too long."""
        self._nodes += nodes
        if self._nodes > _MOST_NODES:
            raise NoSql


def check_type(value: Json, kind: type) -> Json:
    """Return the value if it has the type that the operator needs; raises NoSql otherwise."""
    if not isinstance(value, kind):
        raise NoSql
    return value
