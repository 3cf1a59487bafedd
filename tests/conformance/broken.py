"""Stores that break one promise each, to see that the kit finds it."""

from collections.abc import Sequence

from msgspec.structs import replace

from memorywire.model.capabilities import Feature
from memorywire.model.change import Change
from memorywire.model.query import Query, Scored, Where
from memorywire.model.record import Json, Record, Scope
from memorywire.model.space import Space
from memorywire.stores.memory import MemoryStore


class Leaky(MemoryStore):
    """Shows an agent's memories to every agent of the tenant, by id."""

    async def get(self, scope: Scope, ids: Sequence[str]) -> list[Record]:
        found = [chain[-1].version.record for (_, id), chain in self._chains.items() if id in ids]
        return [record for record in found if record is not None and record.scope.tenant == scope.tenant]


class Forgetful(MemoryStore):
    """Loses every seventh change, and says nothing."""

    asked = 0

    async def write(self, change: Change) -> int:
        self.asked += 1
        return 1 if self.asked % 7 == 0 else await super().write(change)


class Late(MemoryStore):
    """Takes the best first and filters afterwards."""

    async def search(self, query: Query, limit: int) -> list[Scored]:
        agent = Scope(agent=query.where.scope.agent, tenant=query.where.scope.tenant)
        wide = Query(
            where=Where(scope=agent, alive_at=query.where.alive_at), text=query.text, vector=query.vector
        )
        return [hit for hit in await super().search(wide, limit) if query.where.matches(hit.record)]


class Fleeting(MemoryStore):
    """Calls itself durable, and begins empty whenever it is opened."""

    features = frozenset(Feature)


class Trimming(MemoryStore):
    """Keeps a content without the blanks around it."""

    async def write(self, change: Change) -> int:
        put = (replace(put, record=replace(put.record, content=_trimmed(put.record))) for put in change.put)
        return await super().write(replace(change, put=tuple(put)))


def _trimmed(record: Record) -> Json:
    return record.content.strip() if isinstance(record.content, str) else record.content


class Overlapping(MemoryStore):
    """Begins a page with the last memory of the page before."""

    async def find(self, where: Where, after: str | None = None, limit: int = 100) -> list[Record]:
        found = await super().find(where, None, 1_000)
        return [record for record in found if after is None or record.id >= after][:limit]


class Simple(MemoryStore):
    """Promises little, and keeps it."""

    features = frozenset({Feature.VECTOR})


async def open_store(url: str, *, space: Space) -> MemoryStore:
    """`broken://leaky` and its like."""
    kinds = {"leaky": Leaky, "forgetful": Forgetful, "late": Late, "simple": Simple}
    return kinds[url.removeprefix("broken://")](space)
