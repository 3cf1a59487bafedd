"""What the tests of this store share: opening one, looking at its bytes, breaking its rules on purpose."""

import asyncio
import subprocess
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, TypeVar

import apsw

from memorywire.stores.sqlite import SqliteStore
from memorywire.stores.sqlite.connection import configure, connect
from memorywire.stores.sqlite.location import Location
from memorywire_testing.samples import SPACE

T = TypeVar("T")


def run(work: Coroutine[Any, Any, T]) -> T:
    return asyncio.run(work)


@asynccontextmanager
async def opened(path: Path | None, **options: Any) -> AsyncIterator[SqliteStore]:
    """A store on this file (None: in memory), closed at the end."""
    synchronous = options.pop("synchronous", "full")
    location = Location(path=path, synchronous=synchronous)
    store = await asyncio.to_thread(SqliteStore, location, options.pop("space", SPACE), **options)
    try:
        yield store
    finally:
        await store.close()


async def until(claim: Callable[[], Awaitable[bool]]) -> None:
    """Wait for a claim to hold; that it never does is a failure."""
    for _ in range(600):
        if await claim():
            return
        await asyncio.sleep(0.05)
    raise AssertionError("it never happened")


def bytes_on_disk(folder: Path) -> bytes:
    """Every byte of a store's files, read by another process: this one would drop its own locks on close."""
    return subprocess.run(["sh", "-c", f"cat '{folder}'/*"], capture_output=True, check=True).stdout


def rows(path: Path, sql: str, *bindings: Any) -> list[Any]:
    """What a plain connection reads, past the store."""
    db = apsw.Connection(str(path))
    db.set_busy_timeout(5000)
    try:
        return db.execute(sql, bindings).fetchall()
    finally:
        db.close()


def careless(location: Location) -> apsw.Connection:
    """A broken rule: erased bytes are left where they are."""
    db = connect(location)
    db.execute("PRAGMA secure_delete = OFF")
    return db


class _Loose(apsw.Connection):
    """A broken rule: no statement ever shares a transaction with another."""

    def execute(self, statements: str, *args: Any, **kwargs: Any) -> apsw.Cursor:
        if statements.startswith(("BEGIN", "COMMIT", "ROLLBACK", "SAVEPOINT", "RELEASE")):
            return super().execute("SELECT 1")
        return super().execute(statements, *args, **kwargs)


def loose(location: Location) -> apsw.Connection:
    return configure(_Loose(str(location.path)), location)


class Notes:
    """Notes that wait in memory."""

    def __init__(self) -> None:
        self.waiting: list[str] = []
        self.taken: list[str] = []

    def __bool__(self) -> bool:
        return bool(self.waiting)

    def write(self, db: apsw.Connection) -> None:
        self.taken, self.waiting = self.waiting, []
        db.executemany("INSERT INTO note VALUES (?)", [(said,) for said in self.taken])

    def settle(self) -> None:
        self.taken = []

    def give_back(self) -> None:
        self.taken, self.waiting = [], self.taken + self.waiting
