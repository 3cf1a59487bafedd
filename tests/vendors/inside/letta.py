"""What a real Letta server does with what it is given, and what its room does about it."""

import os
from datetime import UTC, datetime
from pathlib import Path

from memorywire.model.errors import InvalidRequest, StoreUnavailable
from memorywire.model.record import Scope
from memorywire.stores.contract import Ingester, SupportsHistory
from memorywire.stores.registry import open_store
from memorywire_adapters.products import Entry, Ref
from memorywire_testing.expect import refused
from memorywire_testing.samples import (
    NOW,
    SPACE,
    a_change,
    a_query,
    a_record,
    a_scope,
    a_vector,
    by_id,
    everything,
    ids,
    keep,
    records,
    user_of,
)

SERVER = "MEMORYWIRE_TEST_LETTA"
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def _url(folder: Path) -> str:
    return os.environ[SERVER] % folder


async def letta_looks_at_tags_after_it_chose_so_every_user_has_an_archive(folder: Path) -> None:
    store = await open_store(_url(folder), space=SPACE)
    agent = a_scope()
    crowd = records(user_of(agent, "ana"), 110, "zebra")
    mine = a_record(user_of(agent, "ben"), "once there was a zebra in a longer sentence", tags=("mine",))
    await keep(store, *crowd, vector=a_vector(1))
    await keep(store, mine, vector=a_vector(0.5, 1))
    client = store._product._client
    shared = await client.archives.create(name=f"shared-{agent.agent}", **store._product._embedding)
    passages = [{"text": "zebra", "tags": ["crowd"]} for _ in range(100)]
    for start in (0, 50):
        await client.archives.passages.create_many(shared.id, passages=passages[start : start + 50])
    await client.archives.passages.create(shared.id, text="zebra", tags=["mine"])
    assert await client.passages.search(archive_id=shared.id, tags=["mine"], limit=100) == []
    assert ids(await store.search(a_query(mine.scope, "zebra", a_vector(1)), 1)) == [mine.id]
    assert await store.count(everything(agent)) == 111
    await store.close()


async def more_than_one_answer_of_letta_holds_can_be_listed(folder: Path) -> None:
    store = await open_store(_url(folder), space=SPACE)
    kept = records(a_scope(), 230)
    for start in (0, 115):
        await keep(store, *kept[start : start + 115])
    assert ids(await store.find(everything(kept[0].scope), limit=500)) == by_id(kept)
    assert [r.id for r in await store.get(kept[0].scope, [kept[200].id])] == [kept[200].id]
    await store.close()


async def a_passage_is_dated_within_a_second_of_its_memory(folder: Path) -> None:
    store = await open_store(_url(folder), space=SPACE)
    record, beyond = a_record(a_scope()), a_record(a_scope(), created_at=10**18)
    await keep(store, record)
    await keep(store, beyond)
    product = store._product
    (archive,) = await product._archives_of(record.scope)
    (passage,) = [one async for one in product._since(archive, _EPOCH)]
    assert 0 <= passage.created_at.timestamp() - NOW / 1000 <= 1
    assert await store.get(beyond.scope, [beyond.id]) == [beyond]
    await store.close()


async def nothing_is_sent_twice_behind_our_back(folder: Path) -> None:
    store = await open_store(_url(folder), space=SPACE)
    assert store._product._client.max_retries == 0
    await store.close()


async def what_nobody_heard_the_id_of_is_found_by_our_key_and_dropped(folder: Path) -> None:
    store = await open_store(_url(folder), space=SPACE)
    product = store._product
    orphan = Entry(record=a_record(a_scope(), "archaeopteryx"), vector=a_vector(1))
    (handle,) = await product.keep([orphan])
    found = Ref(key=orphan.key, scope=orphan.record.scope, handle=handle)
    assert len(await product.fetch([found])) == 1
    await product.drop([Ref(key=orphan.key, scope=orphan.record.scope)])
    assert await product.fetch([found]) == []
    await product.drop([found])
    await store.close()


async def an_erased_memory_is_no_passage_any_more(folder: Path) -> None:
    store = await open_store(_url(folder), space=SPACE)
    record = a_record(a_scope())
    await keep(store, record)
    (archive,) = await store._product._archives_of(record.scope)
    assert len([one async for one in store._product._since(archive, _EPOCH)]) == 1
    await store.write(a_change(record.scope, erase=(record.id,)))
    assert [one async for one in store._product._since(archive, _EPOCH)] == []
    await store.close()


async def a_user_and_an_agent_of_one_name_are_two(folder: Path) -> None:
    store = await open_store(_url(folder), space=SPACE)
    name = a_scope().agent
    record = a_record(Scope(agent=name, user="assistant"))
    await keep(store, record, vector=a_vector(1))
    assert await store.search(a_query(Scope(agent="assistant", user=name), "kettle", a_vector(1)), 9) == []
    assert ids(await store.search(a_query(Scope(agent=name), "kettle", a_vector(1)), 9)) == [record.id]
    await store.close()


async def a_server_that_is_away_is_a_problem_of_ours(folder: Path) -> None:
    store = await open_store(f"letta://127.0.0.1:9{folder}", space=SPACE)
    with refused(StoreUnavailable):
        await keep(store, a_record(a_scope()))
    await store.close()
    with refused(InvalidRequest, field="store"):
        await open_store(f"letta://{folder}", space=SPACE)


async def there_is_no_history_and_no_reading_of_conversations_to_promise(folder: Path) -> None:
    store = await open_store(_url(folder), space=SPACE)
    assert not isinstance(store, SupportsHistory | Ingester)
    await store.close()
