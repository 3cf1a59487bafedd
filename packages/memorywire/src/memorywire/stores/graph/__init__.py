"""Memories in one SQLite file with typed edges between them: `graph:///file`, in memory `graph://`.

The file is a `sqlite://` file with two more tables. Opening an existing file as a graph adds the
edges of its memories, and the file can still be written by the plain SQLite store.
"""

import asyncio

from memorywire.model.edge import Edge, Kind
from memorywire.model.space import Space
from memorywire.stores.graph.store import GraphStore
from memorywire.stores.sqlite.location import locate

__all__ = ["Edge", "GraphStore", "Kind", "open_store"]


async def open_store(url: str, *, space: Space) -> GraphStore:
    """Open the store at this URL, with vectors of `space`; creates the file if it does not exist."""
    location = locate(f"sqlite{url.removeprefix('graph')}")
    store = await asyncio.to_thread(GraphStore, location, space)
    await store.prepare()
    return store
