"""Opens the journal of a store: in its own file or database if it can be there, else in a file of its own."""

import asyncio
from collections.abc import Sequence
from functools import partial

from memorywire.journal import ledger
from memorywire.journal.backend import JournalBackend, Session, SupportsJournal
from memorywire.journal.journal import Journal
from memorywire.journal.recall_log import find_orphans, write_notes
from memorywire.journal.signer import Signer
from memorywire.journal.sqlite import SqliteBackend
from memorywire.model.clock import Clock
from memorywire.model.errors import StoreNewer
from memorywire.stores.contract import Store
from memorywire.stores.sqlite import SqliteStore
from memorywire.stores.sqlite.location import locate

_WITH_DIGESTS = 11  # since this migration the ledger has digests of rows other than memories


async def open_journal(
    store: Store, url: str | None, *, clock: Clock, witnesses: Sequence[str] = ()
) -> Journal:
    """The journal of a store: in its own file or database when it can be there, else where the URL says.

    Without a URL a store that is not durable gets a journal that is not either. Its checkpoints go to the
    witnesses.
    """
    backend = await _open_backend(store, url)
    signer = None if backend.path is None else Signer.beside(backend.path, witnesses)
    journal = Journal(backend, signer=signer, clock=clock)
    await _adopt_recalls(backend)
    return journal


async def _open_backend(store: Store, url: str | None) -> JournalBackend:
    if isinstance(store, SupportsJournal):
        return await store.open_journal(
            None if url is None else locate(url).path, is_current, bring_up_to_date
        )
    if isinstance(store, SqliteStore):
        backend = SqliteBackend(store.file, store)
        if not await backend.read(is_current):  # so that a reader does not wait for a writer
            await (backend.read if backend.read_only else backend.write)(bring_up_to_date)
        return backend
    return await asyncio.to_thread(SqliteBackend.open_file, locate(url or "sqlite://"), bring_up_to_date)


def bring_up_to_date(db: Session) -> None:
    """Apply the migrations that the database has not seen; raises StoreNewer."""
    scripts = db.migrations
    newest = scripts[-1][0]
    if not db.value("has_schema_version"):
        db.execute("create_schema_version")
    version = int(db.value("schema_version"))
    if version > newest:
        raise StoreNewer(
            f"the journal has schema {version}; this release knows up to {newest}",
            fix="upgrade memorywire, or open the file with the release that wrote it",
        )
    for number, script in scripts:
        if version < number:
            db.execute_script(script)
            db.execute("set_schema_version", (number,))
    if version < _WITH_DIGESTS <= newest:
        ledger.adopt_rows(db)


def is_current(db: Session) -> bool:
    """Whether the tables exist and have exactly the migrations that this release knows."""
    return bool(db.value("has_schema_version")) and int(db.value("schema_version")) == db.migrations[-1][0]


async def _adopt_recalls(backend: JournalBackend) -> None:
    """Write the recalls of processes that died before they were written; later, if others write now."""
    if backend.path is None or backend.read_only:
        return
    for orphan in await asyncio.to_thread(lambda path: list(find_orphans(path)), backend.path):
        is_written = False
        try:
            is_written = await backend.write_at_once(partial(write_notes, notes=orphan.notes))
        finally:
            if is_written:
                orphan.bury()
            else:
                orphan.leave()
