"""One database file: its connections, its reader threads and its single writer thread.

Components with tables in the same file share one `SqliteFile`, and so its writer and its transactions.
"""

import asyncio
import os
import time
from collections.abc import Callable
from pathlib import Path
from queue import Empty
from typing import TypeVar

import apsw

from memorywire.model.errors import StoreBusy, StoreUnavailable
from memorywire.runtime.threadpool import Dismissed, ThreadPool
from memorywire.stores.sqlite.connection import (
    Connect,
    Pool,
    RetryPolicy,
    Work,
    connect,
    log_ahead,
    map_errors,
    snapshot,
    unwritable,
    writing,
)
from memorywire.stores.sqlite.location import Location
from memorywire.stores.sqlite.sql import QUERIES
from memorywire.stores.sqlite.writer import Checkpoints, Deferred, Writer

_SECONDS = 1.0


class Identity:
    """The identity (device and inode) of the file at the path when it was opened."""

    __slots__ = ("_file", "_looked_at", "_path")

    def __init__(self, path: Path | None) -> None:
        self._path = None if path is None else os.fspath(path)
        self._file = self._present()  # None in memory, and in the file system of a test
        self._looked_at = time.monotonic()

    def check(self) -> None:
        """Raise StoreUnavailable if the path now has another file or none."""
        if self._file is not None and self._present() != self._file:
            raise StoreUnavailable(
                f"{self._path} was moved, removed or replaced while it was open",
                fix="restart this process, so that it opens the present file",
            )

    def check_now_and_then(self) -> None:
        """Call `check` at most once a second: for reads, which are frequent."""
        now = time.monotonic()
        if now - self._looked_at >= _SECONDS:
            self.check()
            self._looked_at = now

    def _present(self) -> tuple[int, int] | None:
        if self._path is None:
            return None
        try:
            status = os.stat(self._path)
        except FileNotFoundError:
            return None
        return status.st_dev, status.st_ino


T = TypeVar("T")

_READERS = 2

# The writer's page cache in KB; it fits the pages of a group of changes. With a smaller one, some pages would
# be written to the log during a transaction, read back and written again.
_WRITERS_CACHE = 8_192


class SqliteFile:
    """A file or an in-memory database; works (functions of a connection) read and write it.

    Safe for many threads of this process and many processes on one file. `setup` migrates the file on the
    first connection, or raises; it may be called again while another process locks the file.
    `connect` creates connections, `retry_policy` is how long to wait for other processes.
    """

    def __init__(
        self,
        location: Location,
        setup: Callable[[apsw.Connection], None],
        *,
        connect: Connect = connect,
        retry_policy: RetryPolicy | None = None,
    ) -> None:
        """Open the file and start the writer; blocks."""
        self.location = location
        self._retry_policy = retry_policy or RetryPolicy()
        with map_errors(location):
            self.writing, self.readers = self._open(connect, setup)
        self._identity = Identity(location.path)
        self._closed = False
        self._threads = ThreadPool(len(self.readers), f"memorywire {location}")
        with self.writing.borrow() as db:
            self.read_only = db.readonly("main")
            self._checkpoints = Checkpoints(db, lambda: connect(location))
        self._writer = Writer(
            self.writing, location=location, retry_policy=self._retry_policy, checkpoints=self._checkpoints
        )

    def _open(self, connect: Connect, setup: Callable[[apsw.Connection], None]) -> tuple[Pool, Pool]:
        def setup_writer(db: apsw.Connection) -> None:
            db.execute(f"PRAGMA cache_size = -{_WRITERS_CACHE}").fetchall()
            setup(db)
            self._prepare_file(db)

        first = self._connect_and_setup(connect, setup_writer)
        if self.location.path is None:
            both = Pool([first])
            return both, both
        return Pool([first]), Pool([self._connect_and_setup(connect, _read_only) for _ in range(_READERS)])

    def _connect_and_setup(
        self, connect: Connect, setup: Callable[[apsw.Connection], None]
    ) -> apsw.Connection:
        """Connect and run the setup; retries while another process is creating the file."""

        def attempt() -> apsw.Connection:
            db = connect(self.location)
            try:
                setup(db)
            except BaseException:
                db.close()
                raise
            return db

        return self._retry_policy.try_for("open the store", attempt)

    def _prepare_file(self, db: apsw.Connection) -> None:
        """Set up what every file needs: a write-ahead log, and a table for pending scrubs."""
        if self.location.path is not None:
            log_ahead(db, self.location)
        if not db.execute(QUERIES["has_meta"]).get:
            with writing(db, self._retry_policy):
                db.execute(QUERIES["add_meta"])

    async def read(self, work: Work[T]) -> T:
        """Run `work` on a thread in one snapshot and return its result; `work` may be called twice."""

        def in_snapshot(db: apsw.Connection) -> T:
            with snapshot(db):
                return work(db)

        return await self.run(in_snapshot)

    async def run(self, work: Work[T]) -> T:
        """Run a read-only `work` on a thread and return its result; `work` begins its own snapshot."""
        self._identity.check_now_and_then()

        def on_thread() -> T:
            with map_errors(self.location), self.readers.borrow() as db:
                return self._retry_policy.try_for("read", lambda: work(db))

        try:
            return await self._threads.do(on_thread)
        except Dismissed:
            raise StoreUnavailable(f"{self.location} is closed") from None

    def run_here(self, work: Work[T]) -> T | None:
        """Like `run`, on this thread; None if it would have to wait."""
        self._identity.check_now_and_then()
        try:
            with map_errors(self.location), self.readers.borrow(wait=False) as db:
                return work(db)
        except (Empty, StoreBusy):
            return None

    async def write(
        self, work: Work[T], changes: int = 1, *, alone: Work[T] | None = None, brief: bool = False
    ) -> T:
        """Run `work`, which makes `changes` changes, and return its result when its writes are on disk.

        One thread runs queued works in order, several in one transaction. A work that raises is rolled back
        alone, and its caller gets the error; when the transaction fails, all callers get the error.
        If one work raises, all of them are repeated, so a work may be called twice; `alone`, if given, is
        called the second time. Cancelling the caller does not undo a work that was handed over.
        A `brief` work, of a few statements that erase nothing, may run on the event loop's thread
        when no other write is in flight.
        """
        if self.read_only:
            raise unwritable(self.location)
        self._identity.check()
        answer: T = await self._writer.write(work, changes, alone, brief=brief)
        return answer

    def defer(self, buffer: Deferred, write: Work[None]) -> None:
        """Write this buffer by calling `write`: with the next work, after an idle second, or at close.

        `write` shares a transaction with works; then `settle` or `give_back` is called.
        """
        self._writer.defer(buffer, write)

    def later(self, collect: Callable[[], None]) -> None:
        """Add to a deferred buffer; raises StoreUnavailable if the file is closed or read-only."""
        if self.read_only:
            raise unwritable(self.location)
        self._writer.later(collect)

    def hurry(self) -> None:
        """Wait at most a second for other processes from now on, also in waits that have begun."""
        self._retry_policy.hurry.set()

    async def write_at_once(self, work: Work[None]) -> bool:
        """Run `work` unless it would have to wait; return whether it ran."""

        def attempt() -> bool:
            try:
                with map_errors(self.location), self.writing.borrow(wait=False) as db, writing(db, None):
                    work(db)
            except (Empty, StoreBusy):
                return False
            return True

        return await asyncio.to_thread(attempt)

    async def close(self) -> None:
        """Write what is pending and close the file; can be called twice."""
        if not self._closed:
            self._closed = True
            self.hurry()
            await asyncio.to_thread(self._close_all)

    def _close_all(self) -> None:
        self._writer.close()
        self._checkpoints.close()
        self._threads.dismiss()
        with map_errors(self.location):
            self.readers.close()
            self.writing.close()


def request_scrub(db: apsw.Connection) -> None:
    """Request, inside a writing work, that the log is truncated before the work's caller gets its answer.

    The request is stored in the file, so that a crash before that does not leave erased text in the log.
    """
    db.execute(QUERIES["owe_scrub"])


def _read_only(db: apsw.Connection) -> None:
    db.execute("PRAGMA query_only = ON").fetchall()
