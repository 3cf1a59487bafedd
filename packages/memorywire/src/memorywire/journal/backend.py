"""What the journal needs from a database, and all that it knows about one.

Theory of operation. The rules of the journal (what an act writes, how the ledger is chained, what an erase
removes) exist once, as functions of a `Session`. A session is one transaction. It executes statements by
name: each backend has .sql files with SQL of its own under every name, with the same
parameters and the same columns in both. No function above a backend contains SQL or names a driver, and no
backend contains a rule.

A `JournalBackend` runs such functions ("works") in transactions. The backend for SQLite (`journal.sqlite`)
runs them on the writer's thread of the file, many to one transaction of the disk. The backend for Postgres
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
    """A version of a memory as the database has it, for a comparison with the ledger.

    `is_in_place` is False where the row does not stand where its change put it, `is_blank` where an erased
    version has none of its columns left. `read` gives the record, or raises for a row that cannot be one;
    `is_indexed` tells whether everything that was derived from the record for searches and filters fits it.
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
        """All rows that the named statement returns."""
        ...

    def stream(self, statement: str, bindings: Bindings = ()) -> Iterator[Row]:
        """The same rows one by one, for results that may not fit into memory."""
        ...

    def row(self, statement: str, bindings: Bindings = ()) -> Row | None:
        """The first row, or None."""
        ...

    def value(self, statement: str, bindings: Bindings = ()) -> Any:
        """The first column of the first row, or None."""
        ...

    def execute(self, statement: str, bindings: Bindings = ()) -> int:
        """Execute the named statement and return how many rows it changed."""
        ...

    def execute_many(self, statement: str, bindings: Iterable[Bindings]) -> None:
        """Execute the named statement once for each set of parameters."""
        ...

    def lock_ledger(self) -> None:
        """Wait until no other transaction can append to the ledger: its numbers have no gaps."""
        ...

    def see_tenant(self, tenant: str) -> None:
        """Let this transaction see the memories of the tenant, where the database shows one tenant at a
        time.
        """
        ...

    def see_all_tenants(self) -> None:
        """Let this transaction read the memories of all tenants, to compare them with the ledger."""
        ...

    def stored_versions(self, memories: Iterable[tuple[str, str]] | None = None) -> Iterator[StoredVersion]:
        """The versions of the store in this database: of all memories, or of these tenants and ids."""
        ...

    def schedule_scrub(self) -> None:
        """Have erased words removed from the files of the database before the transaction is acknowledged."""
        ...

    def execute_script(self, script: str) -> None:
        """Execute a script of several statements, as a migration is."""
        ...

    @property
    def migrations(self) -> Sequence[tuple[int, str]]:
        """The numbered scripts that make the tables of the journal, in order."""
        ...


Work: TypeAlias = Callable[[Session], T]


class Buffer(Protocol):
    """Rows collected in memory, which a backend writes with its next transaction, or after a moment."""

    def __bool__(self) -> bool:
        """Whether anything waits to be written."""
        ...

    def write(self, db: Session) -> None:
        """Write all of it; `settle` or `give_back` follows."""
        ...

    def settle(self) -> None:
        """Forget what was written, because it is on the disk."""
        ...

    def give_back(self) -> None:
        """Keep what was written for the next attempt, because the transaction failed."""
        ...


class JournalBackend(Protocol):
    """A database that holds a journal."""

    @property
    def path(self) -> Path | None:
        """The file beside which the signing key, the checkpoints and the recall log buffer are.

        None without one.
        """
        ...

    @property
    def read_only(self) -> bool: ...

    @property
    def writable(self) -> bool:
        """Whether the database can be written now, also if that has changed since it was opened."""
        ...

    @property
    def folder(self) -> Path | None:
        """The folder of the database file; None in memory or on a server."""
        ...

    def shares(self, store: object) -> bool:
        """Whether the store is in this database, so that its changes can be committed with an act."""
        ...

    async def read(self, work: Work[T]) -> T:
        """The result of `work` in one snapshot; it may be called twice."""
        ...

    async def write(self, work: Work[T]) -> T:
        """The result of `work`, once what it wrote is durable; it may be called twice."""
        ...

    async def commit(
        self, changes: Sequence[Change], write: Callable[[Session, Sequence[int]], None]
    ) -> list[int | Exception]:
        """Apply changes to the store in this database, in order, each in one transaction with its act.

        `write` writes the acts of the changes with these indexes. Gives the commit sequence of each change,
        or the error that kept it from being committed, which concerns this change alone.
        """
        ...

    async def write_at_once(self, work: Work[None]) -> bool:
        """Do a work that can be done later; False when it would have to wait for another writer now."""
        ...

    def add_buffer(self, buffer: Buffer) -> None:
        """Write what this buffer collects with the next transaction, after a moment, or at close."""
        ...

    def collect(self, add: Callable[[], None]) -> None:
        """Let a buffer collect more; raises StoreUnavailable when the backend is closed or read-only."""
        ...

    def hurry(self) -> None:
        """Wait a second at most for other processes from now on, because this process is closing."""
        ...

    @property
    def heard(self) -> int:
        """How many commits of other processes the database has announced; 0 where it announces none."""
        ...

    async def wait_for_news(self, heard: int, seconds: float) -> None:
        """Wait until more than `heard` commits are announced; `seconds` where none are."""
        ...

    async def close(self) -> None: ...


@runtime_checkable
class SupportsJournal(Protocol):
    """A store whose database can hold the journal as well, so that a change and its act are one transaction.

    The store for SQLite needs none of this: its file is the journal's.
    """

    async def open_journal(
        self, beside: Path | None, is_current: Work[bool], bring_up_to_date: Work[None]
    ) -> JournalBackend:
        """The backend in this store's database, with current tables.

        The files that this machine has of a journal go beside the file `beside`; without one there are none.
        """
        ...


def bind_scope(scope: Scope) -> dict[str, Any]:
    """The parameters of a scope."""
    return {"tenant": scope.tenant, "agent": scope.agent, "user": scope.user}
