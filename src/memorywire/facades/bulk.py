"""Many memories at once: embedded in batches, committed in groups, each with its own receipt."""

import asyncio
from collections.abc import AsyncIterator, Iterable, Iterator, Mapping
from itertools import islice
from typing import TypeAlias

from memorywire.engine.remember import indexed_text, remember
from memorywire.engine.tools import Tools
from memorywire.model.answers import Remembered
from memorywire.model.errors import MemorywireError
from memorywire.model.record import Json
from memorywire.model.requests import Remember
from memorywire.wire import validate
from memorywire.wire.codec import decode

BATCH = 128

Result: TypeAlias = Remembered | MemorywireError


async def remember_each(
    payloads: Iterable[Mapping[str, Json]], tools: Tools, *, tenant: str
) -> AsyncIterator[list[Result]]:
    """Receipts or problems in the order of the payloads, a batch at a time."""
    source = iter(payloads)
    while batch := list(islice(source, BATCH)):
        yield await _remember_batch(batch, tools, tenant)


async def _remember_batch(payloads: list[Mapping[str, Json]], tools: Tools, tenant: str) -> list[Result]:
    requests = [_decoded(payload, tenant) for payload in payloads]
    sound = [request for request in requests if isinstance(request, Remember)]
    vectors = await tools.embedder.embed([indexed_text(request) for request in sound])
    kept: Iterator[Result] = iter(
        await asyncio.gather(
            *(_attempt(request, tools, vector) for request, vector in zip(sound, vectors, strict=True))
        )
    )
    return [next(kept) if isinstance(request, Remember) else request for request in requests]


def _decoded(payload: Mapping[str, Json], tenant: str) -> Remember | MemorywireError:
    try:
        validate.check("remember", payload)
    except MemorywireError as problem:
        return problem
    request = decode("remember", payload, tenant=tenant)
    assert isinstance(request, Remember)  # noqa: S101 - narrows the type
    return request


async def _attempt(request: Remember, tools: Tools, vector: bytes) -> Result:
    try:
        return await remember(request, tools, vector)
    except MemorywireError as problem:
        return problem
