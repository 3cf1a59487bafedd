"""The verbs a store may add to the contract: whoever has them keeps the contract with them too."""

import json

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
from memorywire.testing.expect import close_to, holds, same
from memorywire.testing.samples import (
    NOW,
    a_change,
    a_name,
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


class _Gathering(Store, SupportsBulkWrite): ...


class _Glancing(Store, SupportsPeek): ...


class _Surveying(Store, SupportsListing): ...


class _Counting(Store, Tracker, RecallCounter): ...


class _Chronicling(Store, SupportsHistory, SupportsChangeLog): ...


async def changes_written_together_are_each_kept(store: _Gathering) -> None:
    kept = records(a_scope(), 20)
    scope = kept[0].scope
    changes = [a_change(scope, beginning(record, a_vector(1))) for record in kept]
    sequences = await store.write_many(changes)
    same([type(sequence) for sequence in sequences], [int] * 20)
    same(len(set(sequences)), 20)
    same(await store.get(scope, [record.id for record in kept]), kept)
    same(ids(await store.find(everything(scope))), by_id(kept))
    same(await store.write_many(changes), sequences)


async def what_one_of_many_may_not_do_concerns_it_alone(store: _Gathering) -> None:
    taken, first, second = records(a_scope(), 3)
    scope = taken.scope
    await keep(store, taken)
    told = await store.write_many(
        [a_change(scope, beginning(first)), a_change(scope, beginning(taken)), a_change(scope, ending(taken))]
    )
    holds(isinstance(told[1], Conflict), f"an id that is taken was answered with {told[1]!r}")
    same([type(told[0]), type(told[2])], [int, int])
    same(ids(await store.find(everything(scope))), [first.id])
    same(await store.write_many([]), [])
    await keep(store, second)


async def a_glance_tells_what_get_would_tell(store: _Glancing) -> None:
    scope = a_scope()
    plain = a_record(scope, "kettle", expires_at=NOW + 5)
    marked = a_record(user_of(scope, "ana"), "kettles", metadata={"mark": {"n": 1}})
    gone = a_record(scope, "gone")
    await keep(store, plain, marked, gone)
    await store.write(a_change(scope, revising(plain, expires_at=NOW + 7)))
    await end(store, gone)
    asked = [marked.id, gone.id, plain.id]
    seen = await store.glance(scope, asked, "mark")
    same([glimpse[:4] for glimpse in seen], [(marked.id, 1, NOW, None), (plain.id, 2, NOW, NOW + 7)])
    same([told and json.loads(told) for *_, told in seen], [{"n": 1}, None])
    same([glimpse[0] for glimpse in await store.glance(user_of(scope, "ana"), asked, "mark")], [marked.id])
    same(await store.glance(a_scope(), asked, "mark"), [])
    same(await store.glance(Scope(agent=scope.agent, tenant=a_name("tenant")), asked, "mark"), [])


async def owners_are_those_of_the_tenant(store: _Surveying) -> None:
    tenant = a_name("tenant")
    ana, ben, cleo = (Scope(tenant=tenant, agent=name) for name in ("ana", "ben", "cleo"))
    left = a_record(cleo)
    await keep(store, *records(ana, 2), a_record(user_of(ana, "zoe")))
    await keep(store, a_record(ben))
    await keep(store, left)
    await end(store, left)
    await keep(store, a_record(Scope(tenant=a_name("tenant"), agent="dario")))
    same([tuple(owner) for owner in await store.owners(tenant)], [("ana", 3), ("ben", 1)])
    same(await store.owners(a_name("tenant")), [])


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


async def recalls_are_counted(store: _Counting) -> None:
    often, never = records(a_scope(), 2)
    await keep(store, often, never)
    for at in (NOW, NOW + 1):
        await store.touch(often.scope, [often.id], at)
    await store.touch(a_scope(), [never.id], NOW)
    found = await store.get(often.scope, [often.id, never.id])
    same(list(await store.recalls(found)), [2, 0])


async def the_past_is_handed_out_in_order_to_its_agent_alone(store: _Chronicling) -> None:
    tenant = a_name("tenant")
    ana, ben = (Scope(tenant=tenant, agent=name) for name in ("ana", "ben"))
    first, second = records(ana, 2)
    begun = await keep(store, first, vector=a_vector(1, 1))
    await keep(store, a_record(ben))
    more = await keep(store, second)
    ended = await end(store, first)
    told = await store.log(ana, 0, 10)
    same([footprint.change.id for footprint in told], [begun.id, more.id, ended.id])
    same([[version.id for version in footprint.ended] for footprint in told], [[], [], [first.id]])
    same([step.change.id for step in await store.log(ana, told[0].sequence, 1)], [more.id])
    same(await store.agents(tenant), ["ana", "ben"])
    same(await store.agents(a_name("tenant")), [])
    same(dict(await store.origins(tenant, [first.id, "nobody"])), {first.id: begun.id})
    same(dict(await store.origins(a_name("tenant"), [first.id])), {})
    same(dict(await store.known(tenant, [begun.id, "nothing"])), {begun.id: "ana"})
    same(dict(await store.known(a_name("tenant"), [begun.id])), {})


async def every_version_keeps_its_own_vector(store: _Chronicling) -> None:
    record: Record = a_record(a_scope())
    second = revised(record, content="second")
    tenant = record.scope.tenant
    await keep(store, record, vector=a_vector(1))
    await store.write(a_change(record.scope, revising(record, content=second.content)))
    first, none = await store.vectors(tenant, [(record.id, 1), (record.id, 2)])
    same(none, None)
    holds(first is not None, "the vector of the first version is missing")
    for kept, given in zip(floats(first or b""), floats(a_vector(1)), strict=True):
        close_to(kept, given)
