"""Kills a Postgres in the middle of its work, many times, and counts what it lost; then lets a crowd write.

python tools/pg_torture.py [DEATHS [SECONDS]]
"""

import asyncio
import random
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))  # the trials are those of the tests

from memorywire.model.errors import MemorywireError
from memorywire_evals.bench.timing import spread
from memorywire_testing.samples import a_change, a_record, a_scope, a_vector, beginning
from tests.postgres.crash import careless_crashes, crashes, serving
from tests.postgres.desk import Server, opened

WRITERS, AGENTS = 64, 16


def kill(folder: Path, server: Server, deaths: int) -> bool:
    acknowledged, lost, torn = asyncio.run(crashes(folder, server, deaths, random.Random(1)))
    print(f"{deaths} deaths, {acknowledged} acknowledged changes, {lost} lost, {torn} torn", flush=True)
    missed = careless_crashes(folder, server, trials=10)
    print(f"without waiting for the disk: {missed} lost, as some must be", flush=True)
    return not lost and not torn and missed > 0


async def crowd(server: Server, seconds: float) -> bool:
    """Many writers at once, more than there are connections, several to each agent."""
    agents = [a_scope() for _ in range(AGENTS)]
    taken: list[float] = []
    errors: list[str] = []

    async def write(writer: int, end: float) -> None:
        scope = agents[writer % AGENTS]
        while (started := time.perf_counter()) < end:
            try:
                await store.write(a_change(scope, beginning(a_record(scope, "a fact"), a_vector(1, writer))))
            except MemorywireError as error:
                errors.append(error.detail)
            taken.append(time.perf_counter() - started)

    async with opened(server.url("crowd", pool=16)) as store:
        end = time.perf_counter() + seconds
        await asyncio.gather(*(write(writer, end) for writer in range(WRITERS)))
    found = spread(taken)
    print(f"{WRITERS} writers for {seconds:.0f} s: {len(taken)} writes, {len(errors)} errors {errors[:3]}")
    print(f"a write took {found.p50:.1f} / {found.p95:.1f} ms, p50 / p95, waiting for a connection included")
    return not errors


def main(deaths: int = 50, seconds: int = 300) -> int:
    with serving("torture") as (folder, server):
        return 0 if kill(folder, server, deaths) and asyncio.run(crowd(server, seconds)) else 1


if __name__ == "__main__":
    sys.exit(main(*map(int, sys.argv[1:])))
