"""The consolidator: a package that merges, ends and archives memories, found by its entry point."""

from collections.abc import Sequence
from contextlib import AbstractAsyncContextManager
from functools import cache
from typing import Protocol

from msgspec.structs import replace

from memorywire.app.container import Container
from memorywire.model.codec import load
from memorywire.model.consolidation import (
    LONGEST,
    SHORTEST,
    WINDOW,
    WINDOW_MAX,
    ConsolidationSettings,
    Dreamed,
    Probe,
    Promotion,
    RunResult,
    SessionRules,
)
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
    """The background work of a consolidator in a running process, and its status."""

    settings: ConsolidationSettings

    @property
    def promotion(self) -> WorkStatus: ...

    @property
    def runs(self) -> WorkStatus: ...

    def run_in_background(self) -> AbstractAsyncContextManager[None]:
        """Do the enabled work while this context is open."""


class Consolidator(Protocol):
    """The interface of an object that an entry point of the group provides."""

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
        """Return the rules of the next session: what to know, what to do and what never to do."""

    async def load_run(self, scope: Scope, run: str, context: Context) -> dict[str, Json]:
        """Return a run, its steps, and each version that it began or ended. Raises NotFound."""

    async def promote(
        self, scope: Scope, context: Context, settings: ConsolidationSettings, *, dry_run: bool = False
    ) -> Promotion:
        """Promote useful short-term memories to long-term ones, and archive unused ones, once."""

    def background(
        self, container: Container, settings: ConsolidationSettings, scope: Scope | None = None
    ) -> BackgroundWork:
        """Return the background work for a scope, or all agents; it starts with `run_in_background`."""


async def consolidate(scope: Scope, container: Container, *, dry_run: bool = False) -> Dreamed:
    """Consolidate the memories of the scope once, for a person; raises Refused for an agent."""
    context = await _open_scope(scope, container, dry_run=dry_run)
    settings = container.consolidation
    consolidator = find_consolidator(settings.consolidator)
    run = await consolidator.dream(scope, context, settings, dry_run=dry_run)
    rules = await consolidator.load_rules(scope, context)
    dreamed: Dreamed = load(Dreamed, {**run.document(), "rules": {}})
    return replace(dreamed, rules=rules)


async def promote(
    scope: Scope, container: Container, *, window: int | None = None, dry_run: bool = False
) -> Promotion:
    """Promote or archive the short-term memories of the scope once; raises Refused for an agent."""
    context = await _open_scope(scope, container, dry_run=dry_run)
    settings = with_window(container.consolidation, window)
    return await find_consolidator(settings.consolidator).promote(scope, context, settings, dry_run=dry_run)


def with_window(settings: ConsolidationSettings, window: int | None) -> ConsolidationSettings:
    """Return the settings with a window: the given one, else that of the settings, else the default."""
    if window is not None and (type(window) is not int or not 0 <= window <= WINDOW_MAX):
        fix = f"give a number from 0 to {WINDOW_MAX}; 0: only memories with the tag short-term"
        raise InvalidRequest("window must be a number of memories", field="window", fix=fix)
    return replace(settings, window=(settings.window or WINDOW) if window is None else window)


async def start(
    scope: Scope, container: Container, *, every: float, window: int | None
) -> tuple[BackgroundWork, AbstractAsyncContextManager[None]]:
    """Start the background work for a scope; return it, and the entered context whose exit ends it."""
    await _open_scope(scope, container, dry_run=False)
    if isinstance(every, bool) or not isinstance(every, int | float) or not SHORTEST <= every <= LONGEST:
        fix = f"give seconds, from {SHORTEST} to {LONGEST}"
        raise InvalidRequest("every must be a number of seconds", field="every", fix=fix)
    settings = replace(with_window(container.consolidation, window), promote=float(every))
    work = find_consolidator(settings.consolidator).background(container, settings, scope)
    running = work.run_in_background()
    await running.__aenter__()
    return work, running


async def _open_scope(scope: Scope, container: Container, *, dry_run: bool) -> Context:
    governance = container.context.governance
    if governance is not None and is_agent(governance.caller):
        raise Refused(
            "an agent cannot consolidate memory", fix="use the token of a person with the right to manage"
        )
    if not isinstance(dry_run, bool):
        raise InvalidRequest("dry_run must be true or false", field="dry_run")
    validate.check(
        "list", {"agent_id": scope.agent, **({} if scope.user is None else {"user_id": scope.user})}
    )
    return await container.context.serving(scope)


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
    raise InvalidRequest(f"there is no consolidator {name}", field="dream", fix=f"one of: {names}")
