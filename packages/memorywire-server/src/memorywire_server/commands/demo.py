"""The data of `memorywire serve --demo`: two agents of a tea shop, in a temporary store."""

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from importlib.resources import files
from typing import TYPE_CHECKING

import click
from msgspec.structs import replace

from memorywire.cli.app import open_app
from memorywire.cli.context import CliContext
from memorywire.cli.demo import open_temporary
from memorywire.model.clock import DAY_MS, Clock, system_clock
from memorywire.model.consolidation import ConsolidationSettings
from memorywire.model.errors import CapabilityUnsupported
from memorywire.model.record import Json

if TYPE_CHECKING:
    from memorywire.app import Container, Settings


OPERATORS = {"olga": "admin", "ravi": "reviewer", "noor": "reader"}


class Calendar:
    """A clock that can be set to a past time, so that the demo data has a history."""

    def __init__(self, now: Clock) -> None:
        self._now = now
        self.back_ms = 0

    def __call__(self) -> int:
        return self._now() - self.back_ms


async def fill_demo(container: "Container", calendar: Calendar) -> None:
    """Run the calls of demo_world.json, each as its caller and on its day."""
    from memorywire.app.consolidators import find_consolidator
    from memorywire.app.dispatch import dispatch
    from memorywire.model.consolidation import DREAM
    from memorywire.model.record import DEFAULT_TENANT, Scope
    from memorywire.wire.codec import encode

    references: dict[str, Json] = {}
    for step in json.loads((files(__package__) / "demo_world.json").read_text(encoding="utf-8")):
        calendar.back_ms = int(step["days"] * DAY_MS)
        caller = replace(container, context=container.as_caller(step["as"]))
        payload = _fill_references(step["with"], references)
        if step["do"] == DREAM:
            settings, scope = ConsolidationSettings(), Scope(agent=payload["agent_id"])
            with suppress(CapabilityUnsupported):  # the demo also works without a consolidator
                consolidator = find_consolidator(settings.consolidator)
                await consolidator.dream(scope, caller.context, settings, probes=())
            continue
        answer = encode(await dispatch(step["do"], payload, caller, tenant=DEFAULT_TENANT))
        references |= {name: answer[field] for name, field in step.get("keep", {}).items()}
    calendar.back_ms = 0


async def add_demo_operators(container: "Container") -> str:
    """Add the operators and return the token of the first one."""
    from memorywire.journal.operators import Operator, Registry, Role
    from memorywire.pipeline.context import unsupported

    if container.journal is None:
        raise unsupported("a demo", "no journal is configured")
    registry = Registry(journal=container.journal, clock=container.context.clock, actor="person:local")
    issues = [
        await registry.add(
            Operator(name=name, role=Role(role), made_at=container.context.clock(), tenants=("*",))
        )
        for name, role in OPERATORS.items()
    ]
    return issues[0].secret


def _fill_references(value: Json, references: Mapping[str, Json]) -> Json:
    """Return the value with each `$name` replaced by the value from an earlier answer."""
    if isinstance(value, str) and value.startswith("$"):
        return references[value[1:]]
    if isinstance(value, dict):
        return {name: _fill_references(inner, references) for name, inner in value.items()}
    return [_fill_references(inner, references) for inner in value] if isinstance(value, list) else value


_TOUR = """\
Demo data: two agents of a tea shop with memories of forty days. {waiting} changes wait for your decision.
  1. Open the console, below, and sign in with this token: {token}
     Decide on three changes in the inbox: j and k move, a approves, r rejects, ? shows help.
     Some come from a form, some from the web; one is an attack, one had a secret, one would erase.
  2. A mistake? Press u, or Undo in the message.
  3. Ask in the workbench what Ana likes to drink, and see why each memory was recalled or left out.
  4. Under dreams, read what each consolidation run changed, memory by memory, and undo a run.
  5. Under activity, press Verify: the ledger proves that no entry was changed afterwards.
Ctrl-C stops the server and deletes the demo data.
"""


@contextmanager
def open_demo(cli: CliContext) -> Iterator[CliContext]:
    """Yield a context with the demo data in a temporary store; the user's own store is not touched."""
    import asyncio

    consolidation = _choose_consolidation()
    own = {"agent": "support", "policy": "balanced", "console": None, "consolidation": consolidation}
    with open_temporary(cli, **own) as (_, settings):
        tour = asyncio.run(_build_demo(settings))
        if not cli.as_json:
            click.echo(tour)
        with cli.with_settings(settings) as demo:
            yield demo


def _choose_consolidation() -> ConsolidationSettings:
    """Return the settings of background work: a run every day at 03:00, if a consolidator is installed."""
    from memorywire.app.consolidators import find_consolidator

    settings = ConsolidationSettings()
    try:
        find_consolidator(settings.consolidator)
    except CapabilityUnsupported:
        return settings
    return replace(settings, night=3 * 60)


async def _build_demo(settings: "Settings") -> str:
    """Create the demo data and return the text of the tour."""
    from memorywire.journal.acts import Wanted
    from memorywire.model.proposal import WAITING
    from memorywire.model.record import DEFAULT_TENANT

    calendar = Calendar(system_clock)
    async with open_app(settings, calendar) as container:
        await fill_demo(container, calendar)
        token = await add_demo_operators(container)
        waiting = await container.context.require_governance().journal.count_proposals(
            Wanted(tenant=DEFAULT_TENANT, states=WAITING)
        )
    return _TOUR.format(waiting=waiting, token=token)
