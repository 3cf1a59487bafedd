"""Moves a bucket from one shard to another while its agents are read and written.

Logical replication, filtered to this bucket, copies the rows and later writes. Then the bucket is
closed briefly, both sides are compared, and the directory is pointed to the new shard. Reads always
work; writes wait from the closing until every process has a map with the new shard.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import psycopg
from msgspec import Struct
from psycopg import sql

from memorywire.model.errors import Conflict, InvalidRequest, SecretLeakage, StoreCorrupt
from memorywire.model.secrets import find_literal_secret
from memorywire.model.space import Space
from memorywire_postgres.database import Connection, Row, is_pooled, map_errors, refuse_pooler
from memorywire_postgres.location import Location
from memorywire_postgres.migrate import extension_of
from memorywire_postgres.shards.directory import BUCKETS, QUERIES, Directory, Shard, in_bucket
from memorywire_postgres.shards.store import LEASE
from memorywire_postgres.store import PostgresStore

_TABLES = ("agent", "change", "version")
_POSITIONS = 2**40  # range of version positions per shard: a version keeps its position in a move
_LOOK_EVERY = 0.05


class Moved(Struct, frozen=True, kw_only=True):
    """A bucket that was moved: its number of versions, and how many seconds writes waited."""

    bucket: int
    versions: int
    closed: float


async def add(directory: Directory, name: str, url: str, space: Space) -> Shard:
    """Prepare a new shard: tables, a separate range of positions, and a check that rejects agents of other
    shards.

    The first shard gets every bucket; others get theirs by moves.
    """
    _refuse_password(url)
    location = Shard(number=0, name=name, url=url).location
    schemas = {other.location.schema for other in (await directory.read()).shards.values()}
    if schemas - {location.schema}:
        raise InvalidRequest(
            "all shards must have the same schema", field="url", fix=f"?schema={schemas.pop()}"
        )
    await (await PostgresStore.opened(location, space)).close()
    shard, first = await directory.add(name, url)
    async with _at(shard) as place:
        await place.run("own_range", {"first": shard.number * _POSITIONS + 1})
        await place.script("fence")
        if not first:
            await place.run("all_elsewhere", {"last": BUCKETS - 1})
    return shard


def _refuse_password(url: str) -> None:
    """Raise SecretLeakage for a plain-text password, since the directory stores the URL permanently."""
    part = find_literal_secret(url)
    if part is not None:
        raise SecretLeakage(
            f"{part} in the URL is in plain text",
            field="url",
            fix="write ${NAME} instead, and set that environment variable wherever the shards are used",
        )


async def move(directory: Directory, bucket: int, name: str, clock: Callable[[], float]) -> Moved:
    """Move a bucket to the named shard; after an interruption the move starts again from the beginning."""
    current = await directory.read()
    source, target = current.shard_of(bucket), current.find_shard(name)
    if source == target:
        raise Conflict(f"bucket {bucket} is in {name} already", field="bucket")
    async with _at(source) as old, _at(target) as new:
        trip = _Trip(directory, bucket, old, new)
        await trip.clear()
        await directory.set_out(bucket, target.number)
        try:
            await trip.follow(source)
            closed_at = clock()
            versions = await trip.close()
        except BaseException:
            await trip.turn_back()
            raise
        await trip.arrive()
        return Moved(bucket=bucket, versions=versions, closed=clock() - closed_at)


class _Place:
    """A connection to one shard; its role can replicate and bypasses row-level security."""

    def __init__(self, db: Connection, location: Location) -> None:
        self.db = db
        self.location = location

    async def run(self, query: str, bindings: dict[str, Any] | None = None, **names: Any) -> list[Row]:
        text = QUERIES[query]
        statement = sql.SQL(text).format(**names) if names else sql.SQL(text)
        cursor = await self.db.execute(statement, bindings)
        return await cursor.fetchall() if cursor.description else []

    async def script(self, name: str) -> None:
        await self.db.execute(QUERIES[name])


@asynccontextmanager
async def _at(shard: Shard) -> AsyncIterator[_Place]:
    location = shard.location
    with map_errors(location):
        async with await psycopg.AsyncConnection.connect(
            location.primary, autocommit=True, prepare_threshold=None
        ) as db:
            if await is_pooled(db):
                raise refuse_pooler(location, "moving a bucket")
            path = sql.SQL(", ").join(map(sql.Identifier, (location.schema, await extension_of(db))))
            await db.execute(sql.SQL("SET search_path = {}").format(path))
            yield _Place(db, location)


class _Trip:
    """The move of one bucket from the old shard to the new one."""

    def __init__(self, directory: Directory, bucket: int, old: _Place, new: _Place) -> None:
        self._directory = directory
        self._bucket = {"bucket": bucket}
        self._number = bucket
        self._old, self._new = old, new
        self._channel = f"memorywire_bucket_{bucket}"
        self._name = {"name": self._channel}
        self._sql = {"in_bucket": sql.SQL(in_bucket(bucket))}
        self._by_version = {"in_bucket": sql.SQL(in_bucket(bucket, "version.agent"))}
        self._named = {"name": sql.Identifier(self._channel)}

    async def clear(self) -> None:
        """Remove the remains of an earlier attempt, and block writes on the new shard."""
        await self._new.run("mark_elsewhere", self._bucket)
        await self._let_go()
        await self._empty(self._new)

    async def follow(self, source: Shard) -> None:
        """Copy the bucket and replicate further writes."""
        old, new = self._old, self._new
        await old.run("count_terms", None, **self._sql)
        for table in ("change", "version"):
            await old.run("whole_rows", table=sql.Identifier(table))
        await old.run("publish", None, **self._named, **self._sql)
        await old.run("make_slot", self._name)
        await new.run("subscribe", None, **self._named, source=sql.Literal(source.location.primary))
        await _until(lambda: self._arrives("copied", new, self._name))

    async def close(self) -> int:
        """Block writes on the old shard, wait until the new one has caught up, and compare both."""
        old, new = self._old, self._new
        async with old.db.transaction():
            await old.run("close_bucket")
            await old.run("mark_elsewhere", self._bucket)
        [(last,)] = await old.run("now_at")
        await _until(lambda: self._arrives("reached", old, self._name | {"lsn": last}))
        await self._let_go()
        for table in _TABLES:
            [here] = await old.run("fingerprint", None, table=sql.Identifier(table), **self._sql)
            [there] = await new.run("fingerprint", None, table=sql.Identifier(table), **self._sql)
            if here != there:
                raise StoreCorrupt(
                    f"bucket {self._number} was not copied completely: {table} differs", fix="retry"
                )
            versions = int(here[0])
        await new.run("index_words", None, **self._sql)
        for recall in await old.run(
            "recalls", None, in_bucket=sql.SQL(in_bucket(self._number, "version.agent"))
        ):
            await new.db.execute(QUERIES["keep_recall"], recall)
        await new.run("go_on_behind", None, **self._sql)
        return versions

    async def arrive(self) -> None:
        """Point the directory to the new shard, and allow writes there once no process uses an older map."""
        await self._directory.arrive(self._number)
        await asyncio.sleep(LEASE)
        await self._new.run("open_bucket", self._bucket)
        await self._empty(self._old)

    async def turn_back(self) -> None:
        """Cancel the move: the bucket stays on the old shard."""
        await self._directory.set_out(self._number, None)
        await self._let_go()
        await self._old.run("open_bucket", self._bucket)

    async def _let_go(self) -> None:
        old, new = self._old, self._new
        [(has_subscription,)] = await new.run("subscribed", self._name)
        if has_subscription:
            await new.run("stop", None, **self._named)
            await new.run("forget_slot", None, **self._named)
            await new.run("unsubscribe", None, **self._named)
        await old.run("unpublish", None, **self._named)
        for table in ("change", "version"):
            await old.run("keys_only", table=sql.Identifier(table))
        if await old.run("slots", self._name):
            await _until(lambda: self._holds(old, "idle", self._name))
            await old.run("drop_slot", self._name)

    async def _empty(self, place: _Place) -> None:
        async with place.db.transaction():
            await place.run("drop_words", None, **self._by_version)
            await place.run("drop_recalls", None, **self._by_version)
            for table in reversed(_TABLES):
                await place.run("drop_rows", None, table=sql.Identifier(table), **self._sql)

    async def _arrives(self, query: str, place: _Place, bindings: dict[str, Any]) -> bool:
        """Return whether the data has arrived; raises Conflict for rows that the new shard cannot take."""
        if await self._holds(self._new, "troubled", self._name):
            raise Conflict(
                f"bucket {self._number} has rows that its new shard cannot take, such as an id taken there",
                field="bucket",
                fix="the log of the new shard's server names the row: forget one of the two, then move again",
            )
        return await self._holds(place, query, bindings)

    async def _holds(self, place: _Place, query: str, bindings: dict[str, Any]) -> bool:
        return any(bool(value) for (value,) in await place.run(query, bindings))


async def _until(holds: Callable[[], Awaitable[bool]]) -> None:
    while True:
        if await holds():
            return
        await asyncio.sleep(_LOOK_EVERY)
