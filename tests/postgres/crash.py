"""A server that dies in the middle of its work: what it acknowledged, and what it has afterwards."""

import asyncio
import os
import random
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg

from memorywire.model.errors import MemorywireError
from memorywire_postgres.store import PostgresStore
from memorywire_testing.samples import (
    a_change,
    a_query,
    a_record,
    a_scope,
    a_vector,
    beginning,
    ids,
)
from tests.gates.source import ROOT
from tests.postgres.desk import Server, opened, rows

WRITERS = 8
# A broken rule: acknowledged before it is on the disk.
CARELESS = {"options": "-c%20synchronous_commit%3Doff"}
PUTS = 2  # of every change, so that half a change can be told from a whole one
LONGEST_PAUSE = 0.2

_SCRIPT = [sys.executable, str(ROOT / "scripts" / "postgres")]


def started(folder: Path, *, primary: Path | None = None) -> str:
    """The URL of the server in this folder, whatever server the tests at large were given.

    A new one may be a replica of the one in the folder `primary`.
    """
    own = {name: value for name, value in os.environ.items() if name != "MEMORYWIRE_TEST_PG"}
    how = ["start", str(folder)] if primary is None else ["follow", str(folder), str(primary)]
    command = [*_SCRIPT, *how]
    return subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True, env=own).stdout.strip()


def stopped(folder: Path, how: str) -> None:
    subprocess.run([*_SCRIPT, "stop", str(folder), how], check=True)


@contextmanager
def serving(name: str, primary: Path | None = None) -> Iterator[tuple[Path, Server]]:
    """A server for the time being. Not below pytest's folder, which only its owner may enter: the server
    runs as somebody else."""
    folder = Path(f"/tmp/memorywire-{name}-{os.getpid()}")
    try:
        yield folder, Server(started(folder, primary=primary))
    finally:
        stopped(folder, "immediate")
        subprocess.run(["rm", "-rf", str(folder)], check=True)


def careless_crashes(folder: Path, server: Server, trials: int) -> int:
    """How many acknowledged changes were lost when nothing waits for the disk; ends with the first loss."""
    with psycopg.connect(server.dsn, autocommit=True) as db:
        db.execute("ALTER SYSTEM SET wal_writer_delay = '10s'")  # or the server's own haste may save them all
        db.execute("SELECT pg_reload_conf()")
    for trial in range(trials):
        _, lost, _ = asyncio.run(crashes(folder, server, 1, random.Random(trial), **CARELESS))
        if lost:
            return lost
    return 0


async def crashes(
    folder: Path, server: Server, trials: int, dice: random.Random, **options: str
) -> tuple[int, int, int]:
    """How many changes were acknowledged, and how many of those were lost, and of all were torn."""
    url = server.url("crash", pool=WRITERS, **options)
    acknowledged: dict[str, list[str]] = {}
    scope = a_scope()
    heard: asyncio.Queue[None] = asyncio.Queue()

    async def write_on(store: PostgresStore) -> None:
        while True:
            parts = [a_record(scope, f"part {part}") for part in range(PUTS)]
            change = a_change(scope, *(beginning(part, a_vector(1)) for part in parts))
            try:
                await store.write(change)
            except MemorywireError:
                continue  # the server is away
            acknowledged[change.id] = ids(parts)
            heard.put_nowait(None)

    async with opened(url) as store:
        writing = [asyncio.create_task(write_on(store)) for _ in range(WRITERS)]
        for _ in range(trials):
            for _ in range(2 * WRITERS):
                await heard.get()
            await asyncio.sleep(dice.uniform(0, LONGEST_PAUSE))
            await asyncio.to_thread(stopped, folder, "immediate")
            await asyncio.to_thread(started, folder)
        for task in writing:
            task.cancel()
        await asyncio.gather(*writing, return_exceptions=True)
        found = set(ids(await store.search(a_query(scope, "part", a_vector(1)), 1_000_000)))
    lost = sum(not found.issuperset(parts) for parts in acknowledged.values())
    torn = rows(url, f"SELECT began FROM version GROUP BY began HAVING count(*) <> {PUTS}")
    return len(acknowledged), lost, len(torn)
