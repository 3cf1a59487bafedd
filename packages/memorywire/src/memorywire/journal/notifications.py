"""Hears of entries that other processes add to the ledger of a database, for whoever waits for news."""

import asyncio
from contextlib import suppress

from memorywire.model.errors import MemorywireError
from memorywire.stores.postgres.database import Database

SELDOM = 1.0
"""Seconds after which a listener looks by itself: a dead connection may not be noticed."""

AGAIN = 1.0
"""Seconds until a connection that was lost is opened again."""


class Listener:
    """One connection that listens, however many wait; it is opened for the first of them.

    `heard` counts what was announced, so that nobody misses what comes between a look and a wait.
    """

    def __init__(self, database: Database) -> None:
        self.heard = 0
        self._database = database
        self._more = asyncio.Condition()
        self._listens = False
        self._task: asyncio.Task[None] | None = None

    async def wait(self, heard: int, seconds: float) -> None:
        """Wait until more than that is heard: for `seconds` if nothing can be heard, else for longer."""
        if self._task is None:
            self._task = asyncio.get_running_loop().create_task(self._listen())
        with suppress(TimeoutError):
            async with asyncio.timeout(SELDOM if self._listens else seconds), self._more:
                await self._more.wait_for(lambda: self.heard != heard)

    async def close(self) -> None:
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait([self._task])

    async def _listen(self) -> None:
        """Listen until cancelled; a server that goes away is looked for again."""
        while True:
            with suppress(MemorywireError):
                async for _ in self._database.heard(f"{self._database.location.schema}_ledger"):
                    self._listens = True
                    self.heard += 1
                    async with self._more:
                        self._more.notify_all()
            self._listens = False
            await asyncio.sleep(AGAIN)
