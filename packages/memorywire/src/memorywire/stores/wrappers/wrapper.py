"""A store around a store: one function intercepts every call; the optional protocols are kept."""

from collections.abc import Awaitable, Callable
from typing import Any, Protocol, TypeAlias, TypeVar, cast

from memorywire.model.capabilities import Feature
from memorywire.model.change import Change
from memorywire.stores.contract import (
    RecallCounter,
    RemovesUsers,
    Store,
    SupportsChangeLog,
    SupportsEdges,
    SupportsHistory,
    SupportsListing,
    SupportsTally,
    Tracker,
)

T = TypeVar("T")

READS = frozenset(
    {"get", "find", "count", "search", "duplicate", "history", "footprint", "committed", "edges"}
)
"""Verbs that are safe to repeat and fast; pages of a log are not fast."""

Call: TypeAlias = Callable[[], Awaitable[T]]


class Interceptor(Protocol):
    """The function around a call; `verb` is the name of the called method."""

    async def __call__(self, verb: str, call: Call[Any]) -> Any: ...


class _Wrapper:
    """The methods of a wrapper that do more than forward a call; `wrap` adds the others."""

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
        return cast(frozenset[Feature], self.inner.features)

    async def write(self, change: Change) -> int:
        return cast(int, await self._call("write", lambda: self.inner.write(self._prepare(change))))

    async def close(self) -> None:
        await self.inner.close()


def _build_verb(verb: str) -> Callable[..., Awaitable[Any]]:
    async def pass_on(self: _Wrapper, *arguments: Any, **options: Any) -> Any:
        return await self._call(verb, lambda: getattr(self.inner, verb)(*arguments, **options))

    return pass_on


_VERBS: dict[type, tuple[str, ...]] = {
    object: ("get", "find", "count", "search", "duplicate", "health"),
    SupportsHistory: ("history", "footprint", "committed", "changes"),
    SupportsChangeLog: ("agents", "log", "origins", "known", "vectors"),
    SupportsEdges: ("edges",),
    SupportsListing: ("owners", "newest"),
    SupportsTally: ("tally",),
    Tracker: ("touch",),
    RecallCounter: ("recalls",),
    RemovesUsers: ("remove_user",),
}
"""The verbs of each optional protocol, and those of every store (`object`)."""


def wrap(
    inner: Store,
    intercept: Interceptor,
    *,
    prepare: Callable[[Change], Change] = lambda change: change,
    name: str | None = None,
) -> Store:
    """Return a store that passes every call to `inner` through `intercept`, with the same protocols.

    `prepare` transforms each change before it is written; `name` replaces the store's name.
    """
    verbs = [verb for ability, names in _VERBS.items() if isinstance(inner, ability) for verb in names]
    kind = type("Wrapper", (_Wrapper,), {verb: _build_verb(verb) for verb in verbs})
    return cast(Store, kind(inner, intercept, prepare, name))


def with_name(store: Store, name: str) -> Store:
    """Return the store with another name for receipts and the outbox."""

    async def intercept(verb: str, call: Call[Any]) -> Any:
        return await call()

    return wrap(store, intercept, name=name)
