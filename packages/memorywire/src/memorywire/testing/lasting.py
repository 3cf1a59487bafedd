"""What a store that calls itself durable still has after it was closed and opened again."""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import TypeAlias

from memorywire.model.errors import Conflict
from memorywire.stores.contract import Store
from memorywire.testing.expect import historian, holds, refused, same
from memorywire.testing.samples import (
    a_change,
    a_query,
    a_record,
    a_scope,
    a_vector,
    beginning,
    by_id,
    end,
    everything,
    ids,
    keep,
    records,
    revised,
    revising,
)

Opener: TypeAlias = Callable[[], Awaitable[Store]]


@asynccontextmanager
async def _opened(opener: Opener) -> AsyncIterator[Store]:
    store = await opener()
    try:
        yield store
    finally:
        await store.close()


async def what_was_written_is_there_when_opened_again(opener: Opener) -> None:
    kept = records(a_scope(), 5)
    scope = kept[0].scope
    async with _opened(opener) as store:
        await keep(store, *kept, vector=a_vector(1))
    async with _opened(opener) as store:
        same(await store.get(scope, [record.id for record in kept]), kept)
        same(ids(await store.find(everything(scope))), by_id(kept))
        same(await store.count(everything(scope)), 5)
        same(sorted(ids(await store.search(a_query(scope, "kettle", a_vector(1)), 10))), by_id(kept))


async def what_was_revised_is_as_it_was_left_when_opened_again(opener: Opener) -> None:
    record = a_record(a_scope())
    async with _opened(opener) as store:
        await keep(store, record)
        await store.write(a_change(record.scope, revising(record, content="second")))
    async with _opened(opener) as store:
        same(await store.get(record.scope, [record.id]), [revised(record, content="second")])
        with refused(Conflict, field="if_version"):
            await store.write(a_change(record.scope, revising(record, content="stale")))


async def what_has_ended_does_not_come_back_when_opened_again(opener: Opener) -> None:
    record = a_record(a_scope())
    async with _opened(opener) as store:
        await keep(store, record, vector=a_vector(1))
        await end(store, record)
    async with _opened(opener) as store:
        same(await store.get(record.scope, [record.id]), [])
        same(await store.count(everything(record.scope)), 0)
        same(ids(await store.search(a_query(record.scope, "kettle", a_vector(1)), 10)), [])
        with refused(Conflict, field="id"):
            await keep(store, record)


async def a_change_is_known_again_when_opened_again(opener: Opener) -> None:
    before, first, second = records(a_scope(), 3)
    async with _opened(opener) as store:
        await keep(store, before)
        change = await keep(store, first)
        sequence = await store.write(change)
    async with _opened(opener) as store:
        same(await store.write(change), sequence)
        later = await store.write(a_change(second.scope, beginning(second)))
        holds(later > sequence, f"commit {later} is told after commit {sequence}, but is not greater")


async def a_past_is_kept_when_opened_again(opener: Opener) -> None:
    record = a_record(a_scope())
    async with _opened(opener) as store:
        await keep(store, record)
        await store.write(a_change(record.scope, revising(record, content="second")))
    async with _opened(opener) as store:
        versions = await historian(store).history(record.scope, record.id)
        same(
            [(version.number, version.record and version.record.content) for version in versions],
            [(1, record.content), (2, "second")],
        )


async def what_was_erased_does_not_come_back_when_opened_again(opener: Opener) -> None:
    record = a_record(a_scope())
    async with _opened(opener) as store:
        await keep(store, record, vector=a_vector(1))
        await store.write(a_change(record.scope, erase=(record.id,)))
    async with _opened(opener) as store:
        same(await store.get(record.scope, [record.id]), [])
        same(ids(await store.search(a_query(record.scope, "kettle", a_vector(1)), 10)), [])
        with refused(Conflict, field="id"):
            await keep(store, record)
