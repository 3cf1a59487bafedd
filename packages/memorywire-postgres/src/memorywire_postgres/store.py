"""The Postgres store: implements the store contract over one database."""

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Self

from memorywire.model.capabilities import Feature
from memorywire.model.change import Change, Footprint, Version
from memorywire.model.query import Query, Scored, Where
from memorywire.model.record import Json, Record, Scope
from memorywire.model.space import Space
from memorywire_postgres import apply, reads
from memorywire_postgres.database import Connection, Database, T, Work, fetch, map_errors
from memorywire_postgres.location import Location
from memorywire_postgres.migrate import migrate
from memorywire_postgres.rows import QUERIES, encode_text
from memorywire_postgres.search import Searcher

if TYPE_CHECKING:
    from memorywire.journal.backend import Work as JournalWork
    from memorywire_postgres.journal import PostgresBackend

EXACT = 20_000
"""A scope with at most this many live memories is searched by comparing each of them."""

_NO_TENANT = "-"  # a transaction needs a tenant, even if it reads no rows of one

# Losing a recall time in a crash is harmless, and a recall should not wait for fsync.
_ASYNC_COMMIT = {"synchronous_commit": "off"}

# Searches use the index of their scope; their plans are cached for a connection and never JIT-compiled.
_SEARCH_SETTINGS = {
    "enable_seqscan": "off",
    "plan_cache_mode": "force_generic_plan",
    "jit": "off",
    "max_parallel_workers_per_gather": "0",
}


class PostgresStore:
    """Memories in one Postgres schema.

    Satisfies Store, SupportsHistory, Tracker, RecallCounter, SupportsListing and SupportsJournal.

    Safe for concurrent tasks, processes and machines. Writers of one agent are serialised; writes are as
    durable as the server's commits. `database` runs functions in transactions of one tenant.
    """

    name = "postgres"

    def __init__(
        self,
        database: Database,
        space: Space,
        *,
        durable: bool,
        exact: int = EXACT,
        replica: Database | None = None,
    ) -> None:
        """The `replica`, if there is one, answers searches and lists; `database` does everything else."""
        self.database = database
        self._replica = replica
        self._space = space
        self._durable = durable
        self._exact = exact
        self._searcher = Searcher.of(space, exact)

    @classmethod
    async def opened(cls, location: Location, space: Space, *, exact: int = EXACT) -> Self:
        """Migrate the schema and open the connection pools."""
        with map_errors(location):
            extension, has_pooler = await migrate(location, space)
        database = Database(location, extension, is_pooled=has_pooler)
        replica = Database(location, extension, stale=True, is_pooled=has_pooler) if location.stale else None
        try:
            await database.open()
            if replica is not None:
                await replica.open()
            [about] = await database.read(_NO_TENANT, lambda db: fetch(db, QUERIES["about_server"]))
        except BaseException:
            for pool in (database, replica):
                if pool is not None:
                    await pool.close()
            raise
        return cls(database, space, durable=about[2], exact=exact, replica=replica)

    @property
    def features(self) -> frozenset[Feature]:
        features = frozenset(Feature) - {Feature.GRAPH}
        return features if self._durable else features - {Feature.DURABLE}

    def applying(self, change: Change) -> Callable[[Connection], Awaitable[int]]:
        """Return the work that commits a change, for `database.write`; it can be combined with other work."""
        return apply.applying(change, self._space, announce=self.database.location.notify)

    async def write(self, change: Change) -> int:
        work = await apply.run_aside(len(change.put), self.applying, change)
        return await self.database.write(encode_text(change.scope.tenant), work)

    async def get(self, scope: Scope, ids: Sequence[str]) -> list[Record]:
        return await self._read(scope, lambda db: reads.get(db, scope, ids))

    async def find(self, where: Where, after: str | None = None, limit: int = 100) -> list[Record]:
        return await self._read_replica(where.scope, lambda db: reads.find(db, where, after, limit))

    async def newest(self, where: Where, before: str | None, limit: int) -> list[Record]:
        return await self._read_replica(
            where.scope, lambda db: reads.find(db, where, before, limit, backwards=True)
        )

    async def owners(self, tenant: str) -> list[tuple[str, int]]:
        return await self.database.read(encode_text(tenant), lambda db: reads.owners(db, tenant))

    async def count(self, where: Where) -> int:
        return await self._read_replica(where.scope, lambda db: reads.count(db, where))

    async def search(self, query: Query, limit: int) -> list[Scored]:
        self._searcher.refuse_others(query)
        if limit < 1:
            return []
        database, tenant = self._replica or self.database, encode_text(query.where.scope.tenant)
        hits = await self._searcher.search_cached(database, query, limit, _SEARCH_SETTINGS)
        if hits is not None:
            return hits
        return await database.look(
            tenant, lambda db: self._searcher.search(db, query, limit), _SEARCH_SETTINGS
        )

    async def duplicate(self, record: Record, at: int) -> Record | None:
        return await self._read(record.scope, lambda db: reads.duplicate(db, record, at))

    async def history(self, scope: Scope, id: str) -> list[Version]:
        return await self._read(scope, lambda db: reads.history(db, scope, id))

    async def footprint(self, scope: Scope, change_id: str) -> Footprint | None:
        return await self._read(scope, lambda db: reads.footprint(db, scope, change_id))

    async def committed(self, scope: Scope, key: str) -> Footprint | None:
        return await self._read(scope, lambda db: reads.committed(db, scope, key))

    async def changes(self, scope: Scope, limit: int) -> list[Change]:
        return await self._read(scope, lambda db: reads.changes(db, scope, limit))

    async def agents(self, tenant: str) -> list[str]:
        return await self.database.read(encode_text(tenant), lambda db: reads.agents(db, tenant))

    async def log(self, scope: Scope, after: int, limit: int) -> list[Footprint]:
        return await self._read(scope, lambda db: reads.log(db, scope, after, limit))

    async def origins(self, tenant: str, ids: Sequence[str]) -> Mapping[str, str]:
        return await self.database.read(encode_text(tenant), lambda db: reads.origins(db, tenant, ids))

    async def known(self, tenant: str, change_ids: Sequence[str]) -> Mapping[str, str]:
        return await self.database.read(encode_text(tenant), lambda db: reads.known(db, tenant, change_ids))

    async def vectors(self, tenant: str, versions: Sequence[tuple[str, int]]) -> list[bytes | None]:
        return await self.database.read(encode_text(tenant), lambda db: reads.vectors(db, tenant, versions))

    async def touch(self, scope: Scope, ids: Sequence[str], at: int) -> None:
        await self.database.write(
            encode_text(scope.tenant), lambda db: apply.touch(db, scope, ids, at), _ASYNC_COMMIT
        )

    async def recalls(self, records: Sequence[Record]) -> Sequence[int]:
        counts: dict[tuple[str, str], int] = {}
        for tenant in {record.scope.tenant for record in records}:
            ids = [record.id for record in records if record.scope.tenant == tenant]
            work = partial(reads.recalls, tenant=tenant, ids=ids)
            numbers = await self.database.read(encode_text(tenant), work)
            counts |= {(tenant, id): count for id, count in zip(ids, numbers, strict=True)}
        return [counts[record.scope.tenant, record.id] for record in records]

    async def listen(self) -> AsyncIterator[int]:
        """Yield the sequences of commits by all processes that opened the schema with `notify=on`."""
        async for word in self.database.listen(self.database.location.schema):
            if word:
                yield int(word)

    async def health(self) -> Mapping[str, Json]:
        """Return the server's state; without counts of memories, which only their tenant can read."""
        [about] = await self.database.read(_NO_TENANT, lambda db: fetch(db, QUERIES["about_server"]))
        server, vector, durable, unbound = about
        [(size,)] = await self.database.read(_NO_TENANT, lambda db: fetch(db, QUERIES["schema_bytes"]))
        how = "prepared" if self.database.prepares else "unprepared"
        return {
            "ok": True,
            "where": str(self.database.location),
            "postgres": server,
            "pgvector": vector,
            "durable": durable,
            "row_security": "bypassed by this role" if unbound else "enforced",
            "exact_up_to": self._exact,
            "bytes": size,
            **({"pooler": f"in between, statements are {how}"} if self.database.is_pooled else {}),
        }

    async def open_journal(
        self, beside: Path | None, is_current: "JournalWork[bool]", bring_up_to_date: "JournalWork[None]"
    ) -> "PostgresBackend":
        from memorywire_postgres.journal import PostgresBackend, find_path

        backend = PostgresBackend(self, find_path(beside, self))
        await backend.set_up(is_current, bring_up_to_date)
        return backend

    async def close(self) -> None:
        """Close the connection pools; may be called twice."""
        await self.database.close()
        if self._replica is not None:
            await self._replica.close()

    async def _read(self, scope: Scope, work: Work[T]) -> T:
        return await self.database.read(encode_text(scope.tenant), work)

    async def _read_replica(self, scope: Scope, work: Work[T]) -> T:
        """Return the result of the work, from the replica if there is one."""
        return await (self._replica or self.database).read(encode_text(scope.tenant), work)
