"""The interface between the journal and a database.

Theory of operation. The rules of the journal (what an act writes, how the ledger is chained, what an erase
removes) exist once, as functions of a `Session`. A session is one transaction. It executes statements by
name: each backend has .sql files with a statement in its dialect for every name, with the same parameters
and the same columns in both. No function above a backend contains SQL or names a driver, and no backend
contains a rule.

A `JournalBackend` runs such functions ("works") in transactions. The backend for SQLite (`journal.sqlite`)
runs them on the file's writer thread, several in one disk transaction. The backend for Postgres
(in the package memorywire-postgres) runs each on a thread, and each of its statements on the event loop that
owns the connection. A backend that shares its database with a store can commit a change of that store in
the same transaction as the act.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol, TypeAlias, TypeVar, runtime_checkable

from msgspec import Struct

from memorywire.model.change import Change
from memorywire.model.record import Record, Scope

T = TypeVar("T")
Row: TypeAlias = tuple[Any, ...]
Bindings: TypeAlias = Mapping[str, Any] | Sequence[Any]


class StoredVersion(Struct, kw_only=True):
    """A version of a memory as stored in the database, for a comparison with the ledger.

    `is_in_place` is False if the row is not at the position where its change put it, `is_blank` is True if
    all content columns are empty, as after an erase. `read` returns the record or raises for an invalid row;
    `is_indexed` returns whether all index data of the record, for searches and filters, is correct.
    """

    tenant: str
    agent: str
    user: str | None
    id: str
    number: int
    began_by: str | None
    ended_by: str | None
    is_live: bool
    reason: str | None
    into: str | None
    is_in_place: bool
    has_content: bool
    is_blank: bool
    read: Callable[[], Record]
    is_indexed: Callable[[Record], bool]


class Session(Protocol):
    """One transaction of a journal's database, used by one thread at a time."""

    def rows(self, statement: str, bindings: Bindings = ()) -> list[Row]:
        """Return all rows of the named statement."""
        ...

    def stream(self, statement: str, bindings: Bindings = ()) -> Iterator[Row]:
        """Yield the same rows one by one, for results that may not fit into memory."""
        ...

    def row(self, statement: str, bindings: Bindings = ()) -> Row | None:
        """Return the first row, or None."""
        ...

    def value(self, statement: str, bindings: Bindings = ()) -> Any:
        """Return the first column of the first row, or None."""
        ...

    def execute(self, statement: str, bindings: Bindings = ()) -> int:
        """Execute the named statement and return how many rows it changed."""
        ...

    def execute_many(self, statement: str, bindings: Iterable[Bindings]) -> None:
        """Execute the named statement once for each set of parameters."""
        ...

    def lock_ledger(self) -> None:
        """Lock the ledger against appends of other transactions, so that its numbers have no gaps."""
        ...

    def see_tenant(self, tenant: str) -> None:
        """Let this transaction see the memories of the tenant, if the database shows one at a time."""
        ...

    def see_all_tenants(self) -> None:
        """Let this transaction read the memories of all tenants, to compare them with the ledger."""
        ...

    def stored_versions(self, memories: Iterable[tuple[str, str]] | None = None) -> Iterator[StoredVersion]:
        """Yield the versions of the store in this database: of all memories, or of these (tenant, id)."""
        ...

    def schedule_scrub(self) -> None:
        """Have erased words removed from the files of the database before the transaction is acknowledged."""
        ...

    def execute_script(self, script: str) -> None:
        """Execute a script of several statements, such as a migration."""
        ...

    @property
    def migrations(self) -> Sequence[tuple[int, str]]:
        """The numbered scripts that create the tables of the journal, in order."""
        ...


Work: TypeAlias = Callable[[Session], T]


class Buffer(Protocol):
    """Rows collected in memory; a backend writes them with its next transaction, or after a short delay."""

    def __bool__(self) -> bool:
        """Return whether rows wait to be written."""
        ...

    def write(self, db: Session) -> None:
        """Write all rows; the backend then calls `settle` or `give_back`."""
        ...

    def settle(self) -> None:
        """Drop the written rows, because they are on disk."""
        ...

    def give_back(self) -> None:
        """Keep the rows for the next attempt, because the transaction failed."""
        ...


class JournalBackend(Protocol):
    """A database that holds a journal."""

    @property
    def path(self) -> Path | None:
        """The file next to which the signing key, the checkpoints and the recall log buffer are.

        None if there is no such file.
        """
        ...

    @property
    def read_only(self) -> bool: ...

    @property
    def writable(self) -> bool:
        """Whether the database can be written now, even if that has changed since it was opened."""
        ...

    @property
    def folder(self) -> Path | None:
        """The folder of the database file; None in memory or on a server."""
        ...

    def shares(self, store: object) -> bool:
        """Return whether the store is in this database, so that its changes can be committed with an act."""
        ...

    async def read(self, work: Work[T]) -> T:
        """Run `work` in one snapshot and return its result; `work` may be called twice."""
        ...

    async def write(self, work: Work[T]) -> T:
        """Run `work`, return its result when its writes are durable; `work` may be called twice."""
        ...

    async def commit(
        self, changes: Sequence[Change], write: Callable[[Session, Sequence[int]], None]
    ) -> list[int | Exception]:
        """Apply changes to the store in this database, in order, each in one transaction with its act.

        `write` writes the acts of the changes with these indexes. Returns the commit sequence of each
        change, or the error that prevented its commit; an error affects only its own change.
        """
        ...

    async def write_at_once(self, work: Work[None]) -> bool:
        """Run `work` unless that has to wait for another writer; return whether it ran."""
        ...

    def add_buffer(self, buffer: Buffer) -> None:
        """Write this buffer with the next transaction, after a short delay, or at close."""
        ...

    def collect(self, add: Callable[[], None]) -> None:
        """Call `add`, which fills a buffer; raises StoreUnavailable if the backend is closed or read-only."""
        ...

    def hurry(self) -> None:
        """Wait at most a second for other processes from now on, because this process is closing."""
        ...

    @property
    def heard(self) -> int:
        """How many commits of other processes the database has announced; 0 where it announces none."""
        ...

    async def wait_for_news(self, heard: int, seconds: float) -> None:
        """Wait until more than `heard` commits are announced, or `seconds` if the database announces none."""
        ...

    async def close(self) -> None: ...


@runtime_checkable
class SupportsJournal(Protocol):
    """A store whose database can hold the journal as well, so that a change and its act are one transaction.

    The SQLite store does not implement this: it shares its file with the journal.
    """

    async def open_journal(
        self, beside: Path | None, is_current: Work[bool], bring_up_to_date: Work[None]
    ) -> JournalBackend:
        """Return the backend in this store's database, with current tables.

        Local files of the journal are created next to the file `beside`; without it there are none.
        """
        ...


def bind_scope(scope: Scope) -> dict[str, Any]:
    """Return the SQL parameters of a scope."""
    return {"tenant": scope.tenant, "agent": scope.agent, "user": scope.user}
