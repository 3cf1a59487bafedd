"""The journal in the database of a Postgres store: a change and its ledger entry are one transaction.

The statements are in `journal.sql`, `ledger.sql` and `services.sql`, the tables in `migrations`, and the
functions, triggers and locks that only Postgres needs in `setup.sql`. Work runs on a thread, and each of its
statements on the event loop that owns the connection.
"""

import asyncio
import json
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import Any, TypeVar

from psycopg import AsyncClientCursor

from memorywire.journal.backend import Bindings, Buffer, Row, Session, StoredVersion, Work
from memorywire.model.change import Change
from memorywire.model.errors import MemorywireError, StoreUnavailable
from memorywire.model.record import Record
from memorywire.stores.document import Document, Scripts, migrations
from memorywire_postgres.database import Connection, Database
from memorywire_postgres.rows import decode_text, derive_columns, dumps, encode_text, read_record
from memorywire_postgres.store import PostgresStore

T = TypeVar("T")

STATEMENTS = Document(__package__, "journal.sql", "ledger.sql", "services.sql")
SETUP = Document(__package__, "setup.sql")

SELDOM = 1.0
"""Seconds after which a waiter checks by itself, since a dead connection may go unnoticed."""

AGAIN = 1.0
"""Seconds before a lost connection is reopened."""

_NO_TENANT = "-"  # the journal belongs to no tenant
_ALL_ROWS = {"memorywire.journal": "on"}
_CONTENT, _WIDTH = 14, 17  # in a record: index of the content, number of columns
_AT_ONCE = 1_000  # rows that a stream fetches at once
_FLUSH_SECONDS = 0.2  # seconds until the buffer is written, unless another write comes first


class PostgresSession:
    """Satisfies Session, for a thread: each statement runs on the event loop that owns the connection.

    After `ended` is set it executes nothing more: the connection may be in use by other work.
    """

    def __init__(self, connection: Connection, signer: str) -> None:
        self._connection = connection
        self._signer = signer
        self._loop = asyncio.get_running_loop()
        self._cursors = 0
        self.ended = False

    def rows(self, statement: str, bindings: Bindings = ()) -> list[Row]:
        rows, _ = self._fetch(STATEMENTS[statement], bindings)
        return [*map(_decode, rows)]

    def stream(self, statement: str, bindings: Bindings = ()) -> Iterator[Row]:
        return map(_decode, self._stream(statement, bindings))

    def row(self, statement: str, bindings: Bindings = ()) -> Row | None:
        return next(iter(self.rows(statement, bindings)), None)

    def value(self, statement: str, bindings: Bindings = ()) -> Any:
        row = self.row(statement, bindings)
        return None if row is None else row[0]

    def execute(self, statement: str, bindings: Bindings = ()) -> int:
        _, count = self._fetch(STATEMENTS[statement], bindings)
        return count

    def execute_many(self, statement: str, bindings: Iterable[Bindings]) -> None:
        for one in bindings:
            self.execute(statement, one)

    def see_all_tenants(self) -> None:
        self._fetch(SETUP["see_all_tenants"], ())

    def stored_versions(self, memories: Iterable[tuple[str, str]] | None = None) -> Iterator[StoredVersion]:
        if memories is None:
            yield from map(_stored_version, self._stream("all_versions"))
            return
        for tenant, id in memories:
            yield from map(_stored_version, self._stream("versions_of", {"tenant": tenant, "id": id}))

    def execute_script(self, script: str) -> None:
        self.run(lambda db: db.execute(script))

    @property
    def migrations(self) -> Scripts:
        return migrations(__package__)

    def lock_ledger(self) -> None:
        self._fetch(SETUP["lock_ledger"], ())

    def lock_tables(self) -> None:
        self._fetch(SETUP["lock_tables"], ())

    def see_tenant(self, tenant: str) -> None:
        self._fetch(SETUP["see_tenant"], {"tenant": tenant})

    def schedule_scrub(self) -> None:
        """Do nothing: docs/how-to/postgres.md explains how to scrub the files of a server."""

    def run(self, work: Callable[[Connection], Awaitable[T]]) -> T:
        """Run work on the event loop, in the same transaction, and return its result."""
        if self.ended:
            raise StoreUnavailable("the transaction was rolled back")
        return asyncio.run_coroutine_threadsafe(_await(work, self._connection), self._loop).result()

    def _stream(self, statement: str, bindings: Bindings = ()) -> Iterator[Row]:
        """Yield rows in the server's encoding, fetched in parts."""
        self._cursors += 1
        name = f"stream_{self._cursors}"
        self._fetch(f"DECLARE {name} NO SCROLL CURSOR FOR {STATEMENTS[statement]}", bindings)
        while part := self.run(lambda db: _fetch(db, f"FETCH {_AT_ONCE} FROM {name}", None))[0]:
            yield from part

    def _fetch(self, statement: str, bindings: Bindings) -> tuple[list[Row], int]:
        parameters: Any
        if isinstance(bindings, Mapping):
            parameters = {name: _encode(value) for name, value in bindings.items()} | {"signer": self._signer}
        else:
            parameters = [_encode(value) for value in bindings] or {"signer": self._signer}
        return self.run(lambda db: _fetch(db, statement, parameters))


async def _await(work: Callable[[Connection], Awaitable[T]], db: Connection) -> T:
    return await work(db)


async def _fetch(db: Connection, statement: str, parameters: Any) -> tuple[list[Row], int]:
    cursor = AsyncClientCursor(db)
    await cursor.execute(statement, parameters)
    rows = await cursor.fetchall() if cursor.description else []
    return rows, cursor.rowcount


def _decode(row: Row) -> Row:
    return tuple(decode_text(value) if isinstance(value, str) else value for value in row)


def _encode(value: Any) -> Any:
    return encode_text(value) if isinstance(value, str) else value


def _stored_version(row: Row) -> StoredVersion:
    """Return the version of a row of `all_versions`."""
    ended, *texts, digest, length, terms, counts, facts, machine_said, keys, key_counts = row[_WIDTH:]
    reason, into, began_by, ended_by = (None if text is None else decode_text(text) for text in texts)
    tenant, agent, user, id = (None if text is None else decode_text(text) for text in row[1:5])
    derived = (digest, length, terms, counts, facts, machine_said, keys)

    def is_indexed(record: Record) -> bool:
        expected = derive_columns(record)
        entries = dict(zip(expected["terms"], expected["counts"], strict=True))
        own = entries if counts is None else dict(zip(terms, counts, strict=False))  # absent in old rows
        return (
            (digest.hex() if digest else None, length) == (expected["digest"], expected["length"])
            and machine_said == expected["machine_said"]
            and facts == json.loads(dumps(expected["facts"]))
            and sorted(terms or ()) == sorted(entries)
            and own == dict(zip(keys or (), key_counts or (), strict=True)) == entries
        )

    return StoredVersion(
        tenant=str(tenant),
        agent=str(agent),
        user=user,
        id=str(id),
        number=row[5],
        began_by=began_by,
        ended_by=ended_by,
        is_live=ended is None,
        reason=reason,
        into=into,
        is_in_place=True,
        has_content=row[_CONTENT] is not None,
        is_blank=all(value is None for value in (*row[6:_WIDTH], *derived)),
        read=partial(read_record, row),
        is_indexed=is_indexed,
    )


class PostgresBackend:
    """Satisfies JournalBackend.

    `path` is the local path of the key, the checkpoints and the recall log buffer.
    """

    read_only = False
    writable = True
    folder = None

    def __init__(self, store: PostgresStore, path: Path | None) -> None:
        self.path = path
        self._store = store
        self._database = store.database
        self._listener = Listener(store.database)
        # Each machine signs with its own key, so the signed position is stored for each machine.
        self._signer = sha256(str(path).encode()).hexdigest()[:16]
        self._buffer: Buffer | None = None
        self._flushing: asyncio.Task[None] | None = None
        self._settling = asyncio.Lock()
        self._closed = False

    async def set_up(self, is_current: Work[bool], bring_up_to_date: Work[None]) -> None:
        """Create or migrate the tables; several processes may do so at once."""

        def work(db: PostgresSession) -> None:
            if is_current(db):
                return
            db.lock_tables()
            db.execute_script(SETUP["prelude"])
            bring_up_to_date(db)
            db.execute_script(SETUP["guards"])

        await self._transact(work)

    def shares(self, store: object) -> bool:
        return store is self._store

    async def read(self, work: Work[T]) -> T:
        return await self._database.read(_NO_TENANT, lambda db: self._run(db, work), _ALL_ROWS)

    async def write(self, work: Work[T]) -> T:
        await self._settle()
        return await self._transact(work)

    async def _transact(self, work: Callable[[PostgresSession], T]) -> T:
        return await self._database.write(_NO_TENANT, lambda db: self._run(db, work), _ALL_ROWS)

    async def commit(
        self, changes: Sequence[Change], write: Callable[[Session, Sequence[int]], None]
    ) -> list[int | Exception]:
        """Commit each change in a separate transaction."""
        commits = (self._commit_one(change, index, write) for index, change in enumerate(changes))
        return [*await asyncio.gather(*commits)]

    async def _commit_one(
        self, change: Change, index: int, write: Callable[[Session, Sequence[int]], None]
    ) -> int | Exception:
        try:
            apply = self._store.applying(change)

            async def apply_for_tenant(connection: Connection) -> int:
                await _fetch(connection, SETUP["see_tenant"], {"tenant": encode_text(change.scope.tenant)})
                return await apply(connection)

            def work(db: PostgresSession) -> int:
                sequence = db.run(apply_for_tenant)
                write(db, (index,))
                return sequence

            await self._settle()
            return await self._transact(work)
        except MemorywireError as error:
            return error

    async def write_at_once(self, work: Work[None]) -> bool:
        """Run the work and return True: writers do not wait for each other here."""
        await self.write(work)
        return True

    def add_buffer(self, buffer: Buffer) -> None:
        self._buffer = buffer

    def collect(self, add: Callable[[], None]) -> None:
        if self._closed:
            raise StoreUnavailable("the journal is closed")
        add()
        if self._flushing is None or self._flushing.done():
            self._flushing = asyncio.get_running_loop().create_task(self._flush_soon())

    def hurry(self) -> None:
        """Do nothing: every wait for a database already has a time limit."""

    @property
    def heard(self) -> int:
        return self._listener.heard

    async def wait_for_news(self, heard: int, seconds: float) -> None:
        await self._listener.wait(heard, seconds)

    async def close(self) -> None:
        await self._listener.close()
        self._closed = True
        if self._flushing is not None:
            self._flushing.cancel()
            await asyncio.wait([self._flushing])
        await self._settle()

    async def _flush_soon(self) -> None:
        await asyncio.sleep(_FLUSH_SECONDS)
        await self._settle()

    async def _settle(self) -> None:
        """Write the content of the buffer to the database."""
        buffer = self._buffer
        if not buffer:
            return

        def write_again(db: Session) -> None:
            buffer.give_back()  # put back what a failed attempt took
            buffer.write(db)

        async with self._settling:
            try:
                await self._transact(write_again)
            except BaseException:
                buffer.give_back()
                raise
            buffer.settle()

    async def _run(self, connection: Connection, work: Callable[[PostgresSession], T]) -> T:
        """Run the work on a thread and return its result.

        If the caller is cancelled, this waits until the work no longer uses the connection.
        """
        session = PostgresSession(connection, self._signer)
        task = asyncio.ensure_future(asyncio.to_thread(work, session))
        try:
            return await asyncio.shield(task)
        finally:
            session.ended = True
            if not task.done():
                await asyncio.wait([task])


def find_path(beside: Path | None, store: PostgresStore) -> Path | None:
    """Return the local path of the journal's files, in the same folder as `beside`.

    Returns None if `beside` is None.
    """
    if beside is None:
        return None
    name = sha256(str(store.database.location).encode()).hexdigest()[:16]
    beside.parent.mkdir(parents=True, exist_ok=True)
    return beside.with_name(f"postgres-{name}")


class Listener:
    """A connection that listens for entries that other processes append; opened by the first `wait`.

    `heard` counts notifications, so that a waiter misses none between a check and a wait.
    """

    def __init__(self, database: Database) -> None:
        self.heard = 0
        self._database = database
        self._more = asyncio.Condition()
        self._is_listening = False
        self._task: asyncio.Task[None] | None = None

    async def wait(self, heard: int, seconds: float) -> None:
        """Wait until there are more notifications than `heard`.

        Waits at most `seconds` while the connection is down, else at most `SELDOM`.
        """
        if self._task is None:
            self._task = asyncio.get_running_loop().create_task(self._listen())
        with suppress(TimeoutError):
            async with asyncio.timeout(SELDOM if self._is_listening else seconds), self._more:
                await self._more.wait_for(lambda: self.heard != heard)

    async def close(self) -> None:
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait([self._task])

    async def _listen(self) -> None:
        """Listen until cancelled; reconnects after a lost connection."""
        while True:
            with suppress(MemorywireError):
                async for _ in self._database.listen(f"{self._database.location.schema}_ledger"):
                    self._is_listening = True
                    self.heard += 1
                    async with self._more:
                        self._more.notify_all()
            self._is_listening = False
            await asyncio.sleep(AGAIN)
