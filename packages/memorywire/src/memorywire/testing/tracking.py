"""When a memory was last recalled, and which ones nobody has asked for."""

from memorywire.model.clock import DAY_MS
from memorywire.model.record import Record, Scope
from memorywire.stores.contract import Store
from memorywire.testing.expect import same, tracker
from memorywire.testing.samples import (
    NOW,
    a_change,
    a_name,
    a_query,
    a_record,
    a_scope,
    everything,
    ids,
    keep,
    records,
    revising,
    user_of,
)

_OLD = NOW - 30 * DAY_MS


def _old(scope: Scope, count: int) -> list[Record]:
    return records(scope, count, created_at=_OLD, updated_at=_OLD)


async def _idle(store: Store, scope: Scope, since: int) -> list[str]:
    where = everything(scope, idle_since=since)
    found = ids(await store.find(where))
    same(await store.count(where), len(found))
    same(sorted(ids(await store.search(a_query(scope, "kettle", idle_since=since), 100))), found)
    return found


async def a_recalled_memory_is_not_idle(store: Store) -> None:
    recalled, idle = _old(scope := a_scope(), 2)
    await keep(store, recalled, idle)
    same(await _idle(store, scope, NOW - 1), sorted([recalled.id, idle.id]))
    await tracker(store).touch(scope, [recalled.id], NOW)
    same(await _idle(store, scope, NOW - 1), [idle.id])
    same(await _idle(store, scope, NOW), sorted([recalled.id, idle.id]))


async def being_written_counts_as_use(store: Store) -> None:
    fresh, (old,) = a_record(scope := a_scope()), _old(scope, 1)
    await keep(store, fresh, old)
    same(await _idle(store, scope, NOW - 1), [old.id])


async def readers_see_when_a_memory_was_recalled(store: Store) -> None:
    (record,) = _old(a_scope(), 1)
    await keep(store, record)
    keeper = tracker(store)
    await keeper.touch(record.scope, [record.id], NOW)
    await keeper.touch(record.scope, [record.id], NOW - 5)
    (found,) = await store.find(everything(record.scope, idle_since=NOW))
    same(found.recalled_at, NOW)


async def a_new_version_keeps_the_last_recall(store: Store) -> None:
    (record,) = _old(a_scope(), 1)
    await keep(store, record)
    await tracker(store).touch(record.scope, [record.id], NOW)
    await store.write(a_change(record.scope, revising(record, content="the kettle is red")))
    same(await _idle(store, record.scope, NOW - 1), [])


async def strangers_do_not_count_as_readers(store: Store) -> None:
    (record,) = _old(a_scope(user="ana"), 1)
    await keep(store, record)
    keeper = tracker(store)
    elsewhere = Scope(agent=record.scope.agent, tenant=a_name("tenant"))
    for scope in (a_scope(), user_of(record.scope, "ben"), elsewhere):
        await keeper.touch(scope, [record.id], NOW)
    same(await _idle(store, record.scope, NOW - 1), [record.id])


async def touching_what_is_not_there_is_fine(store: Store) -> None:
    scope = a_scope()
    await tracker(store).touch(scope, ["no such id"], NOW)
    await tracker(store).touch(scope, [], NOW)
    same(await _idle(store, scope, NOW), [])


async def touching_makes_no_new_version(store: Store) -> None:
    (record,) = _old(a_scope(), 1)
    await keep(store, record)
    await tracker(store).touch(record.scope, [record.id], NOW)
    await store.write(a_change(record.scope, revising(record)))
    same((await store.get(record.scope, [record.id]))[0].version, 2)
