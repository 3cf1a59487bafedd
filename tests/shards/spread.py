"""A new group of two shards, each of which keeps half of the buckets before anybody has written."""

import psycopg

from memorywire_postgres.location import locate
from memorywire_postgres.shards.directory import Directory
from memorywire_postgres.shards.move import add
from memorywire_testing.samples import SPACE


async def spread(directory_url: str, one: str, other: str) -> None:
    """The odd buckets go to the other one; moving empty ones one by one would take twenty minutes."""
    directory = await Directory.opened(directory_url)
    await add(directory, "one", one, SPACE)
    second = await add(directory, "other", other, SPACE)
    await directory.close()
    odd = "SELECT number FROM generate_series(1, 1023, 2) AS number"
    for url, statement in (
        (one, f"INSERT INTO elsewhere (bucket) {odd}"),
        (other, f"DELETE FROM elsewhere WHERE bucket IN ({odd})"),
        (directory_url, f"UPDATE bucket SET shard = {second.number} WHERE number IN ({odd})"),
    ):
        location = locate(url)
        with psycopg.connect(location.dsn, autocommit=True) as db:
            db.execute(f"SET search_path = {location.schema}")
            db.execute(statement)
