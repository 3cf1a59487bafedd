"""Checks of optional features: recall tracking, durability, and the optional protocols."""

import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import TypeAlias

from memorywire.model.capabilities import Feature
from memorywire.model.clock import DAY_MS
from memorywire.model.errors import Conflict
from memorywire.model.record import Record, Scope
from memorywire.search.reference import floats
from memorywire.stores.contract import (
    RecallCounter,
    Store,
    SupportsBulkWrite,
    SupportsChangeLog,
    SupportsHistory,
    SupportsListing,
    SupportsPeek,
    Tracker,
)
from memorywire_testing.expect import (
    close_to,
    historian,
    holds,
    must_refuse,
    refused,
    requires,
    same,
    tracker,
)
from memorywire_testing.samples import (
    NOW,
    a_change,
    a_name,
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
    user_of,
)

_OLD = NOW - 30 * DAY_MS


def _old(scope: Scope, count: int) -> list[Record]:
    return records(scope, count, created_at=_OLD, updated_at=_OLD)


async def _idle(store: Store, scope: Scope, since: int) -> list[str]:
    where = everything(scope, idle_since=since)
    results = ids(await store.find(where))
    same(await store.count(where), len(results))
    same(sorted(ids(await store.search(a_query(scope, "kettle", idle_since=since), 100))), results)
    return results


@requires(Feature.RECALL_TRACKING)
async def a_recalled_memory_is_not_idle(store: Store) -> None:
    recalled, idle = _old(scope := a_scope(), 2)
    await keep(store, recalled, idle)
    same(await _idle(store, scope, NOW - 1), sorted([recalled.id, idle.id]))
    await tracker(store).touch(scope, [recalled.id], NOW)
    same(await _idle(store, scope, NOW - 1), [idle.id])
    same(await _idle(store, scope, NOW), sorted([recalled.id, idle.id]))


@requires(Feature.RECALL_TRACKING)
async def being_written_counts_as_use(store: Store) -> None:
    fresh, (old,) = a_record(scope := a_scope()), _old(scope, 1)
    await keep(store, fresh, old)
    same(await _idle(store, scope, NOW - 1), [old.id])


@requires(Feature.RECALL_TRACKING)
async def readers_see_when_a_memory_was_recalled(store: Store) -> None:
    (record,) = _old(a_scope(), 1)
    await keep(store, record)
    keeper = tracker(store)
    await keeper.touch(record.scope, [record.id], NOW)
    await keeper.touch(record.scope, [record.id], NOW - 5)
    (results,) = await store.find(everything(record.scope, idle_since=NOW))
    same(results.recalled_at, NOW)


@requires(Feature.RECALL_TRACKING)
async def a_new_version_keeps_the_last_recall(store: Store) -> None:
    (record,) = _old(a_scope(), 1)
    await keep(store, record)
    await tracker(store).touch(record.scope, [record.id], NOW)
    await store.write(a_change(record.scope, revising(record, content="the kettle is red")))
    same(await _idle(store, record.scope, NOW - 1), [])


@requires(Feature.RECALL_TRACKING)
async def strangers_do_not_count_as_readers(store: Store) -> None:
    (record,) = _old(a_scope(user="ana"), 1)
    await keep(store, record)
    keeper = tracker(store)
    elsewhere = Scope(agent=record.scope.agent, tenant=a_name("tenant"))
    for scope in (a_scope(), user_of(record.scope, "ben"), elsewhere):
        await keeper.touch(scope, [record.id], NOW)
    same(await _idle(store, record.scope, NOW - 1), [record.id])


@requires(Feature.RECALL_TRACKING)
async def touching_what_is_not_there_is_fine(store: Store) -> None:
    scope = a_scope()
    await tracker(store).touch(scope, ["no such id"], NOW)
    await tracker(store).touch(scope, [], NOW)
    same(await _idle(store, scope, NOW), [])


@requires(Feature.RECALL_TRACKING)
async def touching_makes_no_new_version(store: Store) -> None:
    (record,) = _old(a_scope(), 1)
    await keep(store, record)
    await tracker(store).touch(record.scope, [record.id], NOW)
    await store.write(a_change(record.scope, revising(record)))
    same((await store.get(record.scope, [record.id]))[0].version, 2)


class _Gathering(Store, SupportsBulkWrite): ...


class _Glancing(Store, SupportsPeek): ...


class _Surveying(Store, SupportsListing): ...


class _Counting(Store, Tracker, RecallCounter): ...


class _Chronicling(Store, SupportsHistory, SupportsChangeLog): ...


@requires(ability=SupportsBulkWrite)
async def changes_written_together_are_each_kept(store: _Gathering) -> None:
    memories = records(a_scope(), 20)
    scope = memories[0].scope
    changes = [a_change(scope, beginning(record, a_vector(1))) for record in memories]
    sequences = await store.write_many(changes)
    same([type(sequence) for sequence in sequences], [int] * 20)
    same(len(set(sequences)), 20)
    same(await store.get(scope, [record.id for record in memories]), memories)
    same(ids(await store.find(everything(scope))), by_id(memories))
    same(await store.write_many(changes), sequences)


@requires(ability=SupportsBulkWrite)
async def what_one_of_many_may_not_do_concerns_it_alone(store: _Gathering) -> None:
    claims, first, second = records(a_scope(), 3)
    scope = claims.scope
    await keep(store, claims)
    answer = await store.write_many(
        [
            a_change(scope, beginning(first)),
            a_change(scope, beginning(claims)),
            a_change(scope, ending(claims)),
        ]
    )
    holds(isinstance(answer[1], Conflict), f"an id that is taken was answered with {answer[1]!r}")
    same([type(answer[0]), type(answer[2])], [int, int])
    same(ids(await store.find(everything(scope))), [first.id])
    same(await store.write_many([]), [])
    await keep(store, second)


@requires(ability=SupportsPeek)
async def a_glance_tells_what_get_would_tell(store: _Glancing) -> None:
    scope = a_scope()
    plain = a_record(scope, "kettle", expires_at=NOW + 5)
    labels = a_record(user_of(scope, "ana"), "kettles", metadata={"mark": {"n": 1}})
    missing = a_record(scope, "gone")
    await keep(store, plain, labels, missing)
    await store.write(a_change(scope, revising(plain, expires_at=NOW + 7)))
    await end(store, missing)
    request = [labels.id, missing.id, plain.id]
    visible = await store.glance(scope, request, "mark")
    same([glimpse[:4] for glimpse in visible], [(labels.id, 1, NOW, None), (plain.id, 2, NOW, NOW + 7)])
    same([answer and json.loads(answer) for *_, answer in visible], [{"n": 1}, None])
    same([glimpse[0] for glimpse in await store.glance(user_of(scope, "ana"), request, "mark")], [labels.id])
    same(await store.glance(a_scope(), request, "mark"), [])
    same(await store.glance(Scope(agent=scope.agent, tenant=a_name("tenant")), request, "mark"), [])


@requires(ability=SupportsListing)
async def owners_are_those_of_the_tenant(store: _Surveying) -> None:
    tenant = a_name("tenant")
    ana, ben, cleo = (Scope(tenant=tenant, agent=name) for name in ("ana", "ben", "cleo"))
    others = a_record(cleo)
    await keep(store, *records(ana, 2), a_record(user_of(ana, "zoe")))
    await keep(store, a_record(ben))
    await keep(store, others)
    await end(store, others)
    await keep(store, a_record(Scope(tenant=a_name("tenant"), agent="dario")))
    same([tuple(owner) for owner in await store.owners(tenant)], [("ana", 3), ("ben", 1)])
    same(await store.owners(a_name("tenant")), [])


@requires(ability=SupportsListing)
async def the_newest_come_page_by_page_inside_the_scope(store: _Surveying) -> None:
    scope = a_scope()
    mine, hers = records(scope, 5), a_record(user_of(scope, "zoe"))
    await keep(store, *mine, hers)
    await keep(store, a_record(a_scope()))
    whole = by_id([*mine, hers])[::-1]
    first = ids(await store.newest(everything(scope), None, 4))
    same(first, whole[:4])
    same(ids(await store.newest(everything(scope), first[-1], 4)), whole[4:])
    same(ids(await store.newest(everything(user_of(scope, "zoe")), None, 4)), [hers.id])
    same(await store.newest(everything(Scope(agent=scope.agent, tenant=a_name("tenant"))), None, 4), [])


@requires(ability=RecallCounter)
async def recalls_are_counted(store: _Counting) -> None:
    often, never = records(a_scope(), 2)
    await keep(store, often, never)
    for at in (NOW, NOW + 1):
        await store.touch(often.scope, [often.id], at)
    await store.touch(a_scope(), [never.id], NOW)
    results = await store.get(often.scope, [often.id, never.id])
    same(list(await store.recalls(results)), [2, 0])


@requires(ability=SupportsChangeLog)
async def the_past_is_handed_out_in_order_to_its_agent_alone(store: _Chronicling) -> None:
    tenant = a_name("tenant")
    ana, ben = (Scope(tenant=tenant, agent=name) for name in ("ana", "ben"))
    first, second = records(ana, 2)
    begun = await keep(store, first, vector=a_vector(1, 1))
    await keep(store, a_record(ben))
    more = await keep(store, second)
    ends = await end(store, first)
    answer = await store.log(ana, 0, 10)
    same([footprint.change.id for footprint in answer], [begun.id, more.id, ends.id])
    same([[version.id for version in footprint.ended] for footprint in answer], [[], [], [first.id]])
    same([step.change.id for step in await store.log(ana, answer[0].sequence, 1)], [more.id])
    same(await store.agents(tenant), ["ana", "ben"])
    same(await store.agents(a_name("tenant")), [])
    same(dict(await store.origins(tenant, [first.id, "nobody"])), {first.id: begun.id})
    same(dict(await store.origins(a_name("tenant"), [first.id])), {})
    same(dict(await store.known(tenant, [begun.id, "nothing"])), {begun.id: "ana"})
    same(dict(await store.known(a_name("tenant"), [begun.id])), {})


@requires(ability=SupportsChangeLog)
async def every_version_keeps_its_own_vector(store: _Chronicling) -> None:
    record: Record = a_record(a_scope())
    second = revised(record, content="second")
    tenant = record.scope.tenant
    await keep(store, record, vector=a_vector(1))
    await store.write(a_change(record.scope, revising(record, content=second.content)))
    first, none = await store.vectors(tenant, [(record.id, 1), (record.id, 2)])
    same(none, None)
    holds(first is not None, "the vector of the first version is missing")
    for memories, options in zip(floats(first or b""), floats(a_vector(1)), strict=True):
        close_to(memories, options)


Opener: TypeAlias = Callable[[], Awaitable[Store]]


@asynccontextmanager
async def _opened(opener: Opener) -> AsyncIterator[Store]:
    store = await opener()
    try:
        yield store
    finally:
        await store.close()


@requires(Feature.DURABLE)
async def what_was_written_is_there_when_opened_again(opener: Opener) -> None:
    memories = records(a_scope(), 5)
    scope = memories[0].scope
    async with _opened(opener) as store:
        await keep(store, *memories, vector=a_vector(1))
    async with _opened(opener) as store:
        same(await store.get(scope, [record.id for record in memories]), memories)
        same(ids(await store.find(everything(scope))), by_id(memories))
        same(await store.count(everything(scope)), 5)
        same(sorted(ids(await store.search(a_query(scope, "kettle", a_vector(1)), 10))), by_id(memories))


@requires(Feature.DURABLE)
async def what_was_revised_is_as_it_was_left_when_opened_again(opener: Opener) -> None:
    record = a_record(a_scope())
    async with _opened(opener) as store:
        await keep(store, record)
        await store.write(a_change(record.scope, revising(record, content="second")))
    async with _opened(opener) as store:
        same(await store.get(record.scope, [record.id]), [revised(record, content="second")])
        with refused(Conflict, field="if_version"):
            await store.write(a_change(record.scope, revising(record, content="stale")))


@requires(Feature.DURABLE)
async def what_has_ended_does_not_come_back_when_opened_again(opener: Opener) -> None:
    record = a_record(a_scope())
    async with _opened(opener) as store:
        await keep(store, record, vector=a_vector(1))
        await end(store, record)
    async with _opened(opener) as store:
        same(await store.get(record.scope, [record.id]), [])
        same(await store.count(everything(record.scope)), 0)
        same(ids(await store.search(a_query(record.scope, "kettle", a_vector(1)), 10)), [])
        await must_refuse(keep(store, record), Conflict, field="id")


@requires(Feature.DURABLE)
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


@requires(Feature.DURABLE, Feature.HISTORY)
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


@requires(Feature.DURABLE, Feature.HARD_DELETE)
async def what_was_erased_does_not_come_back_when_opened_again(opener: Opener) -> None:
    record = a_record(a_scope())
    async with _opened(opener) as store:
        await keep(store, record, vector=a_vector(1))
        await store.write(a_change(record.scope, erase=(record.id,)))
    async with _opened(opener) as store:
        same(await store.get(record.scope, [record.id]), [])
        same(ids(await store.search(a_query(record.scope, "kettle", a_vector(1)), 10)), [])
        await must_refuse(keep(store, record), Conflict, field="id")
