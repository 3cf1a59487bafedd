"""The current versions of one user of an agent, held in memory as a shelf of their own."""

import apsw

from memorywire.stores.sqlite.agent_index import SMALL, AgentIndex
from memorywire.stores.sqlite.rows import Bindings, Row
from memorywire.stores.sqlite.sql import QUERIES


class UserIndex(AgentIndex):
    """A small shelf for one user: what others of the agent have makes it no slower to fill or to search.

    A search looks only at the rows it selects, so it finds here what it would find on the agent's shelf.
    """

    def __init__(self, tenant: str, agent: str, user: str, dimension: int) -> None:
        super().__init__(tenant, agent, dimension)
        self._owner: Bindings = {"tenant": tenant, "agent": agent, "user": user, "most": SMALL + 1}
        self._extent: Row = (0, 0)

    def catch_up(self, db: apsw.Connection, most: int | None = None) -> bool:
        """Show exactly the user's versions that are current in the caller's snapshot.

        False, and nothing changes, when there are more than a small shelf holds, or more than `most` differ.
        """
        head = int(db.execute(QUERIES["head"]).get)
        if head == self.seen:
            return True
        [extent] = db.execute(QUERIES["extent_of_user"], self._owner)
        if extent[0] > SMALL:
            return False
        # What began stands behind all that was there: as many, none of them further on, are the same ones.
        if extent != self._extent and not self._follow(db, most):
            return False
        self._extent, self.seen = extent, head
        return True

    def _follow(self, db: apsw.Connection, most: int | None) -> bool:
        live = {position for (position,) in db.execute(QUERIES["positions_of_user"], self._owner)}
        known = set(self.positions[self._current.values].tolist())
        if most is not None and len(live ^ known) > most:
            return False
        self._remove([*(known - live)])
        self.load(db, [*(live - known)])
        return True
