"""Many memories at once: embedded in batches, committed in groups, each with its own receipt."""

import asyncio
from collections.abc import AsyncIterator, Iterable, Iterator, Mapping
from itertools import islice
from typing import TypeAlias

from memorywire.engine.clean import without_secrets
from memorywire.engine.remember import draft, remember
from memorywire.engine.tools import Tools
from memorywire.model.answers import Remembered
from memorywire.model.errors import MemorywireError
from memorywire.model.record import Json, Record
from memorywire.model.requests import Remember
from memorywire.wire import validate
from memorywire.wire.codec import decode

BATCH = 128

Result: TypeAlias = Remembered | MemorywireError


async def remember_each(
    payloads: Iterable[Mapping[str, Json]], tools: Tools, *, tenant: str
) -> AsyncIterator[list[Result]]:
    """Receipts or problems, a batch at a time, as if the payloads had been sent one after the other."""
    source = iter(payloads)
    while batch := list(islice(source, BATCH)):
        yield await _remember_batch(batch, tools, tenant)


async def _remember_batch(payloads: list[Mapping[str, Json]], tools: Tools, tenant: str) -> list[Result]:
    requests = [_decoded(payload, tenant) for payload in payloads]
    sound = [request for request in requests if isinstance(request, Remember)]
    drafts = [draft(without_secrets(request, tools).request) for request in sound]
    vectors = await tools.embedder.embed([record.meaning for record in drafts])
    kept: list[Result] = []
    for run in _runs(zip(sound, drafts, strict=True)):
        mine = vectors[len(kept) : len(kept) + len(run)]
        kept += await asyncio.gather(
            *(_attempt(request, tools, vector) for request, vector in zip(run, mine, strict=True))
        )
    results = iter(kept)
    return [next(results) if isinstance(request, Remember) else request for request in requests]


def _runs(items: Iterable[tuple[Remember, Record]]) -> Iterator[list[Remember]]:
    """Stretches whose members cannot notice each other, so that order only matters between stretches.

    What ends or replaces a memory stands alone: nobody can tell from here what that makes room for.
    """
    run: list[Remember] = []
    named: set[tuple[str, str | None]] = set()
    for request, record in items:
        names = {("content", record.digest), ("id", request.id), ("key", request.idempotency_key)}
        names -= {("id", None), ("key", None)}
        alone = bool(request.supersedes) or request.if_version is not None
        if run and (alone or not named.isdisjoint(names)):
            yield run
            run, named = [], set()
        run.append(request)
        named |= names
        if alone:
            yield run
            run, named = [], set()
    if run:
        yield run


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
