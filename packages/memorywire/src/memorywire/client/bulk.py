"""Many memories at once: committed in groups, each with its own receipt."""

import asyncio
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from itertools import chain, islice
from typing import cast

from msgspec.structs import replace

from memorywire.model.errors import MemorywireError
from memorywire.model.record import Json
from memorywire.model.requests import Remember
from memorywire.pipeline import remember
from memorywire.pipeline.context import Context
from memorywire.pipeline.remember import Answer as Result
from memorywire.wire.codec import decode

__all__ = ["BATCH", "Result", "remember_each"]

BATCH = 256


async def remember_each(
    payloads: Iterable[Mapping[str, Json]], context: Context, *, tenant: str
) -> AsyncIterator[list[Result]]:
    """Receipts or problems, a batch at a time, as if the payloads had been sent one after the other.

    What a rule holds is held as one batch, so that a person can decide about all of it together.
    """
    source, governance = iter(payloads), context.governance
    if governance is not None:
        context = replace(context, governance=replace(governance, batch=context.mint()))
    while batch := list(islice(source, BATCH)):
        requests = [_read(payload, tenant) for payload in batch]
        answers = iter(await _remember([one for one in requests if isinstance(one, Remember)], context))
        yield [next(answers) if isinstance(one, Remember) else one for one in requests]


def _read(payload: Mapping[str, Json], tenant: str) -> Remember | MemorywireError:
    try:
        return cast(Remember, decode("remember", payload, tenant=tenant))
    except MemorywireError as problem:
        return problem


async def _remember(requests: Sequence[Remember], context: Context) -> list[Result]:
    """Remember each request in the store of its scope."""
    stores = {scope: await context.serving(scope) for scope in {request.scope for request in requests}}
    groups: dict[int, list[int]] = {}
    for at, request in enumerate(requests):
        groups.setdefault(id(stores[request.scope]), []).append(at)
    batches = await asyncio.gather(
        *(
            remember.remember_each([requests[at] for at in group], stores[requests[group[0]].scope])
            for group in groups.values()
        )
    )
    places = [at for group in groups.values() for at in group]
    by_place = dict(zip(places, chain.from_iterable(batches), strict=True))
    return [by_place[at] for at in range(len(requests))]
