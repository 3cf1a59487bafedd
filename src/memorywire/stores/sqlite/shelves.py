"""The shelves of a store: filled on first use, the least recently used ones leave when memory is short."""

from collections import OrderedDict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Lock
from typing import TYPE_CHECKING

from memorywire.model.record import Scope

if TYPE_CHECKING:  # arrays are loaded for the first shelf
    from memorywire.stores.sqlite.shelf import Shelf

MEMORY = 512 * 1024 * 1024


def _shelf(tenant: str, agent: str, dimension: int) -> "Shelf":
    from memorywire.stores.sqlite.shelf import Shelf

    return Shelf(tenant, agent, dimension)


class _Place:
    def __init__(self, shelf: "Shelf") -> None:
        self.shelf = shelf
        self.lock = Lock()
        self.nbytes = 0


class Shelves:
    """At most `memory` bytes of shelves, beyond the one in use."""

    def __init__(
        self, dimension: int, memory: int = MEMORY, *, make: "Callable[[str, str, int], Shelf]" = _shelf
    ) -> None:
        self._dimension = dimension
        self._make = make
        self._memory = memory
        self._lock = Lock()
        self._places: OrderedDict[tuple[str, str], _Place] = OrderedDict()

    def __len__(self) -> int:
        return len(self._places)

    @contextmanager
    def take(self, tenant: str, agent: str) -> Iterator["Shelf"]:
        """The agent's shelf, for this thread alone.

        Take it before the snapshot begins: then no snapshot is older than what the shelf has seen.
        """
        key = (tenant, agent)
        with self._lock:
            if key not in self._places:
                self._places[key] = _Place(self._make(tenant, agent, self._dimension))
            place = self._places[key]
            self._places.move_to_end(key)
        with place.lock:
            seen = place.shelf.seen
            try:
                yield place.shelf
            except BaseException:
                self._discard(key, place)  # it may have caught up half way
                raise
            if place.shelf.seen == seen:
                return
            place.nbytes = place.shelf.nbytes
        self._make_room()

    def seen(self, tenant: str, agent: str) -> int:
        """After which change what is held of the agent was current; 0 when nothing is."""
        place = self._places.get((tenant, agent))
        return 0 if place is None else place.shelf.seen

    def at_hand(self, scope: Scope) -> bool:
        """Whether the agent's shelf is filled, small or asked for one user, and in nobody's hands."""
        place = self._places.get((scope.tenant, scope.agent))
        if place is None or place.lock.locked():
            return False
        return place.shelf.small or (scope.user is not None and place.shelf.seen > 0)

    def loose(self, tenant: str, agent: str) -> int:
        """How many rows of the agent's shelf were not read from a pack."""
        place = self._places.get((tenant, agent))
        return 0 if place is None else place.shelf.loose

    def tied(self, tenant: str, agent: str) -> None:
        """What is worth a pack is in one now."""
        place = self._places.get((tenant, agent))
        if place is not None:
            place.shelf.loose = 0

    def _discard(self, key: tuple[str, str], place: _Place) -> None:
        with self._lock:
            if self._places.get(key) is place:
                del self._places[key]

    def _make_room(self) -> None:
        with self._lock:
            while len(self._places) > 1 and sum(p.nbytes for p in self._places.values()) > self._memory:
                self._places.popitem(last=False)
