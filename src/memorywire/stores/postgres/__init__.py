"""Memories in Postgres with pgvector: versions, vectors, text index and history in one transaction.

`postgresql://user@host/database`, as libpq reads it, with options of ours: `?schema=memorywire` names the
Postgres schema to live in, `?pool=10` how many connections a process may open, `?prepare=off` is for poolers
that do not keep prepared statements, and `?notify=on` announces commits to other processes.
"""

from importlib import import_module
from typing import TYPE_CHECKING

from memorywire.model.errors import StoreUnavailable
from memorywire.model.space import Space

if TYPE_CHECKING:
    from memorywire.stores.postgres.store import PostgresStore

__all__ = ["open_store"]


async def open_store(url: str, *, space: Space) -> "PostgresStore":
    """The store at this URL, its tables created if they are not there yet; its vectors are of `space`."""
    try:
        import_module("psycopg_pool")
        import_module("psycopg")
    except ImportError as error:
        raise StoreUnavailable(
            "the store postgresql needs psycopg, which is not installed or cannot be loaded",
            field="store",
            fix="pip install 'memorywire[postgres]'",
        ) from error
    from memorywire.stores.postgres.location import locate
    from memorywire.stores.postgres.store import PostgresStore

    return await PostgresStore.opened(locate(url), space)
