"""Many memories at once: embedded in batches, committed in groups, each with its own receipt."""

import asyncio
from collections.abc import AsyncIterator, Iterable, Iterator, Mapping
from dataclasses import replace
from itertools import islice
from typing import TypeAlias

from memorywire.engine.clean import Cleaned, without_secrets
from memorywire.engine.remember import draft, remember
from memorywire.engine.tools import Tools
from memorywire.model.answers import Remembered
from memorywire.model.errors import MemorywireError
from memorywire.model.record import Json, Record
from memorywire.model.requests import Remember
from memorywire.model.values import dataclass
from memorywire.wire import validate
from memorywire.wire.codec import decode

BATCH = 128

Result: TypeAlias = Remembered | MemorywireError


async def remember_each(
    payloads: Iterable[Mapping[str, Json]], tools: Tools, *, tenant: str
) -> AsyncIterator[list[Result]]:
    """Receipts or problems, a batch at a time, as if the payloads had been sent one after the other."""
    source, tools = iter(payloads), _together(tools)
    while batch := list(islice(source, BATCH)):
        yield await _remember_batch(batch, tools, tenant)


def _together(tools: Tools) -> Tools:
    """Whatever of these is held is held as one batch."""
    office = tools.office
    return tools if office is None else replace(tools, office=replace(office, batch=tools.mint()))


async def _remember_batch(payloads: list[Mapping[str, Json]], tools: Tools, tenant: str) -> list[Result]:
    read = [_read(payload, tools, tenant) for payload in payloads]
    sound = [item for item in read if isinstance(item, _Item)]
    vectors = await tools.embedder.embed([item.record.meaning for item in sound])
    kept: list[Result] = []
    for run in _runs(sound):
        mine = vectors[len(kept) : len(kept) + len(run)]
        kept += await asyncio.gather(
            *(_attempt(item, tools, vector) for item, vector in zip(run, mine, strict=True))
        )
    results = iter(kept)
    return [next(results) if isinstance(item, _Item) else item for item in read]


@dataclass(frozen=True, slots=True)
class _Item:
    """A request, the same without its secrets, and what it would keep."""

    request: Remember
    redacted: Cleaned
    record: Record


def _runs(items: Iterable[_Item]) -> Iterator[list[_Item]]:
    """Stretches whose members cannot notice each other, so that order only matters between stretches.

    What ends or replaces a memory stands alone: nobody can tell from here what that makes room for.
    """
    run: list[_Item] = []
    named: set[tuple[str, str | None]] = set()
    for item in items:
        request = item.request
        names = {("content", item.record.digest), ("id", request.id), ("key", request.idempotency_key)}
        names -= {("id", None), ("key", None)}
        alone = bool(request.supersedes) or request.if_version is not None
        if run and (alone or not named.isdisjoint(names)):
            yield run
            run, named = [], set()
        run.append(item)
        named |= names
        if alone:
            yield run
            run, named = [], set()
    if run:
        yield run


def _read(payload: Mapping[str, Json], tools: Tools, tenant: str) -> _Item | MemorywireError:
    try:
        validate.check("remember", payload)
        request = decode("remember", payload, tenant=tenant)
        assert isinstance(request, Remember)  # noqa: S101 - narrows the type
        redacted = without_secrets(request, tools)
    except MemorywireError as problem:
        return problem
    return _Item(request, redacted, draft(redacted.request))


async def _attempt(item: _Item, tools: Tools, vector: bytes) -> Result:
    try:
        placed = await tools.serving(item.request.scope)
        return await remember(item.request, placed, vector, item.redacted)
    except MemorywireError as problem:
        return problem
