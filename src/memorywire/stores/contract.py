"""The store contract: four verbs over values, and the optional abilities a store may add.

A store knows no policy. It keeps our ids, decides liveness and scope inside its own queries, and
answers with values. `memory.py` is the reference: a store may be faster, never different.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Protocol, TypeAlias, runtime_checkable

from memorywire.model.capabilities import Feature
from memorywire.model.change import Change, Footprint, Version
from memorywire.model.errors import MemorywireError
from memorywire.model.query import Query, Scored
from memorywire.model.record import Json, Record, Scope
from memorywire.model.values import dataclass
from memorywire.model.where import Where
from memorywire.stores.abilities import Ability


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
class Historian(Protocol, metaclass=Ability):
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
class Gatherer(Protocol, metaclass=Ability):
    """A store that commits many changes in less time than it takes for each of them."""

    async def write_many(self, changes: Sequence[Change]) -> list[int | Exception]:
        """Each change as `write` would commit it, in order; what one of them raises concerns it alone."""
        ...


Glimpse: TypeAlias = tuple[str, int, int, int | None, str | None]
"""A record's id, version, created_at and expires_at, and one value of its metadata as JSON, if it is there.

A plain tuple: nothing of it is made before it is asked for, and the garbage collector does not look at it.
"""


@runtime_checkable
class Glancer(Protocol, metaclass=Ability):
    """A store that tells how records stand in less time than it takes to read them."""

    async def glance(self, scope: Scope, ids: Sequence[str], name: str) -> list[Glimpse]:
        """What `get` would give of these ids, seen from afar; `name` is the metadata to look for."""
        ...


@runtime_checkable
class Chronicler(Protocol, metaclass=Ability):
    """A historian that hands its past out in order, so that another store can live through it again."""

    async def agents(self, tenant: str) -> list[str]:
        """Everybody of the tenant whose memory ever changed, by name."""
        ...

    async def log(self, scope: Scope, after: int, limit: int) -> list[Footprint]:
        """The agent's changes behind that commit sequence, oldest first, with what they began and ended."""
        ...

    async def origins(self, tenant: str, ids: Sequence[str]) -> Mapping[str, str]:
        """Which change began the first version under each of these ids, whoever's they are."""
        ...

    async def known(self, tenant: str, change_ids: Sequence[str]) -> Mapping[str, str]:
        """Whose changes these are, by id; those that nobody committed are left out."""
        ...

    async def vectors(self, tenant: str, versions: Sequence[tuple[str, int]]) -> list[bytes | None]:
        """The vectors of these versions (id, number), as puts bring them; None where there is none."""
        ...


class Rated(Protocol):
    """What is known of a candidate before it is read."""

    @property
    def score(self) -> float: ...
    @property
    def signals(self) -> Mapping[str, float]: ...


@dataclass(frozen=True, slots=True)
class Enough:
    """Of candidates that are admitted alike, at most how many are handed over, and how many of these are:
    told by their rating, the best first, and by whether they are turns of sessions."""

    most: int
    admitted: Callable[[Sequence[Rated], bool], int]


@runtime_checkable
class LateAsker(Protocol, metaclass=Ability):
    """A store that has the query completed where it searches: on a thread of its own, or at once."""

    async def search_late(
        self,
        question: Query,
        ask: Callable[[], Query],
        limit: int,
        *,
        brief: bool = False,
        enough: Enough | None = None,
    ) -> list[Scored]:
        """As `search`, for the question without its vectors, which `ask` makes complete.

        That may take a moment, unless it is `brief`: then a store that is as brief answers at once. Where no
        memory is demoted, and all or none are turns of sessions, it may leave out what is more than `enough`,
        and then every signal but `rest`.
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
class Surveyor(Protocol, metaclass=Ability):
    """A store that can say what it holds without being asked for it."""

    async def owners(self, tenant: str) -> list[tuple[str, int]]:
        """The agents that have current memories in the tenant, by name, and how many."""
        ...

    async def newest(self, where: Where, before: str | None, limit: int) -> list[Record]:
        """Matching memories, the greatest id first, starting below `before`."""
        ...


@runtime_checkable
class Ingester(Protocol, metaclass=Ability):
    """A store over a product that finds what is worth keeping in a conversation by itself."""

    async def ingest(self, scope: Scope, messages: Sequence[Mapping[str, str]]) -> list[str]:
        """What the product would remember of these messages (`role`, `content`), in its words.

        None of it is kept: whoever asks decides, by a change like any other, what is remembered.
        """
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Written:
    """What one store of several did with a change, after how many seconds; without `error` it holds it."""

    store: str
    error: MemorywireError | None = None
    elapsed: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """What one store of several answered, best first, and after how many seconds."""

    store: str
    hits: tuple[Scored, ...] = ()
    error: MemorywireError | None = None
    elapsed: float = 0.0


@runtime_checkable
class FallsBack(Protocol, metaclass=Ability):
    """A store in whose place another answers when it cannot."""

    async def search_either(self, query: Query, limit: int) -> Found:
        """As `search`; an `error` says why the other one answered."""
        ...


@runtime_checkable
class Fanned(Protocol, metaclass=Ability):
    """A store made of stores, which can say what each of them did."""

    @property
    def children(self) -> tuple[str, ...]:
        """The names of the stores, in the order they are read."""
        ...

    def child(self, name: str) -> Store: ...

    async def write_each(self, change: Change, names: Sequence[str]) -> list[Written]:
        """Write the change to these children at once; whatever a child does is in the answer."""
        ...

    async def search_each(self, query: Query, limit: int) -> list[Found]:
        """Ask every child at once, under one deadline; whatever a child does is in the answer."""
        ...

    def mark_behind(self, names: Collection[str]) -> None:
        """These children, and no others, miss changes: they are read only when nobody else answers."""
        ...
