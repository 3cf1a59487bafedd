"""Memories in Postgres with pgvector: versions, vectors, text index and history in one transaction.

`postgresql://user@host/database`, as libpq reads it, with options of ours: `?schema=memorywire` names the
Postgres schema to live in, `?pool=10` how many connections a process may open, `?prepare=on` or `off` says if
statements are prepared (the default: unless a pooler is in between), `?notify=on` announces commits to
other processes, and `?stale=ok` lets searches and lists be answered by a replica that may be a moment behind.
"""

from importlib import import_module
from typing import TYPE_CHECKING

from memorywire.model.errors import StoreUnavailable
from memorywire.model.text import install_hint

if TYPE_CHECKING:  # the help of `memorywire shards` loads this module
    from memorywire.model.space import Space
    from memorywire_postgres.store import PostgresStore

__all__ = ["open_store", "require_driver"]


async def open_store(url: str, *, space: "Space") -> "PostgresStore":
    """The store at this URL, its tables created if they are not there yet; its vectors are of `space`."""
    require_driver()
    from memorywire_postgres.location import locate
    from memorywire_postgres.store import PostgresStore

    return await PostgresStore.opened(locate(url), space)


def require_driver() -> None:
    """Raises StoreUnavailable when psycopg is not there."""
    try:
        import_module("psycopg_pool")
        import_module("psycopg")
    except ImportError as error:
        raise StoreUnavailable(
            "the store postgresql needs psycopg, which is not installed or cannot be loaded",
            field="store",
            fix=install_hint("memorywire-postgres"),
        ) from error
