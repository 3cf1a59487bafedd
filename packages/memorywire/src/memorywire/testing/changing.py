"""A change is applied whole, once, and only on the state it was planned on."""

import asyncio
from collections.abc import Awaitable

from memorywire.model.change import Base, Put
from memorywire.model.errors import Conflict
from memorywire.model.record import Standing
from memorywire.stores.contract import Store
from memorywire.testing.expect import holds, refused, same
from memorywire.testing.samples import (
    NOW,
    a_change,
    a_query,
    a_record,
    a_scope,
    a_vector,
    beginning,
    by_id,
    end,
    ending,
    everything,
    ids,
    keep,
    records,
    revised,
    revising,
)


async def an_id_can_be_taken_once(store: Store) -> None:
    record = a_record(a_scope())
    await keep(store, record)
    with refused(Conflict, field="id"):
        await keep(store, a_record(record.scope, "something else", id=record.id))
    same(await store.get(record.scope, [record.id]), [record])


async def an_ended_id_stays_taken(store: Store) -> None:
    record = a_record(a_scope())
    await keep(store, record)
    await end(store, record)
    with refused(Conflict, field="id"):
        await keep(store, a_record(record.scope, "something else", id=record.id))


async def a_stale_version_cannot_be_put(store: Store) -> None:
    record = a_record(a_scope())
    await keep(store, record)
    await store.write(a_change(record.scope, revising(record, content="second")))
    with refused(Conflict, field="if_version"):
        await store.write(a_change(record.scope, revising(record, content="another second")))
    same((await store.get(record.scope, [record.id]))[0].content, "second")


async def a_version_cannot_be_skipped(store: Store) -> None:
    record = a_record(a_scope())
    await keep(store, record)
    with refused(Conflict, field="if_version"):
        await store.write(a_change(record.scope, revising(record, version=3)))
    with refused(Conflict, field="if_version"):
        await keep(store, a_record(record.scope, version=2))


async def what_is_not_there_cannot_be_revised_or_ended(store: Store) -> None:
    record = a_record(a_scope())
    with refused(Conflict, field="id"):
        await store.write(a_change(record.scope, revising(record)))
    with refused(Conflict, field="id"):
        await store.write(a_change(record.scope, ending(record)))


async def what_has_ended_cannot_be_revised(store: Store) -> None:
    record = a_record(a_scope())
    await keep(store, record)
    await end(store, record)
    with refused(Conflict, field="if_version"):
        await store.write(a_change(record.scope, revising(record)))


async def what_is_live_cannot_be_restored(store: Store) -> None:
    record = a_record(a_scope())
    await keep(store, record)
    with refused(Conflict, field="if_version"):
        await store.write(a_change(record.scope, Put(record=revised(record), base=Base.ENDED)))


async def ending_twice_conflicts(store: Store) -> None:
    record = a_record(a_scope())
    await keep(store, record)
    await end(store, record)
    with refused(Conflict, field="if_version"):
        await end(store, record)


async def ending_a_version_that_moved_conflicts(store: Store) -> None:
    record = a_record(a_scope())
    put = revising(record, content="second")
    await keep(store, record)
    await store.write(a_change(record.scope, put))
    with refused(Conflict, field="if_version"):
        await end(store, record)
    same(await store.get(record.scope, [record.id]), [put.record])


async def an_ended_memory_is_gone_from_every_reader(store: Store) -> None:
    record, other = records(a_scope(), 2)
    scope = record.scope
    await keep(store, record, other, vector=a_vector(1))
    await end(store, record)
    same(await store.get(scope, [record.id]), [])
    same(ids(await store.find(everything(scope))), [other.id])
    same(await store.count(everything(scope, standings=frozenset(Standing))), 1)
    same(ids(await store.search(a_query(scope, record.text, a_vector(1)), 10)), [other.id])
    same(await store.duplicate(a_record(scope, record.content), NOW), None)


async def an_ended_memory_can_begin_again(store: Store) -> None:
    record = a_record(a_scope())
    again = revised(record)
    await keep(store, record, vector=a_vector(1))
    await end(store, record)
    await store.write(a_change(record.scope, Put(record=again, base=Base.ENDED, like=1)))
    same(await store.get(record.scope, [record.id]), [again])
    same(ids(await store.search(a_query(record.scope, "kettle", a_vector(1)), 10)), [record.id])


async def a_conflicting_end_undoes_the_puts_beside_it(store: Store) -> None:
    record, new = records(a_scope(), 2)
    await keep(store, record)
    with refused(Conflict):
        await store.write(a_change(record.scope, beginning(new), ending(revised(record))))
    same(await store.find(everything(record.scope)), [record])
    same(await store.count(everything(record.scope)), 1)


async def a_conflicting_put_undoes_everything_beside_it(store: Store) -> None:
    first, second, new = records(a_scope(), 3)
    scope = first.scope
    await keep(store, first, second)
    change = a_change(
        scope, beginning(new), revising(first, content="changed"), beginning(first), ending(second)
    )
    with refused(Conflict):
        await store.write(change)
    same(await store.get(scope, [first.id, second.id, new.id]), [first, second])
    same(ids(await store.search(a_query(scope, "changed"), 10)), by_id([first, second]))


async def a_refused_change_may_be_tried_again(store: Store) -> None:
    record = a_record(a_scope())
    change = a_change(record.scope, revising(record, content="second"))
    with refused(Conflict):
        await store.write(change)
    await keep(store, record)
    await store.write(change)
    same((await store.get(record.scope, [record.id]))[0].content, "second")


async def writing_a_change_twice_changes_nothing(store: Store) -> None:
    record = a_record(a_scope())
    change = await keep(store, record)
    sequence = await store.write(change)
    same(await store.write(change), sequence)
    await end(store, record)
    same(await store.write(change), sequence)
    same(await store.get(record.scope, [record.id]), [])


async def a_change_written_twice_at_once_is_committed_once(store: Store) -> None:
    record = a_record(a_scope())
    change = a_change(record.scope, beginning(record))
    sequences = await asyncio.gather(*(store.write(change) for _ in range(5)))
    same(len(set(sequences)), 1)
    same(await store.count(everything(record.scope)), 1)


async def sequences_grow_with_every_change(store: Store) -> None:
    kept = records(a_scope(), 5)
    sequences = [await store.write(a_change(record.scope, beginning(record))) for record in kept]
    same(sequences, sorted(set(sequences)))


async def concurrent_writes_are_all_kept(store: Store) -> None:
    kept = records(a_scope(), 60)
    scope = kept[0].scope
    sequences = await asyncio.gather(
        *(store.write(a_change(scope, beginning(record, a_vector(1)))) for record in kept)
    )
    same(len(set(sequences)), 60)
    same(ids(await store.find(everything(scope), limit=100)), by_id(kept))
    same(sorted(ids(await store.search(a_query(scope, "kettle", a_vector(1)), 100))), by_id(kept))


async def of_concurrent_revisions_exactly_one_wins(store: Store) -> None:
    record = a_record(a_scope())
    await keep(store, record)
    won = await asyncio.gather(
        *(_agreed(store.write(a_change(record.scope, revising(record, content=f"{n}")))) for n in range(8))
    )
    same(won.count(True), 1)
    (found,) = await store.get(record.scope, [record.id])
    same((found.version, found.content), (2, str(won.index(True))))


async def a_conflict_does_not_disturb_the_writes_around_it(store: Store) -> None:
    kept = records(a_scope(), 20)
    scope = kept[0].scope
    won = await asyncio.gather(
        *(_agreed(store.write(a_change(scope, beginning(record)))) for record in (*kept, *kept[::2]))
    )
    same(won.count(True), 20)
    same(ids(await store.find(everything(scope))), by_id(kept))


async def a_write_is_seen_by_the_next_reader(store: Store) -> None:
    scope = a_scope()
    for record in records(scope, 10):
        await keep(store, record, vector=a_vector(1))
        found = ids(await store.search(a_query(scope, record.text, a_vector(1)), 20))
        holds(record.id in found, f"{record.id} is not found right after it was written")


async def _agreed(write: Awaitable[int]) -> bool:
    try:
        await write
    except Conflict:
        return False
    return True
