"""The words of a whole file, indexed by the rules of this release, whichever release wrote them.

Interrupted, it is started again, and writes only what is not right yet. Others may use the file all the
while; a process that has it open finds by the new words once it opens it anew.
"""

import asyncio
from collections.abc import Callable
from typing import TypeAlias

import apsw

from memorywire.model.errors import NotFound
from memorywire.search.text import EDITION
from memorywire.stores.sqlite.connection import RetryPolicy, connect, map_errors, writing
from memorywire.stores.sqlite.location import Location, locate
from memorywire.stores.sqlite.migrate import bring_up_to_date, words_of
from memorywire.stores.sqlite.rows import indexed, position_of, record_of
from memorywire.stores.sqlite.sql import QUERIES

Progress: TypeAlias = Callable[[int, int], None]

_BATCH = 256


async def reword(url: str, on_progress: Progress) -> int:
    """Index every version anew unless that was done; gives how many had other words.

    `on_progress` hears how many were looked at, and of how many.
    """
    location = locate(url)
    if location.path is None or not location.path.exists():
        raise NotFound(f"there is no file {location}", field="store")
    return await asyncio.to_thread(_reworded, location, on_progress)


def _reworded(location: Location, on_progress: Progress) -> int:
    patience = RetryPolicy()
    with map_errors(location):
        db = connect(location)
        try:
            bring_up_to_date(db, location, patience)
            if words_of(db) >= EDITION:
                return 0
            changed = _each(db, patience, on_progress)
            with writing(db, patience):
                if changed:
                    db.execute(QUERIES["drop_packs"])
                db.execute(QUERIES["reembed_meta"], ("words", str(EDITION)))
            return changed
        finally:
            db.close()


def _each(db: apsw.Connection, patience: RetryPolicy, on_progress: Progress) -> int:
    changed = after = done = 0
    total = int(db.execute(QUERIES["reword_total"]).get)
    while batch := db.execute(QUERIES["reword_next"], {"after": after, "limit": _BATCH}).fetchall():
        rows = [(*indexed(record_of(row)), position_of(row)) for row in batch]
        with writing(db, patience):
            before = db.total_changes()
            db.executemany(QUERIES["reword_keep"], rows)
            changed += db.total_changes() - before
        after, done = position_of(batch[-1]), done + len(batch)
        on_progress(done, max(done, total))
    return changed
