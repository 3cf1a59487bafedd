"""Compares the state with the ledger now and then, for as long as a server runs."""

import asyncio
from collections.abc import Callable
from contextlib import suppress

from memorywire.journal.sqlite import SqliteJournal
from memorywire.model.errors import MemorywireError

FIRST_AFTER_SECONDS = 300.0
EVERY_SECONDS = 3_600.0
_MOST = 20  # differences that are named


class StateChecks:
    """Compares what is new every hour, and everything once a day; `alarm` is told of each difference."""

    def __init__(self, journal: SqliteJournal, alarm: Callable[[str], None]) -> None:
        self._journal = journal
        self._alarm = alarm

    async def run(self, first: float = FIRST_AFTER_SECONDS, every: float = EVERY_SECONDS) -> None:
        """Compare until cancelled; a journal that does not answer is asked again."""
        await asyncio.sleep(first)
        while True:
            with suppress(MemorywireError):
                await self.check()
            await asyncio.sleep(every)

    async def check(self) -> bool:
        """Compare once; whether the state is what the ledger says."""
        report = await self._journal.verify_state()
        for one in report.differences[:_MOST]:
            self._alarm(f"the state differs from the ledger: {one}")
        return report.ok
