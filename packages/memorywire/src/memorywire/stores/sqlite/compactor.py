"""Packs the search index in the background, so that no process has to read it row by row."""

import asyncio
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from functools import partial
from math import inf

import apsw

from memorywire.model.change import Change
from memorywire.model.errors import StoreError
from memorywire.model.space import Space
from memorywire.stores.sqlite.file import SqliteFile
from memorywire.stores.sqlite.index_cache import IndexCache
from memorywire.stores.sqlite.migrate import refuse_if_reembedded
from memorywire.stores.sqlite.rows import Bindings
from memorywire.stores.sqlite.segments import LEAST, ROWS, Segment, keep, next_pack

_MOST_AGENTS = 4096  # are counted at a time: one that is forgotten is packed when it is searched
_PAUSE_SECONDS = 0.25  # since many were written together: who is still at it would be held up


class Packer:
    """Starts when an index had to be read from many rows, or when many rows were written at once."""

    def __init__(self, file: SqliteFile, index_cache: IndexCache, space: Space) -> None:
        self._file = file
        self._shelves = index_cache
        self._space = space
        self._written: Counter[tuple[str, str]] = Counter()
        self._at_work: dict[tuple[str, str], asyncio.Task[None]] = {}
        self._closing = asyncio.Event()
        self._written_at = -inf

    def loaded(self, tenant: str, agent: str) -> None:
        """Called when an index was used: if many of its rows were not packed, pack them."""
        if self._shelves.loose(tenant, agent) >= LEAST:
            self._begin(tenant, agent)

    def writing(self, changes: Sequence[Change]) -> None:
        """Called with changes that are being written: many rows of one agent are packed afterwards.

        Packing waits until the writing is over, so that it does not happen while somebody searches.
        """
        self._written_at = asyncio.get_running_loop().time()
        if len(self._written) > _MOST_AGENTS:
            self._written.clear()
        for change in changes:
            self._written[change.scope.tenant, change.scope.agent] += len(change.put)
        for key in [key for key, rows in self._written.items() if rows >= ROWS]:
            del self._written[key]
            self._begin(*key)

    async def at_rest(self) -> None:
        """Wait until what was begun is done."""
        await asyncio.gather(*self._at_work.values())

    async def close(self) -> None:
        """Begin nothing more."""
        self._closing.set()
        await self.at_rest()

    def _begin(self, tenant: str, agent: str) -> None:
        key = (tenant, agent)
        if key not in self._at_work and not self._closing.is_set() and self._file.location.path is not None:
            self._at_work[key] = asyncio.get_running_loop().create_task(self._pack(*key))

    async def _pack(self, tenant: str, agent: str) -> None:
        name: Bindings = {"tenant": tenant, "agent": agent}
        try:
            while not await self._must_end():
                pack = await self._file.read(lambda db: next_pack(db, name, self._space.dimension))
                if pack is None:
                    self._shelves.tied(tenant, agent)
                    return
                await self._file.write(partial(self._keep, name=name, pack=pack))
        except StoreError:
            return  # packs only save time: it is left to whoever loads the rows next
        finally:
            del self._at_work[tenant, agent]

    async def _must_end(self) -> bool:
        """Whether the store is closing; answers only once nothing has been written for a moment."""
        while (since := asyncio.get_running_loop().time() - self._written_at) < _PAUSE_SECONDS:
            with suppress(TimeoutError):
                await asyncio.wait_for(self._closing.wait(), _PAUSE_SECONDS - since)
                break
        return self._closing.is_set()

    def _keep(self, db: apsw.Connection, name: Bindings, pack: Segment) -> None:
        refuse_if_reembedded(db, self._space)  # it was read before, and has the vectors of then
        keep(db, name, pack)
