"""A store around a store: every verb goes through one function, and abilities are those of the inner one."""

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
"""Verbs that can safely be asked twice and are quickly answered; pages of a log are not."""

Call: TypeAlias = Callable[[], Awaitable[T]]


class Interceptor(Protocol):
    """What a wrapper does around a call; `verb` is the name of what is called."""

    async def __call__(self, verb: str, call: Call[Any]) -> Any: ...


class _Wrapper:
    """The parts of every wrapper that do not only pass a call on; `wrap` adds the verbs."""

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
"""The verbs of each ability, and those that every store has."""


def wrap(
    inner: Store,
    intercept: Interceptor,
    *,
    prepare: Callable[[Change], Change] = lambda change: change,
    name: str | None = None,
) -> Store:
    """A store that leads every call to `inner` through `intercept`; it can do what `inner` can.

    `prepare` makes what is written of what was to be written; `name` is another name for it.
    """
    verbs = [verb for ability, names in _VERBS.items() if isinstance(inner, ability) for verb in names]
    kind = type("Wrapper", (_Wrapper,), {verb: _build_verb(verb) for verb in verbs})
    return cast(Store, kind(inner, intercept, prepare, name))


def with_name(store: Store, name: str) -> Store:
    """The store under another name, which receipts and the outbox use."""

    async def intercept(verb: str, call: Call[Any]) -> Any:
        return await call()

    return wrap(store, intercept, name=name)
