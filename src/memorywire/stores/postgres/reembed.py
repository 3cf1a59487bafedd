"""New vectors for a whole schema: made beside the old ones, swapped in by one transaction.

Interrupted, it goes on where it stopped. A process that has the schema open keeps writing vectors of the old
space, so it should be closed elsewhere while this runs. Only the owner of the tables may do it.
"""

from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import asdict
from typing import TypeAlias

import psycopg
from psycopg import sql

from memorywire.model.errors import NotFound
from memorywire.model.record import Record
from memorywire.model.space import Space
from memorywire.stores.postgres.database import Connection, fence, fetch
from memorywire.stores.postgres.location import Location, locate
from memorywire.stores.postgres.migrate import extension_of, migrate, space_of, state_of
from memorywire.stores.postgres.queries import QUERIES
from memorywire.stores.postgres.rows import RECORD, halves, record_of

Embed: TypeAlias = Callable[[Sequence[str]], Awaitable[list[bytes]]]
Progress: TypeAlias = Callable[[int, int], None]

_BATCH = 256
_MOST_INDEXED = 4000  # dimensions


async def reembed(url: str, *, space: Space, embed: Embed, on_progress: Progress) -> int:
    """Bring the schema into `space`; gives how many versions got new vectors."""
    location = locate(url)
    with fence(location):
        async with await psycopg.AsyncConnection.connect(
            location.primary, autocommit=True, prepare_threshold=None
        ) as db:
            state = await state_of(db, location)
            if state is None:
                raise NotFound(f"there are no memories at {location}", field="store")
            if space_of(state) == space:
                return 0
            await migrate(location, space_of(state))
            return await _Desk(db, location, space).work(embed, on_progress)


class _Desk:
    """The schema being worked on, and the space it is to be in."""

    def __init__(self, db: Connection, location: Location, space: Space) -> None:
        self._db = db
        self._location = location
        self._space = space

    async def work(self, embed: Embed, on_progress: Progress) -> int:
        async with self._unbound():
            await self._db.execute(QUERIES["reembed_begin"])
            [(total,)] = await fetch(self._db, QUERIES["reembed_total"])
        done = 0
        while True:
            async with self._unbound():
                batch = await self._next()
            if batch:
                vectors = await embed([record.meaning for _, record in batch])
                await self._keep([position for position, _ in batch], vectors)
                done += len(batch)
                on_progress(done, int(total))
            elif await self._swapped():
                return int(total)

    @asynccontextmanager
    async def _unbound(self) -> AsyncIterator[None]:
        """A transaction of the owner that sees all tenants; nobody else does meanwhile."""
        async with self._db.transaction():
            path = sql.SQL(", ").join(
                map(sql.Identifier, (self._location.schema, await extension_of(self._db)))
            )
            await self._db.execute(sql.SQL("SET LOCAL search_path = {}").format(path))
            await self._db.execute(QUERIES["lift_walls"])
            yield
            await self._db.execute(QUERIES["raise_walls"])

    async def _next(self) -> list[tuple[int, Record]]:
        wanted = {"space": str(self._space), "limit": _BATCH}
        rows = await fetch(self._db, QUERIES["reembed_next"].format(record=RECORD), wanted)
        return [(int(row[0]), record_of(row)) for row in rows]

    async def _keep(self, positions: Sequence[int], vectors: Sequence[bytes]) -> None:
        made = {
            "space": str(self._space),
            "positions": list(positions),
            "vectors": [halves(vector, self._space) for vector in vectors],
        }
        async with self._unbound():
            await self._db.execute(QUERIES["reembed_keep"], made)

    async def _swapped(self) -> bool:
        """Swap everything at once; False when something was written meanwhile and must be embedded too."""
        async with self._unbound():
            if await self._next():
                return False
            dimension = sql.SQL(str(self._space.dimension))
            await self._db.execute(QUERIES["reembed_drop_index"])
            await self._db.execute(sql.SQL(QUERIES["reembed_retype"]).format(dimension=dimension))
            await self._db.execute(QUERIES["reembed_swap"], {"space": str(self._space)})
            if self._space.dimension <= _MOST_INDEXED:
                await self._db.execute(QUERIES["reembed_index"])
            for pair in asdict(self._space).items():
                await self._db.execute(QUERIES["reembed_meta"], tuple(map(str, pair)))
            await self._db.execute(QUERIES["reembed_done"])
        return True
