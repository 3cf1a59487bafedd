"""Opening several stores as one: each under a name and a guard, the embedded one as the anchor."""

import asyncio
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import field, replace

from memorywire.model.capabilities import Feature
from memorywire.model.clock import Clock
from memorywire.model.errors import InvalidRequest, StoreBusy, StoreUnavailable
from memorywire.model.space import Space
from memorywire.model.values import dataclass
from memorywire.pipeline.routing import Routing
from memorywire.stores.contract import Store
from memorywire.stores.registry import open_store
from memorywire.stores.router import DEADLINE, WRITING, Mount, Route, Router
from memorywire.stores.router.mounting import backend_of, name_in
from memorywire.stores.sqlite import SqliteStore
from memorywire.stores.wrappers import absent, with_breaker, with_hedge, with_patience, with_seal

_SHARE = 0.75
"""The share of the deadline that one store may take, so that its failure shows before the deadline."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Several:
    """How several stores work together.

    `deadline` is in seconds, for a recall, and `writing` for a write. A read that takes longer than `hedge`
    seconds is asked again. `seals` are keys by store name: what such a store returns must carry our seal.
    With a `route` a recall asks the stores of one kind, and not all of them.
    """

    routing: Routing = field(default_factory=Routing)
    deadline: float = DEADLINE
    writing: float = WRITING
    hedge: float | None = None
    seals: Mapping[str, str] = field(default_factory=dict)
    route: Route | None = None


async def open_several(
    stores: Sequence[str | Store], several: Several, *, space: Space, clock: Clock
) -> Router:
    """A router over what the URLs name. A store that cannot be reached now is opened when it can be.

    The anchor stands first: it decides, and it is read first.
    """
    _refuse_twins(stores)
    once = {_backend(store, place): store for place, store in reversed(list(enumerate(stores)))}
    opened = await asyncio.gather(*(_mount(once[key], key, space) for key in reversed(once)))
    anchor = _anchor(opened)
    first = [mount for mount in opened if mount is anchor]
    guarded = [_guarded(mount, several, clock) for mount in opened if mount is not anchor]
    router = Router(
        [*first, *guarded], deadline=several.deadline, writing=several.writing, route=several.route
    )
    _refuse_unknown({**several.routing.weights, **several.seals}, router)
    return router


def anchor_store(store: Store) -> Store:
    """The store in whose file the journal may live."""
    if not isinstance(store, Router):
        return store
    leader: Store = next(iter(store.mounts.values())).store
    return leader if isinstance(leader, SqliteStore) else store


def _refuse_twins(stores: Sequence[str | Store]) -> None:
    """Refuse two stores of one name: their receipts and debts could not be told apart."""
    given = [name_in(store)[1] if isinstance(store, str) else store.name for store in stores]
    names = Counter(name for name in given if name is not None)
    twins = [name for name, times in names.items() if times > 1]
    if twins:
        raise InvalidRequest(
            f"two stores are called {twins[0]}",
            field="store",
            fix="name them apart: URL#name, or with_name(store, name)",
        )


def _backend(store: str | Store, place: int) -> str:
    return backend_of(name_in(store)[0], place) if isinstance(store, str) else f"object:{id(store)}"


async def _mount(store: str | Store, backend: str, space: Space) -> Mount:
    if not isinstance(store, str):
        return Mount(name=store.name, store=store, backend=backend)
    url, name = name_in(store)
    try:
        found = await open_store(url, space=space)
    except (StoreUnavailable, StoreBusy):
        scheme = url.partition(":")[0]
        found = absent(name or scheme, lambda: open_store(url, space=space))
    return Mount(name=name or found.name, store=found, backend=backend)


def _anchor(mounts: Sequence[Mount]) -> Mount | None:
    """The first embedded store; one in memory only if all of them are."""
    embedded = [mount for mount in mounts if isinstance(mount.store, SqliteStore)]
    lasting = [mount for mount in embedded if Feature.DURABLE in mount.store.features]
    forgetful = not any(Feature.DURABLE in mount.store.features for mount in mounts)
    return next(iter(lasting or (embedded if forgetful else [])), None)


def _guarded(mount: Mount, several: Several, clock: Clock) -> Mount:
    """A store that may be far away: asked again when slow, given up in time, left alone after failures."""
    store = mount.store
    if mount.name in several.seals:
        store = with_seal(store, several.seals[mount.name].encode())
    if several.hedge is not None:
        store = with_hedge(store, several.hedge)
    patient = with_patience(store, several.deadline * _SHARE, writes=several.writing)
    return replace(mount, store=with_breaker(patient, clock=clock))


def _refuse_unknown(named: Mapping[str, object], router: Router) -> None:
    unknown = sorted(set(named) - set(router.children))
    if unknown:
        raise InvalidRequest(
            f"no store is called {unknown[0]}", field="router", fix=f"one of: {', '.join(router.children)}"
        )
