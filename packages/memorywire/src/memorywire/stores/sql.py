"""Filters as SQL, as far as the SQL means exactly the same."""

from abc import ABC, abstractmethod
from typing import Any

from memorywire.model.query import EVERYTHING, And, Compare, Filter, Not, Operator, Or
from memorywire.model.record import Json

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
