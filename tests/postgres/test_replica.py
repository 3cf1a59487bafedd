"""A group of two: writes, and what they are planned by, go to the primary; stale reads to the other one."""

import asyncio
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import psycopg
import pytest

from memorywire.model.record import Record, Scope
from memorywire_postgres.store import PostgresStore
from memorywire_testing.samples import a_query, a_record, a_scope, everything, ids, keep
from tests.postgres.crash import serving, started, stopped
from tests.postgres.desk import Server, opened, run


@dataclass(frozen=True)
class Pair:
    """A primary and a replica that follows it, by their folders, which hold their sockets too."""

    primary: Path
    replica: Path

    def url(self, **options: object) -> str:
        both = f"postgresql://postgres@/postgres?host={self.replica},{self.primary}"
        return Server(both).url("pair", **options)

    def hold(self) -> None:
        """Keep the replica where it is."""
        with self._looking() as db:
            db.execute("SELECT pg_wal_replay_pause()")
            while db.execute("SELECT pg_get_wal_replay_pause_state()").fetchone() != ("paused",):
                time.sleep(0.02)

    def catch_up(self) -> None:
        """Wait until the replica has what the primary has now; before that it may lack the very tables."""
        with psycopg.connect(f"postgresql://postgres@/postgres?host={self.primary}") as db:
            [position] = db.execute("SELECT pg_current_wal_flush_lsn()::text").fetchone() or [None]
        with self._looking() as db:
            while db.execute("SELECT pg_last_wal_replay_lsn() >= %s::pg_lsn", [position]).fetchone() != (
                True,
            ):
                time.sleep(0.02)

    def let_go(self) -> None:
        with self._looking() as db:
            db.execute("SELECT pg_wal_replay_resume()")

    def _looking(self) -> psycopg.Connection[tuple[object, ...]]:
        return psycopg.connect(f"postgresql://postgres@/postgres?host={self.replica}", autocommit=True)


@pytest.fixture(scope="module")
def pair() -> Iterator[Pair]:
    with serving("primary") as (primary, _), serving("replica", primary) as (replica, _):
        yield Pair(primary, replica)


async def _seen(store: PostgresStore, scope: Scope) -> tuple[list[list[str]], int]:
    """What a search, two lists and a count say is there; a replica may catch up between them."""
    found = await store.search(a_query(scope, "kettle"), 10)
    listed = await store.find(everything(scope))
    newest = await store.newest(everything(scope), None, 10)
    count = await store.count(everything(scope))
    return [sorted(ids(hits)) for hits in (found, listed, newest)], count


def _all(*records: Record) -> tuple[list[list[str]], int]:
    """What is seen where these are, and no others."""
    return [sorted(ids(records))] * 3, len(records)


async def _until_seen(store: PostgresStore, scope: Scope, *records: Record) -> None:
    while True:
        if await _seen(store, scope) == _all(*records):
            return
        await asyncio.sleep(0.05)


def test_stale_reads_are_those_of_the_replica_and_writes_those_of_the_primary(pair: Pair) -> None:
    async def main() -> None:
        async with opened(pair.url(stale="ok")) as store, opened(pair.url()) as strict:
            scope = a_scope()
            old, new = a_record(scope), a_record(scope, "the kettle is red")
            await keep(store, old)
            await asyncio.to_thread(pair.catch_up)
            await _until_seen(store, scope, old)
            await asyncio.to_thread(pair.hold)
            await keep(store, new)
            assert await _seen(store, scope) == _all(old)
            assert ids(await store.get(scope, [old.id, new.id])) == [old.id, new.id]
            assert await store.duplicate(a_record(scope, "the kettle is red"), new.created_at) == new
            assert await _seen(strict, scope) == _all(old, new)
            await asyncio.to_thread(pair.let_go)
            await _until_seen(store, scope, old, new)

    run(main())


def test_without_its_replica_stale_reads_are_those_of_the_primary(pair: Pair) -> None:
    async def main() -> None:
        async with opened(pair.url(stale="ok")) as store:
            scope = a_scope()
            await keep(store, record := a_record(scope))
            await asyncio.to_thread(pair.catch_up)
            await _until_seen(store, scope, record)
            await asyncio.to_thread(stopped, pair.replica, "immediate")
            try:
                assert await _seen(store, scope) == _all(record)
            finally:
                await asyncio.to_thread(started, pair.replica)

    run(main())
