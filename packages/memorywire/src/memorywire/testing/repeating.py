"""Saying the same thing twice: duplicates by content, retries by key."""

from memorywire.model.errors import Conflict, Duplicate, IdempotencyConflict
from memorywire.model.kv import MARK, Owner, OwnerKind
from memorywire.model.record import DEFAULT_TENANT, MemoryType, Scope, Standing
from memorywire.stores.contract import Store
from memorywire.testing.expect import historian, present, refused, same
from memorywire.testing.samples import (
    NOW,
    a_change,
    a_name,
    a_record,
    a_scope,
    beginning,
    end,
    ending,
    everything,
    keep,
    records,
    revised,
    revising,
    user_of,
)


async def the_same_words_are_a_duplicate(store: Store) -> None:
    record = a_record(a_scope(user="ana"), "tea at  five\n", standing=Standing.ARCHIVED)
    await keep(store, record)
    same(await store.duplicate(a_record(record.scope, " tea at five"), NOW), record)


async def letters_composed_differently_are_the_same_words(store: Store) -> None:
    record = a_record(a_scope(), "caf\u00e9")
    await keep(store, record)
    same(await store.duplicate(a_record(record.scope, "cafe\u0301"), NOW), record)


async def the_same_structure_is_a_duplicate_in_any_order_of_keys(store: Store) -> None:
    record = a_record(a_scope(), {"a": 1, "b": [2, 3]})
    await keep(store, record)
    same(await store.duplicate(a_record(record.scope, {"b": [2, 3], "a": 1}), NOW), record)
    same(await store.duplicate(a_record(record.scope, {"b": [3, 2], "a": 1}), NOW), None)


async def another_type_or_event_is_no_duplicate(store: Store) -> None:
    record = a_record(a_scope(), occurred_at=NOW)
    await keep(store, record)
    episodic = a_record(record.scope, type=MemoryType.EPISODIC, occurred_at=NOW)
    same(await store.duplicate(episodic, NOW), None)
    same(await store.duplicate(a_record(record.scope, occurred_at=NOW + 1), NOW), None)


async def an_expired_memory_is_no_duplicate(store: Store) -> None:
    record = a_record(a_scope(), expires_at=NOW)
    await keep(store, record, at=NOW - 5)
    same(await store.duplicate(a_record(record.scope), NOW - 1), record)
    same(await store.duplicate(a_record(record.scope), NOW), None)
    await store.write(a_change(record.scope, beginning(a_record(record.scope), unique=True)))
    same(await store.count(everything(record.scope)), 1)


async def the_entry_of_a_key_neither_repeats_nor_is_repeated(store: Store) -> None:
    owner = Owner(kind=OwnerKind.AGENT, id=a_name("agent"), tenant=DEFAULT_TENANT)
    mark = {MARK: {"of": owner.kind.value, "key": "tea", "bytes": 6, "embedded": False}}
    entry = a_record(owner.scope, {"tea": "five"}, id=owner.address("tea"), metadata=mark)
    memory, repeated = (a_record(owner.scope, {"tea": "five"}) for _ in range(2))
    await keep(store, entry)
    await store.write(a_change(owner.scope, beginning(memory, unique=True)))
    await store.write(a_change(owner.scope, revising(entry)))
    same(await store.duplicate(revised(entry), NOW), None)
    same(await store.duplicate(repeated, NOW), memory)
    await end(store, memory)
    same(await store.duplicate(repeated, NOW), None)


async def a_replaced_wording_is_no_duplicate(store: Store) -> None:
    record = a_record(a_scope())
    await keep(store, record)
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
    record = a_record(a_scope())
    await keep(store, record)
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
            a_change(
                scope,
                beginning(a_record(scope), unique=True),
                beginning(a_record(scope), unique=True),
            )
        )
    same(await store.count(everything(scope)), 0)


async def a_put_that_need_not_be_unique_may_repeat(store: Store) -> None:
    scope = a_scope()
    await keep(store, a_record(scope), a_record(scope))
    same(await store.count(everything(scope)), 2)


async def a_key_is_used_once_by_an_agent(store: Store) -> None:
    first, second = records(a_scope(), 2)
    scope = first.scope
    await store.write(a_change(scope, beginning(first), key="k"))
    with refused(IdempotencyConflict, field="idempotency_key"):
        await store.write(a_change(scope, beginning(second), key="k"))
    with refused(IdempotencyConflict, field="idempotency_key"):
        await store.write(a_change(user_of(scope, "ana"), key="k"))
    same(await store.find(everything(scope)), [first])


async def agents_and_tenants_have_their_own_keys(store: Store) -> None:
    mine = a_scope()
    theirs = (a_scope(), Scope(agent=mine.agent, tenant=a_name("tenant")))
    books = historian(store)
    for scope in (mine, *theirs):
        same(await books.committed(scope, "k"), None)
        await store.write(a_change(scope, beginning(a_record(scope)), key="k"))


async def a_key_leads_back_to_its_change(store: Store) -> None:
    record = a_record(a_scope())
    change = a_change(record.scope, beginning(record), key="k", fingerprint="f")
    sequence = await store.write(change)
    footprint = present(await historian(store).committed(record.scope, "k"), "the change of the key")
    same((footprint.change.id, footprint.change.fingerprint), (change.id, "f"))
    same((footprint.sequence, [version.id for version in footprint.began]), (sequence, [record.id]))


async def a_refused_change_leaves_its_key_free(store: Store) -> None:
    record = a_record(a_scope())
    with refused(Conflict):
        await store.write(a_change(record.scope, revising(record), key="k"))
    await store.write(a_change(record.scope, beginning(record), key="k"))
    same(await store.find(everything(record.scope)), [record])
