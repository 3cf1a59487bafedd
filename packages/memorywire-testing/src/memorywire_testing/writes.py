"""Checks of writes: records stay as they are, changes are atomic and idempotent, duplicates are refused."""

import asyncio
from collections.abc import Awaitable

from memorywire.model.capabilities import Feature
from memorywire.model.change import Base, Put
from memorywire.model.errors import Conflict, Duplicate, IdempotencyConflict
from memorywire.model.kv import MARK, Owner, OwnerKind
from memorywire.model.record import DEFAULT_TENANT, MemoryType, Record, Scope, Standing, Trust
from memorywire.stores.contract import Store
from memorywire_testing.expect import historian, holds, must_refuse, present, refused, requires, same
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
    keep_new,
    records,
    revised,
    revising,
    user_of,
)


async def _comes_back(store: Store, record: Record) -> None:
    await keep(store, record)
    same(await store.get(record.scope, [record.id]), [record])
    same(await store.find(everything(record.scope, standings=frozenset(Standing))), [record])


async def every_field_comes_back_as_it_was(store: Store) -> None:
    await _comes_back(
        store,
        a_record(
            a_scope(user="ana"),
            type=MemoryType.EPISODIC,
            created_at=NOW - 5,
            updated_at=NOW - 3,
            confidence=0.375,
            metadata={"place": "kitchen"},
            tags=("tea", "home"),
            source="chat",
            session_id="s-1",
            occurred_at=NOW - 9,
            expires_at=NOW + 9,
            standing=Standing.ARCHIVED,
            supersedes=("older-2", "older-1"),
            merged_from=("twin",),
            derived_from=("origin",),
            trust=Trust.TRUSTED,
        ),
    )


async def an_id_of_any_spelling_is_kept(store: Store) -> None:
    scope = a_scope()
    spellings = ("note/", "NOTE/", "Ключ 'n\" % _ ", "x" * 180)
    memories = [a_record(scope, spelling, id=spelling + scope.agent) for spelling in spellings]
    await keep(store, *memories)
    for record in memories:
        same(await store.get(scope, [record.id]), [record])


async def structured_content_keeps_its_shape(store: Store) -> None:
    steps = {"steps": [{"do": "boil", "for": 3.5}, {"do": "pour"}], "tested": True, "note": None, "": {}}
    await _comes_back(store, a_record(a_scope(), steps, type=MemoryType.PROCEDURAL))


async def an_object_that_looks_like_text_stays_an_object(store: Store) -> None:
    scope = a_scope()
    memories = [a_record(scope, {"text": "tea"}), a_record(scope, '{"text": "tea"}'), a_record(scope, "")]
    await keep(store, *memories)
    same([r.content for r in await store.get(scope, [k.id for k in memories])], [k.content for k in memories])


async def every_script_survives(store: Store) -> None:
    text = (
        " Zoë naïve e\u0301 \u00e9 | 記憶は東京 | 서울 | ذاكرة | 👩‍👩‍👧‍👦🇪🇺 | "
        "\u200b\ufeff | 'single' \"double\" \\ % _ ; -- | \t\r\n | 𝔘𝔫𝔦 \n"
    )
    await _comes_back(
        store, a_record(a_scope(user="Zoë 👩‍👩‍👧‍👦"), text, metadata={text: text}, tags=(text,))
    )


async def content_of_64_kib_is_kept(store: Store) -> None:
    await _comes_back(store, a_record(a_scope(), ("word " * 13_108)[: 64 * 1024]))


async def large_metadata_is_kept(store: Store) -> None:
    wide = {f"key {number}": {"n": number, "deep": [[{"x": ["y"] * 3}]]} for number in range(400)}
    await _comes_back(store, a_record(a_scope(), metadata=wide))


async def numbers_keep_their_kind_and_every_digit(store: Store) -> None:
    numbers = [1, 1.0, 0, -0.5, 0.1, 1e300, 5e-324, 2**53 + 1, 2**63 - 1, -(2**63), True, False, None]
    record = a_record(a_scope(), metadata={"numbers": numbers})
    await _comes_back(store, record)
    (results,) = await store.get(record.scope, [record.id])
    same([type(n) for n in results.metadata["numbers"]], [type(n) for n in numbers])


async def what_is_kept_does_not_follow_the_callers_dict(store: Store) -> None:
    metadata = {"colours": ["blue"]}
    record = await keep_new(store, metadata=metadata)
    metadata["colours"].append("red")
    (results,) = await store.get(record.scope, [record.id])
    same(results.metadata, {"colours": ["blue"]})
    results.metadata["colours"].append("green")
    same((await store.get(record.scope, [record.id]))[0].metadata, {"colours": ["blue"]})


async def one_change_may_begin_many(store: Store) -> None:
    scope = a_scope()
    memories = records(scope, 250)
    await keep(store, *memories)
    same(await store.count(everything(scope)), 250)
    same(ids(await store.find(everything(scope), limit=250)), by_id(memories))
    same(await store.get(scope, [record.id for record in memories]), memories)


async def get_answers_in_the_order_asked(store: Store) -> None:
    scope = a_scope()
    first, second, third = records(scope, 3)
    await keep(store, first, second, third)
    request = [third.id, "no such id", first.id, second.id]
    same(await store.get(scope, request), [third, first, second])


async def asking_for_nothing_gives_nothing(store: Store) -> None:
    scope = a_scope()
    await keep(store, a_record(scope))
    same(await store.get(scope, []), [])
    same(await store.find(everything(scope), limit=0), [])


async def an_expired_memory_can_still_be_fetched_by_id(store: Store) -> None:
    record = await keep_new(store, expires_at=NOW - 1)
    same(await store.get(record.scope, [record.id]), [record])


async def a_new_version_replaces_the_old_one(store: Store) -> None:
    record = a_record(a_scope())
    put = revising(record, content="the kettle is red now", tags=("repainted",))
    await keep(store, record)
    await store.write(a_change(record.scope, put))
    same(await store.get(record.scope, [record.id]), [put.record])
    same(await store.find(everything(record.scope)), [put.record])


async def a_change_of_an_agent_may_begin_memories_of_its_users(store: Store) -> None:
    agent = a_scope()
    record = a_record(user_of(agent, "ana"))
    await store.write(a_change(agent, beginning(record)))
    same(await store.get(record.scope, [record.id]), [record])


async def an_id_can_be_taken_once(store: Store) -> None:
    record = await keep_new(store)
    with refused(Conflict, field="id"):
        await keep(store, a_record(record.scope, "something else", id=record.id))
    same(await store.get(record.scope, [record.id]), [record])


async def an_ended_id_stays_taken(store: Store) -> None:
    record = await keep_new(store)
    await end(store, record)
    with refused(Conflict, field="id"):
        await keep(store, a_record(record.scope, "something else", id=record.id))


async def a_stale_version_cannot_be_put(store: Store) -> None:
    record = await keep_new(store)
    await store.write(a_change(record.scope, revising(record, content="second")))
    with refused(Conflict, field="if_version"):
        await store.write(a_change(record.scope, revising(record, content="another second")))
    same((await store.get(record.scope, [record.id]))[0].content, "second")


async def a_version_cannot_be_skipped(store: Store) -> None:
    record = await keep_new(store)
    with refused(Conflict, field="if_version"):
        await store.write(a_change(record.scope, revising(record, version=3)))
    await must_refuse(keep(store, a_record(record.scope, version=2)), Conflict, field="if_version")


async def what_is_not_there_cannot_be_revised_or_ended(store: Store) -> None:
    record = a_record(a_scope())
    await must_refuse(store.write(a_change(record.scope, revising(record))), Conflict, field="id")
    await must_refuse(store.write(a_change(record.scope, ending(record))), Conflict, field="id")


async def what_has_ended_cannot_be_revised(store: Store) -> None:
    record = await keep_new(store)
    await end(store, record)
    await must_refuse(store.write(a_change(record.scope, revising(record))), Conflict, field="if_version")


async def what_is_live_cannot_be_restored(store: Store) -> None:
    record = await keep_new(store)
    with refused(Conflict, field="if_version"):
        await store.write(a_change(record.scope, Put(record=revised(record), base=Base.ENDED)))


async def ending_twice_conflicts(store: Store) -> None:
    record = await keep_new(store)
    await end(store, record)
    await must_refuse(end(store, record), Conflict, field="if_version")


async def ending_a_version_that_moved_conflicts(store: Store) -> None:
    record = a_record(a_scope())
    put = revising(record, content="second")
    await keep(store, record)
    await store.write(a_change(record.scope, put))
    await must_refuse(end(store, record), Conflict, field="if_version")
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
    await must_refuse(store.write(a_change(record.scope, beginning(new), ending(revised(record)))), Conflict)
    same(await store.find(everything(record.scope)), [record])
    same(await store.count(everything(record.scope)), 1)


async def a_conflicting_put_undoes_everything_beside_it(store: Store) -> None:
    first, second, new = records(a_scope(), 3)
    scope = first.scope
    await keep(store, first, second)
    change = a_change(
        scope, beginning(new), revising(first, content="changed"), beginning(first), ending(second)
    )
    await must_refuse(store.write(change), Conflict)
    same(await store.get(scope, [first.id, second.id, new.id]), [first, second])
    same(ids(await store.search(a_query(scope, "changed"), 10)), by_id([first, second]))


async def a_refused_change_may_be_tried_again(store: Store) -> None:
    record = a_record(a_scope())
    change = a_change(record.scope, revising(record, content="second"))
    await must_refuse(store.write(change), Conflict)
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
    memories = records(a_scope(), 5)
    sequences = [await store.write(a_change(record.scope, beginning(record))) for record in memories]
    same(sequences, sorted(set(sequences)))


async def concurrent_writes_are_all_kept(store: Store) -> None:
    memories = records(a_scope(), 60)
    scope = memories[0].scope
    sequences = await asyncio.gather(
        *(store.write(a_change(scope, beginning(record, a_vector(1)))) for record in memories)
    )
    same(len(set(sequences)), 60)
    same(ids(await store.find(everything(scope), limit=100)), by_id(memories))
    same(sorted(ids(await store.search(a_query(scope, "kettle", a_vector(1)), 100))), by_id(memories))


async def of_concurrent_revisions_exactly_one_wins(store: Store) -> None:
    record = await keep_new(store)
    winners = await asyncio.gather(
        *(
            _is_accepted(store.write(a_change(record.scope, revising(record, content=f"{n}"))))
            for n in range(8)
        )
    )
    same(winners.count(True), 1)
    (results,) = await store.get(record.scope, [record.id])
    same((results.version, results.content), (2, str(winners.index(True))))


async def a_conflict_does_not_disturb_the_writes_around_it(store: Store) -> None:
    memories = records(a_scope(), 20)
    scope = memories[0].scope
    winners = await asyncio.gather(
        *(
            _is_accepted(store.write(a_change(scope, beginning(record))))
            for record in (*memories, *memories[::2])
        )
    )
    same(winners.count(True), 20)
    same(ids(await store.find(everything(scope))), by_id(memories))


async def a_write_is_seen_by_the_next_reader(store: Store) -> None:
    scope = a_scope()
    for record in records(scope, 10):
        await keep(store, record, vector=a_vector(1))
        results = ids(await store.search(a_query(scope, record.text, a_vector(1)), 20))
        holds(record.id in results, f"{record.id} is not found right after it was written")


async def _is_accepted(write: Awaitable[int]) -> bool:
    try:
        await write
    except Conflict:
        return False
    return True


async def the_same_words_are_a_duplicate(store: Store) -> None:
    record = await keep_new(store, a_scope(user="ana"), "tea at  five\n", standing=Standing.ARCHIVED)
    same(await store.duplicate(a_record(record.scope, " tea at five"), NOW), record)


async def letters_composed_differently_are_the_same_words(store: Store) -> None:
    record = await keep_new(store, a_scope(), "caf\u00e9")
    same(await store.duplicate(a_record(record.scope, "cafe\u0301"), NOW), record)


@requires(Feature.HISTORY, Feature.IDEMPOTENCY)
async def the_same_structure_is_a_duplicate_in_any_order_of_keys(store: Store) -> None:
    record = await keep_new(store, a_scope(), {"a": 1, "b": [2, 3]})
    same(await store.duplicate(a_record(record.scope, {"b": [2, 3], "a": 1}), NOW), record)
    same(await store.duplicate(a_record(record.scope, {"b": [3, 2], "a": 1}), NOW), None)


async def another_type_or_event_is_no_duplicate(store: Store) -> None:
    record = await keep_new(store, occurred_at=NOW)
    episodic = a_record(record.scope, type=MemoryType.EPISODIC, occurred_at=NOW)
    same(await store.duplicate(episodic, NOW), None)
    same(await store.duplicate(a_record(record.scope, occurred_at=NOW + 1), NOW), None)


async def an_expired_memory_is_no_duplicate(store: Store) -> None:
    record = await keep_new(store, expires_at=NOW, at=NOW - 5)
    same(await store.duplicate(a_record(record.scope), NOW - 1), record)
    same(await store.duplicate(a_record(record.scope), NOW), None)
    await store.write(a_change(record.scope, beginning(a_record(record.scope), unique=True)))
    same(await store.count(everything(record.scope)), 1)


async def the_entry_of_a_key_neither_repeats_nor_is_repeated(store: Store) -> None:
    owner = Owner(kind=OwnerKind.AGENT, id=a_name("agent"), tenant=DEFAULT_TENANT)
    mark = {MARK: {"of": owner.kind.value, "key": "tea", "bytes": 6, "embedded": False}}
    entry = a_record(owner.scope, {"tea": "five"}, id=owner.address("tea"), metadata=mark)
    memory, copy = (a_record(owner.scope, {"tea": "five"}) for _ in range(2))
    await keep(store, entry)
    await store.write(a_change(owner.scope, beginning(memory, unique=True)))
    await store.write(a_change(owner.scope, revising(entry)))
    same(await store.duplicate(revised(entry), NOW), None)
    same(await store.duplicate(copy, NOW), memory)
    await end(store, memory)
    same(await store.duplicate(copy, NOW), None)


async def a_replaced_wording_is_no_duplicate(store: Store) -> None:
    record = await keep_new(store)
    await store.write(a_change(record.scope, revising(record, content="the kettle is red")))
    same(await store.duplicate(a_record(record.scope), NOW), None)


async def only_exactly_the_same_scope_holds_duplicates(store: Store) -> None:
    agent = a_scope()
    record = a_record(user_of(agent, "ana"))
    await keep(store, record)
    strangers = (
        agent,
        user_of(agent, "ben"),
        a_scope(user="ana"),
        Scope(agent=agent.agent, user="ana", tenant=a_name("tenant")),
    )
    for scope in strangers:
        same(await store.duplicate(a_record(scope), NOW), None)
    same(await store.duplicate(a_record(record.scope), NOW), record)


async def a_memory_of_no_user_is_a_duplicate_of_its_like(store: Store) -> None:
    record = await keep_new(store)
    same(await store.duplicate(a_record(record.scope), NOW), record)
    same(await store.duplicate(a_record(user_of(record.scope, "ana")), NOW), None)


async def a_unique_put_is_refused_while_its_content_is_live(store: Store) -> None:
    record, twin = a_record(scope := a_scope()), a_record(scope)
    await keep(store, record)
    with refused(Duplicate) as refusals:
        await store.write(a_change(scope, beginning(twin, unique=True)))
    same([refusal.existing for refusal in refusals], [record.id])
    same(await store.find(everything(scope)), [record])
    await end(store, record)
    await store.write(a_change(scope, beginning(twin, unique=True)))
    same(await store.find(everything(scope)), [twin])


async def a_unique_put_may_repeat_what_its_own_change_ends(store: Store) -> None:
    record, twin = a_record(scope := a_scope()), a_record(scope)
    await keep(store, record)
    await store.write(a_change(scope, beginning(twin, unique=True), ending(record)))
    same(await store.find(everything(scope)), [twin])


async def one_change_cannot_say_the_same_thing_twice(store: Store) -> None:
    scope = a_scope()
    with refused(Duplicate):
        await store.write(
            a_change(scope, beginning(a_record(scope), unique=True), beginning(a_record(scope), unique=True))
        )
    same(await store.count(everything(scope)), 0)


async def a_put_that_need_not_be_unique_may_repeat(store: Store) -> None:
    scope = a_scope()
    await keep(store, a_record(scope), a_record(scope))
    same(await store.count(everything(scope)), 2)


@requires(Feature.HISTORY, Feature.IDEMPOTENCY)
async def a_key_is_used_once_by_an_agent(store: Store) -> None:
    first, second = records(a_scope(), 2)
    scope = first.scope
    await store.write(a_change(scope, beginning(first), key="k"))
    with refused(IdempotencyConflict, field="idempotency_key"):
        await store.write(a_change(scope, beginning(second), key="k"))
    with refused(IdempotencyConflict, field="idempotency_key"):
        await store.write(a_change(user_of(scope, "ana"), key="k"))
    same(await store.find(everything(scope)), [first])


@requires(Feature.HISTORY, Feature.IDEMPOTENCY)
async def agents_and_tenants_have_their_own_keys(store: Store) -> None:
    mine = a_scope()
    theirs = (a_scope(), Scope(agent=mine.agent, tenant=a_name("tenant")))
    books = historian(store)
    for scope in (mine, *theirs):
        same(await books.committed(scope, "k"), None)
        await store.write(a_change(scope, beginning(a_record(scope)), key="k"))


@requires(Feature.HISTORY, Feature.IDEMPOTENCY)
async def a_key_leads_back_to_its_change(store: Store) -> None:
    record = a_record(a_scope())
    change = a_change(record.scope, beginning(record), key="k", fingerprint="f")
    sequence = await store.write(change)
    footprint = present(await historian(store).committed(record.scope, "k"), "the change of the key")
    same((footprint.change.id, footprint.change.fingerprint), (change.id, "f"))
    same((footprint.sequence, [version.id for version in footprint.began]), (sequence, [record.id]))


@requires(Feature.HISTORY, Feature.IDEMPOTENCY)
async def a_refused_change_leaves_its_key_free(store: Store) -> None:
    record = a_record(a_scope())
    await must_refuse(store.write(a_change(record.scope, revising(record), key="k")), Conflict)
    await store.write(a_change(record.scope, beginning(record), key="k"))
    same(await store.find(everything(record.scope)), [record])
