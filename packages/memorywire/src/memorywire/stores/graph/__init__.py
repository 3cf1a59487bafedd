"""Memories in one SQLite file with typed edges between them: `graph:///file`, in memory `graph://`.

The file is that of `sqlite://`, with two more tables. Opening an existing file as a graph adds the
edges of what is there, and the file can still be written as plain SQLite.
"""

import asyncio

from memorywire.model.edge import Edge, Kind
from memorywire.model.space import Space
from memorywire.stores.graph.store import GraphStore
from memorywire.stores.sqlite.location import locate

__all__ = ["Edge", "GraphStore", "Kind", "open_store"]


async def open_store(url: str, *, space: Space) -> GraphStore:
    """The store at this URL, created if it is not there yet; its vectors are of `space`."""
    location = locate(f"sqlite{url.removeprefix('graph')}")
    store = await asyncio.to_thread(GraphStore, location, space)
    await store.prepare()
    return store
