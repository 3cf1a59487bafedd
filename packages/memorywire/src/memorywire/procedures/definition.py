"""A procedure as a value: its states, the ways between them, and where it stands."""

from collections.abc import Mapping

from memorywire.model.record import Json
from memorywire.model.values import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Transition:
    """One way out of one state. Without `dest` it is internal: it happens, and the state stays."""

    trigger: str
    source: str
    dest: str | None
    conditions: tuple[str, ...] = ()
    unless: tuple[str, ...] = ()

    @property
    def target(self) -> str:
        return self.source if self.dest is None else self.dest

    @property
    def facts(self) -> tuple[str, ...]:
        """The names the caller must know true or false."""
        return (*self.conditions, *self.unless)

    @property
    def guard(self) -> str:
        """What must hold and what must not, in words; empty when nothing is asked."""
        return ", ".join([*self.conditions, *(f"not {fact}" for fact in self.unless)])


@dataclass(frozen=True, slots=True, kw_only=True)
class Definition:
    """A state machine whose every name is checked; its transitions stand in the order they are tried."""

    name: str
    initial: str
    states: tuple[str, ...]
    transitions: tuple[Transition, ...]
    current: str
    metadata: Mapping[str, Json]

    @property
    def triggers(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(way.trigger for way in self.transitions))

    def ways(self) -> list[Transition]:
        """The transitions out of the current state."""
        return [way for way in self.transitions if way.source == self.current]
