"""The router: a store made of stores, which nests. It keeps nothing itself.

A caller with a journal writes through `write_each` and records what each replica missed. Written to as a
plain store, it demands that all replicas agree. A change may be written again, so a failure is retried.
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
"""Schemes of one kind of file: opened twice, it is still one."""


class Mount(Struct, frozen=True, kw_only=True):
    """A store under a name; mounts of equal `backend` keep the same data."""

    name: str
    store: Store
    backend: str


def split_name(url: str) -> tuple[str, str | None]:
    """A store's URL without the name that may follow it (`sqlite:///work.db#work`), and the name."""
    address, _, name = url.partition("#")
    return address, name or None


def find_backend(url: str, place: int) -> str:
    """Where the data of a URL really is, as far as the URL tells: without who asks, and how.

    What lives in this process only is another backend at every `place`.
    """
    parts = urlsplit(url)
    if parts.scheme in _EMBEDDED:
        path = locate(f"sqlite:{url.partition(':')[2]}").path
        return f"sqlite:{place}" if path is None else f"sqlite:{path.resolve()}"
    host = parts.netloc.rpartition("@")[2].lower()
    where = f"{host}{parts.path}"
    return f"{parts.scheme}://{where}" if where else f"{parts.scheme}:{place}"


def name_mounts(mounts: Iterable[Mount]) -> tuple[Mount, ...]:
    """The mounts with names that tell them apart, each backend once, in the order given.

    Stores of one kind are told apart by where they are, so that their order may change between two runs.
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
"""Seconds after which a search uses the answers it has."""

WRITE_DEADLINE = 10.0
"""Seconds after which a write that was not acknowledged counts as missed."""

# What one child can do for all of them; the other features are only there when every child has them.
_BY_ANY = frozenset(Feature) - {Feature.HARD_DELETE}


class Router:
    """Satisfies Store, SupportsHistory, Tracker, RecallCounter and SupportsReplicas.

    Reads that must be exact are answered by the first child that can, current children before those that
    miss changes. With a `route` a search asks the children of one kind only.
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
        """What holds for every request: for some features one child is enough, the others need all."""
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
        """Search every child; with a route those of one kind, and the others only when these find nothing."""
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
        """The first child decides whether the change is possible; then all the others follow."""
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
        """The ranking of the first child that answers; fusing is left to callers that can check answers."""
        feature = Feature.AS_OF if query.where.as_of is not None else None
        return await self._ask_first(lambda store: store.search(query, limit), feature)

    async def duplicate(self, record: Record, at: int) -> Record | None:
        return await self._ask_first(lambda store: store.duplicate(record, at))

    async def health(self) -> Mapping[str, Json]:
        """Each child's own word, under its name; `ok` when all are."""

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
        """Count the recall on the first child that can; the same child is asked for the counts."""
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
        """The answer of the first child that has the ability and answers; a refusal is an answer, too."""
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
