"""The shelves of a store: filled on first use; the least recently used leave when memory is short."""

from collections import OrderedDict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Lock
from typing import TYPE_CHECKING, TypeAlias

from memorywire.model.record import Scope

if TYPE_CHECKING:  # arrays are loaded for the first shelf
    from memorywire.stores.sqlite.agent_index import AgentIndex

MEMORY = 512 * 1024 * 1024

# Small shelves make room for large ones, which take long to fill; but this share of the memory stays theirs.
_SMALL_SHARE = 8

Whose: TypeAlias = tuple[str, str, str | None]
"""Tenant and agent, and the user if only the rows of one are meant."""


def _shelf(tenant: str, agent: str, dimension: int) -> "AgentIndex":
    from memorywire.stores.sqlite.agent_index import AgentIndex

    return AgentIndex(tenant, agent, dimension)


def _corner(tenant: str, agent: str, user: str, dimension: int) -> "AgentIndex":
    from memorywire.stores.sqlite.user_index import UserIndex

    return UserIndex(tenant, agent, user, dimension)


class _Place:
    def __init__(self, agent_index: "AgentIndex") -> None:
        self.agent_index = agent_index
        self.lock = Lock()
        self.nbytes = 0
        self.small = True


class IndexCache:
    """Keeps at most `memory` bytes of shelves, not counting the one in use and a few small ones.

    Every agent has a shelf. A user with few memories of a large agent has one of its own, a corner, so that
    finding or loading them takes no longer than if the agent had nothing else.
    """

    def __init__(
        self, dimension: int, memory: int = MEMORY, *, make: "Callable[[str, str, int], AgentIndex]" = _shelf
    ) -> None:
        self._dimension = dimension
        self._make = make
        self._memory = memory
        self._lock = Lock()
        self._places: OrderedDict[Whose, _Place] = OrderedDict()
        self._crowds: set[Whose] = set()  # users who have too much for a shelf of their own

    def __len__(self) -> int:
        return len(self._places)

    @contextmanager
    def take(self, tenant: str, agent: str, user: str | None = None) -> Iterator["AgentIndex"]:
        """Lend the shelf of the agent, or of one of its users, to this thread alone.

        Take it before the snapshot begins: then no snapshot is older than what the shelf has seen.
        """
        key = (tenant, agent, user)
        with self._lock:
            if key not in self._places:
                self._places[key] = _Place(self._new(*key))
            place = self._places[key]
            self._places.move_to_end(key)
        with place.lock:
            seen = place.agent_index.seen
            try:
                yield place.agent_index
            except BaseException:
                self._discard(key, place)  # it may have caught up half way
                raise
            if place.agent_index.seen == seen:
                return
            place.nbytes, place.small = place.agent_index.nbytes, place.agent_index.small
            if user is not None and not place.small:
                self._discard(key, place)  # too many gaps: the next one has none
        self._make_room()

    def _new(self, tenant: str, agent: str, user: str | None) -> "AgentIndex":
        if user is None:
            return self._make(tenant, agent, self._dimension)
        return _corner(tenant, agent, user, self._dimension)

    def whose(self, scope: Scope) -> Whose:
        """Which shelf answers for a scope: the user's own, unless the agent is small or the user is large."""
        agent, user = (scope.tenant, scope.agent, None), (scope.tenant, scope.agent, scope.user)
        whole = self._places.get(agent)
        return agent if user in self._crowds or (whole is not None and whole.agent_index.small) else user

    def note_crowd(self, user: Whose) -> None:
        """Note that this user has too many memories for a shelf of its own."""
        with self._lock:
            self._crowds.add(user)
            self._places.pop(user, None)

    def seen(self, tenant: str, agent: str) -> int:
        """The last change that the agent's shelf shows; 0 when the agent has none."""
        place = self._places.get((tenant, agent, None))
        return 0 if place is None else place.agent_index.seen

    def at_hand(self, scope: Scope) -> bool:
        """Whether the scope's shelf could answer at once: free, filled, and small or asked for one user."""
        place = self._places.get(self.whose(scope))
        if place is None or place.lock.locked():
            return False
        return place.agent_index.small or (scope.user is not None and place.agent_index.seen > 0)

    def loose(self, tenant: str, agent: str) -> int:
        """How many rows of the agent's shelf were not read from a pack."""
        place = self._places.get((tenant, agent, None))
        return 0 if place is None else place.agent_index.loose

    def tied(self, tenant: str, agent: str) -> None:
        """Note that all rows of the agent that are worth a pack are in one now."""
        place = self._places.get((tenant, agent, None))
        if place is not None:
            place.agent_index.loose = 0

    def _discard(self, key: Whose, place: _Place) -> None:
        with self._lock:
            if self._places.get(key) is place:
                del self._places[key]

    def _make_room(self) -> None:
        with self._lock:
            self._shrink(self._memory // _SMALL_SHARE, small=True)
            self._shrink(self._memory, small=False)

    def _shrink(self, memory: int, *, small: bool) -> None:
        """Drop shelves of one kind, oldest first, until all fit into memory or this kind into its share."""
        kind = [key for key, place in self._places.items() if place.small is small]
        total = sum(place.nbytes for place in self._places.values())
        theirs = sum(self._places[key].nbytes for key in kind)
        for key in kind[:-1]:
            if total <= self._memory or theirs <= memory:
                return
            left = self._places.pop(key).nbytes
            total, theirs = total - left, theirs - left
