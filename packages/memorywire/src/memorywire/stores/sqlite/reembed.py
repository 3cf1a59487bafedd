"""New vectors for a whole file: written to a separate table, then swapped in by one transaction.

An interrupted run continues where it stopped. Other processes can read and write the file meanwhile, and
their new versions get new vectors too. After the swap they must reopen the file in the new space.
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import TypeAlias
from zlib import crc32

import apsw
import numpy as np
from msgspec.structs import asdict

from memorywire.model.errors import NotFound
from memorywire.model.record import Record
from memorywire.model.space import Space
from memorywire.search.relevance import read_tokens
from memorywire.search.text import EDITION
from memorywire.stores.sqlite.connection import RetryPolicy, connect, map_errors, writing
from memorywire.stores.sqlite.location import Location, locate
from memorywire.stores.sqlite.migrate import bring_up_to_date, read_space, read_words_edition
from memorywire.stores.sqlite.rows import checksum_vector, index_terms, read_position, read_record
from memorywire.stores.sqlite.sql import QUERIES

Embed: TypeAlias = Callable[[Sequence[str]], Awaitable[list[bytes]]]
Progress: TypeAlias = Callable[[int, int], None]

_BATCH = 256


async def reembed(url: str, *, space: Space, embed: Embed, on_progress: Progress) -> int:
    """Compute all vectors of the file in `space`; return the number of versions with new vectors.

    `on_progress` gets (done, total) before the first batch and after each one.
    If the file is already in this space, an unfinished run for another space is discarded, and only the
    tokens that versions of earlier releases lack are added.
    """
    location = locate(url)
    if location.path is None or not location.path.exists():
        raise NotFound(f"there is no file {location}", field="store")
    with map_errors(location):
        db = await asyncio.to_thread(connect, location)
        try:
            bring_up_to_date(db, location, RetryPolicy())
            if read_space(db) in (None, space):
                with writing(db, RetryPolicy()):
                    db.execute(QUERIES["reembed_done"])
                return await _add_tokens(db, embed, on_progress)
            return await _Reembedding(db, space).work(embed, on_progress)
        finally:
            db.close()


async def _add_tokens(db: apsw.Connection, embed: Embed, on_progress: Progress) -> int:
    """Add tokens to versions without them; return how many versions got tokens."""
    total = int(db.execute(QUERIES["count_without_tokens"]).get)
    after = progress = count = 0
    while total:
        rows = await asyncio.to_thread(_read_without_tokens, db, after)
        if not rows:
            break
        vectors = await embed([record.meaning for _, record in rows])
        pairs = zip(rows, map(read_tokens, vectors), strict=True)
        added = [(position, tokens, crc32(tokens)) for (position, _), tokens in pairs if tokens]
        if not added and not count:
            return 0  # the embedder produces no tokens
        after, progress, count = rows[-1][0], progress + len(rows), count + len(added)
        on_progress(progress, max(progress, total))  # a dry run raises here
        await asyncio.to_thread(_keep_tokens, db, added)
    return count


def _read_without_tokens(db: apsw.Connection, after: int) -> list[tuple[int, Record]]:
    rows = db.execute(QUERIES["without_tokens"], {"after": after, "limit": _BATCH}).fetchall()
    return [(read_position(row), read_record(row)) for row in rows]


def _keep_tokens(db: apsw.Connection, rows: Sequence[tuple[int, bytes, int]]) -> None:
    with writing(db, RetryPolicy()):
        db.executemany(QUERIES["keep_new_tokens"], rows)


class _Reembedding:
    """One run of re-embedding: the file and its new space."""

    def __init__(self, db: apsw.Connection, space: Space) -> None:
        self._db = db
        self._space = space
        self._retry_policy = RetryPolicy()

    async def work(self, embed: Embed, on_progress: Progress) -> int:
        total, count = await asyncio.to_thread(self._count)
        on_progress(count, total)
        after = 0
        while True:
            batch = await asyncio.to_thread(self._read_next, after)
            if batch:
                after = batch[-1][0]
                vectors = await embed([record.meaning for _, record in batch])
                await asyncio.to_thread(self._write, [position for position, _ in batch], vectors)
                count += len(batch)
                on_progress(count, max(count, total))
            elif await asyncio.to_thread(self._swap_all, after):
                return count

    def _count(self) -> tuple[int, int]:
        """Return the number of versions, and of those embedded in an earlier run."""
        [(total, count)] = self._db.execute(QUERIES["reembed_total"], {"space": str(self._space)})
        return int(total), int(count)

    def _read_next(self, after: int) -> list[tuple[int, Record]]:
        bindings = {"space": str(self._space), "after": after, "limit": _BATCH}
        rows = self._db.execute(QUERIES["reembed_next"], bindings).fetchall()
        return [(read_position(row), read_record(row)) for row in rows]

    def _write(self, positions: Sequence[int], vectors: Sequence[bytes]) -> None:
        halves = [np.frombuffer(vector, "<f4").astype("<f2").tobytes() for vector in vectors]
        rows = [
            (str(self._space), position, half, checksum_vector(half), read_tokens(vector))
            for position, half, vector in zip(positions, halves, vectors, strict=True)
        ]
        with writing(self._db, self._retry_policy):
            self._db.executemany(QUERIES["reembed_keep"], rows)

    def _swap_all(self, after: int) -> bool:
        """Swap in all new vectors; False if versions were written meanwhile and must be embedded first."""
        with writing(self._db, self._retry_policy):
            if self._read_next(after):
                return False
            self._db.execute(QUERIES["reembed_swap"], {"space": str(self._space)})
            self._db.execute(QUERIES["drop_tokens"])
            tokens = self._db.execute(QUERIES["reembed_tokens"], {"space": str(self._space)}).fetchall()
            rows = [(position, blob, crc32(blob)) for position, blob in tokens if isinstance(blob, bytes)]
            self._db.executemany(QUERIES["keep_tokens"], rows)
            settings = [(key, str(value)) for key, value in asdict(self._space).items()]
            settings.append(("reembedded", str(self._space)))
            self._db.executemany(QUERIES["reembed_meta"], settings)
            self._db.execute(QUERIES["reembed_done"])
            self._db.execute(QUERIES["drop_packs"])
        return True


async def reword(url: str, on_progress: Progress) -> int:
    """Rebuild the text index of all versions if it is outdated; return how many entries changed.

    `on_progress` gets (done, total).
    """
    location = locate(url)
    if location.path is None or not location.path.exists():
        raise NotFound(f"there is no file {location}", field="store")
    return await asyncio.to_thread(_reindex, location, on_progress)


def _reindex(location: Location, on_progress: Progress) -> int:
    retry_policy = RetryPolicy()
    with map_errors(location):
        db = connect(location)
        try:
            bring_up_to_date(db, location, retry_policy)
            if read_words_edition(db) >= EDITION:
                return 0
            count = after = progress = 0
            total = int(db.execute(QUERIES["reword_total"]).get)
            while batch := db.execute(QUERIES["reword_next"], {"after": after, "limit": _BATCH}).fetchall():
                rows = [(*index_terms(read_record(row)), read_position(row)) for row in batch]
                with writing(db, retry_policy):
                    before = db.total_changes()
                    db.executemany(QUERIES["reword_keep"], rows)
                    count += db.total_changes() - before
                after, progress = read_position(batch[-1]), progress + len(batch)
                on_progress(progress, max(progress, total))
            with writing(db, retry_policy):
                if count:
                    db.execute(QUERIES["drop_packs"])
                db.execute(QUERIES["reembed_meta"], ("words", str(EDITION)))
            return count
        finally:
            db.close()
