"""The ledger as the command line opens it: the database file, and the key and checkpoints beside it."""

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, TypeVar

from msgspec import Struct

from memorywire.cli.app import as_sqlite
from memorywire.cli.context import CliContext
from memorywire.cli.terminal import safe
from memorywire.model.errors import NotFound

if TYPE_CHECKING:  # the engine is loaded by the verb that runs, not to show --help
    import apsw

    from memorywire.app import Settings
    from memorywire.journal.signer import Notary
    from memorywire.journal.sqlite import SqliteJournal
    from memorywire.stores.sqlite.location import Location

T = TypeVar("T")


class Book(Struct, frozen=True, kw_only=True):
    """The database with the ledger, and whoever signs for it."""

    db: "apsw.Connection"
    location: "Location"
    notary: "Notary"

    def read(self, work: "Callable[[apsw.Connection], T]") -> T:
        """The answer of `work`, in one snapshot of the database."""
        from memorywire.stores.sqlite.connection import map_errors, snapshot

        with map_errors(self.location), snapshot(self.db):
            return work(self.db)

    def lines(self, work: "Callable[[apsw.Connection], Iterator[str]]") -> Iterator[str]:
        """As `read`, line by line, so that an error of the reader is not taken for one of the database."""
        from memorywire.stores.sqlite.connection import map_errors, snapshot

        with snapshot(self.db):
            with map_errors(self.location):
                found = work(self.db)
            while True:
                with map_errors(self.location):
                    line = next(found, None)
                if line is None:
                    return
                yield line

    def signed(self, *, rotate: bool = False) -> str:
        """A checkpoint of the ledger as it is."""
        from memorywire.journal.sealing import advanced, keep
        from memorywire.stores.sqlite.connection import RetryPolicy, map_errors, writing

        frontier = self.read(advanced)
        if frontier is None:
            raise NotFound("the ledger is empty", fix="remember something first")
        note = (self.notary.rotate if rotate else self.notary.sign)(frontier.checkpoint)
        with map_errors(self.location), writing(self.db, RetryPolicy()):
            keep(self.db, frontier)
        return note


class DistantBook(Struct, frozen=True, kw_only=True):
    """A ledger in the database of a Postgres store; the key and the checkpoints are on this machine."""

    settings: "Settings"
    notary: "Notary"

    def read(self, work: "Callable[[apsw.Connection], T]") -> T:
        """The answer of `work`, in one snapshot of the database."""
        from memorywire.cli.app import run_in_journal

        return run_in_journal(self.settings, lambda journal: journal.file.read(work))

    def lines(self, work: "Callable[[apsw.Connection], Iterator[str]]") -> Iterator[str]:
        """As `read`, with all lines of one snapshot."""
        return iter(self.read(lambda db: list(work(db))))

    def signed(self, *, rotate: bool = False) -> str:
        """A checkpoint of the ledger as it is."""
        from memorywire.cli.app import run_in_journal
        from memorywire.journal.sealing import advanced, keep

        frontier = self.read(advanced)
        if frontier is None:
            raise NotFound("the ledger is empty", fix="remember something first")
        note = (self.notary.rotate if rotate else self.notary.sign)(frontier.checkpoint)
        run_in_journal(self.settings, lambda journal: journal.file.write(lambda db: keep(db, frontier)))
        return note


@contextmanager
def opened(cli: CliContext, *, missing_ok: bool = False) -> Iterator[Book | DistantBook]:
    """The ledger of the desk's store; NotFound when there is none, unless its absence is the question."""
    from memorywire.journal.ledger import is_there
    from memorywire.journal.signer import Notary
    from memorywire.stores.sqlite.connection import connect, map_errors

    if cli.here.stores[0].startswith(("postgresql:", "postgres:")):
        yield _distant(cli)
        return
    location = _location(cli)
    if location.path is None or not location.path.exists():
        raise NotFound(f"there is no ledger at {location}", field="store")
    with map_errors(location):
        db = connect(location)
    try:
        book = Book(db=db, location=location, notary=Notary.beside(location.path, cli.settings.witnesses))
        if not missing_ok and not book.read(is_there):
            raise NotFound(f"there is no ledger in {location}", field="store")
        yield book
    finally:
        db.close()


def other_tenants(cli: CliContext) -> list[str]:
    """Whose memories are in the same store and not meant; none where no ledger of its own knows."""
    from memorywire.journal.standing import tenants

    store = cli.here.stores[0]
    if as_sqlite(store) is not None or store.startswith(("postgresql:", "postgres:")):
        with suppress(NotFound), opened(cli) as book:
            return [tenant for tenant in book.read(tenants) if tenant != cli.tenant]
    return []


def left_out(tenants: Sequence[str]) -> Iterator[str]:
    """A note for a reader who may have meant every tenant."""
    if tenants:
        yield f"  not among them: those of {', '.join(map(safe, tenants))}; name each with --tenant"


def _distant(cli: CliContext) -> DistantBook:
    from memorywire.cli.app import run_in_journal

    async def notary_of(journal: "SqliteJournal") -> "Notary | None":
        return journal.notary

    notary = run_in_journal(cli.settings, notary_of)
    if notary is None:
        raise NotFound("this ledger is not signed: its journal has no place on this machine", field="store")
    return DistantBook(settings=cli.settings, notary=notary)


def _location(cli: CliContext) -> "Location":
    """The store's own file, or where the journal of a store is kept that has none."""
    from memorywire.app import default_journal
    from memorywire.stores.sqlite.location import locate

    stores, journal = cli.settings.stores, cli.settings.journal
    return locate(as_sqlite(stores[0]) or journal or default_journal(os.environ, stores))
