"""A small world to look at: two agents of a tea shop, forty days of memories, and an inbox."""

import json
from collections.abc import Mapping
from dataclasses import replace
from importlib.resources import files
from typing import TYPE_CHECKING

from memorywire.model.clock import DAY_MS, Clock
from memorywire.model.record import Json

if TYPE_CHECKING:  # the engine is loaded by the verb that runs, not to show --help
    from memorywire.app import Container

OPERATORS = {"olga": "admin", "ravi": "reviewer", "noor": "reader"}


class Calendar:
    """A clock that can be put back, so that what is told has a past."""

    def __init__(self, now: Clock) -> None:
        self._now = now
        self.back_ms = 0

    def __call__(self) -> int:
        return self._now() - self.back_ms


async def tell(container: "Container", calendar: Calendar) -> None:
    """Let everything happen: real calls, each by its caller and on its day."""
    from memorywire.app.dispatch import dispatch
    from memorywire.consolidate.run import ConsolidationRun, dream
    from memorywire.consolidate.steps import DREAM
    from memorywire.model.record import DEFAULT_TENANT, Scope
    from memorywire.wire.codec import encode

    known: dict[str, Json] = {}
    for step in json.loads((files(__package__) / "demo_world.json").read_text(encoding="utf-8")):
        calendar.back_ms = int(step["days"] * DAY_MS)
        asked = replace(container, context=container.as_caller(step["as"]))
        payload = _filled(step["with"], known)
        if step["do"] == DREAM:
            await dream(Scope(agent=payload["agent_id"]), asked.context, ConsolidationRun())
            continue
        answer = encode(await dispatch(step["do"], payload, asked, tenant=DEFAULT_TENANT))
        known |= {name: answer[field] for name, field in step.get("keep", {}).items()}
    calendar.back_ms = 0


async def name_operators(container: "Container") -> str:
    """People with roles; the token of the first one."""
    from memorywire.journal.operators import Operator, Role
    from memorywire.pipeline.context import unsupported
    from memorywire.server.operators import Registry

    if container.journal is None:
        raise unsupported("a demo", "no journal is wired here")
    registry = Registry(journal=container.journal, clock=container.context.clock, actor="person:local")
    issued = [
        await registry.add(
            Operator(name=name, role=Role(role), made_at=container.context.clock(), tenants=("*",))
        )
        for name, role in OPERATORS.items()
    ]
    return issued[0].secret


def _filled(value: Json, known: Mapping[str, Json]) -> Json:
    """The value with `$name` replaced by what an earlier answer gave."""
    if isinstance(value, str) and value.startswith("$"):
        return known[value[1:]]
    if isinstance(value, dict):
        return {name: _filled(inner, known) for name, inner in value.items()}
    return [_filled(inner, known) for inner in value] if isinstance(value, list) else value
