"""The store contract: the methods of every store, and the optional protocols a store may add.

A store applies no policy. It stores the given ids, checks liveness and scope inside its own queries,
and returns values. `memory.py` is the reference: a store may be faster, but must return the same.
"""

import warnings
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Protocol, TypeAlias, runtime_checkable

from msgspec import Struct

from memorywire.model.capabilities import Feature
from memorywire.model.change import Change, Footprint, Version
from memorywire.model.edge import Edge
from memorywire.model.errors import MemorywireError
from memorywire.model.query import Enough, Query, Scored, Where
from memorywire.model.record import Json, Record, Scope
from memorywire.runtime.protocols import Ability


class Store(Protocol):
    """Stores and finds records."""

    @property
    def name(self) -> str:
        """The name of this store in receipts and outcomes."""
        ...

    @property
    def features(self) -> frozenset[Feature]: ...

    async def write(self, change: Change) -> int:
        """Commit all of the change or none of it, and return its commit sequence.

        Writing a change id that is already committed returns the same sequence and changes nothing.
        Raises Conflict when a base version has changed, Duplicate when a unique put is not unique,
        IdempotencyConflict when the scope's agent already used the change's key.
        """
        ...

    async def get(self, scope: Scope, ids: Sequence[str]) -> list[Record]:
        """Return the current versions of these ids that the scope covers, also expired, in request order."""
        ...

    async def find(self, where: Where, after: str | None = None, limit: int = 100) -> list[Record]:
        """Return matching memories ordered by id, starting after `after`."""
        ...

    async def count(self, where: Where) -> int: ...

    async def search(self, query: Query, limit: int) -> list[Scored]:
        """Return the most relevant matching memories, best first, ties by id."""
        ...

    async def duplicate(self, record: Record, at: int) -> Record | None:
        """Return a live, unexpired record of exactly the same scope with the same content, or None.
        Key-value entries have no duplicates and are no duplicates (`model.kv.saying`)."""
        ...

    async def health(self) -> Mapping[str, Json]:
        """Return whether the store is usable (`ok`), and details about it."""
        ...

    async def close(self) -> None: ...


@runtime_checkable
class SupportsHistory(Protocol, metaclass=Ability):
    """A store that keeps every version and the effects of every change."""

    async def history(self, scope: Scope, id: str) -> list[Version]:
        """Return all versions of a record, oldest first; empty when the scope does not cover it."""
        ...

    async def footprint(self, scope: Scope, change_id: str) -> Footprint | None:
        """Return the effects of a committed change, or None if the scope does not cover it."""
        ...

    async def committed(self, scope: Scope, key: str) -> Footprint | None:
        """Return the change that used this idempotency key in the scope's agent, or None."""
        ...

    async def changes(self, scope: Scope, limit: int) -> list[Change]:
        """Return the newest changes of the scope, newest first, without their contents."""
        ...


@runtime_checkable
class SupportsBulkWrite(Protocol, metaclass=Ability):
    """A store that commits many changes together faster than one by one."""

    async def write_many(self, changes: Sequence[Change]) -> list[int | Exception]:
        """Commit each change as `write` would, in order; an error affects only its own change."""
        ...


Glimpse: TypeAlias = tuple[str, int, int, int | None, str | None]
"""A record's id, version, created_at and expires_at, and one value of its metadata as JSON, or None.

A plain tuple, because it is cheap to create and the garbage collector does not track it.
"""


@runtime_checkable
class SupportsPeek(Protocol, metaclass=Ability):
    """A store that can return summaries of records faster than whole records."""

    async def glance(self, scope: Scope, ids: Sequence[str], name: str) -> list[Glimpse]:
        """Return summaries of the records of `get`; of the metadata only the entry `name`."""
        ...


@runtime_checkable
class SupportsChangeLog(Protocol, metaclass=Ability):
    """A store with history that returns its changes in order, so that another store can repeat them."""

    async def agents(self, tenant: str) -> list[str]:
        """Return the names of all agents of the tenant whose memory ever changed."""
        ...

    async def log(self, scope: Scope, after: int, limit: int) -> list[Footprint]:
        """Return the agent's changes after a commit sequence, oldest first, with their effects."""
        ...

    async def origins(self, tenant: str, ids: Sequence[str]) -> Mapping[str, str]:
        """Return for each of these ids the change that began its first version, in any scope."""
        ...

    async def known(self, tenant: str, change_ids: Sequence[str]) -> Mapping[str, str]:
        """Return the agent of each of these changes; changes that were never committed are left out."""
        ...

    async def vectors(self, tenant: str, versions: Sequence[tuple[str, int]]) -> list[bytes | None]:
        """Return the vectors of these versions (id, number), encoded as in a put, or None for each."""
        ...


@runtime_checkable
class SupportsDeferredQuery(Protocol, metaclass=Ability):
    """A store that can begin a search before the query's vectors are computed."""

    async def search_late(
        self,
        question: Query,
        ask: Callable[[], Query],
        limit: int,
        *,
        brief: bool = False,
        enough: Enough | None = None,
    ) -> list[Scored]:
        """Like `search`, for a query without vectors; the store calls `ask` for the query with vectors.

        If `brief`, `ask` returns at once, so a store that is fast enough may answer on the caller's
        thread. If no memory is demoted, and all or none are turns of sessions, the store may stop at
        `enough`; it may then leave out every signal but `rest`.
        """
        ...


@runtime_checkable
class SupportsEdges(Protocol, metaclass=Ability):
    """A store that has edges between its memories."""

    async def edges(self, scope: Scope, ids: Sequence[str], besides: Collection[str] = ()) -> list[Edge]:
        """Return every edge from or to one of these current memories, by source, kind and target.

        Two memories with a common name are related, unless the name is in `besides`.
        """
        ...


@runtime_checkable
class Tracker(Protocol, metaclass=Ability):
    """A store that records when its memories were last recalled."""

    async def touch(self, scope: Scope, ids: Sequence[str], at: int) -> None: ...


@runtime_checkable
class RecallCounter(Protocol, metaclass=Ability):
    """A tracker that also counts recalls."""

    async def recalls(self, records: Sequence[Record]) -> Sequence[int]:
        """Return how often each of these records, which this store returned, was recalled."""
        ...


@runtime_checkable
class SupportsListing(Protocol, metaclass=Ability):
    """A store that can list its agents and its newest memories."""

    async def owners(self, tenant: str) -> list[tuple[str, int]]:
        """Return the agents with current memories in the tenant, by name, and the number of memories."""
        ...

    async def newest(self, where: Where, before: str | None, limit: int) -> list[Record]:
        """Return matching memories in descending order of id, starting below `before`."""
        ...


@runtime_checkable
class SupportsTally(Protocol, metaclass=Ability):
    """A store that counts values without returning the memories that have them."""

    async def tally(self, where: Where) -> Mapping[str, Mapping[str, int]] | None:
        """Count matching memories per facet field and value; None if that would have to read each one."""
        ...


@runtime_checkable
class Ingester(Protocol, metaclass=Ability):
    """A store over a product that extracts memories from conversations itself."""

    async def ingest(self, scope: Scope, messages: Sequence[Mapping[str, str]]) -> list[str]:
        """Return the texts that the product would remember of these messages (`role`, `content`).

        Stores nothing: the caller decides what is remembered, with a normal change.
        """
        ...


class Written(Struct, frozen=True, kw_only=True):
    """The outcome of a write in one of several stores; without `error` the store has the change."""

    store: str
    error: MemorywireError | None = None
    elapsed: float = 0.0


class Found(Struct, frozen=True, kw_only=True):
    """The hits of one of several stores, best first, or its error, and the elapsed seconds."""

    store: str
    hits: tuple[Scored, ...] = ()
    error: MemorywireError | None = None
    elapsed: float = 0.0


@runtime_checkable
class FallsBack(Protocol, metaclass=Ability):
    """A store with a second store that answers when the first one fails."""

    async def search_either(self, query: Query, limit: int) -> Found:
        """Like `search`; if the second store answered, `error` is the error of the first."""
        ...


@runtime_checkable
class RemovesUsers(Protocol, metaclass=Ability):
    """A store that can remove the id of a user from the rows that remain after an erasure."""

    async def remove_user(self, tenant: str, user: str, mark: str) -> None:
        """Replace the id of a user without remaining content by the mark."""
        ...


@runtime_checkable
class SupportsReplicas(Protocol, metaclass=Ability):
    """A store made of several stores, which reports the outcome of each."""

    @property
    def replica_names(self) -> tuple[str, ...]:
        """The names of the stores, in the order they are read."""
        ...

    def replica(self, name: str) -> Store: ...

    async def write_each(self, change: Change, names: Sequence[str]) -> list[Written]:
        """Write the change to these replicas concurrently; errors are part of the result."""
        ...

    async def search_each(self, query: Query, limit: int) -> list[Found]:
        """Search every replica concurrently, under one deadline; errors are part of the result."""
        ...

    def mark_lagging(self, names: Collection[str]) -> None:
        """Mark exactly these replicas as lagging: they are read only when no other one answers."""
        ...


_EARLIER = {
    "Historian": SupportsHistory,
    "Chronicler": SupportsChangeLog,
    "Surveyor": SupportsListing,
    "Glancer": SupportsPeek,
    "Gatherer": SupportsBulkWrite,
    "LateAsker": SupportsDeferredQuery,
    "Fanned": SupportsReplicas,
}


def __getattr__(name: str) -> object:
    """Return a protocol by its name in 0.1.0, with a DeprecationWarning."""
    if name not in _EARLIER:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    protocol = _EARLIER[name]
    warnings.warn(f"{name} is now {protocol.__name__}", DeprecationWarning, stacklevel=2)
    return protocol
