"""Opens the journal of a store: in the store's file or database if possible, else in a separate file."""

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

_WITH_DIGESTS = 11  # the migration since which the ledger has digests of other rows than memories


async def open_journal(
    store: Store, url: str | None, *, clock: Clock, witnesses: Sequence[str] = ()
) -> Journal:
    """Open the journal of a store: in the store's file or database if possible, else at the URL.

    If neither is possible, the journal is in memory. The signer sends its checkpoints to the
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
        if not await backend.read(is_current):  # checked first, so that opening does not wait for a writer
            await (backend.read if backend.read_only else backend.write)(bring_up_to_date)
        return backend
    return await asyncio.to_thread(SqliteBackend.open_file, locate(url or "sqlite://"), bring_up_to_date)


def bring_up_to_date(db: Session) -> None:
    """Apply the missing migrations; raises StoreNewer if the database has a newer schema."""
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
    """Return whether the tables exist and have exactly the migrations of this release."""
    return bool(db.value("has_schema_version")) and int(db.value("schema_version")) == db.migrations[-1][0]


async def _adopt_recalls(backend: JournalBackend) -> None:
    """Write the buffered recalls of ended processes; leave them for later if another writer is busy."""
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
