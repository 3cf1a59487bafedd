"""One database: its connections, transactions that name their tenant, and what its errors mean here."""

import asyncio
import logging
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from typing import Any, TypeAlias, TypeVar

import psycopg
from psycopg import errors, sql
from psycopg.pq import TransactionStatus
from psycopg_pool import AsyncConnectionPool, PoolClosed, PoolTimeout, TooManyRequests

from memorywire.model.errors import InvalidRequest, StoreBusy, StoreCorrupt, StoreUnavailable
from memorywire.stores.postgres.location import Location

Connection: TypeAlias = psycopg.AsyncConnection[Any]
Row: TypeAlias = tuple[Any, ...]  # as the server gives it; the decoders know each column's type
Bindings: TypeAlias = Mapping[str, Any]
T = TypeVar("T")
Work: TypeAlias = Callable[[Connection], Awaitable[T]]

READING = "BEGIN ISOLATION LEVEL REPEATABLE READ, READ ONLY"
LOOKING = "BEGIN ISOLATION LEVEL READ COMMITTED, READ ONLY"
WRITING = "BEGIN ISOLATION LEVEL READ COMMITTED, READ WRITE"

# Nobody's mistake: the same transaction will do when it is tried again.
_MOMENTARY = (errors.UniqueViolation, errors.SerializationFailure, errors.DeadlockDetected)
_TRIES = 5

# The connection is gone, or leads to a server that is no primary any more: a group of servers that lost its
# primary needs a while to choose another. Seconds.
_Demoted = errors.ReadOnlySqlTransaction
_LOST = (psycopg.OperationalError, psycopg.InterfaceError, _Demoted)
_HOPELESS = (PoolClosed, TooManyRequests, errors.QueryCanceled)
_PATIENCE = 40.0
_PAUSE = 0.2
_FREE_SECONDS = 60  # to wait for one's turn at a connection: whoever came first is served first
_RECONNECT_SECONDS = 5  # a pool that goes on for long looks ever less often
_ELSEWHERE = "MW001"
_CONNECT_SECONDS = 10
_PREPARED_AFTER = 3
_SILENCE = logging.NullHandler()


class AgentElsewhere(StoreBusy):
    """The database says that another one keeps the agent, or will in a moment."""


class Database:
    """A pool of connections to one schema; works are functions of a connection, run in one transaction.

    A work may be run again when the connection was lost or another transaction was first, so it must come
    to the same end twice. No work sees rows of another tenant than the one it was started for.
    """

    def __init__(self, location: Location, extension: str, *, stale: bool = False) -> None:
        """`stale` connects to a replica, when there is one."""
        self.location = location
        # The pool's log repeats what callers are told as errors; without a handler it would go to stderr.
        logging.getLogger("psycopg").addHandler(_SILENCE)
        self._lost = False  # whether the server was away when it was last asked
        self._path = sql.SQL(", ").join(map(sql.Identifier, (location.schema, extension)))
        self._pool: AsyncConnectionPool[Connection] = AsyncConnectionPool(
            location.replica if stale else location.primary,
            connection_class=psycopg.AsyncConnection,
            kwargs={
                "autocommit": True,
                "prepare_threshold": _PREPARED_AFTER if location.prepare else None,
                "connect_timeout": _CONNECT_SECONDS,
            },
            min_size=1,
            max_size=location.pool,
            reconnect_timeout=_RECONNECT_SECONDS,
            open=False,
        )

    async def open(self) -> None:
        with fence(self.location):
            await self._pool.open()

    async def close(self) -> None:
        await self._pool.close()

    async def read(self, tenant: str, work: Work[T], settings: Mapping[str, str] | None = None) -> T:
        """What `work` finds in one snapshot."""
        return await self._run(READING, tenant, work, settings or {})

    async def look(self, tenant: str, work: Work[T], settings: Mapping[str, str]) -> T:
        """What `work` finds, each of its queries in the newest snapshot."""
        return await self._run(LOOKING, tenant, work, settings)

    async def write(self, tenant: str, work: Work[T], settings: Mapping[str, str] | None = None) -> T:
        """What `work` gives, once everything it wrote is committed; if it raises, nothing is written."""
        return await self._run(WRITING, tenant, work, settings or {})

    async def heard(self) -> AsyncIterator[str]:
        """What is announced on the schema's channel from now on, over a connection of its own."""
        with fence(self.location):
            async with await psycopg.AsyncConnection.connect(
                self.location.primary, autocommit=True, connect_timeout=_CONNECT_SECONDS
            ) as db:
                await db.execute(sql.SQL("LISTEN {}").format(sql.Identifier(self.location.schema)))
                async for note in db.notifies():
                    yield note.payload

    async def _run(self, begin: str, tenant: str, work: Work[T], settings: Mapping[str, str]) -> T:
        if not tenant:
            raise InvalidRequest("the tenant has no name", field="tenant")
        start = self._prologue(begin, {"memorywire.tenant": tenant, **settings})
        with fence(self.location):
            tries, deadline = 0, time.monotonic() + _PATIENCE
            while True:
                try:
                    return await self._attempt(start, work)
                except _MOMENTARY:
                    tries += 1
                    if tries == _TRIES:
                        raise
                except PoolTimeout:
                    if not self._lost or time.monotonic() > deadline:
                        raise
                except _LOST as error:
                    self._lost = True
                    if isinstance(error, _HOPELESS) or time.monotonic() > deadline:
                        raise
                    await self._pool.check()  # the server went away: so did every other idle connection
                    await asyncio.sleep(_PAUSE)

    async def _attempt(self, start: sql.Composed, work: Work[T]) -> T:
        # A pool that lost its connections makes new ones when somebody comes, not while somebody waits.
        patience = _RECONNECT_SECONDS if self._lost else _FREE_SECONDS
        async with self._pool.connection(timeout=patience) as db:
            try:
                async with _transaction(db, start):
                    done = await work(db)
                self._lost = False
                return done
            except _Demoted:
                await db.close()  # it leads to a server that was the primary
                raise

    def _prologue(self, begin: str, settings: Mapping[str, str]) -> sql.Composed:
        """Everything that holds for this transaction alone, in one trip to the server."""
        named = [
            sql.SQL("SET LOCAL {} = {}").format(sql.Identifier(*name.split(".")), sql.Literal(value))
            for name, value in settings.items()
        ]
        path = sql.SQL("SET LOCAL search_path = {}").format(self._path)
        return sql.SQL("; ").join([sql.SQL(begin), path, *named])


@asynccontextmanager
async def _transaction(db: Connection, start: sql.Composed) -> AsyncIterator[None]:
    try:
        await db.execute(start)
        yield
        await db.execute("COMMIT")
    finally:
        if not db.closed and db.info.transaction_status != TransactionStatus.IDLE:
            await db.execute("ROLLBACK")


async def fetch(db: Connection, query: str, bindings: Bindings | None = None) -> list[Row]:
    """All rows of a query; columns come in the server's own form, which is quicker to read."""
    cursor = db.cursor(binary=True)
    await cursor.execute(query, bindings)
    return await cursor.fetchall()


@contextmanager
def fence(location: Location) -> Iterator[None]:
    """Foreign errors stop here and leave as ours; none repeats what was being kept."""
    try:
        yield
    except errors.InsufficientPrivilege as error:
        raise StoreUnavailable(
            f"{location}: {_said(error)}",
            fix="grant the role what docs/how-to/postgres.md lists, or open the store once as its owner",
        ) from error
    except (errors.QueryCanceled, errors.LockNotAvailable, *_MOMENTARY) as error:
        raise StoreBusy(f"{location} is busy: {_said(error)}", fix="retry") from error
    except (PoolTimeout, TooManyRequests) as error:
        raise StoreUnavailable(
            f"{location}: no connection became free in time",
            fix="check that the server runs; if it does, retry or allow more connections with ?pool=",
        ) from error
    except (*_LOST, OSError) as error:
        raise StoreUnavailable(
            f"{location}: {_said(error)}",
            fix="check that the server runs, its address and the login, then retry",
        ) from error
    except (psycopg.DataError, UnicodeEncodeError) as error:
        raise InvalidRequest(f"the server cannot keep this: {_said(error)}") from error
    except psycopg.Error as error:
        if error.sqlstate == _ELSEWHERE:
            raise AgentElsewhere(f"{location}: {_said(error)}") from error
        raise StoreCorrupt(
            f"{location} does not answer as expected: {_said(error)}",
            fix="restore a backup or choose another schema",
        ) from error


def _said(error: Exception) -> str:
    """What the server said, without the details, which may quote rows."""
    if isinstance(error, psycopg.Error) and error.diag.message_primary:
        return error.diag.message_primary
    return (
        str(error).partition("\n")[0] if isinstance(error, psycopg.Error | OSError) else type(error).__name__
    )
