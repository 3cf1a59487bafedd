"""Turns of a session beside each other: what they lend, among the rows a query may see."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from memorywire.model.values import dataclass
from memorywire.search.relevance import NEIGHBOURS

Floats = NDArray[np.floating[Any]]
Places = NDArray[np.signedinteger[Any]]

STEPS = tuple((sign * distance, share) for distance, share in NEIGHBOURS for sign in (-1, 1))
ALL_LENT = sum(share for _, share in STEPS)


@dataclass(frozen=True, slots=True)
class Neighbourhood:
    """Which selected rows stand beside each other in a session.

    `order` has the places of the rows that belong to a session, in session order, `session` the number of
    each one's session. `size` is the number of places in all, and stands for a neighbour that is not there.
    """

    order: Places
    session: NDArray[np.int32]
    size: int

    def __bool__(self) -> bool:
        return bool(len(self.order))

    def of(self, session: int) -> Places:
        """The places of the turns of a session."""
        first, last = (int(np.searchsorted(self.session, session, side)) for side in ("left", "right"))
        return self.order[first:last]

    def lent(self, own: Floats) -> Floats:
        """What each row of `order` borrows from its neighbours."""
        given = own[self.order]
        lent = np.zeros_like(given)
        for distance, share in NEIGHBOURS:
            same = self.session[:-distance] == self.session[distance:]
            lent[distance:] += share * (given[:-distance] * same)
            lent[:-distance] += share * (given[distance:] * same)
        return lent

    def around(self, places: Places) -> list[Places]:
        """For each of STEPS, the neighbour at that step of each of the places, which ascend."""
        wanted = np.zeros(self.size, bool)
        wanted[places] = True
        standing = np.flatnonzero(wanted[self.order])
        here = np.full(len(places), -1)
        here[np.searchsorted(places, self.order[standing])] = standing
        return [self._at(here, step) for step, _ in STEPS]

    def _at(self, here: Places, step: int) -> Places:
        there = here + step
        valid = (here >= 0) & (there >= 0) & (there < len(self.order))
        safe_there, safe_here = np.where(valid, there, 0), np.where(valid, here, 0)
        if not len(self.order):
            return np.full(len(here), self.size)
        valid &= self.session[safe_there] == self.session[safe_here]
        return np.where(valid, self.order[safe_there], self.size)
