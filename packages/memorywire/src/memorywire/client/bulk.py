"""Many memories at once: embedded in batches, committed in groups, each with its own receipt."""

import asyncio
from collections.abc import AsyncIterator, Iterable, Iterator, Mapping, Sequence
from itertools import islice

from msgspec import Struct
from msgspec.structs import replace

from memorywire.model.errors import MemorywireError
from memorywire.model.record import Json, Record
from memorywire.model.requests import Remember
from memorywire.pipeline.context import Context
from memorywire.pipeline.remember import Cleaned, draft_record
from memorywire.pipeline.remember_many import Asked, Result, all_without_secrets
from memorywire.pipeline.remember_many import remember_each as remember_together
from memorywire.wire import validate
from memorywire.wire.codec import decode

__all__ = ["BATCH", "Result", "remember_each"]

BATCH = 128


async def remember_each(
    payloads: Iterable[Mapping[str, Json]], context: Context, *, tenant: str
) -> AsyncIterator[list[Result]]:
    """Receipts or problems, a batch at a time, as if the payloads had been sent one after the other."""
    source, context = iter(payloads), _together(context)
    while batch := list(islice(source, BATCH)):
        yield await _remember_batch(batch, context, tenant)


def _together(context: Context) -> Context:
    """Tools that hold whatever they hold as one batch."""
    office = context.office
    return context if office is None else replace(context, office=replace(office, batch=context.mint()))


async def _remember_batch(payloads: list[Mapping[str, Json]], context: Context, tenant: str) -> list[Result]:
    read = _items([_read(payload, tenant) for payload in payloads], context)
    sound = [item for item in read if isinstance(item, _Item)]
    vectors = iter(await context.embedder.embed([item.record.meaning for item in sound]))
    kept: list[Result] = []
    for run in _runs(sound):
        asked = [
            Asked(item.request, item.redacted, vector)
            for item, vector in zip(run, islice(vectors, len(run)), strict=True)
        ]
        kept += await _kept(asked, context)
    results = iter(kept)
    return [next(results) if isinstance(item, _Item) else item for item in read]


class _Item(Struct, frozen=True):
    """A request, its redacted form, and the record it would keep."""

    request: Remember
    redacted: Cleaned
    record: Record


def _runs(items: Iterable[_Item]) -> Iterator[list[_Item]]:
    """Stretches of requests whose members do not affect each other, so that each can be kept together.

    A request that ends or replaces a memory stands alone: what that makes room for cannot be told here.
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


def _read(payload: Mapping[str, Json], tenant: str) -> Remember | MemorywireError:
    try:
        validate.check("remember", payload)
        request = decode("remember", payload, tenant=tenant)
    except MemorywireError as problem:
        return problem
    assert isinstance(request, Remember)  # noqa: S101 - narrows the type
    return request


def _items(read: Sequence[Remember | MemorywireError], context: Context) -> list[_Item | MemorywireError]:
    requests = [one for one in read if isinstance(one, Remember)]
    redacted = iter(all_without_secrets(requests, context))
    return [_item(one, next(redacted)) if isinstance(one, Remember) else one for one in read]


def _item(request: Remember, redacted: Cleaned | MemorywireError) -> _Item | MemorywireError:
    if isinstance(redacted, MemorywireError):
        return redacted
    return _Item(request, redacted, draft_record(redacted.request))


async def _kept(asked: Sequence[Asked], context: Context) -> list[Result]:
    """Keep each item in the store of its scope."""
    placed = {scope: await context.serving(scope) for scope in {item.request.scope for item in asked}}
    if all(place is context for place in placed.values()):
        return await remember_together(asked, context)
    each = (remember_together([item], placed[item.request.scope]) for item in asked)
    return [one for (one,) in await asyncio.gather(*each)]
