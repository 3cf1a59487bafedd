"""Segments: parts of an agent's search index stored in the file, so that loading it need not read every row.

A segment holds the versions begun by a range of the agent's changes that were current when it was built.
It is a cache: a loader removes versions that have ended since, and reads ranges without a segment from rows;
erasing a memory deletes its segment. The compactor builds segments in the background. The table of segments
is called `pack` in the file.
"""

import asyncio
import struct
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import suppress
from functools import partial
from math import inf
from typing import TYPE_CHECKING, Any
from zlib import crc32

import apsw
from msgspec import Struct

from memorywire.index.cache import IndexCache
from memorywire.model.change import Change
from memorywire.model.errors import StoreError
from memorywire.model.space import Space
from memorywire.stores.sqlite.connection import refuse_if_reembedded
from memorywire.stores.sqlite.file import SqliteFile
from memorywire.stores.sqlite.rows import Bindings, Row, checksum_row
from memorywire.stores.sqlite.sql import QUERIES

if TYPE_CHECKING:  # numpy is loaded when a segment is built or read
    from memorywire.index.batch import Batch

FORMAT = 3
"""The format of segments; segments of other formats are ignored. Since 2, a segment begins with a checksum;
since 3, only turns have a session in it, and facts may have a state."""

_CHECKSUM = struct.Struct("<I")

SEGMENT_ROWS = 1024
"""The minimum rows of a segment at the end of an agent's changes; fewer are read one by one."""

MIN_ROWS = 256
"""The minimum rows of a segment between others, where one was deleted."""

_MAX_AGENTS = 4096  # with counted rows; a dropped agent gets segments at its next search
_PAUSE_SECONDS = 0.25  # wait after a bulk write: compaction during one slowed it by a seventh (decision 33)


class Segment(Struct, frozen=True):
    """The versions begun by changes after `since` up to `upto` that were current after change `seen`."""

    since: int
    upto: int
    seen: int
    data: bytes

    @property
    def batch(self) -> "Batch | None":
        """The rows of the segment; None if it is empty."""
        from memorywire.index.batch import Batch

        return Batch.from_bytes(self.data) if self.data else None


def read_segments(db: apsw.Connection, name: Bindings) -> Iterator[Segment]:
    """Yield the agent's segments in order; they do not overlap, but there may be gaps between them."""
    for since, upto, seen, data in db.execute(QUERIES["packs"], name | {"format": FORMAT}):
        segment = Segment(since, upto, seen, data[_CHECKSUM.size :])
        if data[: _CHECKSUM.size] == _checksum(segment, name):  # else its rows are read one by one
            yield segment


def find_damaged_segments(db: apsw.Connection) -> Iterator[str]:
    """Yield the agent of each segment that does not match its checksum."""
    for tenant, agent, since, upto, seen, data in db.execute(QUERIES["all_packs"], {"format": FORMAT}):
        segment = Segment(since, upto, seen, data[_CHECKSUM.size :])
        if data[: _CHECKSUM.size] != _checksum(segment, {"tenant": tenant, "agent": agent}):
            yield agent


def read_ranges(db: apsw.Connection, name: Bindings) -> list[Row]:
    """Return the commit sequences (since, up to) of each of the agent's segments, in order."""
    ranges: list[Row] = db.execute(QUERIES["pack_stretches"], name | {"format": FORMAT}).fetchall()
    return ranges


def read_begun(db: apsw.Connection, name: Bindings, since: int, upto: int) -> Iterator[Row]:
    """Return the current versions that the agent's changes after `since` up to `upto` began."""
    return db.execute(QUERIES["index_began"], name | {"seen": since, "upto": upto})


def build_segment(db: apsw.Connection, name: Bindings, dimension: int) -> Segment | None:
    """Build the next segment with enough rows inside a snapshot of the caller, or return None."""
    seen = int(db.execute(QUERIES["head"]).get)
    bounds = _find_range(db, name, seen)
    if bounds is None:
        return None
    from memorywire.index.batch import Batch

    rows = list(read_begun(db, name, *bounds))
    return Segment(*bounds, seen, Batch.from_rows(rows, dimension).to_bytes() if rows else b"")


def write_segment(db: apsw.Connection, name: Bindings, segment: Segment) -> None:
    """Write a segment inside a transaction, unless a memory of the agent was erased since it was built."""
    if not db.execute(QUERIES["erased_since"], name | {"seen": segment.seen}).get:
        data = _checksum(segment, name) + segment.data
        row: Bindings = {"since": segment.since, "upto": segment.upto, "seen": segment.seen, "data": data}
        db.execute(QUERIES["keep_pack"], name | row | {"format": FORMAT})


def _checksum(segment: Segment, name: Bindings) -> bytes:
    """Return the checksum of a segment, its range and its agent."""
    head = (segment.since, segment.upto, segment.seen, name["tenant"], name["agent"])
    return _CHECKSUM.pack(crc32(segment.data, checksum_row(head)))


def _find_range(db: apsw.Connection, name: Bindings, head: int) -> tuple[int, int] | None:
    """Return the first range of changes without a segment that began enough rows, or None."""
    position = 0
    for since, upto in read_ranges(db, name):
        gap = _find_rows(db, name, position, since, MIN_ROWS) if position < since else None
        if gap is not None:
            return gap
        position = upto
    return _find_rows(db, name, position, head, SEGMENT_ROWS)


def _find_rows(
    db: apsw.Connection, name: Bindings, since: int, upto: int, min_rows: int
) -> tuple[int, int] | None:
    rows = 0
    for sequence, puts in db.execute(QUERIES["puts_between"], name | {"seen": since, "upto": upto}):
        rows += puts
        if rows >= SEGMENT_ROWS:
            return since, sequence
    return (since, upto) if rows >= min_rows else None


class Compactor:
    """Builds segments after an index was loaded from many rows, or after many rows were written."""

    def __init__(self, file: SqliteFile, indexes: IndexCache[Any], space: Space) -> None:
        self._file = file
        self._indexes = indexes
        self._space = space
        self._rows_written: Counter[tuple[str, str]] = Counter()
        self._tasks: dict[tuple[str, str], asyncio.Task[None]] = {}
        self._closing = asyncio.Event()
        self._last_write = -inf

    def on_search(self, tenant: str, agent: str) -> None:
        """Called after a search: if many rows of the index are unsegmented, start building segments."""
        if self._indexes.count_unsegmented(tenant, agent) >= MIN_ROWS:
            self._start(tenant, agent)

    def on_write(self, changes: Sequence[Change]) -> None:
        """Called with changes that are being written; builds segments for agents with many new rows.

        It starts when no changes are written for a while, so that the next search need not do it.
        """
        self._last_write = asyncio.get_running_loop().time()
        if len(self._rows_written) > _MAX_AGENTS:
            self._rows_written.clear()
        for change in changes:
            self._rows_written[change.scope.tenant, change.scope.agent] += len(change.put)
        for key in [key for key, rows in self._rows_written.items() if rows >= SEGMENT_ROWS]:
            del self._rows_written[key]
            self._start(*key)

    async def wait(self) -> None:
        """Wait for the started tasks."""
        await asyncio.gather(*self._tasks.values())

    async def close(self) -> None:
        """Start no more tasks, and wait for the running ones."""
        self._closing.set()
        await self.wait()

    def _start(self, tenant: str, agent: str) -> None:
        key = (tenant, agent)
        if key not in self._tasks and not self._closing.is_set() and self._file.location.path is not None:
            self._tasks[key] = asyncio.get_running_loop().create_task(self._compact(*key))

    async def _compact(self, tenant: str, agent: str) -> None:
        name: Bindings = {"tenant": tenant, "agent": agent}
        try:
            while not await self._must_stop():
                segment = await self._file.read(lambda db: build_segment(db, name, self._space.dimension))
                if segment is None:
                    self._indexes.mark_segmented(tenant, agent)
                    return
                await self._file.write(partial(self._write, name=name, segment=segment))
        except StoreError:
            return  # segments are optional: the next process that loads the rows tries again
        finally:
            del self._tasks[tenant, agent]

    async def _must_stop(self) -> bool:
        """Wait until nothing was written for `_PAUSE_SECONDS`; return whether the store is closing."""
        while (since := asyncio.get_running_loop().time() - self._last_write) < _PAUSE_SECONDS:
            with suppress(TimeoutError):
                await asyncio.wait_for(self._closing.wait(), _PAUSE_SECONDS - since)
                break
        return self._closing.is_set()

    def _write(self, db: apsw.Connection, name: Bindings, segment: Segment) -> None:
        refuse_if_reembedded(db, self._space)  # the segment was built before, from the old vectors
        write_segment(db, name, segment)
