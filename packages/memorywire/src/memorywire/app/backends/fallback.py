"""A backend with something to fall back on: what an agent had here answers while the backend does not."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from typing import Any, TypeAlias, TypeVar, cast

from memorywire.model.change import Change, End, EndReason
from memorywire.model.errors import StoreError
from memorywire.model.query import Query, Scored
from memorywire.model.record import Record, Scope
from memorywire.model.where import Where
from memorywire.stores.contract import Found, RecallCounter, Store, Tracker

T = TypeVar("T")


Owed: TypeAlias = Callable[[], Awaitable[Sequence[Change]]]
"""Gives the changes that the store has not received yet."""


def with_fallback(store: Store, here: Store, owed: Owed) -> Store:
    """The store, with `here` answering its reads when it fails; its own answers always stand.

    It satisfies FallsBack, so that a recall can say who answered. What is deleted or replaced is deleted in
    `here` first, even while the store is only owed the change. So falling back brings nothing back: `here`
    may know less than the backend, and never more.
    """
    kind = type("WithFallback", (_WithFallback,), {})
    return cast("Store", kind(store, here, owed))


class _WithFallback:
    def __init__(self, inner: Store, here: Store, owed: Owed) -> None:
        self._inner = inner
        self._here = here
        self._owed = owed
        self._ended: set[str] = set()

    async def write(self, change: Change) -> int:
        await self._end_here(change)
        return await self._inner.write(change)

    async def get(self, scope: Scope, ids: Sequence[str]) -> list[Record]:
        return await self._either(lambda store: store.get(scope, ids))

    async def find(self, where: Where, after: str | None = None, limit: int = 100) -> list[Record]:
        return await self._either(lambda store: store.find(where, after, limit))

    async def count(self, where: Where) -> int:
        return await self._either(lambda store: store.count(where))

    async def search(self, query: Query, limit: int) -> list[Scored]:
        return [*(await self.search_either(query, limit)).hits]

    async def search_either(self, query: Query, limit: int) -> Found:
        name = self._inner.name
        try:
            return Found(store=name, hits=tuple(await self._inner.search(query, limit)))
        except StoreError as error:
            await self._catch_up()
            return Found(store=name, hits=tuple(await self._here.search(query, limit)), error=error)

    async def duplicate(self, record: Record, at: int) -> Record | None:
        return await self._either(lambda store: store.duplicate(record, at))

    async def _either(self, ask: Callable[[Store], Awaitable[T]]) -> T:
        try:
            return await ask(self._inner)
        except StoreError:
            await self._catch_up()
            return await ask(self._here)

    async def _catch_up(self) -> None:
        for change in await self._owed():
            await self._end_here(change)

    async def _end_here(self, change: Change) -> None:
        if change.id in self._ended:
            return
        gone = [*(end.id for end in change.end), *change.erase, *(put.record.id for put in change.put)]
        known = await self._here.get(change.scope, gone)
        if known or change.erase:
            await self._here.write(_farewell(change, known))
        self._ended.add(change.id)

    async def _touch(self, scope: Scope, ids: Sequence[str], at: int) -> None:
        """Count a recall in the store that answered it."""
        try:
            await cast("Tracker", self._inner).touch(scope, ids, at)
        except StoreError:
            if isinstance(self._here, Tracker):
                await self._here.touch(scope, ids, at)

    async def _recalls(self, records: Sequence[Record]) -> Sequence[int]:
        try:
            return await cast("RecallCounter", self._inner).recalls(records)
        except StoreError:
            here = self._here
            return await here.recalls(records) if isinstance(here, RecallCounter) else [0] * len(records)

    def __getattr__(self, name: str) -> Any:
        """Abilities of the store inside, for those it has."""
        found = getattr(self._inner, name)
        return {"touch": self._touch, "recalls": self._recalls}.get(name, found)


def _farewell(change: Change, known: Sequence[Record]) -> Change:
    """The part of the change that takes away, without what it brings."""
    reasons = {end.id: end.reason for end in change.end}
    ends = [
        End(id=record.id, version=record.version, reason=reasons.get(record.id, EndReason.REPLACED))
        for record in known
        if record.id not in change.erase
    ]
    return replace(
        change, id=f"{change.id}-here", put=(), end=tuple(ends), key=None, fingerprint=None, about=None
    )
