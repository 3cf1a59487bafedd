"""The ledger file for commands: the database, and the key and checkpoints stored beside it."""

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from typing import TYPE_CHECKING, TypeVar

from msgspec import Struct

from memorywire.cli.app import as_sqlite
from memorywire.cli.context import CliContext
from memorywire.cli.terminal import clean
from memorywire.model.errors import NotFound

if TYPE_CHECKING:  # the engine is loaded by the command that runs, not to show --help
    from memorywire.app import Settings
    from memorywire.journal.backend import Work
    from memorywire.journal.journal import Journal
    from memorywire.journal.signer import Signer
    from memorywire.journal.sqlite import LedgerFile

T = TypeVar("T")

_POSTGRES = ("postgresql:", "postgres:", "pgvector:")


class LocalLedger(Struct, frozen=True, kw_only=True):
    """The database file with the ledger, and the signer of the ledger."""

    file: "LedgerFile"
    signer: "Signer"

    def read(self, work: "Work[T]") -> T:
        """Return the result of `work` in one snapshot of the database."""
        return self.file.read(work)

    def lines(self, work: "Work[Iterator[str]]") -> Iterator[str]:
        """As `read`, line by line, so that an error of the consumer is not mapped as one of the database."""
        return self.file.lines(work)

    def sign(self, *, rotate: bool = False) -> str:
        """Sign the ledger and return the checkpoint."""
        from memorywire.journal.ledger import read_tree_head, save_tree_head

        head = self.read(read_tree_head)
        if head is None:
            raise _empty_error()
        note = (self.signer.rotate if rotate else self.signer.sign)(head.checkpoint)
        self.file.write(partial(save_tree_head, head=head))
        return note


class RemoteLedger(Struct, frozen=True, kw_only=True):
    """A ledger in a Postgres database; the key and the checkpoints are on this machine."""

    settings: "Settings"
    signer: "Signer"

    def read(self, work: "Work[T]") -> T:
        """Return the result of `work` in one snapshot of the database."""
        from memorywire.cli.app import run_in_journal

        return run_in_journal(self.settings, lambda journal: journal.audit(work))

    def lines(self, work: "Work[Iterator[str]]") -> Iterator[str]:
        """As `read`, with all lines of one snapshot."""
        return iter(self.read(lambda db: list(work(db))))

    def sign(self, *, rotate: bool = False) -> str:
        """Sign the ledger and return the checkpoint."""
        from memorywire.cli.app import run_in_journal

        note = run_in_journal(self.settings, lambda journal: journal.sign(rotate=rotate))
        if note is None:
            raise _empty_error()
        return note


def _empty_error() -> NotFound:
    return NotFound("the ledger is empty", fix="remember something first")


@contextmanager
def open_ledger(cli: CliContext, *, missing_ok: bool = False) -> Iterator[LocalLedger | RemoteLedger]:
    """Open the ledger of the store. Raises NotFound if there is none, unless `missing_ok`."""
    from memorywire.app import default_journal
    from memorywire.journal.ledger import has_ledger
    from memorywire.journal.signer import Signer
    from memorywire.journal.sqlite import LedgerFile
    from memorywire.stores.sqlite.location import locate

    stores, journal = cli.local_settings.stores, cli.settings.journal
    if stores[0].startswith(_POSTGRES):
        yield _open_remote(cli)
        return
    # The file of the store, or the journal file of a store without one.
    location = locate(as_sqlite(stores[0]) or journal or default_journal(os.environ, stores))
    if location.path is None or not location.path.exists():
        raise NotFound(f"there is no ledger at {location}", field="store")
    with LedgerFile.open(location.path) as file:
        ledger = LocalLedger(file=file, signer=Signer.beside(location.path, cli.settings.witnesses))
        if not missing_ok and not ledger.read(has_ledger):
            raise NotFound(f"there is no ledger in {location}", field="store")
        yield ledger


def other_tenants(cli: CliContext) -> list[str]:
    """Return the other tenants of the store; empty if its ledger does not know them."""
    from memorywire.journal.ledger import list_tenants

    store = cli.local_settings.stores[0]
    if as_sqlite(store) is not None or store.startswith(_POSTGRES):
        with suppress(NotFound), open_ledger(cli) as ledger:
            return [tenant for tenant in ledger.read(list_tenants) if tenant != cli.tenant]
    return []


def tenants_note(tenants: Sequence[str]) -> Iterator[str]:
    """Yield a note that other tenants are not included."""
    if tenants:
        yield f"  not included: tenants {', '.join(map(clean, tenants))}; name one with --tenant"


def _open_remote(cli: CliContext) -> RemoteLedger:
    from memorywire.cli.app import run_in_journal

    async def get_signer(journal: "Journal") -> "Signer | None":
        return journal.signer

    signer = run_in_journal(cli.settings, get_signer)
    if signer is None:
        raise NotFound("this ledger is not signed: its journal is not on this machine", field="store")
    return RemoteLedger(settings=cli.settings, signer=signer)
