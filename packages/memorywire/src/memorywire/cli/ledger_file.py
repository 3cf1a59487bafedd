"""The ledger as the command line opens it: the database file, and the key and checkpoints beside it."""

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from typing import TYPE_CHECKING, TypeVar

from msgspec import Struct

from memorywire.cli.app import as_sqlite
from memorywire.cli.context import CliContext
from memorywire.cli.terminal import safe
from memorywire.model.errors import NotFound

if TYPE_CHECKING:  # the engine is loaded by the verb that runs, not to show --help
    from memorywire.app import Settings
    from memorywire.journal.backend import Work
    from memorywire.journal.journal import Journal
    from memorywire.journal.signer import Signer
    from memorywire.journal.sqlite import LedgerFile
    from memorywire.stores.sqlite.location import Location

T = TypeVar("T")


class Book(Struct, frozen=True, kw_only=True):
    """The database file with the ledger, and the signer of the ledger."""

    file: "LedgerFile"
    signer: "Signer"

    def read(self, work: "Work[T]") -> T:
        """The result of `work`, in one snapshot of the database."""
        return self.file.read(work)

    def lines(self, work: "Work[Iterator[str]]") -> Iterator[str]:
        """As `read`, line by line, so that an error of the reader is not taken for one of the database."""
        return self.file.lines(work)

    def signed(self, *, rotate: bool = False) -> str:
        """A checkpoint of the ledger as it is."""
        from memorywire.journal.ledger import read_tree_head, save_tree_head

        head = self.read(read_tree_head)
        if head is None:
            raise _empty()
        note = (self.signer.rotate if rotate else self.signer.sign)(head.checkpoint)
        self.file.write(partial(save_tree_head, head=head))
        return note


class DistantBook(Struct, frozen=True, kw_only=True):
    """A ledger in the database of a Postgres store; the key and the checkpoints are on this machine."""

    settings: "Settings"
    signer: "Signer"

    def read(self, work: "Work[T]") -> T:
        """The result of `work`, in one snapshot of the database."""
        from memorywire.cli.app import run_in_journal

        return run_in_journal(self.settings, lambda journal: journal.audit(work))

    def lines(self, work: "Work[Iterator[str]]") -> Iterator[str]:
        """As `read`, with all lines of one snapshot."""
        return iter(self.read(lambda db: list(work(db))))

    def signed(self, *, rotate: bool = False) -> str:
        """A checkpoint of the ledger as it is."""
        from memorywire.cli.app import run_in_journal

        note = run_in_journal(self.settings, lambda journal: journal.sign(rotate=rotate))
        if note is None:
            raise _empty()
        return note


def _empty() -> NotFound:
    return NotFound("the ledger is empty", fix="remember something first")


@contextmanager
def opened(cli: CliContext, *, missing_ok: bool = False) -> Iterator[Book | DistantBook]:
    """The ledger of the store; NotFound when there is none, unless its absence is the question."""
    from memorywire.journal.ledger import has_ledger
    from memorywire.journal.signer import Signer
    from memorywire.journal.sqlite import LedgerFile

    if cli.here.stores[0].startswith(("postgresql:", "postgres:")):
        yield _distant(cli)
        return
    location = _location(cli)
    if location.path is None or not location.path.exists():
        raise NotFound(f"there is no ledger at {location}", field="store")
    with LedgerFile.opened(location.path) as file:
        book = Book(file=file, signer=Signer.beside(location.path, cli.settings.witnesses))
        if not missing_ok and not book.read(has_ledger):
            raise NotFound(f"there is no ledger in {location}", field="store")
        yield book


def other_tenants(cli: CliContext) -> list[str]:
    """Whose memories are in the same store and not meant; none where no ledger of its own knows."""
    from memorywire.journal.ledger import list_tenants

    store = cli.here.stores[0]
    if as_sqlite(store) is not None or store.startswith(("postgresql:", "postgres:")):
        with suppress(NotFound), opened(cli) as book:
            return [tenant for tenant in book.read(list_tenants) if tenant != cli.tenant]
    return []


def left_out(tenants: Sequence[str]) -> Iterator[str]:
    """A note for a reader who may have meant every tenant."""
    if tenants:
        yield f"  not among them: those of {', '.join(map(safe, tenants))}; name each with --tenant"


def _distant(cli: CliContext) -> DistantBook:
    from memorywire.cli.app import run_in_journal

    async def signer_of(journal: "Journal") -> "Signer | None":
        return journal.signer

    signer = run_in_journal(cli.settings, signer_of)
    if signer is None:
        raise NotFound("this ledger is not signed: its journal has no place on this machine", field="store")
    return DistantBook(settings=cli.settings, signer=signer)


def _location(cli: CliContext) -> "Location":
    """The store's own file, or where the journal of a store is kept that has none."""
    from memorywire.app import default_journal
    from memorywire.stores.sqlite.location import locate

    stores, journal = cli.settings.stores, cli.settings.journal
    return locate(as_sqlite(stores[0]) or journal or default_journal(os.environ, stores))
