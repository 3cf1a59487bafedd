"""The journal in SQLite: in the store's file, so that a change and its entry are one transaction, or alone.

`journal.sql`, `ledger.sql` and `services.sql` have its statements, `migrations` its tables.
"""

import asyncio
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from functools import partial
from pathlib import Path
from typing import TypeVar

import apsw
from msgspec import Struct

from memorywire.journal.backend import Bindings, Buffer, Row, Session, StoredVersion, Work
from memorywire.model.change import Change
from memorywire.model.errors import MemorywireError, StoreUnavailable
from memorywire.model.record import Record
from memorywire.stores.document import Document, Scripts, migrations
from memorywire.stores.sqlite.apply import GroupResult, is_brief, run_in_savepoint
from memorywire.stores.sqlite.connection import RetryPolicy, connect, map_errors, snapshot, writing
from memorywire.stores.sqlite.file import SqliteFile, request_scrub
from memorywire.stores.sqlite.location import Location
from memorywire.stores.sqlite.rows import compute_digest, index_terms, read_record
from memorywire.stores.sqlite.store import SqliteStore

T = TypeVar("T")

STATEMENTS = Document(__package__, "journal.sql", "ledger.sql", "services.sql")

_CONTENT, _WIDTH = 21, 23  # in the view `record`: the index of the content, and the number of columns


class SqliteSession(Struct, frozen=True):
    """Implements Session on a connection; the caller has begun the transaction."""

    connection: apsw.Connection

    def rows(self, statement: str, bindings: Bindings = ()) -> list[Row]:
        return self.connection.execute(STATEMENTS[statement], bindings).fetchall()

    def stream(self, statement: str, bindings: Bindings = ()) -> Iterator[Row]:
        return iter(self.connection.execute(STATEMENTS[statement], bindings))

    def row(self, statement: str, bindings: Bindings = ()) -> Row | None:
        return self.connection.execute(STATEMENTS[statement], bindings).fetchone()

    def value(self, statement: str, bindings: Bindings = ()) -> object:
        return self.connection.execute(STATEMENTS[statement], bindings).get

    def execute(self, statement: str, bindings: Bindings = ()) -> int:
        self.connection.execute(STATEMENTS[statement], bindings)
        return self.connection.changes()

    def execute_many(self, statement: str, bindings: Iterable[Bindings]) -> None:
        self.connection.executemany(STATEMENTS[statement], bindings)

    def execute_script(self, script: str) -> None:
        self.connection.execute(script).fetchall()

    @property
    def migrations(self) -> Scripts:
        return migrations(__package__)

    def lock_ledger(self) -> None:
        """Do nothing: a file has one writer."""

    def see_tenant(self, tenant: str) -> None:
        """Do nothing: every transaction of a file sees all tenants."""

    def see_all_tenants(self) -> None:
        """Do nothing: every transaction of a file sees all tenants."""

    def stored_versions(self, memories: Iterable[tuple[str, str]] | None = None) -> Iterator[StoredVersion]:
        if memories is None:
            yield from map(_stored_version, self.stream("all_versions"))
            return
        for tenant, id in memories:
            yield from map(_stored_version, self.rows("versions_of", {"tenant": tenant, "id": id}))

    def schedule_scrub(self) -> None:
        request_scrub(self.connection)


def _stored_version(row: Row) -> StoredVersion:
    """Build a version from a row of the view `record` with the columns of its changes and its index."""
    position, _, ended, reason, into, began_by, ended_by, first, puts, *index = row[_WIDTH:]

    def is_indexed(record: Record) -> bool:
        return [compute_digest(record), *index_terms(record)] == index

    return StoredVersion(
        tenant=row[0],
        agent=row[1],
        user=row[2],
        id=row[3],
        number=row[4],
        began_by=began_by,
        ended_by=ended_by,
        is_live=ended is None,
        reason=reason,
        into=into,
        is_in_place=began_by is not None and first <= position < first + puts,
        has_content=row[_CONTENT] is not None,
        is_blank=all(value is None for value in (*row[5 : _CONTENT + 1], *index)),
        read=partial(read_record, row),
        is_indexed=is_indexed,
    )


def _on_connection(work: Work[T]) -> Callable[[apsw.Connection], T]:
    return lambda connection: work(SqliteSession(connection))


class SqliteBackend:
    """Implements JournalBackend. `store` is the store in the same file.

    Without it, the file contains only the journal.
    """

    def __init__(self, file: SqliteFile, store: SqliteStore | None = None) -> None:
        self._file = file
        self._store = store

    @classmethod
    def open_file(cls, location: Location, setup: Work[None]) -> "SqliteBackend":
        """Open a journal in a separate file or in memory; blocks."""
        retry_policy = RetryPolicy()

        def prepare(db: apsw.Connection) -> None:
            with writing(db, retry_policy):
                setup(SqliteSession(db))

        return cls(SqliteFile(location, prepare, retry_policy=retry_policy))

    @property
    def path(self) -> Path | None:
        return self._file.location.path

    @property
    def read_only(self) -> bool:
        return self._file.read_only

    @property
    def writable(self) -> bool:
        return not self.read_only and self._file.location.writable

    @property
    def folder(self) -> Path | None:
        return None if self.path is None else self.path.parent

    def shares(self, store: object) -> bool:
        return store is self._store

    async def read(self, work: Work[T]) -> T:
        return await self._file.read(_on_connection(work))

    async def write(self, work: Work[T]) -> T:
        return await self._file.write(_on_connection(work))

    async def commit(
        self, changes: Sequence[Change], write: Callable[[Session, Sequence[int]], None]
    ) -> list[int | Exception]:
        store = self._store
        if store is None:
            raise StoreUnavailable("the journal shares no file with a store, so it cannot write changes")
        if len(changes) == 1:
            try:
                apply_change = store.applying(changes[0])

                def commit_first(db: apsw.Connection) -> int:
                    sequence = apply_change(db)
                    write(SqliteSession(db), (0,))
                    return sequence

                return [await self._file.write(commit_first, brief=is_brief(changes[0]))]
            except MemorywireError as error:
                return [error]

        def commit_alone(db: apsw.Connection, index: int) -> int:
            sequence = store.applying(changes[index])(db)
            write(SqliteSession(db), (index,))
            return sequence

        def apart(db: apsw.Connection) -> GroupResult:
            return [run_in_savepoint(db, partial(commit_alone, index=index)) for index in range(len(changes))]

        apply = store.applying_each(changes)
        if apply is None:
            return await self._file.write(apart, len(changes), alone=apart)

        def together(db: apsw.Connection) -> GroupResult:
            sequences = apply(db)
            write(SqliteSession(db), range(len(changes)))
            return sequences

        return await self._file.write(together, len(changes), alone=apart)

    async def write_at_once(self, work: Work[None]) -> bool:
        return await self._file.write_at_once(_on_connection(work))

    def add_buffer(self, buffer: Buffer) -> None:
        self._file.defer(buffer, _on_connection(buffer.write))

    def collect(self, add: Callable[[], None]) -> None:
        self._file.later(add)

    def hurry(self) -> None:
        self._file.hurry()

    @property
    def heard(self) -> int:
        return 0

    async def wait_for_news(self, heard: int, seconds: float) -> None:
        await asyncio.sleep(seconds)

    async def close(self) -> None:
        """Close the file, unless a store shares it and closes it."""
        if self._store is None:
            await self._file.close()


class LedgerFile(Struct, frozen=True, kw_only=True):
    """Opens a database file without a journal, for audits and checks, even if it is damaged or old.

    Blocks.
    """

    location: Location
    connection: apsw.Connection

    @classmethod
    @contextmanager
    def open(cls, path: Path) -> Iterator["LedgerFile"]:
        location = Location(path=path)
        with map_errors(location):
            connection = connect(location)
        with closing(connection):
            yield cls(location=location, connection=connection)

    def read(self, work: Work[T]) -> T:
        """Run `work` in one snapshot and return its result."""
        with map_errors(self.location), snapshot(self.connection):
            return work(SqliteSession(self.connection))

    def write(self, work: Work[T]) -> T:
        with map_errors(self.location), writing(self.connection, RetryPolicy()):
            return work(SqliteSession(self.connection))

    def lines(self, work: Work[Iterator[str]]) -> Iterator[str]:
        """Like `read`, but yield lines; errors of the caller are not mapped to database errors."""
        with snapshot(self.connection):
            with map_errors(self.location):
                lines = work(SqliteSession(self.connection))
            while True:
                with map_errors(self.location):
                    line = next(lines, None)
                if line is None:
                    return
                yield line
