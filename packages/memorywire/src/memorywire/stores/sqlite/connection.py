"""Connections to one database: opening, configuration, transactions and error mapping."""

import os
import random
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from queue import SimpleQueue
from threading import Event
from types import TracebackType
from typing import Self, TypeAlias, TypeVar

import apsw
from msgspec import Struct, field

from memorywire.model.errors import (
    DAMAGED_FIX,
    InvalidRequest,
    MemorywireError,
    SpaceMismatch,
    StoreBusy,
    StoreCorrupt,
    StoreUnavailable,
    UnsafeEngine,
)
from memorywire.model.space import Space
from memorywire.stores.sqlite.location import Location
from memorywire.stores.sqlite.sql import QUERIES

_FIRST_SAFE = (3, 51, 3)
_PATCHED = {(3, 50): 7, (3, 44): 6}


def wal_is_safe(version: str) -> bool:
    """Return whether committed writes survive concurrent checkpoints in this SQLite version."""
    major, minor, patch, *_ = (*(int(part) for part in version.split(".")), 0, 0)
    if (major, minor, patch) >= _FIRST_SAFE:
        return True
    repaired_from = _PATCHED.get((major, minor))
    return repaired_from is not None and patch >= repaired_from


def sqlite_version() -> str:
    """Return the version of the SQLite library in use."""
    return apsw.sqlite_lib_version()


def require_safe_wal(version: str) -> None:
    """Raise UnsafeEngine for a SQLite version that can lose committed writes."""
    if not wal_is_safe(version):
        raise UnsafeEngine(
            f"SQLite {version} can lose committed writes when several processes share a file",
            fix="install apsw 3.51.3.0 or newer: its wheels bring their own SQLite",
        )


Connect: TypeAlias = Callable[[Location], apsw.Connection]
T = TypeVar("T")
Work: TypeAlias = Callable[[apsw.Connection], T]

# SQLite's own busy wait only covers short collisions: it is unfair under load, so `RetryPolicy` does
# the longer wait, with jitter.
_BUSY_MS = 10
_LARGEST_LOG = 64 * 1024 * 1024  # bytes to which a log is truncated after its checkpoint
_PAGES_OF_LOG = 4_000  # before a checkpoint; large, so that a page changed by many commits is moved once
_FIRST_PAUSE = 0.001
_LONGEST_PAUSE = 0.02
_HURRY_SECONDS = 1.0


def connect(location: Location) -> apsw.Connection:
    """Return a configured connection; creates a missing file, readable only by its owner."""
    if location.path is None:
        return configure(apsw.Connection(":memory:"), location)
    require_safe_wal(apsw.sqlite_lib_version())
    refuse_if_lost(location.path)
    _create(location.path)
    if not location.writable:
        return _connect_to_read(location, location.path)
    return configure(apsw.Connection(os.fspath(location.path)), location)


def _connect_to_read(location: Location, path: Path) -> apsw.Connection:
    """Return a connection to a file in a folder where no log can be written.

    Without a log, the file is opened as immutable: its last writer has closed it. With a log, the log
    is read too if SQLite can; otherwise raises StoreUnavailable.
    """
    db = apsw.Connection(os.fspath(path))
    try:
        db.execute("PRAGMA user_version").fetchall()
    except (apsw.CantOpenError, apsw.ReadOnlyError) as error:
        db.close()
        log = path.with_name(f"{path.name}-wal")
        if log.exists() and log.stat().st_size:
            raise StoreUnavailable(
                f"{location} is read-only, and the last writes are still in {log.name}",
                fix=f"copy {path.name} and {log.name} to a writable folder and open the copy",
            ) from error
        alone = f"{path.absolute().as_uri()}?immutable=1"
        db = apsw.Connection(alone, flags=apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI)
    return configure(db, location)


def unwritable(location: Location) -> StoreUnavailable:
    """Return the error for a write to a read-only file."""
    return StoreUnavailable(
        f"{location} is read-only: writes and recalls will fail",
        fix="make the file, its folder and the disk writable; `memorywire backup` copies it elsewhere",
    )


def configure(db: apsw.Connection, location: Location) -> apsw.Connection:
    """Configure durable commits, overwriting of erased bytes, and temporary data in memory only."""
    db.set_busy_timeout(_BUSY_MS)
    # Otherwise a statement whose plan may depend on its parameters is prepared again at each execution.
    db.config(apsw.SQLITE_DBCONFIG_ENABLE_QPSG, 1)
    for setting in (
        f"synchronous = {location.synchronous}",
        "fullfsync = ON",  # for macOS, whose fsync does not flush the cache of the drive
        "secure_delete = ON",
        "temp_store = MEMORY",
        "foreign_keys = ON",
        f"journal_size_limit = {_LARGEST_LOG}",
        f"wal_autocheckpoint = {_PAGES_OF_LOG}",
    ):
        db.execute(f"PRAGMA {setting}").fetchall()
    return db


def refuse_if_lost(path: Path) -> None:
    """Raise StoreCorrupt if the file is missing or empty although checkpoints of its ledger exist."""
    if path.exists() and path.stat().st_size:
        return
    checkpoints, key = (path.with_name(f"{path.name}-{end}") for end in ("checkpoints", "ledger.key"))
    if checkpoints.exists() and checkpoints.stat().st_size:
        what = "is empty" if path.exists() else "is missing"
        raise StoreCorrupt(
            f"{path} {what}, but {checkpoints.name} beside it has signatures of its ledger",
            fix=f"run memorywire restore; to begin anew, move {checkpoints.name} and {key.name} away",
        )


def _create(path: Path) -> None:
    for folder in reversed([folder for folder in path.parents if not folder.exists()]):
        folder.mkdir(mode=0o700, exist_ok=True)
    try:
        # Exclusive: opening and closing an existing file would drop the POSIX locks that other
        # connections of this process hold on it. SQLite gives -wal and -shm the mode of the file.
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
    except FileExistsError:
        return


def log_ahead(db: apsw.Connection, location: Location) -> None:
    """Switch the file to a write-ahead log, so that readers and the writer do not block each other."""
    if db.readonly("main"):
        return  # no writer, so no log
    if db.execute("PRAGMA journal_mode = WAL").get != "wal":
        raise StoreUnavailable(
            f"{location} cannot keep a write-ahead log", fix="put the file on a local, writable disk"
        )


class RetryPolicy(Struct, frozen=True, kw_only=True):
    """How long to retry while other processes lock the file; with jitter, so that no process starves."""

    budget: float = 30.0
    clock: Callable[[], float] = time.monotonic
    pause: Callable[[float], None] = time.sleep
    jitter: Callable[[float, float], float] = random.uniform
    hurry: Event = field(default_factory=Event)  # when set, the budget is one second

    def try_for(self, what: str, attempt: Callable[[], T]) -> T:
        """Repeat `attempt` while the file is busy and return its result; StoreBusy after the time budget."""
        start, max_pause = self.clock(), _FIRST_PAUSE
        while True:
            try:
                return attempt()
            except (apsw.BusyError, apsw.LockedError) as error:
                budget = min(self.budget, _HURRY_SECONDS) if self.hurry.is_set() else self.budget
                if self.clock() >= start + budget:
                    raise StoreBusy(
                        f"could not {what} within {budget:g} s: another process holds the file",
                        fix="retry, or end the process that keeps a transaction open",
                    ) from error
            self.pause(self.jitter(0, max_pause))
            max_pause = min(max_pause * 2, _LONGEST_PAUSE)


class _ErrorMapping(Struct, frozen=True):
    """Maps errors of SQLite and the OS to errors of memorywire."""

    location: Location

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: object, error: BaseException | None, trace: TracebackType | None) -> None:
        ours = None if error is None else _map_error(error, self.location)
        if ours is not None:
            raise ours from error


def map_errors(location: Location) -> _ErrorMapping:
    """Return a context that maps errors of the file to errors of memorywire, which name the file."""
    return _ErrorMapping(location)


def _map_error(error: BaseException, location: Location) -> MemorywireError | None:
    match error:
        case apsw.NotADBError() | apsw.CorruptError():
            return StoreCorrupt(f"{location} is not a valid database: {error}", fix=DAMAGED_FIX)
        case apsw.BusyError() | apsw.LockedError():
            return StoreBusy(f"{location} is busy: {error}", fix="retry")
        case apsw.ReadOnlyError():
            return unwritable(location)
        case apsw.FullError() | apsw.IOError() | apsw.CantOpenError() | apsw.PermissionsError():
            fix = "check free space, permissions and the disk, then retry"
            return StoreUnavailable(f"{location}: {_cause(error)}", fix=fix)
        case apsw.ConnectionClosedError() | OSError():
            return StoreUnavailable(f"{location}: {error}")
        case apsw.SQLError():  # the statements are fixed, so the schema was altered
            return StoreCorrupt(f"{location} does not have the expected schema: {error}", fix=DAMAGED_FIX)
        case UnicodeDecodeError():
            return StoreCorrupt(f"{location} holds text that cannot be read: {error}", fix=DAMAGED_FIX)
        case UnicodeEncodeError():
            return InvalidRequest("the text contains a lone surrogate")
    return None


def _cause(error: apsw.Error) -> str:
    """Return the text of an error; SQLite's backup API gives only an error code."""
    if str(error) != "not an error":
        return str(error)
    return "the disk is full" if isinstance(error, apsw.FullError) else "the disk cannot be written or read"


class _Transaction(Struct, frozen=True):
    """A transaction: commits at the end, rolls back on an error."""

    db: apsw.Connection
    begin: Callable[[], object]

    def __enter__(self) -> None:
        self.begin()

    def __exit__(self, kind: object, error: BaseException | None, trace: TracebackType | None) -> None:
        db = self.db
        try:
            if error is None:
                db.execute("COMMIT")
        finally:
            # SQLite ends the transaction itself on some failures (a full disk), but not on others.
            if db.in_transaction:
                db.execute("ROLLBACK")


def snapshot(db: apsw.Connection) -> _Transaction:
    """Return a read transaction: all reads inside see the same snapshot of the file."""
    return _Transaction(db, partial(db.execute, "BEGIN"))


def writing(db: apsw.Connection, retry_policy: RetryPolicy | None) -> _Transaction:
    """Return a write transaction. The lock is taken before the first read: with the retry policy, or
    without waiting if there is none.
    """
    if retry_policy is None:
        return _Transaction(db, partial(_begin_at_once, db))
    return _Transaction(db, partial(retry_policy.try_for, "write", partial(db.execute, "BEGIN IMMEDIATE")))


def _begin_at_once(db: apsw.Connection) -> None:
    """Begin without waiting for locks; raises apsw.BusyError if the file is locked."""
    db.set_busy_timeout(0)
    try:
        db.execute("BEGIN IMMEDIATE")
    finally:
        db.set_busy_timeout(_BUSY_MS)


def refuse_if_reembedded(db: apsw.Connection, space: Space) -> None:
    """Raise SpaceMismatch if the vectors were replaced after this process opened the file."""
    now = db.execute(QUERIES["reembedded_to"]).get
    if now is not None and now != str(space):
        raise SpaceMismatch(
            f"the file was re-embedded: its vectors are of {now}, no longer of {space}",
            fix="open it again with the embedder that it was re-embedded with",
        )


def concerns_all(error: BaseException) -> bool:
    """Return whether an error fails the whole transaction: SQLite errors other than constraints."""
    return isinstance(error, apsw.Error) and not isinstance(error, apsw.ConstraintError)


class Savepoint:
    """A savepoint: rolls back on an error and stores it; errors that fail the transaction are raised."""

    __slots__ = ("_db", "error")

    def __init__(self, db: apsw.Connection) -> None:
        self._db = db
        self.error: BaseException | None = None

    def __enter__(self) -> Self:
        self._db.execute("SAVEPOINT work")
        return self

    def __exit__(self, kind: object, error: BaseException | None, trace: TracebackType | None) -> bool:
        if error is None:
            self._db.execute("RELEASE work")
            return False
        if concerns_all(error):
            return False
        self._db.execute("ROLLBACK TO work")
        self._db.execute("RELEASE work")
        self.error = error
        return True


class _Loan(Struct):
    """Borrows a connection from the pool for the time of a `with`."""

    idle: SimpleQueue[apsw.Connection]
    wait: bool
    connection: apsw.Connection | None = None

    def __enter__(self) -> apsw.Connection:
        self.connection = self.idle.get(self.wait)
        return self.connection

    def __exit__(self, *_: object) -> None:
        if self.connection is not None:
            self.idle.put(self.connection)


class Pool:
    """A pool of connections; each is used by one thread at a time."""

    def __init__(self, connections: Sequence[apsw.Connection]) -> None:
        self._size = len(connections)
        self._idle: SimpleQueue[apsw.Connection] = SimpleQueue()
        for connection in connections:
            self._idle.put(connection)

    def __len__(self) -> int:
        return self._size

    def borrow(self, *, wait: bool = True) -> _Loan:
        """Borrow a connection for a `with`; raises `Empty` if none is free and `wait` is False."""
        return _Loan(self._idle, wait)

    def close(self) -> None:
        """Wait until each connection is returned, and close it."""
        for _ in range(self._size):
            self._idle.get().close()
        self._size = 0
