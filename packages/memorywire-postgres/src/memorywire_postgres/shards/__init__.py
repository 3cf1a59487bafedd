"""Distributes agents over many Postgres databases; each agent's memories are in one of them.

`shards+postgresql://user@host/database` is the URL of the directory: a small table that assigns each of
1,024 buckets of agents to a shard. `memorywire shards` adds shards and moves buckets.
"""

from typing import TYPE_CHECKING

from memorywire.model.space import Space

if TYPE_CHECKING:
    from memorywire_postgres.shards.store import ShardedStore

__all__ = ["SCHEME", "open_store"]

SCHEME = "shards+"


async def open_store(url: str, *, space: Space) -> "ShardedStore":
    """Open the store whose directory is at this URL; each shard is opened on first use."""
    from memorywire_postgres import require_driver

    require_driver()
    from memorywire_postgres.shards.directory import Directory
    from memorywire_postgres.shards.store import ShardedStore

    directory = await Directory.opened(url.removeprefix(SCHEME))
    return await ShardedStore.opened(directory, space)
