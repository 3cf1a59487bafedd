"""The one writer of a SQLite file: group commit, deferred writes, checkpoints of the write-ahead log.

Theory of operation
-------------------
What must hold:

- A write returns only after COMMIT has returned. Such a write survives a crash and a power failure.
- Works run in order of arrival. One that raises is rolled back alone, and only its caller gets the error.
- A transaction that fails (a full disk) fails for every work in it.
- Cancelling a caller does not undo a work that was handed over.
- The event loop never waits for a lock, another process or a checkpoint.

How: SQLite has one writer at a time, and a commit costs a disk flush of 0.2 to 0.7 ms, independent of its
size. So works queue up while a commit runs, and the next transaction takes all of them (`_work`, up to
_GROUP changes). Works of one turn of an event loop are handed over together (`write`). Savepoints are
expensive in a large transaction and most works are accepted, so `_do_together` tries without them;
when one work is refused, the transaction is rolled back and `_do_apart` repeats it with a savepoint for each.

A short work without others is committed on the event loop's thread (`_try_here`), because the switch to the
writer's thread and back takes half as long as the commit. It must be the only one in flight, the last
other caller must be _ALONE_SECONDS ago, the connection must be free, and recent works like it must have
taken _FAST_SECONDS or less on average. A disk that stalls once therefore blocks the loop once.

Deferred writes (times of recalls) are written with the next work, or after an idle second.

Erased text must be removed from the log too. A work that erases requests a scrub in its own transaction
(`request_scrub`); the writer's thread truncates the log before the caller gets its answer. If a reader in
another process prevents that, the request stays in the file and is retried with each group.

Checkpoints run concurrently with commits, on a separate thread and connection: with SQLite's automatic
checkpoint, the commit that filled the log took 4 to 30 ms.

Tried and dropped (decisions 31 and 34): writing one row first and the tables later, which saves 0.11 to
0.15 ms of 0.7 but must be merged before each read; and counting the callers at the servers to predict
further writes, which was not needed.
"""

import asyncio
import threading
from collections.abc import Callable, Sequence
from contextlib import closing, suppress
from itertools import chain
from math import inf
from operator import attrgetter
from queue import Empty, SimpleQueue
from types import TracebackType
from typing import Any, Protocol, Self

import apsw
from msgspec import Struct
from msgspec.structs import replace

from memorywire.model.errors import MemorywireError, StoreBusy, StoreUnavailable
from memorywire.runtime.threadpool import Reply, tell
from memorywire.stores.sqlite.connection import (
    Pool,
    RetryPolicy,
    Savepoint,
    Work,
    concerns_all,
    map_errors,
    writing,
)
from memorywire.stores.sqlite.location import Location
from memorywire.stores.sqlite.sql import QUERIES

_FEW_PAGES = 256  # moved in about a millisecond (measured), so the writer does it itself
# A new log restarts after this many pages, and each time after a quarter more: a commit that overwrites a
# part of the log takes two thirds as long as one that extends it (decision 31).
_FIRST_RESTART = 256
_WAKE_EVERY = 1_000  # pages of log growth between two wake-ups of the thread
_MAX_LENGTHS = 4  # times the usual length; beyond that the thread is too slow, and the writer moves all pages


class Checkpoints:
    """Checkpoints the log on a separate thread and connection, without holding the GIL.

    The log restarts only when all of it was moved and nothing was written meanwhile. So the writer moves the
    last few pages itself, and all of them when the log has become too long. Pages that a reader still needs
    stay in the log until the next checkpoint.
    """

    def __init__(self, connection: apsw.Connection, connect: Callable[[], apsw.Connection]) -> None:
        """Watch the commits of one connection; replaces SQLite's automatic checkpoints."""
        self._connect = connect
        self._max_pages: int = connection.execute("PRAGMA wal_autocheckpoint").get
        self._restart_at = min(_FIRST_RESTART, self._max_pages)
        self._pages = 0  # in the log, after the last commit
        self._pages_moved = 0  # pages of the log that are in the database file
        self._restarts = 0  # how often the log was restarted
        self._next = self._restart_at
        self._lock = threading.Lock()
        self._wake = threading.Semaphore(0)
        self._thread: threading.Thread | None = None
        self._closed = False
        connection.set_wal_hook(self._on_commit)

    @property
    def due(self) -> bool:
        """Whether the writer should call `finish`, which takes some time."""
        if self._pages < self._restart_at:
            return False
        return self._pages - self._pages_moved <= _FEW_PAGES or self._pages >= _MAX_LENGTHS * self._max_pages

    def finish(self, db: apsw.Connection) -> None:
        """Move the remaining pages, except those that a reader needs in the log."""
        restarts = self._restarts
        with suppress(apsw.Error):  # the pages stay in the log, which is durable
            _, pages = db.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_PASSIVE)
            if restarts == self._restarts:
                self._pages_moved = pages

    def close(self) -> None:
        """End the thread."""
        with self._lock:
            self._closed = True
            self._wake.release()
        if self._thread is not None:
            self._thread.join()

    def _on_commit(self, db: apsw.Connection, schema: str, pages: int) -> int:
        """Handle a commit, on the thread that committed."""
        if pages < self._pages:
            self._restart_at = min(self._restart_at + self._restart_at // 4, self._max_pages)
            self._pages_moved, self._next = 0, self._restart_at
            self._restarts += 1
        self._pages = pages
        if pages >= self._next and not self.due:
            self._next = pages + _WAKE_EVERY
            self._wake_thread()
        return apsw.SQLITE_OK

    def _wake_thread(self) -> None:
        with self._lock:
            if self._thread is None:
                self._thread = threading.Thread(target=self._work, name="memorywire checkpoints", daemon=True)
                self._thread.start()
            self._wake.release()

    def _work(self) -> None:
        # If the thread fails, the writer moves all pages.
        with suppress(apsw.Error, OSError, MemorywireError), closing(self._connect()) as db:
            while self._wake.acquire() and not self._closed:
                self.finish(db)


__all__ = ["Deferred", "Work", "Writer"]

_GROUP = 1_024  # changes in one transaction
_IDLE_SECONDS = 1.0  # until deferred writes are written without a work
_ERASE_SECONDS = 0.5  # how long an erasure waits for readers of the log

# A work may run on the event loop's thread if the last ones took less than this on average, and if no more
# than this many recalls are deferred.
_FAST_SECONDS = 0.0015
_MAX_RECALLS = 8
_SLOW_SECONDS = 0.02  # a slower work counts as this, so that the average recovers after a dozen works
_AVERAGE_OVER = 4  # works
_ALONE_SECONDS = 0.005  # since two callers wrote at once; before that the next write may share a commit


class Deferred(Protocol):
    """A buffer in memory that is written with the next work, after an idle second, or at close."""

    def __bool__(self) -> bool:
        """Return whether anything waits to be written."""
        ...

    def settle(self) -> None:
        """Called after the written items are on disk."""
        ...

    def give_back(self) -> None:
        """Called after the transaction failed: the written items are pending again."""
        ...


class _Job(Struct, frozen=True):
    work: Work[Any]
    reply: Reply
    changes: int
    brief: bool
    alone: Work[Any]  # replaces `work` after this or another work of the transaction was refused


class _WorkRefused(Exception):
    """A work of the transaction was refused: repeat all works one by one, so that only it fails."""


class _Attempt(Struct):
    """Suppresses and stores the error of a block, so that the writer's thread can pass it to callers."""

    error: BaseException | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: object, error: BaseException | None, trace: TracebackType | None) -> bool:
        self.error = error
        return True


class Writer:
    """Commits works in order of arrival, several in one transaction; see the module docstring."""

    def __init__(
        self, pool: Pool, *, location: Location, retry_policy: RetryPolicy, checkpoints: Checkpoints
    ) -> None:
        self._pool = pool
        self._checkpoints = checkpoints
        self._location = location
        self._retry_policy = retry_policy
        self._map_errors = map_errors(location)
        self._collected: dict[asyncio.AbstractEventLoop, list[_Job]] = {}
        self._waiting: SimpleQueue[_Job | None] = SimpleQueue()  # None wakes the thread without a job
        self._deferred: dict[Deferred, Work[None]] = {}  # each buffer with the work that writes it
        self._lock = threading.Lock()
        self._closed = False
        self._pending_scrub: int | None = 0  # 0: an earlier process may have left one; not checked yet
        self._in_flight = 0  # jobs handed to the thread and not finished
        self._crowded_at = -inf
        self._pace = 2 * _FAST_SECONDS  # average seconds of a lone work; too slow until measured
        self._recalls_pending = 0
        self._thread = threading.Thread(target=self._work, name=f"memorywire {location}", daemon=True)
        self._thread.start()

    async def write(
        self, work: Work[Any], changes: int = 1, alone: Work[Any] | None = None, *, brief: bool = False
    ) -> Any:
        """Run `work` in a transaction and return its result; it runs even if the caller is cancelled later.

        The first of the works of one turn of an event loop hands all of them over. If the thread were woken
        at once, both threads would compete for the GIL.
        """
        loop = asyncio.get_running_loop()
        job = _Job(work, Reply(), changes, brief, alone or work)
        with self._lock:
            if self._closed:
                raise StoreUnavailable(f"{self._location} is closed")
            first = loop not in self._collected
            self._collected.setdefault(loop, []).append(job)
        if first:
            try:
                await asyncio.sleep(0)
            except asyncio.CancelledError:
                job.reply.future.cancel()
                self._hand_over(loop)
                raise
            self._hand_over(loop)
        return await job.reply.future

    def _hand_over(self, loop: asyncio.AbstractEventLoop) -> None:
        with self._lock:
            jobs = self._collected.pop(loop, [])
            if not (self._is_lone(jobs) and self._try_here(jobs[0])):
                self._in_flight += len(jobs)
                for job in jobs:
                    self._waiting.put(job)

    def _is_lone(self, jobs: Sequence[_Job]) -> bool:
        """Return whether there is one short job, no other caller to share its commit, nothing slow to do."""
        now = self._retry_policy.clock()
        if self._in_flight or len(jobs) != 1:
            self._crowded_at = now
            return False
        alone = now - self._crowded_at > _ALONE_SECONDS
        quick = (
            self._pace < _FAST_SECONDS and self._recalls_pending <= _MAX_RECALLS and not self._checkpoints.due
        )
        return alone and quick and jobs[0].brief

    def _try_here(self, job: _Job) -> bool:
        """Run the job on this thread; False if it would have to wait.

        The caller holds the lock, so that the writer cannot be closed before the job is done.
        """
        with job.reply as reply, self._map_errors, self._pool.borrow(wait=False) as db:
            erasure = self._commit(db, [job], None)
            if (
                self._pending_scrub is None and erasure is not None
            ):  # of another process: the thread handles it
                self._pending_scrub = erasure
                self._waiting.put(None)
        if isinstance(reply.error, Empty | StoreBusy):
            reply.error = None
            return False
        reply.settle()
        return True

    def defer(self, buffer: Deferred, write: Work[None]) -> None:
        """Write this buffer from now on, whenever it has items."""
        self._deferred[buffer] = write

    def later(self, collect: Callable[[], None]) -> None:
        """Call `collect`, which adds to a deferred buffer; raises StoreUnavailable if the file is closed."""
        with self._lock:
            if self._closed:
                raise StoreUnavailable(f"{self._location} is closed")
            is_awake = any(self._deferred)
            collect()
            self._recalls_pending += 1
            if not is_awake:  # an awake thread needs no wake-up
                self._waiting.put(None)

    def close(self) -> None:
        """Write pending jobs and end the thread."""
        with self._lock:
            self._closed = True
            for job in chain.from_iterable(self._collected.values()):
                self._in_flight += 1
                self._waiting.put(job)
            self._collected.clear()
            self._waiting.put(None)
        self._thread.join()

    def _work(self) -> None:
        ending = False
        while not ending:
            jobs: list[_Job] = []
            room, was_woken = _GROUP, False
            due = any(self._deferred) or self._pending_scrub is not None
            with suppress(Empty):  # no job within the idle time
                job = self._waiting.get(timeout=_IDLE_SECONDS if due else None)
                was_woken = True
                while job is not None:
                    jobs.append(job)
                    room -= job.changes
                    more = room > 0 and not self._waiting.empty()
                    job = self._waiting.get_nowait() if more else None
            ending = self._closed and self._waiting.empty()
            if jobs or ending or not was_woken:
                self._serve(jobs)
                if self._checkpoints.due:
                    with self._pool.borrow() as db:
                        self._checkpoints.finish(db)

    def _serve(self, jobs: Sequence[_Job]) -> None:
        is_committed = False
        with _Attempt() as attempt, self._map_errors, self._pool.borrow() as db:
            erasure = self._commit(db, jobs, self._retry_policy)
            is_committed = True
            if erasure is not None or self._pending_scrub is not None:
                self._scrub(db, erasure)
        replies = [*map(attrgetter("reply"), jobs)]
        if not is_committed:
            for reply in replies:
                reply.error = attempt.error
        with self._lock:  # before the callers get their answers and write again
            self._in_flight -= len(jobs)
        tell(replies)

    def _commit(
        self, db: apsw.Connection, jobs: Sequence[_Job], retry_policy: RetryPolicy | None
    ) -> int | None:
        """Run these jobs and the deferred writes; return the pending scrub request, or None."""
        start = self._retry_policy.clock()
        try:
            erasure = self._transact(db, jobs, retry_policy, _do_together)
        except _WorkRefused:
            erasure = self._transact(db, jobs, retry_policy, _do_apart)
        if len(jobs) == 1 and jobs[0].brief:
            seconds = min(self._retry_policy.clock() - start, _SLOW_SECONDS)
            self._pace += (seconds - self._pace) / _AVERAGE_OVER
        return erasure

    def _transact(
        self,
        db: apsw.Connection,
        jobs: Sequence[_Job],
        retry_policy: RetryPolicy | None,
        do: Callable[[apsw.Connection, Sequence[_Job]], None],
    ) -> int | None:
        """Run these jobs and the deferred writes in one transaction; return the pending scrub request."""
        pending = [*filter(None, self._deferred)]
        if not jobs and not pending:
            return _pending_scrub(db)
        self._recalls_pending = 0
        try:
            with writing(db, retry_policy):
                for buffer in pending:
                    self._deferred[buffer](db)
                do(db, jobs)
                erasure = _pending_scrub(db)
        except BaseException:
            for buffer in pending:
                buffer.give_back()
            raise
        for buffer in pending:
            buffer.settle()
        return erasure

    def _scrub(self, db: apsw.Connection, erasure: int | None) -> None:
        """Truncate the log, to remove erased text from it.

        If readers of another process prevent it, the request stays in the file and is retried with every
        group and after every idle second; only a new erasure waits for the readers.
        """
        previous, self._pending_scrub = self._pending_scrub, erasure
        if erasure is None:
            return
        seconds = 0 if erasure == previous else _ERASE_SECONDS
        try:
            replace(self._retry_policy, budget=seconds).try_for("truncate the log", lambda: _truncate_log(db))
        except StoreBusy:
            return
        with writing(db, self._retry_policy):
            db.execute(QUERIES["scrub_paid"], {"owed": erasure})
        self._pending_scrub = None


def _pending_scrub(db: apsw.Connection) -> int | None:
    """Return the number of the newest erasure after which the log was not truncated, or None."""
    erasure = db.execute(QUERIES["scrub_owed"]).get
    return None if erasure is None else int(erasure)


def _do_together(db: apsw.Connection, jobs: Sequence[_Job]) -> None:
    try:
        for job in jobs:
            job.reply.value = job.work(db)
    except BaseException as error:
        other_way = len(jobs) > 1 or jobs[0].alone is not jobs[0].work
        if other_way and not concerns_all(error):
            raise _WorkRefused from error
        raise


def _do_apart(db: apsw.Connection, jobs: Sequence[_Job]) -> None:
    if len(jobs) == 1:
        jobs[0].reply.value = jobs[0].alone(db)  # no savepoint: there is no other work to keep
        return
    for job in jobs:
        with Savepoint(db) as alone:
            job.reply.value = job.alone(db)
        job.reply.error = alone.error


def _truncate_log(db: apsw.Connection) -> None:
    busy, *_ = db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()[0]
    if busy:
        raise apsw.BusyError("a reader still needs the log")
