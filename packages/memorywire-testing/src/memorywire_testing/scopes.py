"""Checks of isolation: tenants, agents and users in one store see only their own memories."""

from memorywire.model.capabilities import Feature
from memorywire.model.errors import Conflict
from memorywire.model.record import MemoryType, Record, Scope, Standing
from memorywire.stores.contract import Store
from memorywire_testing.expect import close_to, historian, must_refuse, refused, requires, same
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
    ending,
    everything,
    ids,
    keep,
    keep_new,
    records,
    revising,
    user_of,
)

_OTHERS = 24  # agents are tried: a store of several shards must not leak in any of them


async def _sees(store: Store, scope: Scope, wanted: list[Record], asked: list[Record]) -> None:
    """Check that every read method, called in `scope` for all of `asked`, returns exactly `wanted`."""
    everyone = frozenset(Standing)
    asked_ids = by_id(asked)
    same(ids(await store.get(scope, asked_ids)), by_id(wanted))
    same(ids(await store.find(everything(scope, standings=everyone))), by_id(wanted))
    same(await store.count(everything(scope, standings=everyone)), len(wanted))
    results = await store.search(a_query(scope, "kettle", a_vector(1)), 50)
    same(sorted(ids(results)), by_id(wanted))


async def another_tenant_sees_nothing(store: Store) -> None:
    record = await keep_new(store, vector=a_vector(1))
    stranger = Scope(agent=record.scope.agent, tenant=a_name("tenant"))
    await _sees(store, stranger, [], [record])
    await _sees(store, record.scope, [record], [record])


async def another_agent_sees_nothing(store: Store) -> None:
    record = await keep_new(store, vector=a_vector(1))
    for agent in (a_name("agent"), record.scope.agent[:-1], record.scope.agent.upper(), "%"):
        await _sees(store, Scope(agent=agent), [], [record])
    await _sees(store, record.scope, [record], [record])


async def a_user_sees_exactly_its_own(store: Store) -> None:
    agent = a_scope()
    ana, ben, nobody = (a_record(user_of(agent, user), f"kettle of {user}") for user in ("ana", "ben", None))
    memories = [ana, ben, nobody]
    await keep(store, *memories, vector=a_vector(1))
    await _sees(store, user_of(agent, "ana"), [ana], memories)
    await _sees(store, user_of(agent, "ben"), [ben], memories)
    await _sees(store, user_of(agent, "Ana"), [], memories)
    await _sees(store, user_of(agent, ""), [], memories)


async def a_request_without_user_sees_all_of_the_agent(store: Store) -> None:
    agent = a_scope()
    memories = [a_record(user_of(agent, user), f"kettle of {user}") for user in ("ana", "ben", None)]
    await keep(store, *memories, vector=a_vector(1))
    await _sees(store, agent, memories, memories)


@requires(Feature.HISTORY)
async def history_is_hidden_from_strangers(store: Store) -> None:
    record = a_record(a_scope(user="ana"))
    change = await keep(store, record)
    books = historian(store)
    for scope in _strangers(record.scope):
        same(await books.history(scope, record.id), [])
        same(await books.footprint(scope, change.id), None)
        same(await books.changes(scope, 10), [])
    same(len(await books.history(record.scope, record.id)), 1)


async def strangers_cannot_revise(store: Store) -> None:
    record = await keep_new(store, a_scope(user="ana"))
    for scope in _strangers(record.scope):
        theirs = a_record(scope, "stolen", id=record.id)
        await must_refuse(store.write(a_change(scope, revising(theirs))), Conflict, field="id")
    same(await store.get(record.scope, [record.id]), [record])


async def strangers_cannot_end(store: Store) -> None:
    record = await keep_new(store, a_scope(user="ana"))
    for scope in _strangers(record.scope):
        await must_refuse(store.write(a_change(scope, ending(record))), Conflict, field="id")
    same(await store.get(record.scope, [record.id]), [record])


async def strangers_learn_nothing_from_a_refusal(store: Store) -> None:
    record = await keep_new(store, a_scope(user="ana"))
    stranger = a_scope()
    answer = []
    for id in (record.id, a_name("unknown")):
        with refused(Conflict) as refusals:
            await store.write(a_change(stranger, ending(a_record(stranger, id=id))))
        answer += [refusal.problem() | {"detail": refusal.detail.replace(id, "")} for refusal in refusals]
    same(answer[0], answer[1])


async def a_memory_cannot_move_to_another_user(store: Store) -> None:
    agent = a_scope()
    record = a_record(user_of(agent, "ana"))
    await keep(store, record)
    with refused(Conflict, field="id"):
        await store.write(a_change(agent, revising(record, scope=user_of(agent, "ben"))))
    same(await store.get(agent, [record.id]), [record])


async def a_change_cannot_begin_what_it_does_not_cover(store: Store) -> None:
    agent = a_scope()
    record = a_record(user_of(agent, "ben"))
    await must_refuse(store.write(a_change(user_of(agent, "ana"), beginning(record))), Conflict, field="id")
    same(await store.count(everything(agent)), 0)


async def the_same_id_may_live_in_two_tenants(store: Store) -> None:
    mine = a_record(a_scope())
    theirs = a_record(a_scope(tenant=a_name("tenant")), "something else", id=mine.id)
    await keep(store, mine)
    await keep(store, theirs)
    same(await store.get(mine.scope, [mine.id]), [mine])
    same(await store.get(theirs.scope, [mine.id]), [theirs])
    await store.write(a_change(theirs.scope, ending(theirs)))
    same(await store.get(mine.scope, [mine.id]), [mine])


async def an_id_belongs_to_one_agent_of_a_tenant(store: Store) -> None:
    mine = await keep_new(store, a_scope(user="ana"))
    for _ in range(_OTHERS):
        theirs = a_record(a_scope(), "something else", id=mine.id)
        with refused(Conflict, field="id") as refusals:
            await keep(store, theirs)
        for refusal in refusals:
            same((mine.scope.agent in refusal.detail, "ana" in refusal.detail.split()), (False, False))
        same(await store.get(theirs.scope, [mine.id]), [])


async def _is_first(store: Store, mine: Record, crowd: list[Record], **conditions: object) -> None:
    """Check that `mine`, the weaker match, is found at limit 1 despite a crowd out of scope."""
    await keep(store, *crowd, vector=a_vector(1))
    await keep(store, mine, vector=a_vector(0.5, 1))
    query = a_query(mine.scope, "zebra", a_vector(1), **conditions)
    same(ids(await store.search(query, 1)), [mine.id])
    same(ids(await store.find(everything(mine.scope, **conditions), limit=1)), [mine.id])


async def a_crowd_of_another_agent_does_not_hide_mine(store: Store) -> None:
    mine = a_record(a_scope(), "once there was a zebra in a longer sentence")
    await _is_first(store, mine, records(a_scope(), 300, "zebra"))


async def a_crowd_of_another_tenant_does_not_hide_mine(store: Store) -> None:
    mine = a_record(a_scope(), "once there was a zebra in a longer sentence")
    ranking = Scope(agent=mine.scope.agent, tenant=a_name("tenant"))
    await _is_first(store, mine, records(ranking, 300, "zebra"))


async def a_crowd_of_another_user_does_not_hide_mine(store: Store) -> None:
    mine = a_record(a_scope(user="ana"), "once there was a zebra in a longer sentence")
    await _is_first(store, mine, records(user_of(mine.scope, "ben"), 300, "zebra"))


async def a_crowd_of_another_type_does_not_hide_mine(store: Store) -> None:
    episodic = frozenset({MemoryType.EPISODIC})
    mine = a_record(a_scope(), "once there was a zebra in a longer sentence", type=MemoryType.EPISODIC)
    await _is_first(store, mine, records(mine.scope, 300, "zebra"), types=episodic)


async def a_crowd_of_expired_memories_does_not_hide_mine(store: Store) -> None:
    mine = a_record(a_scope(), "once there was a zebra in a longer sentence")
    await _is_first(store, mine, records(mine.scope, 300, "zebra", expires_at=NOW))


async def a_crowd_of_archived_memories_does_not_hide_mine(store: Store) -> None:
    mine = a_record(a_scope(), "once there was a zebra in a longer sentence")
    await _is_first(store, mine, records(mine.scope, 300, "zebra", standing=Standing.ARCHIVED))


async def scores_do_not_depend_on_who_shares_the_store(store: Store) -> None:
    alone = records(a_scope(user="ana"), 3, "zebra in a crossing")
    scope = alone[0].scope
    query = a_query(scope, "zebra crossing 1", a_vector(1, 1))
    await keep(store, *alone, vector=a_vector(1))
    before = await store.search(query, 10)
    await keep(store, *records(user_of(scope, "ben"), 40, "zebra zebra"), vector=a_vector(1))
    await keep(store, *records(a_scope(), 40, "crossing"), vector=a_vector(1))
    after = await store.search(query, 10)
    same(ids(after), ids(before))
    for then, now in zip(before, after, strict=True):
        close_to(now.score, then.score, 1e-9)
        close_to(now.signals["text"], then.signals["text"], 1e-9)


def _strangers(scope: Scope) -> tuple[Scope, ...]:
    return (
        a_scope(user=scope.user),
        user_of(scope, "ben"),
        Scope(agent=scope.agent, user=scope.user, tenant=a_name("tenant")),
    )
