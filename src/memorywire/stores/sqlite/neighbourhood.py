"""Turns of a session beside each other: what they lend, among the rows a query may see."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from memorywire.stores.relevance import NEIGHBOURS

Floats = NDArray[np.float64]
Rows = NDArray[np.int64]

STEPS = tuple((sign * distance, share) for distance, share in NEIGHBOURS for sign in (-1, 1))


@dataclass(frozen=True, slots=True)
class Neighbourhood:
    """`order` numbers the rows that belong to a session, in session order; `session` runs beside it.

    `size` is how many rows there are in all; it also stands for a neighbour that is not there.
    """

    order: Rows
    session: Rows
    size: int

    def lent(self, own: Floats) -> Floats:
        """What each row borrows from its neighbours."""
        lent = np.zeros(self.size)
        for distance, share in NEIGHBOURS:
            before, behind = self.order[:-distance], self.order[distance:]
            same = self.session[:-distance] == self.session[distance:]
            before, behind = before[same], behind[same]
            lent[behind] += share * own[before]
            lent[before] += share * own[behind]
        return lent

    def around(self, rows: Rows) -> list[Rows]:
        """For each of STEPS, the neighbour of each of the rows at that step."""
        place = np.full(self.size, -1)
        place[self.order] = np.arange(len(self.order))
        return [self._at(place[rows], step) for step, _ in STEPS]

    def _at(self, places: Rows, step: int) -> Rows:
        there = places + step
        valid = (places >= 0) & (there >= 0) & (there < len(self.order))
        safe_there, safe_here = np.where(valid, there, 0), np.where(valid, places, 0)
        if not len(self.order):
            return np.full(len(places), self.size)
        valid &= self.session[safe_there] == self.session[safe_here]
        return np.where(valid, self.order[safe_there], self.size)
