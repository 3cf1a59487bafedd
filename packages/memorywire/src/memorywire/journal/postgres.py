"""The journal in the database of a Postgres store: a change and its ledger entry are one transaction.

Whatever reads and writes the journal is a plain function of a connection, as in SQLite. Such a work runs on a
thread, and each of its statements on the event loop that owns the connection.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from typing import Any, NoReturn, TypeVar, cast

import apsw
from msgspec import Struct
from psycopg import AsyncClientCursor, errors

from memorywire.journal import ledger
from memorywire.journal.contract import Act
from memorywire.journal.dialect import OWN, in_postgres
from memorywire.journal.entries import Entry
from memorywire.journal.opening import adopt
from memorywire.journal.schema import bring_up_to_date, is_up_to_date
from memorywire.journal.signer import Notary
from memorywire.journal.sqlite import SqliteJournal
from memorywire.model.change import Change
from memorywire.model.clock import Clock
from memorywire.model.errors import MemorywireError, StoreUnavailable
from memorywire.stores.contract import Store
from memorywire.stores.postgres.database import Connection, Database
from memorywire.stores.postgres.rows import kept, said
from memorywire.stores.postgres.store import PostgresStore
from memorywire.stores.sqlite import SqliteStore
from memorywire.stores.sqlite.connection import Work
from memorywire.stores.sqlite.file import SqliteFile
from memorywire.stores.sqlite.location import locate
from memorywire.stores.sqlite.writer import Deferred

SELDOM = 1.0
"""Seconds after which a listener looks by itself: a dead connection may not be noticed."""

AGAIN = 1.0
"""Seconds until a connection that was lost is opened again."""


class Listener:
    """One connection that listens, however many wait; it is opened for the first of them.

    `heard` counts what was announced, so that nobody misses what comes between a look and a wait.
    """

    def __init__(self, database: Database) -> None:
        self.heard = 0
        self._database = database
        self._more = asyncio.Condition()
        self._listens = False
        self._task: asyncio.Task[None] | None = None

    async def wait(self, heard: int, seconds: float) -> None:
        """Wait until more than that is heard: for `seconds` if nothing can be heard, else for longer."""
        if self._task is None:
            self._task = asyncio.get_running_loop().create_task(self._listen())
        with suppress(TimeoutError):
            async with asyncio.timeout(SELDOM if self._listens else seconds), self._more:
                await self._more.wait_for(lambda: self.heard != heard)

    async def close(self) -> None:
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait([self._task])

    async def _listen(self) -> None:
        """Listen until cancelled; a server that goes away is looked for again."""
        while True:
            with suppress(MemorywireError):
                async for _ in self._database.heard(f"{self._database.location.schema}_ledger"):
                    self._listens = True
                    self.heard += 1
                    async with self._more:
                        self._more.notify_all()
            self._listens = False
            await asyncio.sleep(AGAIN)


T = TypeVar("T")

_NOBODY = "-"  # the journal is of no tenant
_OPEN = {"memorywire.journal": "on"}
_PAGE = 1000  # entries of the ledger read at once
_SOON = 0.2  # seconds until what is collected in memory is written, when nobody writes before


class _Found:
    """The rows of a statement, with the interface of an apsw cursor."""

    def __init__(self, rows: Iterable[tuple[Any, ...]]) -> None:
        self._rows = iter(rows)

    def __iter__(self) -> Iterator[tuple[Any, ...]]:
        return self._rows

    @property
    def get(self) -> Any:
        """The only value of the first row, the row when it has several, None without one."""
        row = self.fetchone()
        return row[0] if row is not None and len(row) == 1 else row

    def fetchone(self) -> tuple[Any, ...] | None:
        return next(self._rows, None)

    def fetchall(self) -> list[tuple[Any, ...]]:
        return list(self._rows)


class _Books:
    """One transaction, used by a thread with the journal's own SQL.

    Once it is `ended` nothing more is done: the connection then belongs to somebody else.
    """

    def __init__(self, db: Connection, signer: str, *, writing: bool) -> None:
        self._db = db
        self._signer = signer
        self._writing = writing
        self._loop = asyncio.get_running_loop()
        self._changes = 0
        self.ended = False

    def execute(self, statement: str, bindings: Mapping[str, Any] | Sequence[Any] = ()) -> _Found:
        if statement == ledger.QUERIES["rows"]:
            return _Found(self._paged(in_postgres(statement), *bindings))
        if self._writing and statement in (ledger.QUERIES["head"], ledger.QUERIES["head_for"]):
            self.run(lambda db: _fetched(db, OWN["lock_ledger"], {}))
        return _Found(self._fetched(in_postgres(statement), bindings))

    def executemany(self, statement: str, several: Iterable[Mapping[str, Any]]) -> None:
        for bindings in several:
            self.execute(statement, bindings)

    def changes(self) -> int:
        """How many rows the last statement changed."""
        return self._changes

    def run(self, work: Callable[[Connection], Awaitable[T]]) -> T:
        """What a work of the event loop gives, in the same transaction."""
        if self.ended:
            raise StoreUnavailable("the transaction was given up")
        return asyncio.run_coroutine_threadsafe(_awaited(work, self._db), self._loop).result()

    def _fetched(self, statement: str, bindings: Mapping[str, Any] | Any) -> list[tuple[Any, ...]]:
        given: Any
        if isinstance(bindings, Mapping):
            given = {name: _kept(value) for name, value in bindings.items()} | {"signer": self._signer}
        else:
            given = [_kept(value) for value in bindings] or {"signer": self._signer}
        rows, self._changes = self.run(lambda db: _fetched(db, statement, given))
        return rows

    def _paged(self, statement: str, after: int) -> Iterator[tuple[Any, ...]]:
        """The rows in pages, so that a long log is never held in memory as a whole."""
        page = f"{statement.rstrip(';')} LIMIT {_PAGE}"
        while rows := self._fetched(page, (after,)):
            yield from rows
            after = rows[-1][0]


async def _awaited(work: Callable[[Connection], Awaitable[T]], db: Connection) -> T:
    return await work(db)


async def _fetched(db: Connection, statement: str, bindings: Any) -> tuple[list[tuple[Any, ...]], int]:
    cursor = AsyncClientCursor(db)
    try:
        await cursor.execute(statement, bindings)
    except errors.UniqueViolation as error:
        raise apsw.ConstraintError(error.diag.message_primary) from error
    rows = await cursor.fetchall() if cursor.description else []
    return [tuple(said(value) if isinstance(value, str) else value for value in row) for row in rows], (
        cursor.rowcount
    )


def _kept(value: Any) -> Any:
    return kept(value) if isinstance(value, str) else value


class _Place(Struct, frozen=True):
    """Where this machine keeps the key, the checkpoints and pending recalls; None for nowhere."""

    path: Path | None


class PostgresFile:
    """Does for a database what SqliteFile does for a file: works in, answers out."""

    def __init__(self, database: Database, place: Path | None) -> None:
        self.location = _Place(place)
        self.read_only = False
        self._database = database
        self._signer = sha256(str(place).encode()).hexdigest()[:16]
        self._deferred: Deferred | None = None
        self._soon: asyncio.Task[None] | None = None
        self._settling = asyncio.Lock()
        self._closed = False

    async def read(self, work: Work[T]) -> T:
        return await self._database.read(_NOBODY, lambda db: self.done(db, work, writing=False), _OPEN)

    async def write(self, work: Work[T], *, brief: bool = False) -> T:
        """As `SqliteFile.write`; `brief` makes no difference here."""
        await self._settle()
        return await self._database.write(_NOBODY, lambda db: self.done(db, work, writing=True), _OPEN)

    async def write_at_once(self, work: Work[None]) -> bool:
        """As `SqliteFile.write_at_once`; here writers do not keep each other waiting."""
        await self.write(work)
        return True

    def hurry(self) -> None:
        """As `SqliteFile.hurry`; each wait for a database has a limit of its own."""

    def defer(self, deferred: Deferred) -> None:
        self._deferred = deferred

    def later(self, collect: Callable[[], None]) -> None:
        if self._closed:
            raise StoreUnavailable("the journal is closed")
        collect()
        if self._soon is None or self._soon.done():
            self._soon = asyncio.get_running_loop().create_task(self._settle_soon())

    async def close(self) -> None:
        self._closed = True
        if self._soon is not None:
            self._soon.cancel()
            await asyncio.wait([self._soon])
        await self._settle()

    async def _settle_soon(self) -> None:
        await asyncio.sleep(_SOON)
        await self._settle()

    async def _settle(self) -> None:
        """Write what is collected in memory."""
        deferred = self._deferred
        if not deferred:
            return

        def again(db: apsw.Connection) -> None:
            deferred.give_back()  # what an attempt took that came to nothing
            deferred.write(db)

        async with self._settling:
            try:
                await self._database.write(_NOBODY, lambda db: self.done(db, again, writing=True), _OPEN)
            except BaseException:
                deferred.give_back()
                raise
            deferred.settle()

    async def done(self, db: Connection, work: Work[T], *, writing: bool) -> T:
        """The answer of the work; a caller that stops waiting does not leave it alone with the connection."""
        books = _Books(db, self._signer, writing=writing)
        doing = asyncio.ensure_future(asyncio.to_thread(work, cast(apsw.Connection, books)))
        try:
            return await asyncio.shield(doing)
        finally:
            books.ended = True
            if not doing.done():
                await asyncio.wait([doing])


class _Sharing:
    """The changes of a store as works in the journal's transaction."""

    def __init__(self, store: PostgresStore) -> None:
        self.store = store

    def applying(self, change: Change) -> Work[int]:
        apply = self.store.applying(change)
        tenant = kept(change.scope.tenant)

        async def for_tenant(db: Connection) -> int:
            await _fetched(db, OWN["speak_for"], {"tenant": tenant})
            return await apply(db)

        return lambda books: cast(_Books, books).run(for_tenant)


class PostgresJournal(SqliteJournal):
    """Satisfies Journal, in the schema of a Postgres store."""

    def __init__(
        self, file: PostgresFile, *, store: PostgresStore, notary: Notary | None, clock: Clock
    ) -> None:
        super().__init__(
            cast(SqliteFile, file), store=cast(SqliteStore, _Sharing(store)), notary=notary, clock=clock
        )
        self._own = store
        self._books = file
        self._listener = Listener(store.database)

    @property
    def heard(self) -> int:
        return self._listener.heard

    async def news(self, heard: int, seconds: float) -> None:
        await self._listener.wait(heard, seconds)

    def shares(self, store: Store) -> bool:
        return store is self._own

    async def write_many(self, changes: Sequence[Change], entries: Sequence[Entry]) -> list[int | Exception]:
        """As the contract says, each change in a transaction of its own."""
        pairs = zip(changes, entries, strict=True)
        writes = (self.write(Act(entries=(entry,)), change) for change, entry in pairs)
        done = await asyncio.gather(*writes, return_exceptions=True)
        return [one if isinstance(one, int | Exception) else _raised(one) for one in done]

    async def close(self) -> None:
        await self._listener.close()
        await super().close()
        await self._books.close()


def _raised(error: BaseException) -> NoReturn:
    raise error


async def open_beside(
    store: PostgresStore, url: str | None, *, clock: Clock, witnesses: Sequence[str] = ()
) -> PostgresJournal:
    """The journal of a Postgres store; what must stay on this machine is kept beside the file of the URL."""
    place = None if url is None else _place_beside(locate(url).path, store)
    file = PostgresFile(store.database, place)
    await store.database.write(_NOBODY, lambda db: _prepared(db, file), _OPEN)
    notary = None if place is None else Notary.beside(place, witnesses)
    journal = PostgresJournal(file, store=store, notary=notary, clock=clock)
    await adopt(cast(SqliteFile, file))
    return journal


def _place_beside(path: Path | None, store: PostgresStore) -> Path | None:
    if path is None:
        return None
    name = sha256(str(store.database.location).encode()).hexdigest()[:16]
    path.parent.mkdir(parents=True, exist_ok=True)
    return path.with_name(f"postgres-{name}")


async def _prepared(db: Connection, file: PostgresFile) -> None:
    """Bring the tables up to date; many processes may do so at once."""
    [(there,)], _ = await _fetched(db, OWN["has_tables"], {})
    if there and await file.done(db, is_up_to_date, writing=False):
        return
    await db.execute(OWN["lock_tables"])
    await db.execute(OWN["prelude"])
    await file.done(db, bring_up_to_date, writing=True)
    await db.execute(OWN["guards"])
