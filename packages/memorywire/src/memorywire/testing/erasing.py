"""What is erased leaves no trace but its id, its numbers and its times."""

from memorywire.model.change import Base, Change, EndReason, Put
from memorywire.model.errors import Conflict
from memorywire.model.record import Record, Scope
from memorywire.stores.contract import Store
from memorywire.testing.expect import historian, present, refused, same
from memorywire.testing.samples import (
    NOW,
    a_change,
    a_query,
    a_record,
    a_scope,
    a_vector,
    beginning,
    end,
    everything,
    ids,
    keep,
    records,
    revised,
    revising,
    user_of,
)


async def _erase(store: Store, *erased: Record, scope: Scope | None = None, at: int = NOW) -> Change:
    change = a_change(scope or erased[0].scope, at=at, erase=tuple(record.id for record in erased))
    await store.write(change)
    return change


async def an_erased_memory_is_gone_from_every_reader(store: Store) -> None:
    record, other = records(a_scope(), 2)
    scope = record.scope
    await keep(store, record, other, vector=a_vector(1))
    await _erase(store, record, at=NOW + 5)
    same(await store.get(scope, [record.id]), [])
    for where in (everything(scope), everything(scope, as_of=NOW), everything(scope, as_of=NOW + 5)):
        same(ids(await store.find(where)), [other.id])
        same(await store.count(where), 1)
    for query in (a_query(scope, "kettle", a_vector(1)), a_query(scope, "kettle", a_vector(1), as_of=NOW)):
        same(ids(await store.search(query, 10)), [other.id])


async def history_shows_that_it_was_not_what_it_said(store: Store) -> None:
    record = a_record(a_scope())
    begun = await keep(store, record)
    await store.write(a_change(record.scope, revising(record, content="second"), at=NOW + 1))
    erasing = await _erase(store, record, at=NOW + 2)
    books = historian(store)
    versions = await books.history(record.scope, record.id)
    same([(v.number, v.record, v.reason) for v in versions], [(n, None, EndReason.ERASED) for n in (1, 2)])
    same((versions[0].began_by, versions[0].began_at), (begun.id, NOW))
    same((versions[1].ended_by, versions[1].ended_at), (erasing.id, NOW + 2))
    footprint = present(await books.footprint(record.scope, begun.id), "the footprint")
    same([version.record for version in footprint.began], [None])


async def a_request_is_forgotten_with_what_it_said(store: Store) -> None:
    record = a_record(a_scope())
    change = a_change(record.scope, beginning(record), key="k", fingerprint="hash of the content")
    await store.write(change)
    await _erase(store, record)
    books = historian(store)
    footprint = present(await books.committed(record.scope, "k"), "the change of the key")
    same((footprint.change.id, footprint.change.fingerprint), (change.id, None))


async def an_ended_memory_can_be_erased(store: Store) -> None:
    record = a_record(a_scope())
    await keep(store, record)
    await end(store, record)
    await _erase(store, record)
    (version,) = await historian(store).history(record.scope, record.id)
    same((version.record, version.reason), (None, EndReason.ERASED))


async def an_erased_id_never_comes_back(store: Store) -> None:
    record = a_record(a_scope())
    await keep(store, record)
    await _erase(store, record)
    attempts = (
        beginning(record),
        Put(record=revised(record), base=Base.ENDED),
        Put(record=revised(record), base=Base.LIVE),
    )
    for put in attempts:
        with refused(Conflict, field="id"):
            await store.write(a_change(record.scope, put))
    same(await store.get(record.scope, [record.id]), [])


async def erased_words_may_be_said_again(store: Store) -> None:
    record, again = a_record(scope := a_scope()), a_record(scope)
    await keep(store, record)
    await _erase(store, record)
    same(await store.duplicate(again, NOW), None)
    await store.write(a_change(scope, beginning(again, unique=True)))
    same(await store.find(everything(scope)), [again])


async def erasing_twice_is_fine(store: Store) -> None:
    record = a_record(a_scope())
    await keep(store, record)
    await _erase(store, record)
    await _erase(store, record)
    same(len(await historian(store).history(record.scope, record.id)), 1)


async def strangers_cannot_erase(store: Store) -> None:
    record = a_record(a_scope(user="ana"))
    await keep(store, record)
    elsewhere = Scope(agent=record.scope.agent, user="ana", tenant="tenant of nobody")
    for scope in (a_scope(), user_of(record.scope, "ben"), elsewhere):
        await _erase(store, record, scope=scope)
    same(await store.get(record.scope, [record.id]), [record])


async def a_conflict_beside_it_stops_an_erasure(store: Store) -> None:
    record = a_record(a_scope())
    await keep(store, record)
    change = a_change(record.scope, beginning(record), erase=(record.id,))
    with refused(Conflict):
        await store.write(change)
    same(await store.get(record.scope, [record.id]), [record])
