"""Connections to one database: how they are opened and configured, and what their errors mean here."""

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
    """Whether a committed write survives concurrent checkpoints in this SQLite version."""
    major, minor, patch, *_ = (*(int(part) for part in version.split(".")), 0, 0)
    if (major, minor, patch) >= _FIRST_SAFE:
        return True
    repaired_from = _PATCHED.get((major, minor))
    return repaired_from is not None and patch >= repaired_from


def sqlite_version() -> str:
    """The version of the SQLite library in use."""
    return apsw.sqlite_lib_version()


def require_safe_wal(version: str) -> None:
    """Refuse an engine that could lose what it acknowledged."""
    if not wal_is_safe(version):
        raise UnsafeEngine(
            f"SQLite {version} can lose committed writes when several processes share a file",
            fix="install apsw 3.51.3.0 or newer: its wheels bring their own SQLite",
        )


Connect: TypeAlias = Callable[[Location], apsw.Connection]
T = TypeVar("T")
Work: TypeAlias = Callable[[apsw.Connection], T]

# The engine's own busy wait only smooths short collisions: it is unfair under load, so the longer
# wait is `RetryPolicy`, with jitter.
_BUSY_MS = 10
_LARGEST_LOG = 64 * 1024 * 1024  # bytes a log may keep on the disk once its content is in the file
_PAGES_OF_LOG = 4_000  # before its content is moved: a page that many commits touch is moved once
_FIRST_PAUSE = 0.001
_LONGEST_PAUSE = 0.02
_HURRY_SECONDS = 1.0


def connect(location: Location) -> apsw.Connection:
    """A configured connection; a file that does not exist yet is created for its owner alone."""
    if location.path is None:
        return configure(apsw.Connection(":memory:"), location)
    require_safe_wal(apsw.sqlite_lib_version())
    refuse_if_lost(location.path)
    _create(location.path)
    if not location.writable:
        return _connect_to_read(location, location.path)
    return configure(apsw.Connection(os.fspath(location.path)), location)


def _connect_to_read(location: Location, path: Path) -> apsw.Connection:
    """A connection to a file in a folder where no log can be written.

    Without a log the file is read alone: its last writer has closed it. Where there is one, it is
    read too, if the engine can.
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
    """The error for a write to a read-only file."""
    return StoreUnavailable(
        f"{location} is read-only: writes and recalls will fail",
        fix="make the file, its folder and the disk writable; `memorywire backup` copies it elsewhere",
    )


def configure(db: apsw.Connection, location: Location) -> apsw.Connection:
    """The promises of a connection: durable commits, erased bytes overwritten, nothing in temporary files."""
    db.set_busy_timeout(_BUSY_MS)
    # Else each statement whose plan could depend on what is bound to it is parsed anew at every execution.
    db.config(apsw.SQLITE_DBCONFIG_ENABLE_QPSG, 1)
    for setting in (
        f"synchronous = {location.synchronous}",
        "fullfsync = ON",  # on macOS, where the plain flush stops at the cache of the drive
        "secure_delete = ON",
        "temp_store = MEMORY",
        "foreign_keys = ON",
        f"journal_size_limit = {_LARGEST_LOG}",
        f"wal_autocheckpoint = {_PAGES_OF_LOG}",
    ):
        db.execute(f"PRAGMA {setting}").fetchall()
    return db


def refuse_if_lost(path: Path) -> None:
    """Raise StoreCorrupt when the file is gone or empty while its folder has checkpoints of its ledger."""
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
    """Switch the file to a write-ahead log: readers and the writer no longer block each other."""
    if db.readonly("main"):
        return  # there is no writer
    if db.execute("PRAGMA journal_mode = WAL").get != "wal":
        raise StoreUnavailable(
            f"{location} cannot keep a write-ahead log", fix="put the file on a local, writable disk"
        )


class RetryPolicy(Struct, frozen=True, kw_only=True):
    """How long to try again while other processes hold the file, with jitter, so that no process starves."""

    budget: float = 30.0
    clock: Callable[[], float] = time.monotonic
    pause: Callable[[float], None] = time.sleep
    jitter: Callable[[float, float], float] = random.uniform
    hurry: Event = field(default_factory=Event)  # once it is set, the budget is a second

    def try_for(self, what: str, attempt: Callable[[], T]) -> T:
        """The answer of `attempt`, repeated while the file is busy; StoreBusy when the budget is spent."""
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
    """Foreign errors stop here and leave as ours."""

    location: Location

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: object, error: BaseException | None, trace: TracebackType | None) -> None:
        ours = None if error is None else _map_error(error, self.location)
        if ours is not None:
            raise ours from error


def map_errors(location: Location) -> _ErrorMapping:
    """Inside, errors of the file are mapped to ours and name the file."""
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
        case apsw.SQLError():  # all statements are ours: the tables are not as they were made
            return StoreCorrupt(f"{location} does not have the expected schema: {error}", fix=DAMAGED_FIX)
        case UnicodeDecodeError():
            return StoreCorrupt(f"{location} holds text that cannot be read: {error}", fix=DAMAGED_FIX)
        case UnicodeEncodeError():
            return InvalidRequest("the text contains a lone surrogate")
    return None


def _cause(error: apsw.Error) -> str:
    """What went wrong; when it copies a database the engine has no words for it, only a number."""
    if str(error) != "not an error":
        return str(error)
    return "the disk is full" if isinstance(error, apsw.FullError) else "the disk cannot be written or read"


class _Transaction(Struct, frozen=True):
    """Committed when all goes well, else rolled back."""

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
            # Some failures (a full disk) end the transaction inside the engine; the rest is ours to end.
            if db.in_transaction:
                db.execute("ROLLBACK")


def snapshot(db: apsw.Connection) -> _Transaction:
    """Every read inside sees one moment of the file."""
    return _Transaction(db, partial(db.execute, "BEGIN"))


def writing(db: apsw.Connection, retry_policy: RetryPolicy | None) -> _Transaction:
    """Everything written inside is committed, or nothing is; the lock is taken before the first read, by the
    retry policy, or at once without one.
    """
    if retry_policy is None:
        return _Transaction(db, partial(_begin_at_once, db))
    return _Transaction(db, partial(retry_policy.try_for, "write", partial(db.execute, "BEGIN IMMEDIATE")))


def _begin_at_once(db: apsw.Connection) -> None:
    """Begin without waiting for other holders of the file; the engine reports busy instead."""
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
    """Whether an error concerns the whole transaction: the engine's own, but not a broken constraint."""
    return isinstance(error, apsw.Error) and not isinstance(error, apsw.ConstraintError)


class Savepoint:
    """Undoes what is done inside when it fails, and keeps the `error`; errors that concern all are raised."""

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
    """Takes a connection out of the pool, and puts it back at the end."""

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
    """Connections, each lent to one thread at a time."""

    def __init__(self, connections: Sequence[apsw.Connection]) -> None:
        self._size = len(connections)
        self._idle: SimpleQueue[apsw.Connection] = SimpleQueue()
        for connection in connections:
            self._idle.put(connection)

    def __len__(self) -> int:
        return self._size

    def borrow(self, *, wait: bool = True) -> _Loan:
        """One of them, as soon as one is there, for the time of a `with`; `Empty` when it must not wait."""
        return _Loan(self._idle, wait)

    def close(self) -> None:
        """Wait for each connection to come back, and close it."""
        for _ in range(self._size):
            self._idle.get().close()
        self._size = 0
