"""A procedure as a value: its states, its transitions, and its current state."""

from collections.abc import Iterable, Mapping

from msgspec import Struct
from msgspec.structs import replace

from memorywire.model.errors import Conflict, InvalidRequest
from memorywire.model.record import Json


class Transition(Struct, frozen=True, kw_only=True):
    """A transition from one state. Without `dest` it is internal: it does not change the state."""

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
        """The facts whose truth the caller must state."""
        return (*self.conditions, *self.unless)

    @property
    def guard(self) -> str:
        """The conditions in words; empty if there are none."""
        return ", ".join([*self.conditions, *(f"not {fact}" for fact in self.unless)])


class Definition(Struct, frozen=True, kw_only=True):
    """A state machine with validated names; its transitions are in the order in which they are tried."""

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


_SHOWN = 12
"""The maximum number of triggers named in an error."""


def allowed(definition: Definition, facts: Mapping[str, bool]) -> list[str]:
    """Return the triggers that would succeed now, in the order of the definition."""
    ways = definition.ways()
    _refuse_unknown(ways, facts)
    free = {way.trigger for way in ways if not _failing(way, facts)}
    return [trigger for trigger in definition.triggers if trigger in free]


def step(definition: Definition, trigger: str, facts: Mapping[str, bool]) -> Definition:
    """Apply the first transition of this trigger whose conditions hold; returns the new definition.

    Raises InvalidRequest for an unknown trigger or a missing fact, Conflict if the trigger does not apply to
    the current state or its conditions do not hold.
    """
    ways = [way for way in definition.ways() if way.trigger == trigger]
    if trigger not in definition.triggers:
        fix = f"use one of: {_some(definition.triggers)}" if definition.triggers else None
        raise InvalidRequest("this procedure has no such trigger", field="trigger", fix=fix)
    if not ways:
        here = dict.fromkeys(way.trigger for way in definition.ways())
        raise Conflict(
            f"{trigger!r} does not lead out of state {definition.current!r}",
            field="trigger",
            fix=f"in this state there is: {_some(here)}" if here else "nothing leads out of this state",
        )
    _refuse_unknown(ways, facts)
    free = next((way for way in ways if not _failing(way, facts)), None)
    if free is None:
        failing = dict.fromkeys(saying for way in ways for saying in _failing(way, facts))
        detail = f"{trigger!r} is held back in state {definition.current!r}: {', '.join(failing)}"
        raise Conflict(detail, field="trigger", fix="trigger it again when this has changed")
    return replace(definition, current=free.target)


def _failing(way: Transition, facts: Mapping[str, bool]) -> list[str]:
    """Return in words the facts that prevent the transition."""
    reasons = [f"{fact} does not hold" for fact in way.conditions if not facts[fact]]
    return reasons + [f"{fact} holds" for fact in way.unless if facts[fact]]


def _refuse_unknown(ways: Iterable[Transition], facts: Mapping[str, bool]) -> None:
    for fact in dict.fromkeys(fact for way in ways for fact in way.facts):
        if not isinstance(facts.get(fact), bool):
            detail = f"whether {fact} holds must be known, as true or false"
            raise InvalidRequest(detail, field=f"facts.{fact}", fix=f"say {fact}=true or {fact}=false")


def _some(triggers: Iterable[str]) -> str:
    names = list(triggers)
    return ", ".join([*names[:_SHOWN], *(["..."] if len(names) > _SHOWN else [])])
