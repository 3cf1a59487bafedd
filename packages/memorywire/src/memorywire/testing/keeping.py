"""What is put comes back as it was put."""

from memorywire.model.record import MemoryType, Record, Standing, Trust
from memorywire.stores.contract import Store
from memorywire.testing.expect import same
from memorywire.testing.samples import (
    NOW,
    a_change,
    a_record,
    a_scope,
    beginning,
    by_id,
    everything,
    ids,
    keep,
    records,
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
    kept = [a_record(scope, spelling, id=spelling + scope.agent) for spelling in spellings]
    await keep(store, *kept)
    for record in kept:
        same(await store.get(scope, [record.id]), [record])


async def structured_content_keeps_its_shape(store: Store) -> None:
    steps = {"steps": [{"do": "boil", "for": 3.5}, {"do": "pour"}], "tested": True, "note": None, "": {}}
    await _comes_back(store, a_record(a_scope(), steps, type=MemoryType.PROCEDURAL))


async def an_object_that_looks_like_text_stays_an_object(store: Store) -> None:
    scope = a_scope()
    kept = [a_record(scope, {"text": "tea"}), a_record(scope, '{"text": "tea"}'), a_record(scope, "")]
    await keep(store, *kept)
    same([r.content for r in await store.get(scope, [k.id for k in kept])], [k.content for k in kept])


async def every_script_survives(store: Store) -> None:
    said = (
        " Zoë naïve e\u0301 \u00e9 | 記憶は東京 | 서울 | ذاكرة | 👩‍👩‍👧‍👦🇪🇺 | "
        "\u200b\ufeff | 'single' \"double\" \\ % _ ; -- | \t\r\n | 𝔘𝔫𝔦 \n"
    )
    await _comes_back(
        store, a_record(a_scope(user="Zoë 👩‍👩‍👧‍👦"), said, metadata={said: said}, tags=(said,))
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
    (found,) = await store.get(record.scope, [record.id])
    same([type(n) for n in found.metadata["numbers"]], [type(n) for n in numbers])


async def what_is_kept_does_not_follow_the_callers_dict(store: Store) -> None:
    metadata = {"colours": ["blue"]}
    record = a_record(a_scope(), metadata=metadata)
    await keep(store, record)
    metadata["colours"].append("red")
    (found,) = await store.get(record.scope, [record.id])
    same(found.metadata, {"colours": ["blue"]})
    found.metadata["colours"].append("green")
    same((await store.get(record.scope, [record.id]))[0].metadata, {"colours": ["blue"]})


async def one_change_may_begin_many(store: Store) -> None:
    scope = a_scope()
    kept = records(scope, 250)
    await keep(store, *kept)
    same(await store.count(everything(scope)), 250)
    same(ids(await store.find(everything(scope), limit=250)), by_id(kept))
    same(await store.get(scope, [record.id for record in kept]), kept)


async def get_answers_in_the_order_asked(store: Store) -> None:
    scope = a_scope()
    first, second, third = records(scope, 3)
    await keep(store, first, second, third)
    asked = [third.id, "no such id", first.id, second.id]
    same(await store.get(scope, asked), [third, first, second])


async def asking_for_nothing_gives_nothing(store: Store) -> None:
    scope = a_scope()
    await keep(store, a_record(scope))
    same(await store.get(scope, []), [])
    same(await store.find(everything(scope), limit=0), [])


async def an_expired_memory_can_still_be_fetched_by_id(store: Store) -> None:
    record = a_record(a_scope(), expires_at=NOW - 1)
    await keep(store, record)
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
