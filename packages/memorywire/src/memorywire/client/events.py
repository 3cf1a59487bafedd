"""Events as they happen: a feed that any number of listeners reads, each from its own place."""

import asyncio
import time
from collections.abc import AsyncIterator, Callable

from memorywire.app.container import Container
from memorywire.journal.ledger import Event
from memorywire.pipeline.context import unsupported
from memorywire.policy.patterns import names

__all__ = ["Event", "Feed"]

_BATCH = 500
PAUSE = 0.2
"""Seconds between two looks at the ledger, also for entries of other processes. Where the database announces
entries, listeners are woken by them, and look less often by themselves."""


class Feed:
    """The events of a container. All listeners share one query of the ledger."""

    def __init__(self, container: Container, now: Callable[[], float] = time.monotonic) -> None:
        if container.journal is None:
            raise unsupported("events", "no journal is wired here")
        self._journal = container.journal
        self._now = now
        self._looking = asyncio.Lock()
        self._looked_at = -PAUSE
        self._newest = 0
        self._heard = 0

    async def now(self) -> int:
        """The number of the newest entry at this moment."""
        return await self._journal.read_last_sequence()

    async def newest(self) -> int:
        """The number of the newest entry, as of a moment ago."""
        async with self._looking:
            position = self._journal.heard
            if position != self._heard or self._now() - self._looked_at >= PAUSE:
                self._heard = position
                self._newest = await self.now()
                self._looked_at = self._now()
        return self._newest

    async def after(
        self, position: int, *, tenant: str | None, agents: tuple[str, ...] = ("*",)
    ) -> tuple[list[Event], int]:
        """The next events behind `position`, and where to go on; none when there is nothing new."""
        if await self.newest() <= position:
            return [], position
        events, further = await self._journal.find_events(position, tenant=tenant, limit=_BATCH)
        return [event for event in events if names(agents, event.agent)], further

    async def since(self, position: int, *, tenant: str) -> list[Event]:
        """Every event behind `position`, as of now."""
        events: list[Event] = []
        while position < await self.now():
            further, position = await self._journal.find_events(position, tenant=tenant, limit=_BATCH)
            events += further
        return events

    @property
    def heard(self) -> int:
        """How much was announced. Read it before a look: what comes during the look is then not missed."""
        return self._journal.heard

    async def pause(self, heard: int) -> float:
        """Wait a moment, or until more was announced than `heard`; gives the seconds that it took."""
        start = self._now()
        await self._journal.wait_for_news(heard, PAUSE)
        return self._now() - start

    async def listen(
        self, position: int | None = None, *, tenant: str, agents: tuple[str, ...] = ("*",)
    ) -> AsyncIterator[Event]:
        """Every event behind `position`, or from now on, as it happens; without an end."""
        place = await self.now() if position is None else position
        while True:
            position = self.heard
            events, place = await self.after(place, tenant=tenant, agents=agents)
            for event in events:
                yield event
            if not events:
                await self.pause(position)
