"""Memories in Postgres with pgvector. One transaction writes versions, vectors, text index and history.

The URL `postgresql://user@host/database` is read as by libpq, with extra options: `?schema=memorywire` is
the Postgres schema to use, `?pool=10` the most connections per process, `?prepare=on` or `off` turns
prepared statements on or off (default: off behind a pooler), `?notify=on` announces commits to
other processes, and `?stale=ok` lets a replica, which may lag behind, answer searches and lists.
"""

from importlib import import_module
from typing import TYPE_CHECKING

from memorywire.model.errors import StoreUnavailable
from memorywire.model.text import install_hint

if TYPE_CHECKING:  # `memorywire shards --help` loads this module
    from memorywire.model.space import Space
    from memorywire_postgres.store import PostgresStore

__all__ = ["open_store", "require_driver"]


async def open_store(url: str, *, space: "Space") -> "PostgresStore":
    """Open the store at this URL; creates missing tables, with vectors of the embedding space `space`."""
    require_driver()
    from memorywire_postgres.location import locate
    from memorywire_postgres.store import PostgresStore

    return await PostgresStore.opened(locate(url), space)


def require_driver() -> None:
    """Raise StoreUnavailable if psycopg is not installed."""
    try:
        import_module("psycopg_pool")
        import_module("psycopg")
    except ImportError as error:
        raise StoreUnavailable(
            "the store postgresql needs psycopg, which is not installed or cannot be loaded",
            field="store",
            fix=install_hint("memorywire-postgres"),
        ) from error
