"""The router: a store made of stores; routers can be nested. It stores nothing itself.

A caller with a journal writes through `write_each` and records which replicas missed the change. `write`
requires that all replicas accept. Writing a change again is safe, so a failed write can be retried.
"""

import asyncio
import hashlib
import math
from collections import Counter
from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping, Sequence
from typing import Any, TypeVar, cast
from urllib.parse import urlsplit

from msgspec import Struct
from msgspec.structs import replace

from memorywire.model.capabilities import Feature
from memorywire.model.change import Change, Footprint, Version
from memorywire.model.errors import (
    CapabilityUnsupported,
    NotFound,
    StoreCorrupt,
    StoreError,
    StoreUnavailable,
)
from memorywire.model.query import Query, Scored, Where
from memorywire.model.record import Json, Record, Scope
from memorywire.stores.contract import Found, RecallCounter, Store, SupportsHistory, Tracker, Written
from memorywire.stores.router.rules import Route, find_kind, order_kinds
from memorywire.stores.sqlite.location import locate
from memorywire.stores.wrappers.resilience import CallResult, ask_each

_EMBEDDED = ("graph", "sqlite")
"""Schemes of the same file format: two URLs of the same path are one backend."""


class Mount(Struct, frozen=True, kw_only=True):
    """A named store; mounts with equal `backend` have the same data."""

    name: str
    store: Store
    backend: str


def split_name(url: str) -> tuple[str, str | None]:
    """Split a store's URL and the optional name after it (`sqlite:///work.db#work`)."""
    address, _, name = url.partition("#")
    return address, name or None


def find_backend(url: str, place: int) -> str:
    """Return an identifier of the data of a URL, without credentials and options.

    An in-memory store is a different backend at every `place`.
    """
    parts = urlsplit(url)
    if parts.scheme in _EMBEDDED:
        path = locate(f"sqlite:{url.partition(':')[2]}").path
        return f"sqlite:{place}" if path is None else f"sqlite:{path.resolve()}"
    host = parts.netloc.rpartition("@")[2].lower()
    where = f"{host}{parts.path}"
    return f"{parts.scheme}://{where}" if where else f"{parts.scheme}:{place}"


def name_mounts(mounts: Iterable[Mount]) -> tuple[Mount, ...]:
    """Return the mounts with unique names, each backend once, in the given order.

    Names of stores of one type are derived from their location, so that their order may change between runs.
    """
    once = {mount.backend: mount for mount in reversed(tuple(mounts))}
    unique = tuple(reversed(once.values()))
    kinds = Counter(mount.name for mount in unique)
    return tuple(mount if kinds[mount.name] == 1 else _add_mark(mount) for mount in unique)


def _add_mark(mount: Mount) -> Mount:
    mark = hashlib.blake2b(mount.backend.encode(), digest_size=3).hexdigest()
    return replace(mount, name=f"{mount.name}-{mark}")


T = TypeVar("T")

DEADLINE = 2.0
"""Seconds after which a search uses the answers received so far."""

WRITE_DEADLINE = 10.0
"""Seconds after which an unacknowledged write counts as failed."""

# Features for which one replica is enough; the others are offered only if every replica has them.
_BY_ANY = frozenset(Feature) - {Feature.HARD_DELETE}


class Router:
    """Implements Store, SupportsHistory, Tracker, RecallCounter and SupportsReplicas.

    Exact reads are answered by the first replica that can, current replicas before lagging ones.
    With a `route` a search queries only the replicas of one kind.
    """

    def __init__(
        self,
        mounts: Sequence[Mount],
        *,
        name: str = "router",
        deadline: float = DEADLINE,
        writing: float = WRITE_DEADLINE,
        route: Route | None = None,
    ) -> None:
        self.name = name
        self.mounts = {mount.name: mount for mount in name_mounts(mounts)}
        self._deadline = deadline
        self._writing = writing
        self._route = route
        self._lagging: frozenset[str] = frozenset()

    @property
    def replica_names(self) -> tuple[str, ...]:
        return tuple(self.mounts)

    @property
    def features(self) -> frozenset[Feature]:
        """The features of every request: for some, one replica is enough, the others need all replicas."""
        each = [mount.store.features for mount in self.mounts.values()]
        return (frozenset.union(*each) & _BY_ANY) | frozenset.intersection(*each)

    def replica(self, name: str) -> Store:
        if name not in self.mounts:
            raise NotFound(
                f"there is no store {name}", field="store", fix=f"one of: {', '.join(self.mounts)}"
            )
        return self.mounts[name].store

    def mark_lagging(self, names: Collection[str]) -> None:
        self._lagging = frozenset(names)

    async def write_each(self, change: Change, names: Sequence[str]) -> list[Written]:
        results = await ask_each({name: self.replica(name).write(change) for name in names}, self._writing)
        return [Written(store=one.store, error=one.error, elapsed=one.elapsed) for one in results]

    async def search_each(self, query: Query, limit: int) -> list[Found]:
        """Search every replica; with a route those of one kind first, others only if these find nothing."""
        if self._route is None:
            return await self._ask(self.mounts, query, limit, self._deadline)
        now = asyncio.get_running_loop().time
        end = now() + self._deadline
        answers: list[Found] = []
        for kind in order_kinds(self._route(query)):
            names = [name for name, mount in self.mounts.items() if find_kind(mount.store) is kind]
            answers += await self._ask(names, query, limit, max(end - now(), 0.0)) if names else []
            if any(answer.hits for answer in answers):
                break
        return answers

    async def _ask(self, names: Iterable[str], query: Query, limit: int, seconds: float) -> list[Found]:
        searches = {name: self.mounts[name].store.search(query, limit) for name in names}
        return [_check_answer(result, limit) for result in await ask_each(searches, seconds)]

    async def write(self, change: Change) -> int:
        """Write to the first replica, which may refuse the change, then to all others."""
        first, *others = self._sort_replicas()
        sequence = await self.replica(first).write(change)
        failures = [result for result in await self.write_each(change, others) if result.error is not None]
        if failures:
            names = ", ".join(result.store for result in failures)
            raise StoreUnavailable(f"not every store accepted the change: {names}", fix="write it again")
        return sequence

    async def get(self, scope: Scope, ids: Sequence[str]) -> list[Record]:
        return await self._ask_first(lambda store: store.get(scope, ids))

    async def find(self, where: Where, after: str | None = None, limit: int = 100) -> list[Record]:
        return await self._ask_first(lambda store: store.find(where, after, limit))

    async def count(self, where: Where) -> int:
        return await self._ask_first(lambda store: store.count(where))

    async def search(self, query: Query, limit: int) -> list[Scored]:
        """Return the ranking of the first replica that answers; callers that verify answers do the fusion."""
        feature = Feature.AS_OF if query.where.as_of is not None else None
        return await self._ask_first(lambda store: store.search(query, limit), feature)

    async def duplicate(self, record: Record, at: int) -> Record | None:
        return await self._ask_first(lambda store: store.duplicate(record, at))

    async def health(self) -> Mapping[str, Json]:
        """Return the health of each replica by name; `ok` if all are ok."""

        async def ask(store: Store) -> Mapping[str, Json]:
            return await store.health()

        stores = {}
        checks = {name: ask(mount.store) for name, mount in self.mounts.items()}
        for one in await ask_each(checks, self._writing):
            problem = {"ok": False, "problem": None if one.error is None else one.error.problem()}
            health = problem if one.answer is None else dict(one.answer)
            stores[one.store] = health | {"behind": one.store in self._lagging}
        return {"ok": all(store["ok"] for store in stores.values()), "stores": stores}

    async def close(self) -> None:
        await asyncio.gather(*(mount.store.close() for mount in self.mounts.values()))

    async def history(self, scope: Scope, id: str) -> list[Version]:
        return await self._ask_history(lambda past: past.history(scope, id))

    async def footprint(self, scope: Scope, change_id: str) -> Footprint | None:
        return await self._ask_history(lambda past: past.footprint(scope, change_id))

    async def committed(self, scope: Scope, key: str) -> Footprint | None:
        return await self._ask_history(lambda past: past.committed(scope, key))

    async def changes(self, scope: Scope, limit: int) -> list[Change]:
        return await self._ask_history(lambda past: past.changes(scope, limit))

    async def touch(self, scope: Scope, ids: Sequence[str], at: int) -> None:
        """Count the recall on the first replica that supports it; `recalls` reads from the same one."""
        await self._ask_first(
            lambda store: cast(Tracker, store).touch(scope, ids, at), Feature.RECALL_TRACKING, Tracker
        )

    async def recalls(self, records: Sequence[Record]) -> Sequence[int]:
        return await self._ask_first(
            lambda store: cast(RecallCounter, store).recalls(records), Feature.RECALL_TRACKING, RecallCounter
        )

    async def _ask_history(self, ask: Callable[[SupportsHistory], Awaitable[T]]) -> T:
        return await self._ask_first(
            lambda store: ask(cast(SupportsHistory, store)), Feature.HISTORY, SupportsHistory
        )

    async def _ask_first(
        self, ask: Callable[[Store], Awaitable[T]], feature: Feature | None = None, ability: type = object
    ) -> T:
        """Return the answer of the first capable replica without a StoreError; other errors are raised."""
        able = [
            store
            for store in map(self.replica, self._sort_replicas())
            if isinstance(store, ability) and (feature is None or feature in store.features)
        ]
        if not able:
            raise CapabilityUnsupported(
                f"{feature} is not available: none of the stores has it", field=feature
            )
        for store in able[:-1]:
            try:
                async with asyncio.timeout(self._deadline):
                    return await ask(store)
            except (StoreError, TimeoutError):
                continue
        return await ask(able[-1])

    def _sort_replicas(self) -> list[str]:
        return sorted(self.mounts, key=lambda name: name in self._lagging)


def _check_answer(result: CallResult[list[Scored]], limit: int) -> Found:
    hits: Any = result.answer if result.error is None else []
    if not isinstance(hits, list) or not all(_is_hit(hit) for hit in hits):
        nonsense = StoreCorrupt("the store's answer is not a ranking of memories")
        return Found(store=result.store, error=nonsense, elapsed=result.elapsed)
    once = {hit.record.id: hit for hit in reversed(hits[:limit])}
    return Found(
        store=result.store, hits=tuple(reversed(once.values())), error=result.error, elapsed=result.elapsed
    )


def _is_hit(hit: Any) -> bool:
    return isinstance(hit, Scored) and isinstance(hit.record, Record) and math.isfinite(hit.score)
