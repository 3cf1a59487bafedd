"""The context that every operation gets as an argument: store, embedder, clock, governance, routing."""

import asyncio
import math
from collections import OrderedDict
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from enum import StrEnum
from threading import Lock
from typing import TypeAlias, TypeVar

from msgspec import Struct, field
from msgspec.structs import replace

from memorywire.model.clock import Clock
from memorywire.model.errors import CapabilityUnsupported
from memorywire.model.ids import IdMint
from memorywire.model.query import Where
from memorywire.model.record import Record, Scope
from memorywire.model.requests import Fusion
from memorywire.pipeline.governance import Governance
from memorywire.search.admit import Floors
from memorywire.search.embed import Embedder
from memorywire.stores.contract import Store, SupportsHistory, SupportsReplicas, Tracker


class WritePolicy(StrEnum):
    """Which stores must hold a change before its receipt says committed; the others get it later."""

    ALL = "all"
    PRIMARY = "primary"
    QUORUM = "quorum"


class Routing(Struct, frozen=True, kw_only=True):
    """How several stores are used; fixed when they are opened.

    With `register`, what a store returns is checked against what was written. With `rerank`, hits are ordered
    here rather than by the stores, unless a request names a fusion by scores. `trim` is how many of the best
    votes for a memory are ignored. `weights` are those of weighted fusion, 1 for stores that are not named.
    """

    write: WritePolicy = WritePolicy.ALL
    register: bool = True
    rerank: bool = True
    trim: int = 0
    weights: Mapping[str, float] = field(default_factory=dict)

    def reranks(self, fusion: Fusion) -> bool:
        """Whether the order of the hits is decided here."""
        return self.rerank and fusion is Fusion.RRF

    def satisfied(self, holding: frozenset[str], children: tuple[str, ...]) -> bool:
        """Whether a change that these children hold counts as committed."""
        match self.write:
            case WritePolicy.ALL:
                return len(holding) == len(children)
            case WritePolicy.PRIMARY:
                return children[0] in holding
            case WritePolicy.QUORUM:
                return 2 * len(holding) > len(children)


ALONE = Routing()
"""The routing when nothing else was asked for."""


T = TypeVar("T")

PAGE = 1000

Watching: TypeAlias = Callable[[str, str, float], None]
"""Is told the operation, the store, and how many seconds it took to search or to write."""


Placing: TypeAlias = Callable[[Scope], Awaitable[Store | None]]
"""Gives the store that keeps the memories of a scope, if it is not the usual one."""


async def nowhere_else(scope: Scope) -> None:
    """The placing for when every scope is kept in the same store."""


_MOST_QUESTIONS = 256


class NamelessVectors:
    """Vectors of recent questions without their names: the same is often asked about many people.

    Also the seconds that the last embedding took. Safe to share between threads.
    """

    def __init__(self) -> None:
        self.pace = math.inf
        self._lock = Lock()
        self._vectors: OrderedDict[str, bytes] = OrderedDict()

    def known(self, rest: str) -> bytes | None:
        with self._lock:
            vector = self._vectors.get(rest)
            if vector is not None:
                self._vectors.move_to_end(rest)
            return vector

    def learn(self, rest: str, vector: bytes) -> None:
        with self._lock:
            self._vectors[rest] = vector
            if len(self._vectors) > _MOST_QUESTIONS:
                self._vectors.popitem(last=False)


class Context(Struct, frozen=True, kw_only=True):
    """The store, the embedder with its floors, the clock, the id mint and the routing of several stores.

    `watching` is told how long stores take for `operation`, the one that this context was made for. `placing`
    knows which scopes are kept in another store, `rests` the vectors of recent questions.
    """

    store: Store
    embedder: Embedder
    floors: Floors
    clock: Clock
    mint: IdMint
    governance: Governance | None = None
    routing: Routing = ALONE
    operation: str = "other"
    watching: Watching | None = None
    placing: Placing = nowhere_else
    nameless_vectors: NamelessVectors = field(default_factory=NamelessVectors)

    @property
    def names(self) -> tuple[str, ...]:
        """How receipts call the store, or each of several."""
        return self.store.replica_names if isinstance(self.store, SupportsReplicas) else (self.store.name,)

    def took(self, store: str, seconds: float) -> None:
        if self.watching is not None:
            self.watching(self.operation, store, seconds)

    async def timed(self, store: str, work: Awaitable[T]) -> T:
        """What the store answers; whoever watches is told how long it took, also when it fails."""
        now = asyncio.get_running_loop().time
        start = now()
        try:
            return await work
        finally:
            self.took(store, now() - start)

    async def serving(self, scope: Scope) -> "Context":
        """The same context with the store that keeps the memories of the scope."""
        store = await self.placing(scope)
        return self if store is None else replace(self, store=store)

    def require_governance(self) -> Governance:
        """The journal, policy and redactor; raises CapabilityUnsupported when none is configured."""
        if self.governance is None:
            raise unsupported("governance", "no journal is wired here")
        return self.governance

    def without_secrets(self, text: str | None) -> str | None:
        """What somebody says beside a memory (a reason, a note), as it may be written down."""
        return text if text is None or self.governance is None else self.governance.redactor.text(text)[0]

    def historian(self, wanted_for: str) -> SupportsHistory:
        """The store's memory of its own past, or the problem that it has none."""
        if not isinstance(self.store, SupportsHistory):
            raise unsupported(wanted_for, f"store {self.store.name} keeps no history")
        return self.store

    def tracker(self, wanted_for: str) -> Tracker:
        if not isinstance(self.store, Tracker):
            raise unsupported(wanted_for, f"store {self.store.name} does not track recalls")
        return self.store

    async def all_matching(self, where: Where) -> AsyncIterator[Record]:
        """Every matching record, page by page."""
        after: str | None = None
        while page := await self.store.find(where, after, PAGE):
            for record in page:
                yield record
            if len(page) < PAGE:
                return
            after = page[-1].id


def unsupported(field: str, why: str) -> CapabilityUnsupported:
    return CapabilityUnsupported(f"{field} is not available: {why}", field=field)
