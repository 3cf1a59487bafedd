"""`memorywire.procedural` of 0.5.0: the definition of a procedure as a value, and its steps without a memory.

`Memory.procedure(id)` is the same with a memory behind it.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from msgspec import Struct

from memorywire.procedures.definition import allowed, step
from memorywire.procedures.parse import parse


def validate_procedure_dict(data: Mapping[str, Any]) -> None:
    """Raise InvalidRequest unless the data defines a procedure."""
    parse(dict(data))


class Procedure(Struct):
    """The definition of a procedure, which a procedural memory holds as its content."""

    name: str
    initial: str
    states: list[str]
    transitions: list[dict[str, Any]]
    current: str | None = None
    metadata: dict[str, Any] | None = None

    def __post_init__(self) -> None:
        self.current = self.current or self.initial

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> "Procedure":
        """The procedure that the data defines; raises InvalidRequest if it defines none."""
        validate_procedure_dict(data)
        return cls(**data)

    def to_dict(self) -> dict[str, Any]:
        """The content of a procedural memory."""
        content = {
            "name": self.name,
            "initial": self.initial,
            "states": list(self.states),
            "transitions": [dict(transition) for transition in self.transitions],
            "current": self.current,
        }
        return content if self.metadata is None else {**content, "metadata": dict(self.metadata)}

    def validate(self) -> None:
        """Raise InvalidRequest unless this defines a procedure."""
        validate_procedure_dict(self.to_dict())


class ProcedureRunner:
    """Takes the steps of a procedure; the procedure itself stays as it is."""

    def __init__(self, procedure: Procedure) -> None:
        self._definition = parse(procedure.to_dict())
        self._procedure = procedure

    @property
    def current(self) -> str:
        return self._definition.current

    @property
    def available_triggers(self) -> list[str]:
        """The triggers that would succeed now; raises InvalidRequest where one depends on a fact."""
        return allowed(self._definition, {})

    def trigger(self, name: str) -> None:
        """Take the step; raises Conflict or InvalidRequest when it cannot be taken now."""
        self._definition = step(self._definition, name, {})

    do = trigger

    def replay(self, triggers: Sequence[str]) -> None:
        """Take the steps in order, from the initial state on."""
        self._definition = parse({**self._procedure.to_dict(), "current": self._procedure.initial})
        for name in triggers:
            self.trigger(name)

    def snapshot(self) -> Procedure:
        """The procedure as it stands now."""
        return Procedure.from_dict({**self._procedure.to_dict(), "current": self.current})
