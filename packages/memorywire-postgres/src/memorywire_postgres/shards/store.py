"""The sharded store: sends each operation to the shard of its agent."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from typing import Self, TypeVar

from memorywire.model.capabilities import Feature
from memorywire.model.change import Change, Footprint, Version
from memorywire.model.errors import MemorywireError, StoreBusy
from memorywire.model.query import Query, Scored, Where
from memorywire.model.record import Json, Record, Scope
from memorywire.model.space import Space
from memorywire_postgres.database import AgentElsewhere
from memorywire_postgres.shards.directory import Directory, Map, Shard, bucket_of
from memorywire_postgres.store import PostgresStore

T = TypeVar("T")

LEASE = 1.0
"""Seconds that a map may be used; a moved bucket accepts writes once every older map has expired."""

_PATIENCE = 60.0  # longest that a write waits for a bucket being moved, in seconds
_PAUSE = 0.05


class ShardedStore:
    """Agents over many databases; satisfies the protocols of PostgresStore except SupportsJournal.

    An operation of an agent uses one shard. If a shard is unreachable, only its agents are affected.
    """

    name = "shards"
    features = frozenset(Feature)

    def __init__(self, directory: Directory, space: Space, map_: Map) -> None:
        self.directory = directory
        self._space = space
        self._map = map_
        self._read_at = time.monotonic()
        self._opened: dict[int, PostgresStore] = {}
        self._opening = asyncio.Lock()

    @classmethod
    async def opened(cls, directory: Directory, space: Space) -> Self:
        return cls(directory, space, await directory.read())

    async def write(self, change: Change) -> int:
        return await self._at(change.scope.agent, lambda store: store.write(change))

    async def get(self, scope: Scope, ids: Sequence[str]) -> list[Record]:
        return await self._at(scope.agent, lambda store: store.get(scope, ids))

    async def find(self, where: Where, after: str | None = None, limit: int = 100) -> list[Record]:
        return await self._at(where.scope.agent, lambda store: store.find(where, after, limit))

    async def newest(self, where: Where, before: str | None, limit: int) -> list[Record]:
        return await self._at(where.scope.agent, lambda store: store.newest(where, before, limit))

    async def count(self, where: Where) -> int:
        return await self._at(where.scope.agent, lambda store: store.count(where))

    async def search(self, query: Query, limit: int) -> list[Scored]:
        return await self._at(query.where.scope.agent, lambda store: store.search(query, limit))

    async def duplicate(self, record: Record, at: int) -> Record | None:
        return await self._at(record.scope.agent, lambda store: store.duplicate(record, at))

    async def history(self, scope: Scope, id: str) -> list[Version]:
        return await self._at(scope.agent, lambda store: store.history(scope, id))

    async def footprint(self, scope: Scope, change_id: str) -> Footprint | None:
        return await self._at(scope.agent, lambda store: store.footprint(scope, change_id))

    async def committed(self, scope: Scope, key: str) -> Footprint | None:
        return await self._at(scope.agent, lambda store: store.committed(scope, key))

    async def changes(self, scope: Scope, limit: int) -> list[Change]:
        return await self._at(scope.agent, lambda store: store.changes(scope, limit))

    async def agents(self, tenant: str) -> list[str]:
        agents: list[str] = []
        for shard in (await self._current()).shards.values():
            own = await (await self._store(shard)).agents(tenant)
            agents += [agent for agent in own if await self._keeps(shard, agent)]
        return sorted(agents)

    async def log(self, scope: Scope, after: int, limit: int) -> list[Footprint]:
        return await self._at(scope.agent, lambda store: store.log(scope, after, limit))

    async def origins(self, tenant: str, ids: Sequence[str]) -> Mapping[str, str]:
        return _together(await self._each(lambda store: store.origins(tenant, ids)))

    async def known(self, tenant: str, change_ids: Sequence[str]) -> Mapping[str, str]:
        return _together(await self._each(lambda store: store.known(tenant, change_ids)))

    async def vectors(self, tenant: str, versions: Sequence[tuple[str, int]]) -> list[bytes | None]:
        each = await self._each(lambda store: store.vectors(tenant, versions))
        return [next((one for one in copies if one is not None), None) for copies in zip(*each, strict=True)]

    async def touch(self, scope: Scope, ids: Sequence[str], at: int) -> None:
        await self._at(scope.agent, lambda store: store.touch(scope, ids, at))

    async def recalls(self, records: Sequence[Record]) -> Sequence[int]:
        counts: dict[int, int] = {}
        for agent in {record.scope.agent for record in records}:
            own = [index for index, record in enumerate(records) if record.scope.agent == agent]
            of_agent = [records[index] for index in own]
            numbers = await self._count_recalls(agent, of_agent)
            counts |= dict(zip(own, numbers, strict=True))
        return [counts[index] for index in range(len(records))]

    async def owners(self, tenant: str) -> list[tuple[str, int]]:
        """Return the owners of all shards, so all of them must answer."""
        owners: list[tuple[str, int]] = []
        for shard in (await self._current()).shards.values():
            own = await (await self._store(shard)).owners(tenant)
            owners += [(agent, live) for agent, live in own if await self._keeps(shard, agent)]
        return sorted(owners)

    async def health(self) -> Mapping[str, Json]:
        """Return the health of each shard; for an unreachable one, its problem."""
        current = await self._current()
        each: dict[str, Json] = {}
        for shard in current.shards.values():
            try:
                each[shard.name] = dict(await (await self._store(shard)).health())
            except MemorywireError as error:
                each[shard.name] = {"ok": False, "problem": error.detail}
        moving = {str(bucket): current.shards[to].name for bucket, to in current.targets.items()}
        return {
            "ok": bool(each) and all(state["ok"] for state in each.values()),
            "edition": current.edition,
            "shards": each,
            "moving": moving,
        }

    async def close(self) -> None:
        for store in self._opened.values():
            await store.close()
        await self.directory.close()

    async def _count_recalls(self, agent: str, records: Sequence[Record]) -> Sequence[int]:
        return await self._at(agent, lambda store: store.recalls(records))

    async def _each(self, act: Callable[[PostgresStore], Awaitable[T]]) -> list[T]:
        """Return the results of all shards, so all of them must answer."""
        shards = (await self._current()).shards.values()
        return [await act(await self._store(shard)) for shard in shards]

    async def _keeps(self, shard: Shard, agent: str) -> bool:
        return (await self._current()).shard_of(bucket_of(agent)).number == shard.number

    async def _at(self, agent: str, act: Callable[[PostgresStore], Awaitable[T]]) -> T:
        """Return the result from the agent's shard; a write to a bucket being moved waits for the move."""
        deadline = time.monotonic() + _PATIENCE
        while True:
            shard = (await self._current()).shard_of(bucket_of(agent))
            try:
                return await act(await self._store(shard))
            except AgentElsewhere as error:
                if time.monotonic() > deadline:
                    raise StoreBusy("the agent is being moved to another shard", fix="retry") from error
                await asyncio.sleep(_PAUSE)
                await self._refresh()

    async def _current(self) -> Map:
        if time.monotonic() - self._read_at >= LEASE:
            await self._refresh()
        return self._map

    async def _refresh(self) -> None:
        """Read the map again; if the directory is unreachable the last map stays in use, because each shard
        rejects buckets that it does not hold.
        """
        asked_at = time.monotonic()
        try:
            self._map = await self.directory.read()
        except MemorywireError:
            return
        self._read_at = asked_at

    async def _store(self, shard: Shard) -> PostgresStore:
        async with self._opening:
            if shard.number not in self._opened:
                self._opened[shard.number] = await PostgresStore.opened(shard.location, self._space)
        return self._opened[shard.number]


def _together(each: Iterable[Mapping[str, str]]) -> dict[str, str]:
    return {name: value for answers in each for name, value in answers.items()}
