"""A database: its connection pool, transactions bound to a tenant, and the mapping of Postgres errors."""

import asyncio
import logging
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager, suppress
from typing import Any, TypeAlias, TypeVar

import psycopg
from psycopg import errors, sql
from psycopg.pq import TransactionStatus
from psycopg_pool import AsyncConnectionPool, PoolClosed, PoolTimeout, TooManyRequests

from memorywire.model.errors import InvalidRequest, StoreBusy, StoreCorrupt, StoreUnavailable
from memorywire_postgres.location import Location

Connection: TypeAlias = psycopg.AsyncConnection[Any]
Row: TypeAlias = tuple[Any, ...]  # as the server sends it; the decoders know each column's type
Bindings: TypeAlias = Mapping[str, Any]
Statement: TypeAlias = tuple[str, Bindings]  # a query
T = TypeVar("T")
Work: TypeAlias = Callable[[Connection], Awaitable[T]]

READING = "BEGIN ISOLATION LEVEL REPEATABLE READ, READ ONLY"
LOOKING = "BEGIN ISOLATION LEVEL READ COMMITTED, READ ONLY"
WRITING = "BEGIN ISOLATION LEVEL READ COMMITTED, READ WRITE"

# Transient: the same transaction may succeed on a retry.
_TRANSIENT = (errors.UniqueViolation, errors.SerializationFailure, errors.DeadlockDetected)
_TRIES = 5

# The connection is lost, or leads to a server that is no longer primary: after a failover it takes a while
# until a new primary is elected. In seconds.
_NotPrimary = errors.ReadOnlySqlTransaction
_CONNECTION_LOST = (psycopg.OperationalError, psycopg.InterfaceError, _NotPrimary)
_FINAL = (PoolClosed, TooManyRequests, errors.QueryCanceled)
_RETRY_SECONDS = 40.0
_PAUSE = 0.1
_FREE_SECONDS = 60  # longest wait for a free connection; waiters are served in order
_LOST_SECONDS = 0.5  # the same while the server is unreachable: each waiter makes the pool reconnect
_RECONNECT_SECONDS = 0.2  # short, since the pool doubles its pause after each failed attempt
_AGENT_MOVED = "MW001"
_PREPARED_AFTER = 3
_SILENCE = logging.NullHandler()


class AgentElsewhere(StoreBusy):
    """Another database has the agent, or the agent is being moved to one."""


class Database:
    """A connection pool for one schema; a `work` is a function of a connection that runs in a transaction.

    A work may run again after a lost connection or a conflict, so it must be repeatable. It sees only rows
    of the tenant that it was started for.
    """

    def __init__(
        self, location: Location, extension: str, *, stale: bool = False, is_pooled: bool = False
    ) -> None:
        """`stale` connects to a replica if there is one; `is_pooled` means a pooler such as PgBouncer."""
        self.location = location
        self.is_pooled = is_pooled
        self.prepares = not is_pooled if location.prepare is None else location.prepare
        # The pool logs what callers get as errors anyway; without a handler the log would go to stderr.
        logging.getLogger("psycopg").addHandler(_SILENCE)
        self._lost = False  # whether the server was unreachable at the last attempt
        self._path = sql.SQL(", ").join(map(sql.Identifier, (location.schema, extension)))
        self._pool: AsyncConnectionPool[Connection] = AsyncConnectionPool(
            location.replica if stale else location.primary,
            connection_class=psycopg.AsyncConnection,
            kwargs={
                "autocommit": True,
                "prepare_threshold": _PREPARED_AFTER if self.prepares else None,
            },
            min_size=1,
            max_size=location.pool,
            reconnect_timeout=_RECONNECT_SECONDS,
            open=False,
        )

    async def open(self) -> None:
        with map_errors(self.location):
            await self._pool.open()

    async def close(self) -> None:
        await self._pool.close()

    async def read(self, tenant: str, work: Work[T], settings: Mapping[str, str] | None = None) -> T:
        """Return the result of `work`, whose queries all see one snapshot."""
        return await self._run(READING, tenant, work, settings or {})

    async def look(self, tenant: str, work: Work[T], settings: Mapping[str, str]) -> T:
        """Return the result of `work`, each of whose queries sees the newest snapshot."""
        return await self._run(LOOKING, tenant, work, settings)

    async def write(self, tenant: str, work: Work[T], settings: Mapping[str, str] | None = None) -> T:
        """Return the result of `work` after the commit; if `work` raises, nothing is written."""
        return await self._run(WRITING, tenant, work, settings or {})

    async def listen(self, channel: str) -> AsyncIterator[str]:
        """Yield the notifications on the channel, over a separate connection.

        The first payload is empty: listening has begun. Raises StoreUnavailable behind a pooler,
        which accepts a LISTEN and may never deliver the notifications.
        """
        if self.is_pooled:
            raise refuse_pooler(self.location, "listening for changes")
        with map_errors(self.location):
            async with await psycopg.AsyncConnection.connect(self.location.primary, autocommit=True) as db:
                await db.execute(sql.SQL("LISTEN {}").format(sql.Identifier(channel)))
                yield ""
                async for note in db.notifies():
                    yield note.payload

    async def at_once(
        self, tenant: str, queries: Sequence[Statement], settings: Mapping[str, str]
    ) -> list[list[Row]]:
        """Return the rows of each query, from the newest snapshot, in one round trip to the server."""
        values = {
            "search_path": self._path.as_string(),
            "memorywire.tenant": _check_tenant(tenant),
            **settings,
        }
        # Statements sent together are one transaction, so these local settings hold for all of them.
        prologue = "SELECT " + ", ".join(f"set_config('{name}', %({name})s, true)" for name in values)

        async def work(db: Connection) -> list[list[Row]]:
            cursor = psycopg.AsyncClientCursor(db)
            parts = [cursor.mogrify(prologue, values), *(cursor.mogrify(*one) for one in queries)]
            await cursor.execute("; ".join(one.rstrip().rstrip(";") for one in parts))
            results = []
            while cursor.nextset():
                results.append(await cursor.fetchall())
            return results

        return await self._retry(work)

    async def _run(self, begin: str, tenant: str, work: Work[T], settings: Mapping[str, str]) -> T:
        start = self._prologue(begin, {"memorywire.tenant": _check_tenant(tenant), **settings})

        async def transaction(db: Connection) -> T:
            async with _transaction(db, start):
                return await work(db)

        return await self._retry(transaction)

    async def _retry(self, work: Work[T]) -> T:
        """Run `work` on a connection and return its result; retries transient errors and lost connections."""
        with map_errors(self.location):
            tries, deadline = 0, time.monotonic() + _RETRY_SECONDS
            while True:
                was_lost = self._lost
                try:
                    return await self._attempt(work, _LOST_SECONDS if was_lost else _FREE_SECONDS)
                except _TRANSIENT:
                    tries += 1
                    if tries == _TRIES:
                        raise
                except PoolTimeout:
                    if not was_lost or time.monotonic() > deadline:
                        raise
                except _CONNECTION_LOST as error:
                    self._lost = True
                    if isinstance(error, _FINAL) or time.monotonic() > deadline:
                        raise
                    await self._pool.check()  # the other idle connections are probably lost too
                    await asyncio.sleep(_PAUSE)

    async def _attempt(self, work: Work[T], seconds: float) -> T:
        cancellations = _count_cancellations()
        try:
            async with self._pool.connection(timeout=seconds) as db:
                if _count_cancellations() > cancellations:
                    # On Python 3.11 `asyncio.wait_for`, by which the pool waits, drops a cancellation that
                    # arrives together with the connection.
                    raise asyncio.CancelledError
                try:
                    result = await work(db)
                    self._lost = False
                    return result
                except _NotPrimary:
                    await db.close()  # it leads to a former primary
                    raise
        except psycopg.Error as error:
            if _count_cancellations():  # the connection broke while the query was being cancelled
                raise asyncio.CancelledError from error
            raise

    def _prologue(self, begin: str, settings: Mapping[str, str]) -> sql.Composed:
        """Return the statements that begin a transaction and set its local settings, for one round trip."""
        statements = [
            sql.SQL("SET LOCAL {} = {}").format(sql.Identifier(*name.split(".")), sql.Literal(value))
            for name, value in settings.items()
        ]
        path = sql.SQL("SET LOCAL search_path = {}").format(self._path)
        return sql.SQL("; ").join([sql.SQL(begin), path, *statements])


def _count_cancellations() -> int:
    """Return how often the task was cancelled: its errors must then not cause a retry."""
    task = asyncio.current_task()
    return 0 if task is None else task.cancelling()


async def is_pooled(db: Connection) -> bool:
    """Return whether a pooler such as PgBouncer is between this process and the server.

    A pooler answers the login itself, so it reports another process than the one that runs our queries.
    """
    [(process,)] = await fetch(db, "SELECT pg_backend_pid()")
    return bool(process != db.info.backend_pid)


def refuse_pooler(location: Location, what: str) -> StoreUnavailable:
    """Return the error for work that needs the same connection from beginning to end."""
    return StoreUnavailable(
        f"{location}: {what} needs its own connection, but the URL leads to a pooler",
        fix="put the address of the server, not of the pooler, into the URL",
    )


def _check_tenant(tenant: str) -> str:
    if not tenant:
        raise InvalidRequest("the tenant is empty", field="tenant")
    return tenant


@asynccontextmanager
async def _transaction(db: Connection, start: sql.Composed) -> AsyncIterator[None]:
    try:
        await db.execute(start)
        yield
        await db.execute("COMMIT")
    except BaseException:
        if not db.closed and db.info.transaction_status != TransactionStatus.IDLE:
            with suppress(psycopg.Error):  # the original error matters, above all a cancellation
                await db.execute("ROLLBACK")
        raise


async def fetch(db: Connection, query: str, bindings: Bindings | None = None) -> list[Row]:
    """Return all rows of a query; columns are in the binary format, which is faster to decode."""
    cursor = db.cursor(binary=True)
    await cursor.execute(query, bindings)
    return await cursor.fetchall()


@contextmanager
def map_errors(location: Location) -> Iterator[None]:
    """Translate psycopg errors into memorywire errors; their messages contain no stored data."""
    try:
        yield
    except errors.InsufficientPrivilege as error:
        raise StoreUnavailable(
            f"{location}: {_message(error)}",
            fix="grant the role what docs/how-to/postgres.md lists, or open the store once as its owner",
        ) from error
    except (errors.InvalidSqlStatementName, errors.DuplicatePreparedStatement) as error:
        raise StoreUnavailable(
            f"{location}: {_message(error)}: the pooler uses another connection for every transaction",
            fix="add prepare=off to the URL, or let the pooler keep prepared statements",
        ) from error
    except _NotPrimary as error:
        raise read_only(location) from error
    except (errors.QueryCanceled, errors.LockNotAvailable, *_TRANSIENT) as error:
        raise StoreBusy(f"{location} is busy: {_message(error)}", fix="retry") from error
    except (PoolTimeout, TooManyRequests) as error:
        raise StoreUnavailable(
            f"{location}: no connection became free in time",
            fix="check that the server runs; if it does, retry or allow more connections with ?pool=",
        ) from error
    except (*_CONNECTION_LOST, OSError) as error:
        raise StoreUnavailable(
            f"{location}: {_message(error)}",
            fix="check that the server runs, its address and the login, then retry",
        ) from error
    except (psycopg.DataError, UnicodeEncodeError) as error:
        raise InvalidRequest(f"the server cannot store this: {_message(error)}") from error
    except psycopg.Error as error:
        if error.sqlstate == _AGENT_MOVED:
            raise AgentElsewhere(f"{location}: {_message(error)}") from error
        raise StoreCorrupt(
            f"{location} does not answer as expected: {_message(error)}",
            fix="restore a backup or choose another schema",
        ) from error


def read_only(location: Location) -> StoreUnavailable:
    """Return the error for a server that accepts no writes."""
    return StoreUnavailable(
        f"{location} is read-only: a replica, or a server that takes no writes",
        fix="name the primary, or all hosts of the group with commas: postgresql://user@one,two/database",
    )


def _message(error: Exception) -> str:
    """Return the server's message without its details, which may quote rows."""
    if isinstance(error, psycopg.Error) and error.diag.message_primary:
        return error.diag.message_primary
    return (
        str(error).partition("\n")[0] if isinstance(error, psycopg.Error | OSError) else type(error).__name__
    )
