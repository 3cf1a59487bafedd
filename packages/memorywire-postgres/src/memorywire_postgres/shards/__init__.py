"""Many Postgres databases as one store: an agent's memories live whole in one of them.

`shards+postgresql://user@host/database` names the directory: a small table there says which shard keeps which
of 1,024 buckets of agents. Shards are added and buckets moved with `memorywire shards`.
"""

from typing import TYPE_CHECKING

from memorywire.model.space import Space

if TYPE_CHECKING:
    from memorywire_postgres.shards.store import ShardedStore

__all__ = ["SCHEME", "open_store"]

SCHEME = "shards+"


async def open_store(url: str, *, space: Space) -> "ShardedStore":
    """The store whose directory this URL names; shards are opened when they are first needed."""
    from memorywire_postgres import require_driver

    require_driver()
    from memorywire_postgres.shards.directory import Directory
    from memorywire_postgres.shards.store import ShardedStore

    directory = await Directory.opened(url.removeprefix(SCHEME))
    return await ShardedStore.opened(directory, space)
