"""The consolidator: a package that merges, ends and archives memories, found by its entry point."""

from collections.abc import Sequence
from contextlib import AbstractAsyncContextManager
from functools import cache
from typing import Protocol

from msgspec.structs import replace

from memorywire.app.container import Container
from memorywire.model.codec import load
from memorywire.model.consolidation import ConsolidationSettings, Dreamed, Probe, RunResult, SessionRules
from memorywire.model.errors import CapabilityUnsupported, InvalidRequest, Refused
from memorywire.model.proposal import is_agent
from memorywire.model.record import Json, Scope
from memorywire.model.text import install_hint
from memorywire.pipeline.context import Context
from memorywire.wire import validate

GROUP = "memorywire.consolidators"
"""Entry points of this group name a Consolidator; `[dream] consolidator` in the settings chooses one."""

PACKAGE = "memorywire-consolidate"


class WorkStatus(Protocol):
    """One kind of background work: when it last finished, for how many agents, and the last problem."""

    ended_at: int | None
    agents: int
    done: int
    problem: str | None


class BackgroundWork(Protocol):
    """What a consolidator does by itself while a process runs, and how that goes."""

    settings: ConsolidationSettings

    @property
    def promotion(self) -> WorkStatus: ...

    @property
    def runs(self) -> WorkStatus: ...

    def run_in_background(self) -> AbstractAsyncContextManager[None]:
        """Do the enabled work while this context is open."""


class Consolidator(Protocol):
    """What an entry point of the group names."""

    async def dream(
        self,
        scope: Scope,
        context: Context,
        settings: ConsolidationSettings,
        *,
        probes: Sequence[Probe] | None = None,
        dry_run: bool = False,
    ) -> RunResult:
        """Consolidate the memories of the scope, once; without `probes` the latest recalls are the probes."""

    async def load_rules(self, scope: Scope, context: Context) -> SessionRules:
        """Return what the next session is to know, to do and never to do."""

    async def load_run(self, scope: Scope, run: str, context: Context) -> dict[str, Json]:
        """Return a run, its steps, and each version that it began or ended. Raises NotFound."""

    def background(self, container: Container, settings: ConsolidationSettings) -> BackgroundWork:
        """Return the background work of a process; it starts with `run_in_background`."""


async def consolidate(scope: Scope, container: Container, *, dry_run: bool = False) -> Dreamed:
    """Consolidate the memories of the scope once, for a person; raises Refused for an agent."""
    governance = container.context.governance
    if governance is not None and is_agent(governance.caller):
        raise Refused("an agent does not consolidate memory", fix="ask as a person with the right to manage")
    if not isinstance(dry_run, bool):
        raise InvalidRequest("dry_run is true or false", field="dry_run")
    validate.check(
        "list", {"agent_id": scope.agent, **({} if scope.user is None else {"user_id": scope.user})}
    )
    context, settings = await container.context.serving(scope), container.consolidation
    consolidator = find_consolidator(settings.consolidator)
    run = await consolidator.dream(scope, context, settings, dry_run=dry_run)
    rules = await consolidator.load_rules(scope, context)
    dreamed: Dreamed = load(Dreamed, {**run.document(), "rules": {}})
    return replace(dreamed, rules=rules)


@cache
def find_consolidator(name: str) -> Consolidator:
    """Return the consolidator of this name. Raises CapabilityUnsupported if no package provides one."""
    from importlib.metadata import entry_points

    points = entry_points(group=GROUP)
    for point in points:
        if point.name == name:
            consolidator: Consolidator = point.load()
            return consolidator
    if not points:
        detail = f"consolidation needs the package {PACKAGE}"
        raise CapabilityUnsupported(detail, fix=install_hint(PACKAGE))
    names = ", ".join(sorted(point.name for point in points))
    raise InvalidRequest(f"no consolidator is called {name}", field="dream", fix=f"one of: {names}")
