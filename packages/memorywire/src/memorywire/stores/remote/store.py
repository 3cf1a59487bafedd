"""A store that forwards every call to another memorywire."""

from collections.abc import Awaitable, Callable
from itertools import chain
from typing import Any, cast

from memorywire.model.capabilities import Feature
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
from memorywire.model.query import Where
from memorywire.model.record import Record
from memorywire.model.space import Space
from memorywire.stores.contract import Store
from memorywire.stores.remote.client import Link
from memorywire.stores.remote.protocol import COUNTER, GRAPH, HISTORIAN, PATH, TRACKER, VERBS, About

NAME = "remote"
_EVERYWHERE = ("write", "get", "count", "search", "duplicate", "health")


class RemoteStore:
    """The store at the other end of a link; `open_remote` adds the methods that only forward calls."""

    def __init__(self, link: Link, about: About) -> None:
        self._link = link
        self.name = NAME
        names = {feature.value for feature in Feature}
        self.features = frozenset(Feature(name) for name in about.features if name in names)

    async def find(self, where: Where, after: str | None = None, limit: int = 100) -> list[Record]:
        return list(await _ask(self._link, "find", where, after, limit))

    async def close(self) -> None:
        await self._link.close()


def _build_verb(verb: str) -> Callable[..., Awaitable[Any]]:
    async def pass_on(self: RemoteStore, *arguments: object) -> Any:
        answer = await _ask(self._link, verb, *arguments)
        return list(answer) if isinstance(answer, tuple) else answer

    return pass_on


async def open_remote(link: Link, space: Space) -> Store:
    """Open the store at the other end, with the optional protocols that it supports there."""
    about: About = await _ask(link, "about")
    if about.space != space:
        await link.close()
        raise SpaceMismatch(
            f"the other memorywire keeps vectors of {about.space}, not of {space}",
            field="embedder",
            fix="use the same embedder on both sides",
        )
    abilities = [
        names for names in (HISTORIAN, TRACKER, COUNTER, GRAPH) if set(names) <= set(about.abilities)
    ]
    verbs = (*_EVERYWHERE, *chain.from_iterable(abilities))
    kind = type("RemoteStore", (RemoteStore,), {verb: _build_verb(verb) for verb in verbs})
    return cast(Store, kind(link, about))


_USUAL_FIX = "put a token with the right to manage into the URL: https://TOKEN@HOST"
_FIXES = {
    "tenant": "open the memory with the tenant of the token, Memory(tenant=...), or on the command line "
    "with the URL https://TOKEN@HOST?tenant=NAME",
    "Memorywire-Tenant": "name a tenant of the token in the URL: https://TOKEN@HOST?tenant=NAME",
    "agent_id": "use a token of this agent, or name an agent of the token",
}
"""Fixes for a valid token without the needed right, by the field of the error."""


async def _ask(link: Link, verb: str, *arguments: object) -> Any:
    """Call a verb and return its result; repeating any verb is safe, as changes are idempotent by id."""
    try:
        answer = await link.post(f"{PATH}/{verb}", [dump(argument) for argument in arguments])
        return load(VERBS[verb].gives, answer["answer"])
    except MemorywireError as error:
        raise _as_store_error(error) from error
    except (KeyError, TypeError, ValueError) as error:
        raise StoreCorrupt(f"the other memorywire's answer to {verb} cannot be read") from error


def _as_store_error(error: MemorywireError) -> MemorywireError:
    """Map an error to one that a store may raise: a conflict, a missing feature, or a StoreError."""
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
