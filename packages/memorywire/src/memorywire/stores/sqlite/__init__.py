"""Memories in one SQLite file: versions, vectors, text index and history in the same transaction.

`sqlite:///absolute/path`, `sqlite:///./relative/path`, `sqlite:///~/path`; `sqlite://` is in memory.
`?synchronous=normal` is faster, but a power failure may lose the last commits.
"""

import asyncio

from memorywire.model.space import Space
from memorywire.stores.sqlite.connection import RetryPolicy, connect, log_ahead, map_errors, writing
from memorywire.stores.sqlite.file import SqliteFile
from memorywire.stores.sqlite.location import Location, locate
from memorywire.stores.sqlite.store import SqliteStore

__all__ = [
    "Location",
    "RetryPolicy",
    "SqliteFile",
    "SqliteStore",
    "connect",
    "log_ahead",
    "map_errors",
    "open_store",
    "writing",
]


async def open_store(url: str, *, space: Space) -> SqliteStore:
    """Open the store at this URL, with vectors of `space`; creates the file if it does not exist."""
    return await asyncio.to_thread(SqliteStore, locate(url), space)
