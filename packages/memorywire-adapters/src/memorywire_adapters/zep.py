"""Memories as facts in Zep's service: `zep:///folder?preview=1`, or `zep://HOST/folder?preview=1`.

A preview: written for the published client, zep-cloud 4, not tested against the service. Each user of an
agent has a separate graph. The folder holds the sidecar, which without a folder lasts as long as the process.
ZEP_API_KEY holds the key of the service; `&tls=0` uses plain HTTP, for a host of your own.
"""

import asyncio
import os
import uuid
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

from memorywire.model.capabilities import Feature
from memorywire.model.errors import StoreUnavailable
from memorywire.model.query import Query
from memorywire.model.record import Json, Scope
from memorywire.model.space import Space
from memorywire_adapters.products import (
    PREVIEW,
    Entry,
    Place,
    Ref,
    Seen,
    VendorStore,
    agent_label,
    locate,
    need,
    refuse_unless_asked_for,
    user_label,
)

NAME = "zep"

_PAYLOAD = "memorywire"
_KEY = "memorywire_key"
_MOST = 100
_PAUSE = 0.5
_UNFINISHED = frozenset({"pending", "processing"})
_REQUESTS = uuid.UUID("6d656d6f-7279-5769-8265-000000000003")
# A deleted fact leaves its graph, but the service keeps the episode made from it.
_LACKS = frozenset({Feature.HARD_DELETE})


async def open_store(url: str, *, space: Space) -> VendorStore:
    """Open the store in the service. It keeps vectors of `space` in addition to those that Zep makes."""
    place = locate(url, options=frozenset({PREVIEW, "tls"}))
    refuse_unless_asked_for(place, NAME)
    if place.path is not None:
        place.path.mkdir(parents=True, exist_ok=True)
    # In a thread, because importing the client takes a second.
    module = await asyncio.to_thread(need, "zep_cloud", store=NAME, extra=NAME)
    books = None if place.path is None else place.path / "memorywire.db"
    return await VendorStore.opened(Zep(module, place), space, books=books, lacks=_LACKS)


class Zep:
    """Uses Zep's client: each memory is an edge, with our key and record as attributes."""

    name = NAME

    def __init__(self, module: Any, place: Place) -> None:
        scheme = "http" if place.options.get("tls") == "0" else "https"
        host = {"base_url": f"{scheme}://{place.host}/api/v4"} if place.host else {}
        key = os.environ.get("ZEP_API_KEY", "none")
        self._client = module.AsyncZep(api_key=key, max_retries=0, **host)
        self._missing = module.NotFoundError
        core = need("zep_cloud.core.api_error", store=NAME, extra=NAME)
        transport = need("httpx", store=NAME, extra=NAME).HTTPError
        self.errors: tuple[type[Exception], ...] = (core.ApiError, transport)
        self._module = module
        self._graphs: dict[str, str] = {}

    async def keep(self, entries: Sequence[Entry]) -> Sequence[str]:
        handles: list[str] = []
        for entry in entries:
            graph = await self._graph(_name(entry.record.scope), make=True)
            made = await self._client.graph.edge.add(
                graph,
                edges=[self._edge(entry)],
                deduplicate=False,
                idempotency_key=str(uuid.uuid5(_REQUESTS, entry.key)),
            )
            await self._wait_for_task(made.task)
            handles.append(str(made.edges[0].uuid_))
        return handles

    def _edge(self, entry: Entry) -> Any:
        scope, node = entry.record.scope, self._module.EdgeNodeRef
        return self._module.EdgeInput(
            fact=entry.text,
            fact_name=entry.record.type.value.upper(),
            source_node=node(name=user_label(scope)),
            target_node=node(name=agent_label(scope)),
            attributes={_KEY: entry.key, _PAYLOAD: entry.payload},
        )

    async def _wait_for_task(self, task: Any) -> None:
        """Wait for a task: Zep accepts a write first, and its data can be read when the task ends."""
        while task.status in _UNFINISHED:
            await asyncio.sleep(_PAUSE)
            task = await self._client.task.get(task.uuid_)
        if task.status != "succeeded":
            raise StoreUnavailable(f"Zep accepted the task but it failed: {task.status}", fix="retry")

    async def _graph(self, name: str, *, make: bool = False) -> str | None:
        if name not in self._graphs:
            async for graph in await self._client.graph.list(search=name):
                if graph.name == name:
                    self._graphs[name] = graph.uuid_
        if make and name not in self._graphs:
            self._graphs[name] = (await self._client.graph.create(name=name)).uuid_
        return self._graphs.get(name)

    async def drop(self, refs: Sequence[Ref]) -> None:
        for ref in refs:
            graph = await self._graph(_name(ref.scope))
            if graph is not None:
                for edge in [ref.handle] if ref.handle is not None else await self._edges(graph, ref.key):
                    with suppress(self._missing):
                        gone = await self._client.graph.edge.delete(graph, edge)
                        await self._wait_for_task(gone.task)

    async def _edges(self, graph: str, key: str) -> list[str]:
        """Return the ids of all edges in the graph that have this key."""
        every = await self._client.graph.edge.list(graph, page_size=_MOST)
        return [str(edge.uuid_) async for edge in every if (edge.attributes or {}).get(_KEY) == key]

    async def fetch(self, refs: Sequence[Ref]) -> Sequence[Seen]:
        results = []
        for ref in refs:
            graph = await self._graph(_name(ref.scope))
            if graph is not None and ref.handle is not None:
                with suppress(self._missing):
                    results.append(await self._client.graph.edge.get(graph, ref.handle))
        return _build_entries(results)

    async def nearest(self, query: Query, limit: int) -> Sequence[Seen]:
        scope = query.where.scope
        graph = None if scope.user is None else await self._graph(_name(scope))
        if graph is None or not query.text.strip():
            return []  # the caller then reads all entries in the sidecar
        page = await self._client.graph.search_edges(graph, query=query.text, page_size=min(limit, _MOST))
        return _build_entries(page.items or [])

    async def health(self) -> Mapping[str, Json]:
        await self._client.graph.list(page_size=1)
        return {"ok": True}

    async def close(self) -> None:
        """Do nothing: the client has no open connection."""


def _name(scope: Scope) -> str:
    return f"{agent_label(scope)}__{user_label(scope)}"


def _build_entries(edges: Sequence[Any]) -> list[Seen]:
    """Return the entries of memorywire; others may keep facts in the same graph."""
    ours = [edge.attributes or {} for edge in edges]
    return [Seen(key=one[_KEY], payload=one[_PAYLOAD]) for one in ours if _KEY in one]
