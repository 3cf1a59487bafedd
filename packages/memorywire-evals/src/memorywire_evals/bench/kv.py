"""Measures setting and getting keys, compared with a bare table in a file of the same durability.

The bare table uses the same threads and group commits: concurrent sets share a commit in both. What differs
is the work: a bare row, against a judged change with versions, ledger entry and digests. The table is also
measured as most programs write it, with one commit per set.
"""

import asyncio
import json
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TypeAlias

import apsw
from msgspec import Struct

from memorywire.app import Governance, open_container
from memorywire.model.clock import system_clock
from memorywire.model.kv import Limits, Owner, OwnerKind, Setting
from memorywire.model.record import DEFAULT_TENANT
from memorywire.pipeline import kv
from memorywire.runtime.threadpool import ThreadPool
from memorywire.stores.sqlite import Location, SqliteFile, connect

AT_ONCE = 1_024
BARE = "bare table"
_COMMITS = 2_000
_SET = "INSERT OR REPLACE INTO kv VALUES (?, ?)"

Verb: TypeAlias = Callable[[int], Awaitable[object]]


class Rate(Struct, frozen=True, kw_only=True):
    """Operations per second, and processor time of each in microseconds."""

    who: str
    what: str
    a_second: float
    cpu_us: float


class Rival(Struct, frozen=True):
    """A competitor; `get` is None if only sets are measured, `most` limits the number of keys."""

    name: str
    set: Verb
    get: Verb | None
    most: int | None = None


async def measure(folder: Path, keys: int, at_once: int = AT_ONCE) -> list[Rate]:
    """Measure each competitor with a fresh file in the folder and `at_once` concurrent callers."""
    rates: list[Rate] = []
    for opening in (bare, committing, ungoverned, governed):
        with TemporaryDirectory(dir=folder, prefix="kv-bench-") as home:
            async with opening(Path(home)) as rival:
                rates += await _time_rival(rival, keys, at_once)
    return rates


async def _time_rival(rival: Rival, keys: int, at_once: int) -> list[Rate]:
    numbers = range(keys if rival.most is None else min(keys, rival.most))

    async def rate(what: str, verb: Verb) -> Rate:
        return await _rate(rival.name, what, verb, numbers, at_once)

    rates = [
        await rate("set, new", rival.set),
        await rate("set, again", rival.set),
    ]
    get = rival.get
    if get is None:
        return rates

    def mixed(gets: int) -> Verb:
        return lambda number: get(number) if number % (gets + 1) else rival.set(number)

    return [
        *rates,
        await rate("get", get),
        await rate("1 get to 1 set", mixed(1)),
        await rate("9 gets to 1 set", mixed(9)),
    ]


async def _rate(who: str, what: str, verb: Verb, numbers: Iterable[int], at_once: int) -> Rate:
    """Run the calls with `at_once` workers and return the rate."""
    waiting = list(numbers)
    count = len(waiting)

    async def work() -> None:
        while waiting:
            await verb(waiting.pop())

    began, used = time.perf_counter(), time.process_time()
    await asyncio.gather(*(work() for _ in range(at_once)))
    elapsed, cost = time.perf_counter() - began, time.process_time() - used
    return Rate(who=who, what=what, a_second=count / elapsed, cpu_us=cost / count * 1e6)


def _key(number: int) -> str:
    return f"user/{number}/settings"


def _value(number: int) -> dict[str, object]:
    return {"n": number, "note": f"prefers the {number} o'clock train", "at": time.time_ns()}


@asynccontextmanager
async def bare(home: Path) -> AsyncIterator[Rival]:
    """Open a bare table with one row per key."""
    file = SqliteFile(Location(path=home / "bare.db"), _add_table)

    async def set_(number: int) -> None:
        row = _row(number)
        await file.write(lambda db: db.execute(_SET, row).fetchall())

    async def get(number: int) -> object:
        row = (_key(number),)
        value = await file.read(lambda db: db.execute("SELECT value FROM kv WHERE key = ?", row).get)
        return None if value is None else json.loads(value)

    try:
        yield Rival(BARE, set_, get)
    finally:
        await file.close()


@asynccontextmanager
async def committing(home: Path) -> AsyncIterator[Rival]:
    """Open the same table on a dedicated thread; each set is flushed to disk before the next starts."""
    location = Location(path=home / "committing.db")
    await SqliteFile(location, _add_table).close()
    db, thread_pool = connect(location), ThreadPool(1, "bare table")

    async def set_(number: int) -> None:
        row = _row(number)
        await thread_pool.do(lambda: db.execute(_SET, row).fetchall())

    try:
        yield Rival("bare table, one commit a set", set_, None, most=_COMMITS)
    finally:
        thread_pool.dismiss()
        db.close()


def _add_table(db: apsw.Connection) -> None:
    # The writer of SqliteFile reads this table.
    db.execute("CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT, WITHOUT ROWID")
    db.execute("CREATE TABLE kv (key TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT, WITHOUT ROWID")


def _row(number: int) -> tuple[str, str]:
    return _key(number), json.dumps(_value(number))


def governed(home: Path) -> AbstractAsyncContextManager[Rival]:
    """Open our store with its defaults: values are screened, judged, committed and recorded in the ledger."""
    return _ours(home, "memorywire", Governance())


def ungoverned(home: Path) -> AbstractAsyncContextManager[Rival]:
    """Open our store without policy, redaction and ledger, with versions only."""
    return _ours(home, "memorywire without a policy", Governance(on=False))


@asynccontextmanager
async def _ours(home: Path, name: str, governance: Governance) -> AsyncIterator[Rival]:
    container = await open_container(
        stores=[f"sqlite://{home}/memory.db"],
        embedder="none",
        embedder_key=None,
        clock=system_clock,
        governance=governance,
    )
    owner = Owner(kind=OwnerKind.AGENT, id="bench", tenant=DEFAULT_TENANT)
    keys = kv.Keys(
        owner=owner, context=container.context, limits=Limits(quota_bytes=1 << 40), usage=container.usage
    )

    async def set_(number: int) -> object:
        return await kv.keep(keys, Setting(key=_key(number), value=_value(number)))

    async def get(number: int) -> object:
        return await kv.entry(keys, _key(number))

    try:
        yield Rival(name, set_, get)
    finally:
        await container.close()
