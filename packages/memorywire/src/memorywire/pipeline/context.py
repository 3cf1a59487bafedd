"""The tools every operation works with; they are handed in, never looked up."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import field, replace
from typing import TypeAlias, TypeVar

from memorywire.model.clock import Clock
from memorywire.model.errors import CapabilityUnsupported
from memorywire.model.ids import IdMint
from memorywire.model.record import Record, Scope
from memorywire.model.values import dataclass
from memorywire.model.where import Where
from memorywire.pipeline.commit import Corridor, Plan, Submitted, straight
from memorywire.pipeline.governance import Office
from memorywire.pipeline.question_vectors import Rests
from memorywire.pipeline.routing import ALONE, Routing
from memorywire.search.admit import Floors
from memorywire.search.embed import Embedder
from memorywire.stores.contract import Fanned, Store, SupportsHistory, Tracker

T = TypeVar("T")

PAGE = 1000

Watching: TypeAlias = Callable[[str, str, float], None]
"""Is told the operation, the store, and how many seconds it took to search or to write."""


def unwatched(operation: str, store: str, seconds: float) -> None:
    """The observer for when nobody measures stores."""


Placing: TypeAlias = Callable[[Scope], Awaitable[Store | None]]
"""Gives the store that keeps the memories of a scope, if it is not the usual one."""


async def nowhere_else(scope: Scope) -> None:
    """The placing for when every scope is kept in the same store."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Context:
    """The store, the embedder with its floors, the clock, the id mint and the routing of several stores.

    `watching` is told how long stores take for `operation`, the one these tools were given to. `placing`
    knows which scopes are kept in another store, `rests` the vectors of recent questions.
    """

    store: Store
    embedder: Embedder
    floors: Floors
    clock: Clock
    mint: IdMint
    corridor: Corridor = straight
    office: Office | None = None
    routing: Routing = ALONE
    operation: str = "other"
    watching: Watching = unwatched
    placing: Placing = nowhere_else
    rests: Rests = field(default_factory=Rests)

    @property
    def names(self) -> tuple[str, ...]:
        """How receipts call the store, or each of several."""
        return self.store.children if isinstance(self.store, Fanned) else (self.store.name,)

    def took(self, store: str, seconds: float) -> None:
        self.watching(self.operation, store, seconds)

    async def timed(self, store: str, work: Awaitable[T]) -> T:
        """What the store answers; whoever watches is told how long it took, also when it fails."""
        now = asyncio.get_running_loop().time
        began = now()
        try:
            return await work
        finally:
            self.took(store, now() - began)

    async def serving(self, scope: Scope) -> "Context":
        """The same tools with the store that keeps the memories of the scope."""
        store = await self.placing(scope)
        return self if store is None else replace(self, store=store)

    async def submit(self, plan: Plan) -> Submitted:
        """Lead the plan through the corridor, whoever stands in it."""
        return await self.corridor(plan, self)

    @property
    def governance(self) -> Office:
        """The office that answers for changes, or the problem that none is wired."""
        if self.office is None:
            raise unsupported("governance", "no journal is wired here")
        return self.office

    def without_secrets(self, said: str | None) -> str | None:
        """What somebody says beside a memory (a reason, a note), as it may be written down."""
        return said if said is None or self.office is None else self.office.redactor.text(said)[0]

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
