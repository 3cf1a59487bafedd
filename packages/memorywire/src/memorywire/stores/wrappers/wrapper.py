"""A store around a store: every verb goes through one method, and abilities are those of the store inside."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, Protocol, TypeAlias, TypeVar

from memorywire.model.capabilities import Feature
from memorywire.model.change import Change, Footprint, Version
from memorywire.model.query import Query, Scored, Where
from memorywire.model.record import Json, Record, Scope
from memorywire.stores.contract import (
    RecallCounter,
    Store,
    SupportsChangeLog,
    SupportsHistory,
    SupportsListing,
    Tracker,
)

T = TypeVar("T")

READS = frozenset({"get", "find", "count", "search", "duplicate", "history", "footprint", "committed"})
"""Verbs that can safely be asked twice and are quickly answered; pages of a log are not."""

Call: TypeAlias = Callable[[], Awaitable[T]]


class Interceptor(Protocol):
    """What a wrapper does around a call; `verb` is the name of what is called."""

    async def __call__(self, verb: str, call: Call[Any]) -> Any: ...


class _Wrapper:
    """The verbs every store has."""

    def __init__(
        self, inner: Any, intercept: Interceptor, prepare: Callable[[Change], Change], name: str | None
    ) -> None:
        self.inner = inner
        self._name = name
        self._call = intercept
        self._prepare = prepare

    @property
    def name(self) -> str:
        return str(self.inner.name) if self._name is None else self._name

    @property
    def features(self) -> frozenset[Feature]:
        features: frozenset[Feature] = self.inner.features
        return features

    async def write(self, change: Change) -> int:
        sequence: int = await self._call("write", lambda: self.inner.write(self._prepare(change)))
        return sequence

    async def get(self, scope: Scope, ids: Sequence[str]) -> list[Record]:
        found: list[Record] = await self._call("get", lambda: self.inner.get(scope, ids))
        return found

    async def find(self, where: Where, after: str | None = None, limit: int = 100) -> list[Record]:
        found: list[Record] = await self._call("find", lambda: self.inner.find(where, after, limit))
        return found

    async def count(self, where: Where) -> int:
        count: int = await self._call("count", lambda: self.inner.count(where))
        return count

    async def search(self, query: Query, limit: int) -> list[Scored]:
        found: list[Scored] = await self._call("search", lambda: self.inner.search(query, limit))
        return found

    async def duplicate(self, record: Record, at: int) -> Record | None:
        found: Record | None = await self._call("duplicate", lambda: self.inner.duplicate(record, at))
        return found

    async def health(self) -> Mapping[str, Json]:
        health: Mapping[str, Json] = await self._call("health", lambda: self.inner.health())
        return health

    async def close(self) -> None:
        await self.inner.close()


class _History:
    """The verbs of a historian."""

    inner: SupportsHistory
    _call: Interceptor

    async def history(self, scope: Scope, id: str) -> list[Version]:
        versions: list[Version] = await self._call("history", lambda: self.inner.history(scope, id))
        return versions

    async def footprint(self, scope: Scope, change_id: str) -> Footprint | None:
        found: Footprint | None = await self._call(
            "footprint", lambda: self.inner.footprint(scope, change_id)
        )
        return found

    async def committed(self, scope: Scope, key: str) -> Footprint | None:
        found: Footprint | None = await self._call("committed", lambda: self.inner.committed(scope, key))
        return found

    async def changes(self, scope: Scope, limit: int) -> list[Change]:
        found: list[Change] = await self._call("changes", lambda: self.inner.changes(scope, limit))
        return found


class _Log:
    """The verbs of a chronicler."""

    inner: SupportsChangeLog
    _call: Interceptor

    async def agents(self, tenant: str) -> list[str]:
        names: list[str] = await self._call("agents", lambda: self.inner.agents(tenant))
        return names

    async def log(self, scope: Scope, after: int, limit: int) -> list[Footprint]:
        page: list[Footprint] = await self._call("log", lambda: self.inner.log(scope, after, limit))
        return page

    async def origins(self, tenant: str, ids: Sequence[str]) -> Mapping[str, str]:
        found: Mapping[str, str] = await self._call("origins", lambda: self.inner.origins(tenant, ids))
        return found

    async def known(self, tenant: str, change_ids: Sequence[str]) -> Mapping[str, str]:
        found: Mapping[str, str] = await self._call("known", lambda: self.inner.known(tenant, change_ids))
        return found

    async def vectors(self, tenant: str, versions: Sequence[tuple[str, int]]) -> list[bytes | None]:
        found: list[bytes | None] = await self._call("vectors", lambda: self.inner.vectors(tenant, versions))
        return found


class _Listing:
    """The verbs of a surveyor."""

    inner: SupportsListing
    _call: Interceptor

    async def owners(self, tenant: str) -> list[tuple[str, int]]:
        found: list[tuple[str, int]] = await self._call("owners", lambda: self.inner.owners(tenant))
        return found

    async def newest(self, where: Where, before: str | None, limit: int) -> list[Record]:
        found: list[Record] = await self._call("newest", lambda: self.inner.newest(where, before, limit))
        return found


class _Tracking:
    """The verb of a tracker."""

    inner: Tracker
    _call: Interceptor

    async def touch(self, scope: Scope, ids: Sequence[str], at: int) -> None:
        await self._call("touch", lambda: self.inner.touch(scope, ids, at))


class _Counts:
    """The verb of a recall counter."""

    inner: RecallCounter
    _call: Interceptor

    async def recalls(self, records: Sequence[Record]) -> Sequence[int]:
        counts: Sequence[int] = await self._call("recalls", lambda: self.inner.recalls(records))
        return counts


_ABILITIES: tuple[tuple[type, type], ...] = (
    (SupportsHistory, _History),
    (SupportsChangeLog, _Log),
    (SupportsListing, _Listing),
    (Tracker, _Tracking),
    (RecallCounter, _Counts),
)


def wrap(
    inner: Store,
    intercept: Interceptor,
    *,
    prepare: Callable[[Change], Change] = lambda change: change,
    name: str | None = None,
) -> Store:
    """A store that leads every call to `inner` through the door; it can do what `inner` can.

    `prepare` makes what is written of what was to be written; `name` is another name for it.
    """
    shown = tuple(verbs for ability, verbs in _ABILITIES if isinstance(inner, ability))
    kind: type[_Wrapper] = type("Around", (_Wrapper, *shown), {})
    return kind(inner, intercept, prepare, name)


def with_name(store: Store, name: str) -> Store:
    """The store under another name, which receipts and the outbox use."""

    async def intercept(verb: str, call: Call[Any]) -> Any:
        return await call()

    return wrap(store, intercept, name=name)
