"""A run while it lasts, in the process that began it: its secrets, and what is under way in it."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from memorywire.model.errors import Conflict
from memorywire_openwop.vault import Vault


def over() -> Conflict:
    return Conflict("the run has ended", field="runId", fix="start another one")


class Attended:
    """Sees to it that what was begun in a run is done before it ends, and nothing is begun after.

    So a run tells nothing, and keeps nothing in its own memories, after its end.
    """

    def __init__(self) -> None:
        self.vault = Vault()
        self._at_work = 0
        self._idle = asyncio.Event()
        self._idle.set()
        self._ending = False

    @asynccontextmanager
    async def at_work(self) -> AsyncIterator[None]:
        """Mark that something is being done in the run; raises Conflict when the run is about to end."""
        if self._ending:
            raise over()
        self._at_work += 1
        self._idle.clear()
        try:
            yield
        finally:
            self._at_work -= 1
            if not self._at_work:
                self._idle.set()

    @asynccontextmanager
    async def ending(self) -> AsyncIterator[None]:
        """Wait until nothing is under way, then end the run; if the body fails, the run stays open."""
        self._ending = True
        try:
            await self._idle.wait()
            yield
        except BaseException:
            self._ending = False
            raise
