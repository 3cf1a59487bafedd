"""The indexes of a store: filled on first use; the least recently used are dropped to limit memory."""

from collections import OrderedDict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Lock
from typing import TYPE_CHECKING, Generic, TypeAlias, TypeVar

from memorywire.model.query import EVERYTHING, Where, find_owners

if TYPE_CHECKING:  # numpy is loaded for the first index
    from memorywire.index.agent_index import AgentIndex

MEMORY = 512 * 1024 * 1024

# Small indexes are dropped first, since large ones take long to fill, but they keep 1/8 of the memory.
_SMALL_SHARE = 8

Owner: TypeAlias = tuple[str, str, frozenset[str | None] | None]
"""Tenant and agent, and the users of a user index; the user None stands for rows without a user."""

Index = TypeVar("Index", bound="AgentIndex")


class _Slot(Generic[Index]):
    def __init__(self, index: Index) -> None:
        self.index = index
        self.lock = Lock()
        self.nbytes = 0
        self.is_small = True


class IndexCache(Generic[Index]):
    """Holds at most `memory` bytes of indexes, not counting the one in use and a few small ones.

    Every agent has an index. A user with few memories of a large agent gets a user index, so that searching
    and loading are as fast as if the agent had no other memories. `make` builds an empty index.
    """

    def __init__(
        self, make: Callable[[str, str, frozenset[str | None] | None], Index], memory: int = MEMORY
    ) -> None:
        self._make = make
        self._memory = memory
        self._lock = Lock()
        self._slots: OrderedDict[Owner, _Slot[Index]] = OrderedDict()
        self._large_users: set[Owner] = set()  # users with too many rows for a user index

    def __len__(self) -> int:
        return len(self._slots)

    @contextmanager
    def take(self, tenant: str, agent: str, users: frozenset[str | None] | None = None) -> Iterator[Index]:
        """Lock the index of the agent, or of some of its users, for this thread, and yield it.

        Call this before the snapshot begins, so that the snapshot is not older than the index.
        """
        owner = (tenant, agent, users)
        with self._lock:
            if owner not in self._slots:
                self._slots[owner] = _Slot(self._make(*owner))
            slot = self._slots[owner]
            self._slots.move_to_end(owner)
        with slot.lock:
            head = slot.index.head
            try:
                yield slot.index
            except BaseException:
                self._discard(owner, slot)  # it may be partially updated
                raise
            if slot.index.head == head:
                return
            slot.nbytes, slot.is_small = slot.index.nbytes, slot.index.is_small
            if users is not None and not slot.is_small:
                self._discard(owner, slot)  # too many tombstones; a new one has none
        self._make_room()

    def choose_owner(self, where: Where) -> Owner:
        """Choose the index for a query: that of its users, unless the agent is small or they are large."""
        tenant, agent, user = where.scope.tenant, where.scope.agent, where.scope.user
        users = find_owners(where.filter)[0] if user is None else frozenset({user})
        slot = self._slots.get((tenant, agent, None))
        is_small = slot is not None and slot.index.is_small
        return (tenant, agent, None if is_small or (tenant, agent, users) in self._large_users else users)

    def mark_large(self, owner: Owner) -> None:
        """Record that these users have too many memories for a user index."""
        with self._lock:
            self._large_users.add(owner)
            self._slots.pop(owner, None)

    def head(self, tenant: str, agent: str) -> int:
        """Return the last change in the agent's index; 0 if there is no index."""
        slot = self._slots.get((tenant, agent, None))
        return 0 if slot is None else slot.index.head

    def is_ready(self, where: Where) -> bool:
        """Return whether an index can answer at once: it is not in use, filled, and small or for users."""
        owner = self.choose_owner(where)
        slot = self._slots.get(owner)
        if slot is None or slot.lock.locked():
            return False
        if slot.index.is_small or slot.index.head == 0:
            return slot.index.is_small
        return where.scope.user is not None or find_owners(where.filter)[0] is not None

    def count_unsegmented(self, tenant: str, agent: str) -> int:
        """Return how many rows of the agent's index were not read from a segment."""
        slot = self._slots.get((tenant, agent, None))
        return 0 if slot is None else slot.index.unsegmented

    def mark_segmented(self, tenant: str, agent: str) -> None:
        """Record that segments now exist for all ranges of the agent with enough rows."""
        slot = self._slots.get((tenant, agent, None))
        if slot is not None:
            slot.index.unsegmented = 0

    def _discard(self, owner: Owner, slot: _Slot[Index]) -> None:
        with self._lock:
            if self._slots.get(owner) is slot:
                del self._slots[owner]

    def _make_room(self) -> None:
        with self._lock:
            self._shrink(self._memory // _SMALL_SHARE, is_small=True)
            self._shrink(self._memory, is_small=False)

    def _shrink(self, memory: int, *, is_small: bool) -> None:
        """Drop indexes of one kind, oldest first, until all fit into memory, or this kind into `memory`."""
        owners = [owner for owner, slot in self._slots.items() if slot.is_small is is_small]
        total = sum(slot.nbytes for slot in self._slots.values())
        of_kind = sum(self._slots[owner].nbytes for owner in owners)
        for owner in owners[:-1]:
            if total <= self._memory or of_kind <= memory:
                return
            nbytes = self._slots.pop(owner).nbytes
            total, of_kind = total - nbytes, of_kind - nbytes


def needs_rows(where: Where) -> bool:
    """Return whether the condition needs fields that are not in the index."""
    _, rest = find_owners(where.filter)
    return rest != EVERYTHING or where.idle_since is not None or where.confidence_below is not None
