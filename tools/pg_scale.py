"""Many tenants in one Postgres: does the smallest get exactly its own, and how fast is it?

python tools/pg_scale.py ROWS [FOLDER]      ROWS in all; tenants with 1 % of them each, and one with the rest

Starts the server of scripts/postgres in FOLDER (or uses MEMORYWIRE_TEST_PG) and fills the schema `scale`.
Vectors are made up, so that filling does not wait for an embedder. The vector index is dropped while rows are
loaded and built afterwards, as one would for a first import.
"""

import asyncio
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable, Iterator
from itertools import islice
from pathlib import Path

import numpy as np
import psycopg

from memorywire.evals.bench.corpus import Fact, facts
from memorywire.evals.bench.timing import spread
from memorywire.model.change import Base, Change, Put
from memorywire.model.clock import system_clock
from memorywire.model.ids import IdMint
from memorywire.model.query import Query
from memorywire.model.record import MemoryType, Record, Scope
from memorywire.model.space import Space
from memorywire.model.where import Where
from memorywire.stores.contract import Store
from memorywire.stores.registry import open_store
from tools.scale import Vectors

SPACE = Space(model="made-up", revision="1", dimension=384)
NOW = 1_800_000_000_000
SMALL = [Scope(tenant=f"small-{number}", agent="bench") for number in range(3)]
LARGE = Scope(tenant="large", agent="bench")
CHUNK, ROUNDS, TOP = 2000, 100, 5
SCHEMA = "scale"

mint = IdMint(system_clock)


def parts(rows: int) -> Iterator[tuple[Scope, int]]:
    """How many rows each tenant gets, a chunk at a time."""
    one_percent = rows // 100
    sizes = {scope: one_percent for scope in SMALL} | {LARGE: rows - len(SMALL) * one_percent}
    for scope, size in sizes.items():
        for first in range(0, size, CHUNK):
            yield scope, min(CHUNK, size - first)


def a_change(scope: Scope, some: list[Fact], vectors: list[bytes]) -> Change:
    puts = [
        Put(record=_record(scope, fact), base=Base.NOTHING, vector=vector)
        for fact, vector in zip(some, vectors, strict=True)
    ]
    return Change(id=mint(), operation="remember", scope=scope, at=NOW, put=tuple(puts))


def _record(scope: Scope, fact: Fact) -> Record:
    return Record(
        id=mint(),
        scope=scope,
        type=MemoryType.SEMANTIC,
        content=fact.content,
        created_at=NOW,
        updated_at=NOW,
    )


async def fill(store: Store, alone: dict[Scope, Store], rows: int) -> None:
    source, vectors = facts(), Vectors(1)
    for scope, count in parts(rows):
        change = a_change(scope, list(islice(source, count)), vectors(count))
        await store.write(change)
        if scope in alone:
            await alone[scope].write(change)


def queries(scope: Scope) -> list[Query]:
    where = Where(scope=scope, alive_at=NOW)
    asked = [fact.question for fact in islice(facts(), ROUNDS)]
    return [Query(where=where, text=t, vector=v) for t, v in zip(asked, Vectors(2)(ROUNDS), strict=True)]


async def timed(step: Callable[[Query], Awaitable[object]], asked: list[Query]) -> str:
    seconds = []
    for query in asked:
        started = time.perf_counter()
        await step(query)
        seconds.append(time.perf_counter() - started)
    found = spread(seconds[1:])
    return f"{found.p50:.1f} / {found.p95:.1f} ms"


def row(what: str, figure: object) -> None:
    print(f"| {what} | {figure} |", flush=True)


async def measure(url: str, folder: Path, rows: int) -> None:
    store = await open_store(url, space=SPACE)
    alone = {scope: await open_store(f"sqlite:///{folder}/{scope.tenant}.db", space=SPACE) for scope in SMALL}
    with psycopg.connect(url.partition("&schema")[0], autocommit=True) as db:
        db.execute(f"DROP INDEX {SCHEMA}.version_nearest")
        started = time.perf_counter()
        await fill(store, alone, rows)
        row(f"{rows:,} rows loaded", f"{time.perf_counter() - started:.0f} s")
        started = time.perf_counter()
        db.execute("SET maintenance_work_mem = '4GB'")
        index = f"{SCHEMA}.version USING hnsw (vector halfvec_ip_ops) WHERE ended IS NULL"
        db.execute("CREATE INDEX version_nearest ON " + index)
        db.execute(f"VACUUM ANALYZE {SCHEMA}.version, {SCHEMA}.posting")
        row("vector index built", f"{time.perf_counter() - started:.0f} s")
    await compare(store, alone)
    for one in (store, *alone.values()):
        await one.close()


async def compare(store: Store, alone: dict[Scope, Store]) -> None:
    """The small tenants beside the crowd, against each of them alone in a file of the embedded store."""
    equal = 0
    for scope, other in alone.items():
        for query in queries(scope):
            found, wanted = await store.search(query, TOP), await other.search(query, TOP)
            equal += [hit.record.id for hit in found] == [hit.record.id for hit in wanted]
    row(f"answers of 1 % tenants equal to those of the tenant alone, of {ROUNDS * len(alone)}", equal)
    few = queries(SMALL[0])
    row("recall of a 1 % tenant, p50 / p95", await timed(lambda query: store.search(query, TOP), few))
    row("the same in a file", await timed(lambda query: alone[SMALL[0]].search(query, TOP), few))
    many = queries(LARGE)
    row("recall of the large tenant", await timed(lambda query: store.search(query, TOP), many))


def main(rows: int, folder: Path) -> None:
    script = Path(__file__).parents[1] / "scripts" / "postgres"
    started = subprocess.run(
        [sys.executable, script, "start", folder], stdout=subprocess.PIPE, text=True, check=True
    )
    dsn = started.stdout.strip()
    with psycopg.connect(dsn, autocommit=True) as db:
        db.execute(f"DROP SCHEMA IF EXISTS {SCHEMA} CASCADE")
    files = Path(f"{folder}-files")
    files.mkdir(exist_ok=True)
    for old in files.iterdir():
        old.unlink()
    asyncio.run(measure(f"{dsn}&schema={SCHEMA}", files, rows))


if __name__ == "__main__":
    main(int(sys.argv[1]), Path(*sys.argv[2:3] or ["/tmp/memorywire-pg-scale"]).absolute())
