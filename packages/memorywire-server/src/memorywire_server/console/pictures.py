"""Caches the maps of agents, and redraws one when the agent's memories have changed."""

import asyncio
from collections import Counter, OrderedDict
from collections.abc import Sequence

import numpy as np
from msgspec import Struct

from memorywire.model.clock import DAY_MS
from memorywire.model.errors import CapabilityUnsupported
from memorywire.model.query import Where
from memorywire.model.record import Record, Scope
from memorywire.pipeline.context import Context
from memorywire.pipeline.redact import drop_redacted
from memorywire.stores.contract import Store, SupportsChangeLog, SupportsReplicas
from memorywire_server.auth import Caller
from memorywire_server.console import projection
from memorywire_server.console.entities import Graph, draw_graph
from memorywire_server.console.projection import Colouring, Picture, Points
from memorywire_server.http.endpoint import Service

MOST = 200_000
"""The most memories of an agent to draw; the oldest are drawn."""

_PAGE = 2_000
_PICTURES = 8
_PATIENCE_SECONDS = 0.25
_FIRST_SECONDS = 1.5  # for an agent without an earlier picture
_NAMED = 6
_OTHER = "other"
AGES = (("today", 1), ("this week", 7), ("this month", 31), ("this year", 366))
_OLDER = "older"


class Drawn(Struct, frozen=True, kw_only=True):
    """The map of an agent as of a change; `versions` are the versions of its points."""

    edition: str
    picture: Picture
    graph: Graph
    versions: tuple[tuple[str, int], ...]
    sizes: tuple[tuple[str, int, int], ...] = ()
    """For each user (`""` for none): number of memories and bytes of text, the largest first."""


class Pictures:
    """Caches the recently used pictures; a picture that takes long is drawn in the background."""

    def __init__(self, service: Service) -> None:
        self._service = service
        self._kept: OrderedDict[tuple[str, str, str], Drawn] = OrderedDict()
        self._drawing: dict[tuple[str, str, str], asyncio.Future[Drawn]] = {}

    async def find(self, caller: Caller, agent: str) -> tuple[Drawn | None, bool]:
        """Return the picture of an agent, and whether it is current; None while the first one is drawn."""
        scope = Scope(tenant=caller.tenant, agent=agent)
        context = await self._service.as_caller(caller).context.serving(scope)
        policy = (
            None if context.governance is None else await context.governance.rulebook.policy(scope.tenant)
        )
        reader = caller.name if policy is not None and policy.redactions else ""
        key, edition = (caller.tenant, agent, reader), await _read_edition(scope, context)
        kept = self._kept.get(key)
        if kept is not None and kept.edition == edition:
            self._kept.move_to_end(key)
            return kept, True
        if key not in self._drawing:
            work = _draw(scope, edition, kept, context)
            self._drawing[key] = asyncio.ensure_future(self._service.finish(work))
        drawing = self._drawing[key]
        done, _ = await asyncio.wait({drawing}, timeout=_FIRST_SECONDS if kept is None else _PATIENCE_SECONDS)
        if not done:
            return kept, False
        self._drawing.pop(key, None)
        self._kept[key] = drawing.result()
        while len(self._kept) > _PICTURES:
            self._kept.popitem(last=False)
        return self._kept[key], True


def colour_ages(created: projection.Whole, now: int) -> Colouring:
    """Colour the memories by their age at the time of the request."""
    days = (now - created) / DAY_MS
    limits = [most for _, most in AGES]
    names = (*(name for name, _ in AGES), _OLDER)
    return Colouring(names, np.searchsorted(limits, days).astype(np.uint8))


async def _read_edition(scope: Scope, context: Context) -> str:
    """Return the id of the agent's newest change."""
    newest = await context.historian("map").changes(scope, 1)
    return newest[0].id if newest else ""


async def _draw(scope: Scope, edition: str, before: Drawn | None, context: Context) -> Drawn:
    store = _find_store(context)
    where = Where(scope=scope, alive_at=context.clock())
    records: list[Record] = []
    after: str | None = None
    while len(records) < MOST:
        found = await store.find(where, after, _PAGE)
        records += found
        if len(found) < _PAGE:
            break
        after = found[-1].id
    records = await drop_redacted(records, scope, context)
    points, axes = await _place(scope, records, before, store)
    return await asyncio.to_thread(_finish, edition, records, points, axes)


async def _place(
    scope: Scope, records: Sequence[Record], before: Drawn | None, store: Store
) -> tuple[Points, projection.Axes | None]:
    """Compute the point of each record; under the same axes, a record of the last picture keeps its point."""
    if not records:
        return np.zeros((0, 2), np.float32), None
    fit = projection.count_for_fit(len(records))
    axes = None if before is None else before.picture.axes
    old: dict[tuple[str, int], Points] = {}
    if before is not None and axes is not None and axes.fit == fit:
        old = dict(zip(before.versions, before.picture.points, strict=True))
    else:
        vectors = await _read_vectors(scope, records[:fit], store)
        axes = await asyncio.to_thread(projection.fit_axes, vectors)
    points = np.zeros((len(records), 2), np.float32)
    new = [at for at, one in enumerate(records) if (one.id, one.version) not in old]
    for at, one in enumerate(records):
        if (one.id, one.version) in old:
            points[at] = old[one.id, one.version]
    for start in range(0, len(new), _PAGE):
        some = new[start : start + _PAGE]
        points[some] = axes.place(await _read_vectors(scope, [records[at] for at in some], store))
    return points, axes


async def _read_vectors(scope: Scope, records: Sequence[Record], store: Store) -> Points:
    if not isinstance(store, SupportsChangeLog):
        raise _unsupported(store)
    blobs = await store.vectors(scope.tenant, [(one.id, one.version) for one in records])
    size = max((len(blob) for blob in blobs if blob is not None), default=8) // 4
    return projection.decode_vectors(blobs, size)


def _find_store(context: Context) -> Store:
    """Return the store whose vectors can be read: the agent's store, or its first replica that can."""
    store = context.store
    each = (
        [store.replica(name) for name in store.replica_names]
        if isinstance(store, SupportsReplicas)
        else [store]
    )
    chosen = next((one for one in each if isinstance(one, SupportsChangeLog)), None)
    if chosen is None:
        raise _unsupported(store)
    return chosen


def _unsupported(store: Store) -> CapabilityUnsupported:
    return CapabilityUnsupported(
        f"store {store.name} does not expose its vectors, so there is no map",
        field="agent",
        fix="use the list of memories",
    )


def _finish(edition: str, records: Sequence[Record], points: Points, axes: projection.Axes | None) -> Drawn:
    colours = {
        "type": _colour([one.type.value for one in records]),
        "source": _colour([one.source or "no source" for one in records]),
        "user": _colour([one.scope.user or "no user" for one in records]),
    }
    return Drawn(
        edition=edition,
        picture=projection.build_picture(records, points, axes, colours),
        graph=draw_graph(records, points),
        versions=tuple((one.id, one.version) for one in records),
        sizes=_measure(records),
    )


def _measure(records: Sequence[Record]) -> tuple[tuple[str, int, int], ...]:
    counts: Counter[str] = Counter()
    sizes: Counter[str] = Counter()
    for one in records:
        counts[one.scope.user or ""] += 1
        sizes[one.scope.user or ""] += len(one.text.encode())
    return tuple((user, counts[user], size) for user, size in sizes.most_common())


def _colour(values: Sequence[str]) -> Colouring:
    """Assign a colour to each of the most frequent values, and one to all others."""
    names, places, counts = np.unique(
        np.array(values, dtype=object).astype(str), return_inverse=True, return_counts=True
    )
    order = np.argsort(-counts, kind="stable")
    shown = order[:_NAMED] if len(order) > _NAMED + 1 else order
    colour = np.full(len(names), len(shown), np.uint8)
    colour[shown] = np.arange(len(shown))
    chosen = tuple(str(names[at]) for at in shown)
    return Colouring(chosen if len(shown) == len(order) else (*chosen, _OTHER), colour[places.reshape(-1)])
