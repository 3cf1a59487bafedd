"""What is done for everybody's memory in the background: notes are taken over, and nights are dreamed."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Iterator
from contextlib import asynccontextmanager, suppress
from typing import Any, NoReturn

from msgspec import Struct
from msgspec.structs import replace

from memorywire.app import Container
from memorywire.consolidate.probes import recent_probes
from memorywire.consolidate.promote import Window, promote
from memorywire.consolidate.run import ConsolidationRun, dream, night_of
from memorywire.journal.standing import tenants
from memorywire.model.clock import DAY_MS
from memorywire.model.consolidation import ConsolidationSettings
from memorywire.model.errors import MemorywireError
from memorywire.model.record import DEFAULT_TENANT, Scope
from memorywire.pipeline.context import Context
from memorywire.stores.contract import SupportsListing

CALLER = "system:dream"
"""Who the ledger says did it."""

_MINUTE_MS = 60_000


class Round(Struct):
    """One kind of background work: when it last finished, for how many agents, and what went wrong."""

    ended_at: int | None = None
    agents: int = 0
    done: int = 0
    problem: str | None = None


class Tending:
    """The background work of one process, and how it goes. `done` counts notes and runs since it began."""

    def __init__(self, container: Container, sleep: ConsolidationSettings) -> None:
        self.sleep = sleep
        self.notes = Round()
        self.nights = Round()
        self._house = container
        self._tools = container.as_caller(CALLER)
        self._night = night_of(sleep)

    @asynccontextmanager
    async def going_on(self) -> AsyncIterator[None]:
        """Do the work that is switched on, for as long as this context is open."""
        tasks = [asyncio.create_task(work) for work in self._works()]
        try:
            yield
        finally:
            for task in tasks:
                task.cancel()
                with suppress(asyncio.CancelledError):
                    await task

    def _works(self) -> Iterator[Coroutine[Any, Any, NoReturn]]:
        if self.sleep.promote is not None:
            yield self.keep_promoting(self.sleep.promote)
        if self.sleep.night is not None:
            yield self.keep_dreaming(self.sleep.night)

    async def keep_promoting(self, every: float) -> NoReturn:
        """Look through the windows of every agent again and again."""
        while True:
            await asyncio.sleep(every)
            await self.see_to(self.notes, self._promote)

    async def keep_dreaming(self, at: int) -> NoReturn:
        """Dream for every agent each day at that minute after midnight UTC."""
        while True:
            await asyncio.sleep(until_ms(at, self._tools.clock()) / 1000)
            await self.see_to(self.nights, self._dream)

    async def see_to(self, round: Round, work: Callable[[Scope, Context], Awaitable[int]]) -> None:
        """Do the work for every agent; one whose store is away, or changed meanwhile, gets another turn."""
        round.problem = None
        scopes: list[Scope] = []
        try:
            scopes = await everybody(self._house)
        except MemorywireError as problem:
            round.problem = problem.detail
        for scope in scopes:
            try:
                round.done += await work(scope, await self._tools.serving(scope))
            except MemorywireError as problem:
                round.problem = problem.detail
        round.ended_at, round.agents = self._tools.clock(), len(scopes)

    async def _promote(self, scope: Scope, context: Context) -> int:
        return len((await promote(scope, context, Window())).promoted)

    async def _dream(self, scope: Scope, context: Context) -> int:
        done = await dream(scope, context, await with_questions(self._night, scope, context))
        return int(done.run is not None)


async def with_questions(night: ConsolidationRun, scope: Scope, context: Context) -> ConsolidationRun:
    """The night with the questions that were asked lately, which must not suffer."""
    if context.office is None:
        return night
    await context.office.journal.settle()
    return replace(night, probes=await recent_probes(scope, context.office.journal))


async def everybody(container: Container) -> list[Scope]:
    """All agents of all tenants that have memories here, wherever these are kept."""
    known = {DEFAULT_TENANT}
    if container.journal is not None:
        known |= set(await container.journal.file.read(tenants))
    return [
        Scope(tenant=tenant, agent=agent)
        for tenant in sorted(known)
        for agent in sorted(await _agents(container, tenant))
    ]


async def _agents(container: Container, tenant: str) -> set[str]:
    store = container.context.store
    here = await store.owners(tenant) if isinstance(store, SupportsListing) else []
    elsewhere = [] if container.backends is None else await container.backends.list(tenant)
    return {agent for agent, _ in here} | {agent for edition in elsewhere for agent in edition.agents}


def until_ms(at: int, now: int) -> int:
    """How long it is until the next time it is so many minutes after midnight UTC; never none."""
    return (at * _MINUTE_MS - now - 1) % DAY_MS + 1
