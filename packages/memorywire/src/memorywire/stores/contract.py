"""The store contract: four verbs over values, and the optional abilities a store may add.

A store knows no policy. It keeps our ids, decides liveness and scope inside its own queries, and
answers with values. `memory.py` is the reference: a store may be faster, never different.
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
    """Keeps and finds records."""

    @property
    def name(self) -> str:
        """How receipts and outcomes call this store."""
        ...

    @property
    def features(self) -> frozenset[Feature]: ...

    async def write(self, change: Change) -> int:
        """Commit all of the change or none of it; give its commit sequence.

        Writing a change id that is already committed gives the same sequence and changes nothing.
        Raises Conflict when a base moved, Duplicate when a unique put is not, IdempotencyConflict
        when the scope's agent already used the change's key.
        """
        ...

    async def get(self, scope: Scope, ids: Sequence[str]) -> list[Record]:
        """The current versions of these ids that the scope covers, in the order asked, expired ones too."""
        ...

    async def find(self, where: Where, after: str | None = None, limit: int = 100) -> list[Record]:
        """Matching memories ordered by id, starting behind `after`."""
        ...

    async def count(self, where: Where) -> int: ...

    async def search(self, query: Query, limit: int) -> list[Scored]:
        """The most relevant matching memories, best first, ties by id."""
        ...

    async def duplicate(self, record: Record, at: int) -> Record | None:
        """The live, unexpired record of exactly the same scope that says the same thing, if any; the entry of
        a key is never meant, nor does it repeat anything (`model.kv.saying`)."""
        ...

    async def health(self) -> Mapping[str, Json]:
        """Whether the store is fit for use (`ok`), and what it knows about itself."""
        ...

    async def close(self) -> None: ...


@runtime_checkable
class SupportsHistory(Protocol, metaclass=Ability):
    """A store that keeps every version and can say which change did what."""

    async def history(self, scope: Scope, id: str) -> list[Version]:
        """All versions of a record, oldest first; empty when the scope does not cover it."""
        ...

    async def footprint(self, scope: Scope, change_id: str) -> Footprint | None:
        """What a committed change did, if the scope covers it."""
        ...

    async def committed(self, scope: Scope, key: str) -> Footprint | None:
        """The change that used this idempotency key in the scope's agent."""
        ...

    async def changes(self, scope: Scope, limit: int) -> list[Change]:
        """The newest changes of the scope, newest first, without their contents."""
        ...


@runtime_checkable
class SupportsBulkWrite(Protocol, metaclass=Ability):
    """A store that commits many changes together in less time than one after the other."""

    async def write_many(self, changes: Sequence[Change]) -> list[int | Exception]:
        """Each change as `write` would commit it, in order; what one of them raises concerns it alone."""
        ...


Glimpse: TypeAlias = tuple[str, int, int, int | None, str | None]
"""A record's id, version, created_at and expires_at, and one value of its metadata as JSON, if it is there.

A plain tuple: nothing of it is made before it is asked for, and the garbage collector does not look at it.
"""


@runtime_checkable
class SupportsPeek(Protocol, metaclass=Ability):
    """A store that can tell where records stand faster than it can read them."""

    async def glance(self, scope: Scope, ids: Sequence[str], name: str) -> list[Glimpse]:
        """A summary of what `get` would give; of the metadata only the entry `name`."""
        ...


@runtime_checkable
class SupportsChangeLog(Protocol, metaclass=Ability):
    """A historian that hands out its changes in order, so that another store can repeat them."""

    async def agents(self, tenant: str) -> list[str]:
        """The names of all agents of the tenant whose memory ever changed."""
        ...

    async def log(self, scope: Scope, after: int, limit: int) -> list[Footprint]:
        """The agent's changes behind that commit sequence, oldest first, with what they began and ended."""
        ...

    async def origins(self, tenant: str, ids: Sequence[str]) -> Mapping[str, str]:
        """For each of these ids the change that began its first version, in any scope."""
        ...

    async def known(self, tenant: str, change_ids: Sequence[str]) -> Mapping[str, str]:
        """The agent that each of these changes belongs to; changes that were never committed are left out."""
        ...

    async def vectors(self, tenant: str, versions: Sequence[tuple[str, int]]) -> list[bytes | None]:
        """The vectors of these versions (id, number), as puts bring them; None where there is none."""
        ...


@runtime_checkable
class SupportsDeferredQuery(Protocol, metaclass=Ability):
    """A store that can begin a search before the query's vectors are made."""

    async def search_late(
        self,
        question: Query,
        ask: Callable[[], Query],
        limit: int,
        *,
        brief: bool = False,
        enough: Enough | None = None,
    ) -> list[Scored]:
        """As `search`, for a question without vectors, which `ask` completes when they are needed.

        A `brief` question takes no time to complete, so a store that is as quick may answer on the caller's
        thread. Where no memory is demoted, and all or none are turns of sessions, the store may stop at
        `enough`; it may then leave out every signal but `rest`.
        """
        ...


@runtime_checkable
class SupportsEdges(Protocol, metaclass=Ability):
    """A store that keeps the edges between its memories."""

    async def edges(self, scope: Scope, ids: Sequence[str], besides: Collection[str] = ()) -> list[Edge]:
        """Every edge that begins or ends at one of these current memories, by source, kind and target.

        Two that share a name relate to each other, unless the name is among those in `besides`.
        """
        ...


@runtime_checkable
class Tracker(Protocol, metaclass=Ability):
    """A store that remembers when its memories were last recalled."""

    async def touch(self, scope: Scope, ids: Sequence[str], at: int) -> None: ...


@runtime_checkable
class RecallCounter(Protocol, metaclass=Ability):
    """A tracker that also remembers how often."""

    async def recalls(self, records: Sequence[Record]) -> Sequence[int]:
        """How often each of these, which the store handed out itself, was recalled."""
        ...


@runtime_checkable
class SupportsListing(Protocol, metaclass=Ability):
    """A store that can say what it holds without being asked for it."""

    async def owners(self, tenant: str) -> list[tuple[str, int]]:
        """The agents that have current memories in the tenant, by name, and how many."""
        ...

    async def newest(self, where: Where, before: str | None, limit: int) -> list[Record]:
        """Matching memories, the greatest id first, starting below `before`."""
        ...


@runtime_checkable
class SupportsTally(Protocol, metaclass=Ability):
    """A store that counts values without handing out the memories that have them."""

    async def tally(self, where: Where) -> Mapping[str, Mapping[str, int]] | None:
        """How many matching memories have which value, by field of a facet; None if it must read each."""
        ...


@runtime_checkable
class Ingester(Protocol, metaclass=Ability):
    """A store over a product that itself finds what is worth keeping in a conversation."""

    async def ingest(self, scope: Scope, messages: Sequence[Mapping[str, str]]) -> list[str]:
        """What the product would remember of these messages (`role`, `content`), in its own words.

        Nothing is kept: the caller decides what is remembered, by a change like any other.
        """
        ...


class Written(Struct, frozen=True, kw_only=True):
    """What one store of several did with a change, after how many seconds; without `error` it holds it."""

    store: str
    error: MemorywireError | None = None
    elapsed: float = 0.0


class Found(Struct, frozen=True, kw_only=True):
    """What one store of several answered, best first, and after how many seconds."""

    store: str
    hits: tuple[Scored, ...] = ()
    error: MemorywireError | None = None
    elapsed: float = 0.0


@runtime_checkable
class FallsBack(Protocol, metaclass=Ability):
    """A store with a second one that answers when it cannot."""

    async def search_either(self, query: Query, limit: int) -> Found:
        """As `search`; `error` is set when the second store answered, and says why."""
        ...


@runtime_checkable
class RemovesUsers(Protocol, metaclass=Ability):
    """A store that can take the id of a user out of the rows that an erasure leaves."""

    async def remove_user(self, tenant: str, user: str, mark: str) -> None:
        """Put the mark in the place of the id of a user, of whom no content is left."""
        ...


@runtime_checkable
class SupportsReplicas(Protocol, metaclass=Ability):
    """A store made of stores, which can say what each of them did."""

    @property
    def replica_names(self) -> tuple[str, ...]:
        """The names of the stores, in the order they are read."""
        ...

    def replica(self, name: str) -> Store: ...

    async def write_each(self, change: Change, names: Sequence[str]) -> list[Written]:
        """Write the change to these replicas at once; errors are part of the answer."""
        ...

    async def search_each(self, query: Query, limit: int) -> list[Found]:
        """Ask every replica at once, under one deadline; errors are part of the answer."""
        ...

    def mark_lagging(self, names: Collection[str]) -> None:
        """Mark exactly these replicas as missing changes: they are read only when no other answers."""
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
    """Give a protocol under its name of 0.1.0, with a DeprecationWarning."""
    if name not in _EARLIER:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    protocol = _EARLIER[name]
    warnings.warn(f"{name} is now {protocol.__name__}", DeprecationWarning, stacklevel=2)
    return protocol
