"""Re-embeds a schema: fills a second vector column with its own index, then swaps the columns.

After an interruption it resumes. Other processes read and write meanwhile, and their writes get new
vectors too; they are blocked briefly at the beginning and at the end. After the swap they get errors until
they open the schema in the new space. Only the owner of the tables can run it.
"""

from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from typing import TypeAlias

import psycopg
from msgspec.structs import asdict
from psycopg import sql

from memorywire.model.errors import NotFound, StoreBusy
from memorywire.model.space import Space
from memorywire.search.relevance import read_tokens
from memorywire_postgres.database import (
    Connection,
    Row,
    fetch,
    is_pooled,
    map_errors,
    refuse_pooler,
)
from memorywire_postgres.location import Location, locate
from memorywire_postgres.migrate import extension_of, migrate, space_of, state_of
from memorywire_postgres.rows import QUERIES, RECORD, format_vector, read_record

Embed: TypeAlias = Callable[[Sequence[str]], Awaitable[list[bytes]]]
Progress: TypeAlias = Callable[[int, int], None]

_BATCH = 256
_MOST_INDEXED = 4000  # dimensions
_MOST_INLINE = 2000
_LOCK = 0x4D656D78
_POSITION, _ID, _NUMBER = 0, 4, 5  # indexes of these columns in RECORD


async def reembed(url: str, *, space: Space, embed: Embed, on_progress: Progress) -> int:
    """Re-embed the schema into `space`; returns how many versions got new vectors.

    `on_progress` gets the number done and the total: before the first batch and after each batch.
    If the schema already is in that space, this discards an unfinished run for another space and only adds
    the tokens that versions written by earlier releases lack.
    """
    location = locate(url)
    with map_errors(location):
        async with await psycopg.AsyncConnection.connect(
            location.primary, autocommit=True, prepare_threshold=None
        ) as db:
            state = await state_of(db, location)
            if state is None:
                raise NotFound(f"there are no memories at {location}", field="store")
            if await is_pooled(db):
                raise refuse_pooler(location, "reembed")
            await migrate(location, space_of(state))
            await _lock_schema(db, location)
            reembedding = _Reembedding(db, space, embed, on_progress)
            if space_of(state) == space:
                if "reembedding" in state:
                    await _discard_progress(db)
                return await reembedding.add_tokens()
            return await reembedding.work()


async def _lock_schema(db: Connection, location: Location) -> None:
    """Lock the schema for this connection, so that no other process re-embeds it; raises StoreBusy."""
    mine = await fetch(
        db,
        "SELECT pg_try_advisory_lock(%(lock)s, hashtext(%(schema)s))",
        {"lock": _LOCK, "schema": location.schema},
    )
    if not mine[0][0]:
        raise StoreBusy(f"another process re-embeds {location}", fix="wait until it is done")
    path = sql.SQL(", ").join(map(sql.Identifier, (location.schema, await extension_of(db))))
    await db.execute(sql.SQL("SET search_path = {}").format(path))


async def _discard_progress(db: Connection) -> None:
    async with db.transaction():
        await db.execute(QUERIES["reembed_clear"])
        await db.execute(QUERIES["reembed_room"])
        await db.execute(QUERIES["reembed_done"])


class _Reembedding:
    """The schema being re-embedded, and its new space."""

    def __init__(self, db: Connection, space: Space, embed: Embed, on_progress: Progress) -> None:
        self._db = db
        self._space = space
        self._embed = embed
        self._on_progress = on_progress
        self._done, self._total = 0, 0

    async def work(self) -> int:
        async with self._as_owner():
            await self._prepare()
            # All earlier writers have finished: later writes get higher positions than this.
            [(reach,)] = await fetch(self._db, QUERIES["reembed_reach"])
            tenants = [str(tenant) for (tenant,) in await fetch(self._db, QUERIES["reembed_tenants"])]
        await self._count(tenants)
        for tenant in tenants:
            await self._reembed_tenant(tenant)
        await self._build_index()
        while newer := await self._newer_or_swap(int(reach)):
            vectors = await self._embed_rows(newer)
            async with self._as_owner():
                await self._write(newer, vectors)
        return self._done

    async def add_tokens(self) -> int:
        """Add tokens to the versions without any, written by earlier releases; returns how many got some."""
        async with self._as_owner():
            tenants = [str(tenant) for (tenant,) in await fetch(self._db, QUERIES["reembed_tenants"])]
        query, count = QUERIES["without_tokens"].format(record=RECORD), 0
        for tenant in tenants:
            bindings = {"tenant": tenant, "id": "", "number": 0, "limit": _BATCH}
            while True:
                async with self._as_tenant(tenant):
                    batch = await fetch(self._db, query, bindings)
                if not batch:
                    break
                tokens = [*map(read_tokens, await self._embed_rows(batch))]
                if not count and not any(tokens):
                    return 0  # the embedder makes no tokens
                count += len(tokens) - tokens.count(None)
                self._on_progress(count, count)  # a dry run ends here
                async with self._as_tenant(tenant):
                    new = {"positions": [row[_POSITION] for row in batch], "tokens": tokens}
                    await self._db.execute(QUERIES["keep_tokens"], new)
                bindings |= {"id": batch[-1][_ID], "number": batch[-1][_NUMBER]}
        return count

    async def _prepare(self) -> None:
        """Add an empty column of the right dimension, unless an interrupted run left one."""
        if (str(self._space),) in await fetch(self._db, QUERIES["reembedding_to"]):
            return
        dimension = sql.SQL(str(self._space.dimension))
        await self._db.execute(QUERIES["reembed_clear"])
        await self._db.execute(sql.SQL(QUERIES["reembed_begin"]).format(dimension=dimension))
        if self._space.dimension <= _MOST_INLINE:
            await self._db.execute(QUERIES["reembed_inline"])
        await self._db.execute(QUERIES["reembed_meta"], ("reembedding", str(self._space)))

    async def _count(self, tenants: Sequence[str]) -> None:
        for tenant in tenants:
            async with self._as_tenant(tenant):
                [(total, count)] = await fetch(self._db, QUERIES["reembed_total"], {"tenant": tenant})
            self._total, self._done = self._total + int(total), self._done + int(count)
        self._on_progress(self._done, self._total)

    async def _reembed_tenant(self, tenant: str) -> None:
        bindings = {"tenant": tenant, "id": "", "number": 0, "limit": _BATCH}
        query = QUERIES["reembed_next"].format(record=RECORD)
        while True:
            async with self._as_tenant(tenant):
                batch = await fetch(self._db, query, bindings)
            if not batch:
                return
            vectors = await self._embed_rows(batch)
            async with self._as_tenant(tenant):
                await self._write(batch, vectors)
            bindings |= {"id": batch[-1][_ID], "number": batch[-1][_NUMBER]}
            self._on_progress(self._done, max(self._done, self._total))

    async def _embed_rows(self, batch: Sequence[Row]) -> list[bytes]:
        self._done += len(batch)
        return await self._embed([read_record(row).meaning for row in batch])

    async def _write(self, batch: Sequence[Row], vectors: Sequence[bytes]) -> None:
        bindings = {
            "positions": [row[_POSITION] for row in batch],
            "vectors": [format_vector(vector, self._space) for vector in vectors],
            "tokens": [*map(read_tokens, vectors)],
        }
        await self._db.execute(QUERIES["reembed_keep"], bindings)

    async def _build_index(self) -> None:
        """Build the index outside any transaction, so that no writer waits; drops an unfinished one first."""
        await self._db.execute(QUERIES["reembed_drop_index"])
        if self._space.dimension <= _MOST_INDEXED:
            await self._db.execute(QUERIES["reembed_index"])

    async def _newer_or_swap(self, reach: int) -> list[Row]:
        """Return a batch of the versions written meanwhile; if there are none, swap the columns."""
        async with self._as_owner():
            bindings = {"reach": reach, "limit": _BATCH}
            newer = await fetch(self._db, QUERIES["reembed_newer"].format(record=RECORD), bindings)
            if not newer:
                await self._db.execute(QUERIES["reembed_swap"])
                await self._db.execute(QUERIES["reembed_room"])
                settings = {**asdict(self._space), "reembedded": self._space}
                for pair in settings.items():
                    await self._db.execute(QUERIES["reembed_meta"], tuple(map(str, pair)))
                await self._db.execute(QUERIES["reembed_done"])
        return newer

    @asynccontextmanager
    async def _as_tenant(self, tenant: str) -> AsyncIterator[None]:
        """Open a normal transaction: it sees one tenant and blocks no other."""
        async with self._db.transaction():
            await self._db.execute("SELECT set_config('memorywire.tenant', %s, true)", (tenant,))
            yield

    @asynccontextmanager
    async def _as_owner(self) -> AsyncIterator[None]:
        """Open a transaction of the owner that sees all tenants; all others wait until it ends."""
        async with self._db.transaction():
            await self._db.execute(QUERIES["lift_walls"])
            yield
            await self._db.execute(QUERIES["raise_walls"])
