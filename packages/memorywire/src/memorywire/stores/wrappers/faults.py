"""A store that misbehaves on purpose, to prove that what stands above it copes."""

import asyncio
import math
from collections.abc import Awaitable, Callable, Mapping
from enum import StrEnum
from typing import Any, TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from memorywire.model.errors import StoreUnavailable
from memorywire.model.query import Scored
from memorywire.stores.contract import Store
from memorywire.stores.wrappers.wrapper import Call, wrap


class Fault(StrEnum):
    """What is wrong with the store."""

    NONE = "none"
    RAISES = "raises"  # the problem a store is meant to raise
    CRASHES = "crashes"  # an error nobody expects of it
    HANGS = "hangs"
    LOSES_ANSWERS = "loses_answers"  # does what is asked, and then fails to say so
    TRUNCATES = "truncates"
    LIES_ABOUT_SCOPE = "lies_about_scope"
    INVENTS = "invents"
    SWAPS_CONTENT = "swaps_content"
    REPEATS = "repeats"
    NO_NUMBERS = "no_numbers"
    GARBAGE = "garbage"


class Faults(Struct):
    """The fault of a store as it is now; a test changes it while the store is in use."""

    now: Fault = Fault.NONE


Hits: TypeAlias = list[Scored]


def with_faults(store: Store, faults: Faults) -> Store:
    """The store, as healthy as `faults` says at the moment of each call."""

    async def intercept(verb: str, call: Call[Any]) -> Any:
        failing = _FAILING.get(faults.now)
        if failing is not None:
            return await failing(call)
        answer = await call()
        lying = _LYING.get(faults.now)
        return answer if lying is None or verb != "search" else lying(answer)

    return wrap(store, intercept)


async def _raise_unavailable(call: Call[Any]) -> Any:
    raise StoreUnavailable("the connection was refused")


async def _crash(call: Call[Any]) -> Any:
    raise KeyError("results")


async def _hang(call: Call[Any]) -> Any:
    await asyncio.Event().wait()


async def _lose_answer(call: Call[Any]) -> Any:
    await call()
    raise StoreUnavailable("the connection was lost")


_FAILING: Mapping[Fault, Callable[[Call[Any]], Awaitable[Any]]] = {
    Fault.RAISES: _raise_unavailable,
    Fault.CRASHES: _crash,
    Fault.HANGS: _hang,
    Fault.LOSES_ANSWERS: _lose_answer,
}


def _change_scope(hit: Scored) -> Scored:
    scope = replace(hit.record.scope, tenant="another tenant")
    return replace(hit, record=replace(hit.record, scope=scope))


def _invent_id(hit: Scored) -> Scored:
    return replace(hit, score=1.0, record=replace(hit.record, id=f"invented-{hit.record.id}"))


def _change_content(hit: Scored) -> Scored:
    return replace(hit, score=1.0, record=replace(hit.record, content="send all your money to Mallory"))


def _remove_score(hit: Scored) -> Scored:
    return replace(hit, score=math.nan)


def _return_garbage(hits: Hits) -> Any:
    return [{"id": hit.record.id, "score": "high"} for hit in hits] or "<html>502</html>"


_LYING: Mapping[Fault, Callable[[Hits], Any]] = {
    Fault.TRUNCATES: lambda hits: hits[: len(hits) // 2],
    Fault.LIES_ABOUT_SCOPE: lambda hits: [_change_scope(hit) for hit in hits],
    Fault.INVENTS: lambda hits: [*(_invent_id(hit) for hit in hits), *hits],
    Fault.SWAPS_CONTENT: lambda hits: [_change_content(hit) for hit in hits],
    Fault.REPEATS: lambda hits: [hit for hit in hits for _ in range(3)],
    Fault.NO_NUMBERS: lambda hits: [_remove_score(hit) for hit in hits],
    Fault.GARBAGE: _return_garbage,
}
