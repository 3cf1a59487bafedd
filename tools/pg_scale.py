"""Many tenants in one Postgres: does the smallest get exactly its own, and how fast is it?

python tools/pg_scale.py ROWS [FOLDER]      ROWS in all; tenants with 1 % of them each, and one with the rest

Starts the server of scripts/postgres in FOLDER (or uses MEMORYWIRE_TEST_PG) and fills the schema `scale`.
Vectors are made up, so that filling does not wait for an embedder. The store writes the small tenants, the
large one is copied into its tables, and the vector index is built last, as one would for a first import.
"""

import asyncio
import subprocess
import sys
import time
from itertools import islice
from pathlib import Path

import psycopg

from memorywire.model.change import Change
from memorywire.model.query import Query, Where
from memorywire.model.record import Scope
from memorywire.stores.contract import Store
from memorywire.stores.registry import open_store
from memorywire_evals.bench.corpus import facts
from pg_load import load, mint, put
from scale import NOW, SPACE, Vectors, row, timed

SMALL = [Scope(tenant=f"small-{number}", agent="bench") for number in range(3)]
LARGE = Scope(tenant="large", agent="bench")
CHUNK, ROUNDS, TOP = 2000, 100, 5
SCHEMA = "scale"


async def fill(store: Store, alone: dict[Scope, Store], each: int) -> None:
    """The small tenants, in both."""
    source, vectors = facts(), Vectors(1)
    for scope, own in alone.items():
        for first in range(0, each, CHUNK):
            count = min(CHUNK, each - first)
            puts = tuple(map(put, [scope] * count, islice(source, count), vectors(count)))
            change = Change(id=mint(), operation="remember", scope=scope, at=NOW, put=puts)
            for one in (store, own):
                await one.write(change)


def queries(scope: Scope) -> list[Query]:
    where = Where(scope=scope, alive_at=NOW)
    asked = zip(islice(facts(), ROUNDS), Vectors(2)(ROUNDS), strict=True)
    return [Query(where=where, text=fact.question, vector=vector) for fact, vector in asked]


async def measure(dsn: str, folder: Path, rows: int) -> None:
    store = await open_store(f"{dsn}{'&' if '?' in dsn else '?'}schema={SCHEMA}", space=SPACE)
    alone = {scope: await open_store(f"sqlite:///{folder}/{scope.tenant}.db", space=SPACE) for scope in SMALL}
    with psycopg.connect(dsn, autocommit=True) as db:
        db.execute(f"DROP INDEX {SCHEMA}.version_nearest")
        started = time.perf_counter()
        await fill(store, alone, rows // 100)
        await asyncio.to_thread(load, dsn, SCHEMA, LARGE, rows - len(SMALL) * (rows // 100))
        db.execute(f"VACUUM ANALYZE {SCHEMA}.version, {SCHEMA}.posting")
        row(f"{rows:,} rows loaded", f"{time.perf_counter() - started:.0f} s")
        await compare(store, alone)
        started = time.perf_counter()
        db.execute("SET maintenance_work_mem = '4GB'")
        index = f"{SCHEMA}.version USING hnsw (vector halfvec_ip_ops) WHERE ended IS NULL"
        db.execute("CREATE INDEX version_nearest ON " + index)
        row("vector index built", f"{time.perf_counter() - started:.0f} s")
    row("recall of the large tenant", await timed(lambda query: store.search(query, TOP), queries(LARGE)))
    for one in (store, *alone.values()):
        await one.close()


async def compare(store: Store, alone: dict[Scope, Store]) -> None:
    """The small tenants beside the crowd, against each of them alone in a file of the embedded store."""
    equal = 0
    for scope, other in alone.items():
        for query in queries(scope):
            found, wanted = await store.search(query, TOP), await other.search(query, TOP)
            equal += [hit.record.id for hit in found] == [hit.record.id for hit in wanted]
    row(f"answers of 1 % tenants equal to those of the tenant alone, of {ROUNDS * len(alone)}", str(equal))
    few = queries(SMALL[0])
    row("recall of a 1 % tenant, p50 / p95", await timed(lambda query: store.search(query, TOP), few))
    row("the same in a file", await timed(lambda query: alone[SMALL[0]].search(query, TOP), few))


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
    asyncio.run(measure(dsn, files, rows))


if __name__ == "__main__":
    main(int(sys.argv[1]), Path(*sys.argv[2:3] or ["/tmp/memorywire-pg-scale"]).absolute())
