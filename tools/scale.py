"""One agent with very many memories: vectors are made up, so that filling does not wait for an embedder.

python tools/scale.py 1000000 FOLDER
"""

import asyncio
import sys
import time
from collections.abc import Awaitable, Callable
from itertools import islice
from pathlib import Path

import numpy as np
from msgspec.structs import replace

from memorywire.model.change import Base, Change, Put
from memorywire.model.query import Query, Where
from memorywire.model.record import MemoryType, Record, Scope
from memorywire.model.space import Space
from memorywire.stores.sqlite import SqliteStore, open_store
from memorywire_evals.bench.corpus import Fact, facts
from memorywire_evals.bench.reference_design import LinearStore
from memorywire_evals.bench.stage import mint
from memorywire_evals.bench.timing import spread

SPACE = Space(model="made-up", revision="1", dimension=384)
AGENT = Scope(tenant="default", agent="bench")
NEIGHBOUR = Scope(tenant="neighbour", agent="bench")
NOW = 1_800_000_000_000
CHUNK, ROUNDS, LINEAR_ROUNDS, CLUSTERS = 5000, 40, 3, 3000


class Vectors:
    """Unit vectors in clusters, as embedders make them."""

    def __init__(self, seed: int) -> None:
        self._dice = np.random.default_rng(seed)
        self._centres = np.random.default_rng(0).normal(size=(CLUSTERS, SPACE.dimension)) * 0.6

    def __call__(self, count: int) -> list[bytes]:
        near = self._centres[self._dice.integers(0, CLUSTERS, count)]
        made = near + 0.7 * self._dice.normal(size=(count, SPACE.dimension))
        made /= np.linalg.norm(made, axis=1, keepdims=True)
        return [row.astype("<f4").tobytes() for row in made]


def owner(number: int) -> str:
    return "small" if number % 1000 == 0 else f"user-{number % 50}"


def resident() -> float:
    lines = Path("/proc/self/status").read_text(encoding="utf-8").splitlines()
    return next(int(line.split()[1]) / 1000 for line in lines if line.startswith("VmRSS"))


async def fill(store: SqliteStore, alone: SqliteStore, linear: LinearStore, size: int) -> None:
    source, vectors, name = facts(), Vectors(1), mint()
    for first in range(0, size, CHUNK):
        some, made = list(islice(source, CHUNK)), vectors(CHUNK)
        users = [owner(number) for number in range(first, first + CHUNK)]
        puts = [
            Put(record=_record(name(), fact, user), base=Base.NOTHING, vector=vector)
            for fact, user, vector in zip(some, users, made, strict=True)
        ]
        few = [put for put in puts if put.record.scope.user == "small"]
        await store.write(_change(name(), puts))
        await alone.write(_change(name(), few))
        moved = [replace(put, record=replace(put.record, scope=NEIGHBOUR)) for put in few]
        await store.write(replace(_change(name(), moved), scope=NEIGHBOUR))
        contents = [fact.content for fact in some]
        linear.fill("bench", zip(contents, users, made, strict=True))


def _record(id: str, fact: Fact, user: str) -> Record:
    scope = Scope(tenant=AGENT.tenant, agent=AGENT.agent, user=user)
    return Record(
        id=id, scope=scope, type=MemoryType.SEMANTIC, content=fact.content, created_at=NOW, updated_at=NOW
    )


def _change(id: str, puts: list[Put]) -> Change:
    return Change(id=id, operation="remember", scope=AGENT, at=NOW, put=tuple(puts))


def queries(scope: Scope) -> list[Query]:
    where = Where(scope=scope, alive_at=NOW)
    asked = [fact.question for fact in islice(facts(), ROUNDS)]
    return [Query(where=where, text=t, vector=v) for t, v in zip(asked, Vectors(2)(ROUNDS), strict=True)]


async def timed(step: Callable[[Query], Awaitable[object]], asked: list[Query]) -> str:
    """The first is not counted: it loads what the others find loaded."""
    seconds = []
    for query in asked:
        started = time.perf_counter()
        await step(query)
        seconds.append(time.perf_counter() - started)
    found = spread(seconds[1:])
    return f"{found.p50:.2f} / {found.p95:.2f} ms"


def row(what: str, figure: str) -> None:
    print(f"| {what} | {figure} |", flush=True)


async def main(size: int, folder: Path) -> None:
    urls = [f"sqlite:///{folder}/{name}.db" for name in ("scale", "alone")]
    store, alone = [await open_store(url, space=SPACE) for url in urls]
    linear = LinearStore(folder / "linear.db", mint())
    await fill(store, alone, linear, size)
    await store.close()
    for way in ("from its rows", "from packs"):
        store, before = await open_store(urls[0], space=SPACE), time.process_time()
        await store.search(queries(AGENT)[0], 5)
        spent = time.process_time() - before
        row(f"open and first recall of {size:,} {way}, processor time", f"{spent:.2f} s")
        await store.at_rest()
        await store.close()
    store = await open_store(urls[0], space=SPACE)
    await store.search(queries(AGENT)[0], 5)
    row("recall among all, p50 / p95", await timed(lambda query: store.search(query, 5), queries(AGENT)))
    row("resident", f"{resident():.0f} MB")
    few = queries(replace(AGENT, user="small"))
    row("recall of a user with 0.1 %", await timed(lambda query: store.search(query, 5), few))
    row("the same user alone in a file", await timed(lambda query: alone.search(query, 5), few))
    row(
        "recall of another tenant with as many",
        await timed(lambda query: store.search(query, 5), queries(NEIGHBOUR)),
    )
    row("the same alone in a file", await timed(lambda query: alone.search(query, 5), queries(AGENT)))

    async def scan(query: Query) -> None:
        linear.recall("bench", query.vector or b"")

    row("linear scan of float32 in SQLite", await timed(scan, queries(AGENT)[:LINEAR_ROUNDS]))
    for one in (store, alone):
        await one.close()


if __name__ == "__main__":
    asyncio.run(main(int(sys.argv[1]), Path(sys.argv[2]).absolute()))
