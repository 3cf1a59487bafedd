"""The directory: a table of the shards, and of the shard of each bucket of agents."""

import os
from collections.abc import Mapping
from hashlib import md5
from typing import Any, Self

import psycopg
from msgspec import Struct
from psycopg import sql
from psycopg_pool import AsyncConnectionPool

from memorywire.model.errors import Conflict, NotFound
from memorywire.model.secrets import expand_variables
from memorywire.stores.document import Document
from memorywire_postgres.database import Connection, map_errors
from memorywire_postgres.location import Location, locate
from memorywire_postgres.rows import encode_text

BUCKETS = 1024


def bucket_of(agent: str) -> int:
    digest = md5(encode_text(agent).encode(), usedforsecurity=False).digest()
    return int.from_bytes(digest[:2], "big") % BUCKETS


def in_bucket(bucket: int, agent: str = "agent") -> str:
    """Return the SQL condition that the agent in the column `agent` belongs to the bucket."""
    high, low = (f"get_byte(decode(md5({agent}), 'hex'), {place})" for place in (0, 1))
    return f"((({high} * 256 + {low}) & {BUCKETS - 1}) = {bucket})"


QUERIES = Document(__package__, "queries.sql")
SCHEMA = "memorywire_shards"


class Shard(Struct, frozen=True, kw_only=True):
    """One database, or a group of databases with one primary.

    `url` may contain environment variables, `${NAME}`, so that the directory stores no password.
    """

    number: int
    name: str
    url: str

    @property
    def location(self) -> Location:
        """The location of the database; raises InvalidRequest if a variable of its URL is not set."""
        return locate(expand_variables(self.url, os.environ, field="url"))

    def __repr__(self) -> str:
        return f"Shard({self.number}, {self.name})"


class Map(Struct, frozen=True, kw_only=True):
    """The shard of every bucket in one edition; `targets` maps buckets being moved to their new shards."""

    edition: int
    shards: Mapping[int, Shard]
    homes: Mapping[int, int]
    targets: Mapping[int, int]

    def shard_of(self, bucket: int) -> Shard:
        if bucket not in self.homes:
            raise NotFound(
                "no shard has this agent's bucket",
                field="store",
                fix="memorywire shards add NAME URL",
            )
        return self.shards[self.homes[bucket]]

    def find_shard(self, name: str) -> Shard:
        for shard in self.shards.values():
            if shard.name == name:
                return shard
        names = ", ".join(shard.name for shard in self.shards.values()) or "none yet"
        raise NotFound(f"there is no shard {name}", field="shard", fix=f"known shards: {names}")


class Directory:
    """The tables of the directory, in a separate Postgres or in the database of a shard."""

    def __init__(self, location: Location) -> None:
        self.location = location
        self._pool: AsyncConnectionPool[Connection] = AsyncConnectionPool(
            location.primary,
            connection_class=psycopg.AsyncConnection,
            kwargs={"autocommit": True, "prepare_threshold": None},
            min_size=1,
            max_size=2,
            open=False,
        )

    @classmethod
    async def opened(cls, url: str) -> Self:
        location = locate(url, schema=SCHEMA)
        directory = cls(location)
        with map_errors(location):
            await directory._pool.open()
            await directory._write(*_statements("begin"))
        return directory

    async def close(self) -> None:
        await self._pool.close()

    async def read(self) -> Map:
        """Read the current map."""
        with map_errors(self.location):
            async with self._pool.connection() as db, db.transaction():
                await self._here(db)
                [(edition,)] = await _rows(db, "edition")
                shards = [Shard(number=n, name=name, url=url) for n, name, url in await _rows(db, "shards")]
                buckets = await _rows(db, "buckets")
        return Map(
            edition=edition,
            shards={shard.number: shard for shard in shards},
            homes={bucket: shard for bucket, shard, _ in buckets},
            targets={bucket: target for bucket, _, target in buckets if target is not None},
        )

    async def add(self, name: str, url: str) -> tuple[Shard, bool]:
        """Add a shard; the first one gets every bucket. Returns the shard and whether it was the first."""
        with map_errors(self.location):
            async with self._pool.connection() as db, db.transaction():
                await self._here(db)
                others = await _rows(db, "shards")
                if name in {other for _, other, _ in others}:
                    raise Conflict(f"a shard {name} already exists", field="name")
                [(number,)] = await _rows(db, "add_shard", {"name": name, "url": url})
                if not others:
                    await _run(db, "fill_buckets", {"shard": number, "last": BUCKETS - 1})
                await _run(db, "next_edition")
        return Shard(number=number, name=name, url=url), not others

    async def set_out(self, bucket: int, target: int | None) -> None:
        """Record that a bucket is being moved to a shard, or with None that the move was cancelled."""
        await self._write_change("set_out", {"bucket": bucket, "target": target})

    async def arrive(self, bucket: int) -> None:
        """Record that a bucket was moved to its target."""
        await self._write_change("arrive", {"bucket": bucket})

    async def _write_change(self, query: str, bindings: dict[str, Any]) -> None:
        with map_errors(self.location):
            async with self._pool.connection() as db, db.transaction():
                await self._here(db)
                await _run(db, query, bindings)
                await _run(db, "next_edition")

    async def _write(self, *statements: str) -> None:
        async with self._pool.connection() as db, db.transaction():
            await db.execute(
                sql.SQL("SELECT pg_advisory_xact_lock(hashtext({}))").format(self.location.schema)
            )
            schema = sql.Identifier(self.location.schema)
            await db.execute(sql.SQL("CREATE SCHEMA IF NOT EXISTS {}").format(schema))
            await self._here(db)
            for statement in statements:
                await db.execute(statement)

    async def _here(self, db: Connection) -> None:
        path = sql.SQL("SET LOCAL search_path = {}").format(sql.Identifier(self.location.schema))
        await db.execute(path)


def _statements(name: str) -> list[str]:
    return [part for part in QUERIES[name].split(";\n") if part.strip()]


async def _rows(db: Connection, query: str, bindings: dict[str, Any] | None = None) -> list[tuple[Any, ...]]:
    return await (await db.execute(QUERIES[query], bindings)).fetchall()


async def _run(db: Connection, query: str, bindings: dict[str, Any] | None = None) -> None:
    await db.execute(QUERIES[query], bindings)
