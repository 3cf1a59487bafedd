"""Checks of history, of reading the past, and of erasure."""

from memorywire.model.capabilities import Feature
from memorywire.model.change import Base, Change, EndReason, Put
from memorywire.model.errors import Conflict
from memorywire.model.record import Record, Scope
from memorywire.stores.contract import Store
from memorywire_testing.expect import historian, holds, must_refuse, present, requires, same
from memorywire_testing.samples import (
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
    keep_new,
    records,
    revised,
    revising,
    user_of,
)


@requires(Feature.HISTORY)
async def every_version_is_in_the_history(store: Store) -> None:
    record = a_record(a_scope())
    second = revised(record, content="the kettle is red")
    first = await keep(store, record, at=NOW)
    revision = a_change(record.scope, Put(record=second, base=Base.LIVE), at=NOW + 5)
    sequence = await store.write(revision)
    old, new = await historian(store).history(record.scope, record.id)
    same((old.record, new.record), (record, second))
    same((old.number, old.began_at, old.began_by), (1, NOW, first.id))
    same((old.ended, old.ended_at, old.ended_by), (sequence, NOW + 5, revision.id))
    same((old.reason, old.into), (EndReason.REPLACED, None))
    same((new.number, new.began, new.began_by), (2, sequence, revision.id))
    same((new.ended, new.ended_at, new.ended_by, new.reason), (None, None, None, None))
    third = revised(second, content="the kettle is white")
    await store.write(a_change(record.scope, Put(record=third, base=Base.LIVE), at=NOW + 6))
    versions = await historian(store).history(record.scope, record.id)
    same([version.record for version in versions], [record, second, third])


@requires(Feature.HISTORY)
async def every_reason_to_end_is_kept(store: Store) -> None:
    scope = a_scope()
    reasons = [reason for reason in EndReason if reason is not EndReason.ERASED]
    for reason in reasons:
        record = a_record(scope, f"ended as {reason}")
        await keep(store, record)
        await store.write(a_change(scope, ending(record, reason)))
        (version,) = await historian(store).history(scope, record.id)
        same((version.reason, version.record), (reason, record))


@requires(Feature.HISTORY)
async def an_end_names_what_took_its_place(store: Store) -> None:
    scope = a_scope()
    old, twin = records(scope, 2)
    new = a_record(scope, "the kettle is red", supersedes=(old.id,), merged_from=(twin.id,))
    await keep(store, old, twin)
    superseding = ending(old, EndReason.SUPERSEDED, into=new.id)
    await store.write(
        a_change(scope, beginning(new), superseding, ending(twin, EndReason.MERGED, into=new.id))
    )
    books = historian(store)
    for missing, reason in ((old, EndReason.SUPERSEDED), (twin, EndReason.MERGED)):
        (version,) = await books.history(scope, missing.id)
        same((version.reason, version.into), (reason, new.id))
    same(await store.find(everything(scope)), [new])


@requires(Feature.HISTORY)
async def a_restored_memory_has_a_gap_in_its_history(store: Store) -> None:
    record = await keep_new(store)
    await end(store, record)
    await store.write(a_change(record.scope, Put(record=revised(record), base=Base.ENDED)))
    first, second = await historian(store).history(record.scope, record.id)
    same((first.reason, second.reason), (EndReason.FORGOTTEN, None))
    holds(present(first.ended, "the end") < second.began, "the second version began before the first ended")


@requires(Feature.HISTORY)
async def what_never_was_has_no_history(store: Store) -> None:
    books = historian(store)
    scope = a_scope()
    same(await books.history(scope, "no such id"), [])
    same(await books.footprint(scope, "no such change"), None)
    same(await books.committed(scope, "no such key"), None)
    same(await books.changes(scope, 5), [])


@requires(Feature.HISTORY)
async def a_footprint_tells_what_a_change_did(store: Store) -> None:
    scope = a_scope()
    old, other, new, untouched = records(scope, 4)
    await keep(store, old, other, untouched)
    change = a_change(
        scope,
        beginning(new),
        revising(old, content="changed"),
        ending(other),
        at=NOW + 3,
        operation="merge",
        reason="because",
        undoes="another",
    )
    sequence = await store.write(change)
    footprint = present(await historian(store).footprint(scope, change.id), "the footprint")
    answer = footprint.change
    same((footprint.sequence, answer.id, answer.at, answer.scope), (sequence, change.id, NOW + 3, scope))
    same((answer.operation, answer.reason, answer.undoes), ("merge", "because", "another"))
    same({(v.id, v.number) for v in footprint.began}, {(new.id, 1), (old.id, 2)})
    same(
        {(v.id, v.number, v.reason) for v in footprint.ended},
        {(old.id, 1, EndReason.REPLACED), (other.id, 1, EndReason.FORGOTTEN)},
    )
    same({v.id: v.record for v in footprint.ended}, {r.id: r for r in (old, other)})


@requires(Feature.HISTORY)
async def changes_are_listed_newest_first(store: Store) -> None:
    memories = records(a_scope(), 4)
    made = [await keep(store, record) for record in memories]
    listing = await historian(store).changes(memories[0].scope, 3)
    same([change.id for change in listing], [change.id for change in made[:0:-1]])


@requires(Feature.HISTORY)
async def a_user_sees_its_own_changes_and_the_agent_all(store: Store) -> None:
    agent = a_scope()
    made = []
    for user in ("ana", "ben"):
        scope = user_of(agent, user)
        change = a_change(scope, beginning(a_record(scope)))
        await store.write(change)
        made.append(change.id)
    books = historian(store)
    same([change.id for change in await books.changes(user_of(agent, "ana"), 9)], made[:1])
    same([change.id for change in await books.changes(agent, 9)], made[::-1])


async def _a_short_life(store: Store) -> tuple[Record, Record]:
    """Write a memory that begins at NOW + 10, is replaced at NOW + 20 and forgotten at NOW + 30."""
    record = a_record(a_scope(), "zebra")
    second = revised(record, content="kettle")
    await keep(store, record, vector=a_vector(1), at=NOW + 10)
    put = Put(record=second, base=Base.LIVE, vector=a_vector(0, 1))
    await store.write(a_change(record.scope, put, at=NOW + 20))
    await end(store, second, at=NOW + 30)
    return record, second


@requires(Feature.AS_OF, Feature.HISTORY)
async def the_past_shows_what_was_current_then(store: Store) -> None:
    first, second = await _a_short_life(store)
    moments = {9: [], 10: [first], 19: [first], 20: [second], 29: [second], 30: [], 99: []}
    for moment, expected in moments.items():
        where = everything(first.scope, as_of=NOW + moment)
        same(await store.find(where), expected)
        same(await store.count(where), len(expected))


@requires(Feature.AS_OF, Feature.HISTORY)
async def the_past_is_searched_with_its_own_words(store: Store) -> None:
    first, second = await _a_short_life(store)
    for moment, expected, text, vector in (
        (15, first, "zebra", a_vector(1)),
        (25, second, "kettle", a_vector(0, 1)),
    ):
        query = a_query(first.scope, text, vector, as_of=NOW + moment)
        (hit,) = await store.search(query, 10)
        same(hit.record, expected)
        holds(hit.signals["text"] > 0 and hit.signals["vector"] > 0.9, f"the signals are {hit.signals}")


@requires(Feature.AS_OF, Feature.HISTORY)
async def the_past_keeps_its_scope_and_its_filters(store: Store) -> None:
    agent = a_scope()
    ana, ben = (a_record(user_of(agent, user), f"kettle of {user}") for user in ("ana", "ben"))
    await keep(store, ana, ben)
    await store.write(a_change(agent, ending(ana), ending(ben), at=NOW + 5))
    same(ids(await store.find(everything(agent, as_of=NOW))), by_id([ana, ben]))
    same(await store.find(everything(ana.scope, as_of=NOW)), [ana])
    same(await store.find(everything(a_scope(), as_of=NOW)), [])
    stranger = Scope(agent=agent.agent, tenant="tenant of nobody")
    same(await store.search(a_query(stranger, "kettle", as_of=NOW), 5), [])


@requires(Feature.AS_OF, Feature.HISTORY)
async def the_past_has_its_own_clock_for_expiry(store: Store) -> None:
    record = await keep_new(store, expires_at=NOW + 50)
    same(await store.find(everything(record.scope, as_of=NOW, alive_at=NOW)), [record])
    same(await store.find(everything(record.scope, as_of=NOW, alive_at=NOW + 50)), [])


@requires(Feature.AS_OF, Feature.HISTORY)
async def another_agents_clock_does_not_move_my_past(store: Store) -> None:
    record = await keep_new(store, at=NOW + 20)
    await keep(store, a_record(a_scope()), at=NOW)
    await keep(store, a_record(Scope(agent=record.scope.agent, tenant="tenant of nobody")), at=NOW)
    same(await store.find(everything(record.scope, as_of=NOW + 10)), [])
    same(await store.find(everything(record.scope, as_of=NOW + 20)), [record])


@requires(Feature.AS_OF, Feature.HISTORY)
async def a_clock_that_went_back_hides_nothing_later(store: Store) -> None:
    first, second = records(a_scope(), 2)
    await keep(store, first, at=NOW + 20)
    await keep(store, second, at=NOW + 10)
    same(ids(await store.find(everything(first.scope, as_of=NOW + 10))), [second.id])
    same(ids(await store.find(everything(first.scope, as_of=NOW + 19))), [second.id])
    same(ids(await store.find(everything(first.scope, as_of=NOW + 20))), by_id([first, second]))


@requires(Feature.AS_OF, Feature.HISTORY)
async def a_change_stamped_too_early_leaves_the_past_as_it_was(store: Store) -> None:
    """A change with a far too early timestamp does not show today's state at times in between."""
    old, new, stray = records(a_scope(), 3)
    await keep(store, old, at=NOW + 10)
    await keep(store, new, at=NOW + 50)
    await keep(store, stray, at=NOW - 1_000)
    same(ids(await store.find(everything(old.scope, as_of=NOW))), [stray.id])
    same(ids(await store.find(everything(old.scope, as_of=NOW + 20))), by_id([old, stray]))
    same(ids(await store.find(everything(old.scope, as_of=NOW + 50))), by_id([old, new, stray]))


@requires(Feature.AS_OF, Feature.HISTORY)
async def the_past_shows_one_version_when_a_clock_went_back_and_forth(store: Store) -> None:
    first = a_record(a_scope(), "zebra")
    second = revised(first, content="kettle")
    third = revised(second, content="garden")
    await keep(store, first, at=NOW + 10)
    for version, at in ((second, NOW + 30), (third, NOW + 15)):
        await store.write(a_change(first.scope, Put(record=version, base=Base.LIVE), at=at))
    for moment, expected in {9: [], 10: [first], 14: [first], 15: [third], 20: [third], 40: [third]}.items():
        where = everything(first.scope, as_of=NOW + moment)
        same(await store.find(where), expected)
        same(await store.count(where), len(expected))


async def _erase(store: Store, *erased: Record, scope: Scope | None = None, at: int = NOW) -> Change:
    change = a_change(scope or erased[0].scope, at=at, erase=tuple(record.id for record in erased))
    await store.write(change)
    return change


@requires(Feature.AS_OF, Feature.HARD_DELETE, Feature.HISTORY)
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


@requires(Feature.HARD_DELETE, Feature.HISTORY)
async def history_shows_that_it_was_not_what_it_said(store: Store) -> None:
    record = a_record(a_scope())
    first = await keep(store, record)
    await store.write(a_change(record.scope, revising(record, content="second"), at=NOW + 1))
    erasing = await _erase(store, record, at=NOW + 2)
    books = historian(store)
    versions = await books.history(record.scope, record.id)
    same([(v.number, v.record, v.reason) for v in versions], [(n, None, EndReason.ERASED) for n in (1, 2)])
    same((versions[0].began_by, versions[0].began_at), (first.id, NOW))
    same((versions[1].ended_by, versions[1].ended_at), (erasing.id, NOW + 2))
    footprint = present(await books.footprint(record.scope, first.id), "the footprint")
    same([version.record for version in footprint.began], [None])


@requires(Feature.HARD_DELETE, Feature.HISTORY, Feature.IDEMPOTENCY)
async def a_request_is_forgotten_with_what_it_said(store: Store) -> None:
    record = a_record(a_scope())
    change = a_change(
        record.scope, beginning(record), key="k", fingerprint="hash of the content", reason="they said so"
    )
    ending_it = a_change(record.scope, ending(record), reason="they take it back")
    for one in (change, ending_it):
        await store.write(one)
    await _erase(store, record)
    books = historian(store)
    footprint = present(await books.committed(record.scope, "k"), "the change of the key")
    left = (footprint.change.id, footprint.change.fingerprint, footprint.change.reason)
    same(left, (change.id, None, None))
    ended = present(await books.footprint(record.scope, ending_it.id), "the change that ended it")
    same(ended.change.reason, None)


@requires(Feature.HARD_DELETE, Feature.HISTORY)
async def an_ended_memory_can_be_erased(store: Store) -> None:
    record = await keep_new(store)
    await end(store, record)
    await _erase(store, record)
    (version,) = await historian(store).history(record.scope, record.id)
    same((version.record, version.reason), (None, EndReason.ERASED))


@requires(Feature.HARD_DELETE)
async def an_erased_id_never_comes_back(store: Store) -> None:
    record = await keep_new(store)
    await _erase(store, record)
    attempts = (
        beginning(record),
        Put(record=revised(record), base=Base.ENDED),
        Put(record=revised(record), base=Base.LIVE),
    )
    for put in attempts:
        await must_refuse(store.write(a_change(record.scope, put)), Conflict, field="id")
    same(await store.get(record.scope, [record.id]), [])


@requires(Feature.HARD_DELETE)
async def erased_words_may_be_said_again(store: Store) -> None:
    record, again = a_record(scope := a_scope()), a_record(scope)
    await keep(store, record)
    await _erase(store, record)
    same(await store.duplicate(again, NOW), None)
    await store.write(a_change(scope, beginning(again, unique=True)))
    same(await store.find(everything(scope)), [again])


@requires(Feature.HARD_DELETE, Feature.HISTORY)
async def erasing_twice_is_fine(store: Store) -> None:
    record = await keep_new(store)
    await _erase(store, record)
    await _erase(store, record)
    same(len(await historian(store).history(record.scope, record.id)), 1)


@requires(Feature.HARD_DELETE)
async def strangers_cannot_erase(store: Store) -> None:
    record = await keep_new(store, a_scope(user="ana"))
    elsewhere = Scope(agent=record.scope.agent, user="ana", tenant="tenant of nobody")
    for scope in (a_scope(), user_of(record.scope, "ben"), elsewhere):
        await _erase(store, record, scope=scope)
    same(await store.get(record.scope, [record.id]), [record])


@requires(Feature.HARD_DELETE)
async def a_conflict_beside_it_stops_an_erasure(store: Store) -> None:
    record = await keep_new(store)
    change = a_change(record.scope, beginning(record), erase=(record.id,))
    await must_refuse(store.write(change), Conflict)
    same(await store.get(record.scope, [record.id]), [record])
