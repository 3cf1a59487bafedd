"""Opens the journal of a store: in its own file or database if it can be there, else in a file of its own."""

import asyncio
from collections.abc import Sequence
from functools import partial

import apsw

from memorywire.journal.recall_buffer import orphans, write_notes
from memorywire.journal.schema import bring_up_to_date, is_current
from memorywire.journal.signer import Notary
from memorywire.journal.sqlite import SqliteJournal
from memorywire.model.clock import Clock
from memorywire.stores.contract import Store
from memorywire.stores.postgres import is_postgres
from memorywire.stores.sqlite import SqliteStore
from memorywire.stores.sqlite.connection import RetryPolicy, writing
from memorywire.stores.sqlite.file import SqliteFile
from memorywire.stores.sqlite.location import Location, locate


async def open_journal(
    store: Store, url: str | None, *, clock: Clock, witnesses: Sequence[str] = ()
) -> SqliteJournal:
    """The journal of a store: in its own file or database when it can be there, else where the URL says.

    Without a URL a store that is not durable gets a journal that is not either. Its checkpoints go to the
    witnesses.
    """
    if is_postgres(store):
        from memorywire.journal.postgres import open_beside

        return await open_beside(store, url, clock=clock, witnesses=witnesses)
    if isinstance(store, SqliteStore):
        file = store.file
        if not await file.read(is_current):  # so that whoever only reads waits for no writer
            await (file.read if file.read_only else file.write)(bring_up_to_date)
    else:
        location = locate(url or "sqlite://")
        file = await asyncio.to_thread(_own_file, location)
    path = file.location.path
    notary = None if path is None else Notary.beside(path, witnesses)
    shared = store if isinstance(store, SqliteStore) else None
    journal = SqliteJournal(file, store=shared, notary=notary, clock=clock)
    await adopt(file)
    return journal


def _own_file(location: Location) -> SqliteFile:
    patience = RetryPolicy()

    def setup(db: apsw.Connection) -> None:
        with writing(db, patience):
            bring_up_to_date(db)

    return SqliteFile(location, setup, patience=patience)


async def adopt(file: SqliteFile) -> None:
    """Take over the recalls of processes that died before they were written; later, if others write now."""
    if file.location.path is None or file.read_only:
        return
    for orphan in await asyncio.to_thread(lambda path: list(orphans(path)), file.location.path):
        is_written = False
        try:
            is_written = await file.write_at_once(partial(write_notes, notes=orphan.notes))
        finally:
            if is_written:
                orphan.bury()
            else:
                orphan.leave()
