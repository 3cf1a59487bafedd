"""Background work: promotes short-term memories and runs the daily consolidation."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from contextlib import asynccontextmanager, suppress
from typing import Any, NoReturn

from msgspec import Struct
from msgspec.structs import replace

from memorywire.app.container import Container
from memorywire.model.clock import DAY_MS
from memorywire.model.consolidation import ConsolidationSettings
from memorywire.model.errors import MemorywireError
from memorywire.model.record import DEFAULT_TENANT, Scope
from memorywire.pipeline.context import Context
from memorywire.stores.contract import SupportsHistory, SupportsListing
from memorywire_consolidate.probes import recent_probes
from memorywire_consolidate.run import ConsolidationRun, build_run, dream
from memorywire_consolidate.short_term import promote

_AGE_MS = DAY_MS // 24

CALLER = "system:dream"
"""The caller that the ledger names."""


class WorkStatus(Struct):
    """One kind of background work: when it last finished, for how many agents, and the last problem."""

    ended_at: int | None = None
    agents: int = 0
    done: int = 0
    problem: str | None = None


class BackgroundWork:
    """The background work of one process and its status, for a scope or for every agent.

    `done` counts promoted memories and runs since the start.
    """

    def __init__(
        self, container: Container, settings: ConsolidationSettings, scope: Scope | None = None
    ) -> None:
        self.settings = settings
        self.promotion = WorkStatus()
        self.runs = WorkStatus()
        self._container = container
        self._scope = scope
        self._seen: dict[Scope, tuple[str, int]] = {}
        self._context = container.as_caller(CALLER)
        self._run_options = build_run(settings)

    @asynccontextmanager
    async def run_in_background(self) -> AsyncIterator[None]:
        """Run the enabled loops while this context is open."""
        loops: list[Coroutine[Any, Any, NoReturn]] = []
        if self.settings.promote is not None:
            loops.append(self.promote_repeatedly(self.settings.promote))
        if self.settings.night is not None:
            loops.append(self.consolidate_daily(self.settings.night))
        tasks = [asyncio.create_task(loop) for loop in loops]
        try:
            yield
        finally:
            for task in tasks:
                task.cancel()
                with suppress(asyncio.CancelledError):
                    await task

    async def promote_repeatedly(self, every: float) -> NoReturn:
        """Look through short-term memory every `every` seconds."""
        while True:
            await asyncio.sleep(every)
            await self.run_for_all(self.promotion, self._promote)

    async def consolidate_daily(self, at: int) -> NoReturn:
        """Consolidate every agent once a day, at that minute after midnight UTC."""
        while True:
            await asyncio.sleep(milliseconds_until(at, self._context.clock()) / 1000)
            await self.run_for_all(self.runs, self._dream)

    async def run_for_all(self, status: WorkStatus, work: Callable[[Scope, Context], Awaitable[int]]) -> None:
        """Do the work for every agent. An agent whose store fails is retried in the next run."""
        status.problem = None
        scopes: list[Scope] = []
        try:
            scopes = [self._scope] if self._scope is not None else await list_scopes(self._container)
        except MemorywireError as problem:
            status.problem = problem.detail
        for scope in scopes:
            try:
                status.done += await work(scope, await self._context.serving(scope))
            except MemorywireError as problem:
                status.problem = problem.detail
        status.ended_at, status.agents = self._context.clock(), len(scopes)

    async def _promote(self, scope: Scope, context: Context) -> int:
        """Promote once. If nothing changed, an agent is looked at again only after an hour."""
        now = context.clock()
        changes = []
        if isinstance(context.store, SupportsHistory):
            changes = await context.store.changes(scope, 1)
        newest = changes[0].id if changes else ""
        seen, at = self._seen.get(scope, (None, 0))
        if newest and newest == seen and now - at < _AGE_MS:
            return 0
        promotion = await promote(scope, context, self.settings)
        self._seen[scope] = (newest, now)
        return len(promotion.promoted)

    async def _dream(self, scope: Scope, context: Context) -> int:
        result = await dream(scope, context, await add_recent_probes(self._run_options, scope, context))
        return int(result.run is not None)


async def add_recent_probes(options: ConsolidationRun, scope: Scope, context: Context) -> ConsolidationRun:
    """Return the options with the latest recalls as probes."""
    if context.governance is None:
        return options
    await context.governance.journal.settle()
    return replace(options, probes=await recent_probes(scope, context.governance.journal))


async def list_scopes(container: Container) -> list[Scope]:
    """Return every agent of every tenant, of the store and of bound backends."""
    tenants = {DEFAULT_TENANT}
    if container.journal is not None:
        tenants |= set(await container.journal.list_tenants())
    scopes: list[Scope] = []
    for tenant in sorted(tenants):
        store = container.context.store
        here = await store.owners(tenant) if isinstance(store, SupportsListing) else []
        elsewhere = [] if container.backends is None else await container.backends.list(tenant)
        agents = {agent for agent, _ in here} | {agent for edition in elsewhere for agent in edition.agents}
        scopes += [Scope(tenant=tenant, agent=agent) for agent in sorted(agents)]
    return scopes


def milliseconds_until(at: int, now: int) -> int:
    """Return the milliseconds until the next time of day `at` (minutes after midnight UTC); at least 1."""
    return (at * 60_000 - now - 1) % DAY_MS + 1
