"""A store that asks another memorywire for everything, value by value."""

from collections.abc import Mapping, Sequence
from typing import Any

from memorywire.model.capabilities import Feature
from memorywire.model.change import Change, Footprint, Version
from memorywire.model.codec import dump, load
from memorywire.model.errors import (
    CapabilityUnsupported,
    Conflict,
    Forbidden,
    MemorywireError,
    RateLimited,
    SpaceMismatch,
    StoreBusy,
    StoreCorrupt,
    StoreError,
    StoreUnavailable,
    Unauthenticated,
    UnknownOperation,
)
from memorywire.model.query import Query, Scored, Where
from memorywire.model.record import Json, Record, Scope
from memorywire.model.space import Space
from memorywire.stores.remote.client import Link
from memorywire.stores.remote.protocol import COUNTER, HISTORIAN, PATH, TRACKER, VERBS, About

NAME = "remote"


class RemoteStore:
    """The verbs that every store has."""

    def __init__(self, link: Link, about: About) -> None:
        self._link = link
        self.name = NAME
        names = {feature.value for feature in Feature}
        self.features = frozenset(Feature(name) for name in about.features if name in names)

    @staticmethod
    async def opened(link: Link, space: Space) -> "RemoteStore":
        """The store at the other end, able to do here what it can do there."""
        about: About = await _ask(link, "about")
        if about.space != space:
            await link.close()
            raise SpaceMismatch(
                f"the other memorywire keeps vectors of {about.space}, not of {space}",
                field="embedder",
                fix="use the same embedder on both sides",
            )
        abilities = set(about.abilities)
        bases = tuple(verbs for required, verbs in _ABILITIES if set(required) <= abilities)
        kind: type[RemoteStore] = type("RemoteStore", (*bases, RemoteStore), {})
        return kind(link, about)

    async def write(self, change: Change) -> int:
        sequence: int = await self._ask("write", change)
        return sequence

    async def get(self, scope: Scope, ids: Sequence[str]) -> list[Record]:
        return list(await self._ask("get", scope, tuple(ids)))

    async def find(self, where: Where, after: str | None = None, limit: int = 100) -> list[Record]:
        return list(await self._ask("find", where, after, limit))

    async def count(self, where: Where) -> int:
        count: int = await self._ask("count", where)
        return count

    async def search(self, query: Query, limit: int) -> list[Scored]:
        return list(await self._ask("search", query, limit))

    async def duplicate(self, record: Record, at: int) -> Record | None:
        same: Record | None = await self._ask("duplicate", record, at)
        return same

    async def health(self) -> Mapping[str, Json]:
        health: Mapping[str, Json] = await self._ask("health")
        return health

    async def close(self) -> None:
        await self._link.close()

    async def _ask(self, verb: str, *arguments: object) -> Any:
        return await _ask(self._link, verb, *arguments)


class _Historian(RemoteStore):
    async def history(self, scope: Scope, id: str) -> list[Version]:
        return list(await self._ask("history", scope, id))

    async def footprint(self, scope: Scope, change_id: str) -> Footprint | None:
        footprint: Footprint | None = await self._ask("footprint", scope, change_id)
        return footprint

    async def committed(self, scope: Scope, key: str) -> Footprint | None:
        footprint: Footprint | None = await self._ask("committed", scope, key)
        return footprint

    async def changes(self, scope: Scope, limit: int) -> list[Change]:
        return list(await self._ask("changes", scope, limit))


class _Tracker(RemoteStore):
    async def touch(self, scope: Scope, ids: Sequence[str], at: int) -> None:
        await self._ask("touch", scope, tuple(ids), at)


class _Counter(RemoteStore):
    async def recalls(self, records: Sequence[Record]) -> Sequence[int]:
        counts: Sequence[int] = await self._ask("recalls", tuple(records))
        return counts


_ABILITIES = ((HISTORIAN, _Historian), (TRACKER, _Tracker), (COUNTER, _Counter))


_USUAL_FIX = "put a token with the right to manage into the URL: https://TOKEN@HOST"
_FIXES = {
    "tenant": "open the memory with the tenant of the token, Memory(tenant=...), or on the command line "
    "with the URL https://TOKEN@HOST?tenant=NAME",
    "Memorywire-Tenant": "name a tenant of the token in the URL: https://TOKEN@HOST?tenant=NAME",
    "agent_id": "use a token of this agent, or name an agent of the token",
}
"""What to do about a valid token without the right, by the field it was refused for."""


async def _ask(link: Link, verb: str, *arguments: object) -> Any:
    """The answer as a value; every verb can safely be repeated, because a change is known by its id."""
    try:
        answer = await link.post(f"{PATH}/{verb}", [dump(argument) for argument in arguments])
        return load(VERBS[verb].gives, answer["answer"])
    except MemorywireError as error:
        raise _as_store_error(error) from error
    except (KeyError, TypeError, ValueError) as error:
        raise StoreCorrupt(f"the other memorywire's answer to {verb} makes no sense") from error


def _as_store_error(error: MemorywireError) -> MemorywireError:
    """The error as one that a store may raise: a conflict, a missing ability, or no answer."""
    if isinstance(error, Conflict | CapabilityUnsupported | StoreError):
        return error
    if isinstance(error, RateLimited):
        return StoreBusy(error.detail, fix=error.fix)
    if isinstance(error, Unauthenticated | Forbidden):
        fix = _FIXES.get(error.field or "", _USUAL_FIX)
        return StoreUnavailable(f"the other memorywire refused: {error.detail}", field="store", fix=fix)
    if isinstance(error, UnknownOperation):
        return StoreUnavailable("the other memorywire does not serve its store", fix="update it")
    return StoreUnavailable(f"the other memorywire could not answer: {error.detail}", fix=error.fix)
