"""What is done for everybody's memory in the background: notes are taken over, and nights are dreamed."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Iterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, replace
from typing import Any, NoReturn

from memorywire.app import House
from memorywire.consolidate.probes import recent_probes
from memorywire.consolidate.promote import Window, promote
from memorywire.consolidate.run import Night, dream, night_of
from memorywire.journal.standing import tenants
from memorywire.model.clock import DAY_MS
from memorywire.model.consolidation import Sleep
from memorywire.model.errors import MemorywireError
from memorywire.model.record import DEFAULT_TENANT, Scope
from memorywire.pipeline.context import Tools
from memorywire.stores.contract import Surveyor

CALLER = "system:dream"
"""Who the ledger says did it."""

_MINUTE_MS = 60_000


@dataclass(slots=True)
class Round:
    """One kind of background work: when it last finished, for how many agents, and what went wrong."""

    ended_at: int | None = None
    agents: int = 0
    done: int = 0
    problem: str | None = None


class Tending:
    """The background work of one process, and how it goes. `done` counts notes and runs since it began."""

    def __init__(self, house: House, sleep: Sleep) -> None:
        self.sleep = sleep
        self.notes = Round()
        self.nights = Round()
        self._house = house
        self._tools = house.as_caller(CALLER)
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

    async def see_to(self, round: Round, work: Callable[[Scope, Tools], Awaitable[int]]) -> None:
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

    async def _promote(self, scope: Scope, tools: Tools) -> int:
        return len((await promote(scope, tools, Window())).promoted)

    async def _dream(self, scope: Scope, tools: Tools) -> int:
        done = await dream(scope, tools, await with_questions(self._night, scope, tools))
        return int(done.run is not None)


async def with_questions(night: Night, scope: Scope, tools: Tools) -> Night:
    """The night with the questions that were asked lately, which must not suffer."""
    if tools.office is None:
        return night
    await tools.office.journal.settle()
    return replace(night, probes=await recent_probes(scope, tools.office.journal))


async def everybody(house: House) -> list[Scope]:
    """All agents of all tenants that have memories here, wherever these are kept."""
    known = {DEFAULT_TENANT}
    if house.journal is not None:
        known |= set(await house.journal.file.read(tenants))
    return [
        Scope(tenant=tenant, agent=agent)
        for tenant in sorted(known)
        for agent in sorted(await _agents(house, tenant))
    ]


async def _agents(house: House, tenant: str) -> set[str]:
    store = house.tools.store
    here = await store.owners(tenant) if isinstance(store, Surveyor) else []
    elsewhere = [] if house.backends is None else await house.backends.list(tenant)
    return {agent for agent, _ in here} | {agent for edition in elsewhere for agent in edition.agents}


def until_ms(at: int, now: int) -> int:
    """How long it is until the next time it is so many minutes after midnight UTC; never none."""
    return (at * _MINUTE_MS - now - 1) % DAY_MS + 1
