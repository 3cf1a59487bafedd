"""Packs: parts of an agent's search index kept in the file, so that opening it need not read every row.

A pack holds what a stretch of the agent's changes began, as far as it was current when the pack was made. It
is a cache: what ended since is taken out again by whoever loads it, a stretch without a pack is read from its
rows, and erasing a memory deletes the pack it was in.
"""

import struct
from collections.abc import Iterator
from typing import TYPE_CHECKING
from zlib import crc32

import apsw

from memorywire.model.values import dataclass
from memorywire.stores.sqlite.checksums import row_checksum
from memorywire.stores.sqlite.rows import Bindings, Row
from memorywire.stores.sqlite.sql import QUERIES

if TYPE_CHECKING:  # arrays are loaded by whoever makes or reads a pack
    from memorywire.stores.sqlite.batch import Batch

FORMAT = 2
"""The format of packs; a pack of another format is ignored. From 2 on, a pack begins with a checksum."""

_CHECKSUM = struct.Struct("<I")

ROWS = 1024
"""This many rows make a pack at the end of an agent's past; fewer are read one by one."""

LEAST = 256
"""This many rows make a pack in a gap, where another pack was deleted."""


@dataclass(frozen=True, slots=True)
class Segment:
    """The versions begun by the changes after `since` up to `upto`, those current after change `seen`."""

    since: int
    upto: int
    seen: int
    data: bytes

    @property
    def batch(self) -> "Batch | None":
        """Its rows; None when nothing of it was current."""
        from memorywire.stores.sqlite.batch import Batch

        return Batch.unpacked(self.data) if self.data else None


def segments(db: apsw.Connection, name: Bindings) -> Iterator[Segment]:
    """The agent's packs in order; they do not overlap, but there may be gaps."""
    for since, upto, seen, data in db.execute(QUERIES["packs"], name | {"format": FORMAT}):
        pack = Segment(since, upto, seen, data[_CHECKSUM.size :])
        if data[: _CHECKSUM.size] == _checksum(pack, name):  # else its rows are read one by one
            yield pack


def find_damaged_packs(db: apsw.Connection) -> Iterator[str]:
    """The agents with a pack that does not match its checksum, one for each such pack."""
    for tenant, agent, since, upto, seen, data in db.execute(QUERIES["all_packs"], {"format": FORMAT}):
        pack = Segment(since, upto, seen, data[_CHECKSUM.size :])
        if data[: _CHECKSUM.size] != _checksum(pack, {"tenant": tenant, "agent": agent}):
            yield agent


def stretches(db: apsw.Connection, name: Bindings) -> list[Row]:
    """The commit sequences (since, up to) that each of the agent's packs covers, in order."""
    found: list[Row] = db.execute(QUERIES["pack_stretches"], name | {"format": FORMAT}).fetchall()
    return found


def began(db: apsw.Connection, name: Bindings, since: int, upto: int) -> Iterator[Row]:
    """The current versions that the agent's changes after `since` up to `upto` began."""
    return db.execute(QUERIES["index_began"], name | {"seen": since, "upto": upto})


def next_pack(db: apsw.Connection, name: Bindings, dimension: int) -> Segment | None:
    """A pack that is worth making, if any, inside a snapshot of the caller's."""
    seen = int(db.execute(QUERIES["head"]).get)
    stretch = _stretch(db, name, seen)
    if stretch is None:
        return None
    from memorywire.stores.sqlite.batch import Batch

    rows = list(began(db, name, *stretch))
    return Segment(*stretch, seen, Batch.of(rows, dimension).packed() if rows else b"")


def keep(db: apsw.Connection, name: Bindings, pack: Segment) -> None:
    """Write a pack, inside a transaction, unless something of the agent was erased since it was made."""
    if not db.execute(QUERIES["erased_since"], name | {"seen": pack.seen}).get:
        data = _checksum(pack, name) + pack.data
        made: Bindings = {"since": pack.since, "upto": pack.upto, "seen": pack.seen, "data": data}
        db.execute(QUERIES["keep_pack"], name | made | {"format": FORMAT})


def _checksum(pack: Segment, name: Bindings) -> bytes:
    """The checksum of a pack, its place in the past, and the agent it is of."""
    place = (pack.since, pack.upto, pack.seen, name["tenant"], name["agent"])
    return _CHECKSUM.pack(crc32(pack.data, row_checksum(place)))


def _stretch(db: apsw.Connection, name: Bindings, head: int) -> tuple[int, int] | None:
    """The first stretch of changes without a pack that began enough rows."""
    reached = 0
    for since, upto in stretches(db, name):
        found = _worth(db, name, reached, since, LEAST) if reached < since else None
        if found is not None:
            return found
        reached = upto
    return _worth(db, name, reached, head, ROWS)


def _worth(db: apsw.Connection, name: Bindings, since: int, upto: int, least: int) -> tuple[int, int] | None:
    rows = 0
    for sequence, puts in db.execute(QUERIES["puts_between"], name | {"seen": since, "upto": upto}):
        rows += puts
        if rows >= ROWS:
            return since, sequence
    return (since, upto) if rows >= least else None
