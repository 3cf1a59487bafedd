"""Kills the primary of a group of Postgres servers under load, many times, and counts what was lost.

python tools/ha_torture.py PROGRAMS [KILLS]      PROGRAMS as for tools/pg_cluster.py

Then the primary steps down on request, a bucket of agents moves from the group to another shard while it is
written, and that shard goes away.
"""

import asyncio
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))  # the servers are those of the tests

from memorywire.model.errors import MemorywireError
from memorywire.model.record import Scope
from memorywire.stores.contract import Store
from memorywire.stores.registry import open_store
from memorywire_postgres.shards.directory import Directory, bucket_of
from memorywire_postgres.shards.move import add, move
from memorywire_testing.samples import SPACE, a_change, a_record, a_vector, beginning
from pg_cluster import TTL, Cluster
from tests.postgres.crash import serving, started, stopped

WRITERS, WARM, CALM = 8, 3.0, 1.0
SCHEMA = "ha"


@dataclass
class Load:
    """Writers that never stop, what was acknowledged to them, and when."""

    store: Store
    acknowledged: dict[Scope, list[str]] = field(default_factory=dict)
    last: float = 0.0
    longest: float = 0.0
    errors: list[str] = field(default_factory=list)

    async def write(self, scope: Scope) -> None:
        self.acknowledged.setdefault(scope, [])
        while True:
            record = a_record(scope, "a fact")
            change = a_change(scope, beginning(record, a_vector(1, 2)))
            await self._until_taken(scope, lambda change=change: self.store.write(change))
            self.acknowledged[scope].append(record.id)
            now = time.monotonic()
            self.longest, self.last = max(self.longest, now - self.last if self.last else 0.0), now

    async def _until_taken(self, scope: Scope, attempt: Callable[[], Awaitable[int]]) -> None:
        while True:
            try:
                await attempt()
                return
            except MemorywireError as error:
                self.errors.append(f"{scope.agent}: {error.detail}")
                await asyncio.sleep(0.2)

    async def lost(self) -> tuple[int, int]:
        """How many were acknowledged, and how many of them are not there."""
        total = missing = 0
        for scope, written in self.acknowledged.items():
            for start in range(0, len(written), 500):
                some = written[start : start + 500]
                total += len(some)
                missing += len(some) - len(await self.store.get(scope, some))
        return total, missing


@asynccontextmanager
async def loaded(store: Store, agents: list[str]) -> AsyncIterator[Load]:
    load = Load(store)
    writers = [asyncio.create_task(load.write(Scope(agent=agent))) for agent in agents]
    try:
        yield load
    finally:
        for writer in writers:
            writer.cancel()
        await asyncio.gather(*writers, return_exceptions=True)


async def pause_of(load: Load, act: Callable[[], None]) -> float:
    """The longest time without an acknowledged write around an act."""
    await asyncio.sleep(WARM)
    load.longest = 0.0
    await asyncio.to_thread(act)
    began = time.monotonic()
    while True:
        if load.last > began + CALM:  # what was on its way when it happened does not count
            return load.longest
        await asyncio.sleep(0.05)


async def kills(cluster: Cluster, times: int) -> bool:
    store = await open_store(f"{cluster.url}&schema={SCHEMA}", space=SPACE)
    async with loaded(store, [f"writer {number}" for number in range(WRITERS)]) as load:
        late = 0
        for number in range(times):
            leader = cluster.leader() or 1
            away = await pause_of(load, lambda leader=leader: cluster.kill(leader))
            late += away > TTL
            cluster.join(leader)
            back = await asyncio.to_thread(cluster.wait_whole)
            print(
                f"| kill {number + 1} | writes back after {away:.1f} s | whole after {back:.0f} s more |",
                flush=True,
            )
        print(f"| back within the ttl of {TTL} s | {times - late} of {times} | |", flush=True)
        away = await pause_of(load, cluster.switch_over)
        await asyncio.to_thread(cluster.wait_whole)
        print(f"| the primary steps down on request | writes back after {away:.1f} s | |", flush=True)
    total, missing = await load.lost()
    print(f"| acknowledged writes | {total} | lost: {missing} |")
    print(f"| errors that callers saw | {len(load.errors)} | {sorted(set(load.errors))[:2]} |", flush=True)
    await store.close()
    return not missing


async def shards(cluster: Cluster) -> bool:
    with serving("ha-shard") as (folder, other):
        directory = await Directory.opened(f"{cluster.url}&schema=map")
        await add(directory, "group", f"{cluster.url}&schema={SCHEMA}_shard", SPACE)
        await add(directory, "other", other.url(f"{SCHEMA}_shard"), SPACE)
        store = await open_store(f"shards+{cluster.url}&schema=map", space=SPACE)
        async with loaded(store, ["ana", "ben"]) as load:
            await asyncio.sleep(WARM)
            moved = await move(directory, bucket_of("ana"), "other", time.monotonic)
            await asyncio.sleep(WARM)
        total, missing = await load.lost()
        print(
            f"| a bucket of {moved.versions} versions moved | its writes waited {moved.closed:.1f} s"
            f" | {total} acknowledged, lost: {missing} |",
            flush=True,
        )
        await asyncio.to_thread(stopped, folder, "immediate")
        crossed = await _one_is_down(store)
        await asyncio.to_thread(started, folder)
        await store.close()
        await directory.close()
    return not missing and not crossed


async def _one_is_down(store: Store) -> bool:
    """Whether an agent whose shard is away was served by anybody, or one whose shard is there was not."""
    health = await store.health()
    print(f"| one shard is away | reported: {not health['ok']} | |")
    here = await store.get(Scope(agent="ben"), ["nothing"])
    try:
        await store.get(Scope(agent="ana"), ["nothing"])
    except MemorywireError as error:
        print(f"| its agents | {error.code} | the others are served |", flush=True)
        return bool(here)
    return True


def main(programs: str, times: str = "5") -> int:
    cluster = Cluster(Path(programs).absolute(), Path("/tmp/memorywire-ha"))
    try:
        began = time.monotonic()
        cluster.start()
        print(f"| three servers up | after {time.monotonic() - began:.0f} s | |", flush=True)
        whole = asyncio.run(kills(cluster, int(times)))
        return 0 if asyncio.run(shards(cluster)) and whole else 1
    finally:
        cluster.stop()


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
