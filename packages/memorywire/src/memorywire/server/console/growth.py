"""How the ledger grows, day by day. Counting takes a while, so one count serves for a minute."""

from collections.abc import Sequence

from memorywire.journal.operators import EVERYBODY
from memorywire.server.callers import Caller
from memorywire.server.http import audit as books
from memorywire.server.http.endpoint import Door

_FRESH_MS = 60_000
_MOST_TENANTS = 64


class Growth:
    """The counts of each tenant as they were lately."""

    def __init__(self, door: Door) -> None:
        self._door = door
        self._counted: dict[str, tuple[int, Sequence[tuple[int, str, int]]]] = {}

    async def by_day(self, caller: Caller) -> Sequence[tuple[int, str, int]] | None:
        """(day, operation, count); None for a caller limited to some agents, as all are counted together."""
        if caller.agents != EVERYBODY:
            return None
        now = self._door.container.context.clock()
        at, counts = self._counted.get(caller.tenant, (None, ()))
        if at is None or not 0 <= now - at < _FRESH_MS:
            counts = await books.growth(self._door, caller)
            if len(self._counted) >= _MOST_TENANTS:
                self._counted.clear()
            self._counted[caller.tenant] = (now, counts)
        return counts
