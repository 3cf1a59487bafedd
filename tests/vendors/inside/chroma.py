"""What the real Chroma does with what it is given, and what its room does about it."""

from dataclasses import replace
from pathlib import Path

from memorywire.conformance.samples import (
    SPACE,
    a_change,
    a_query,
    a_record,
    a_scope,
    a_vector,
    beginning,
    ids,
    keep,
    records,
)
from memorywire.stores.registry import open_store
from memorywire.stores.vendors import Entry, Kept, Ref
from tests.vendors.inside import erasing

_BEYOND_ITS_BUFFER = 1_200  # Chroma writes its index, and empties its queue, after 1,000


async def erased_words_leave_every_file(folder: Path) -> None:
    await erasing.leaves_every_file(f"chroma://{folder}", folder)


async def nothing_is_told_to_the_vendor(folder: Path) -> None:
    store = await open_store("chroma://", space=SPACE)
    assert store._product._client.get_settings().anonymized_telemetry is False
    await store.close()


async def keeping_again_replaces_where_add_would_have_ignored(folder: Path) -> None:
    store = await open_store("chroma://", space=SPACE)
    product = store._product
    entry = Entry(record=a_record(a_scope(), "first"), vector=a_vector(1))
    await product.keep([entry])
    await product.keep([replace(entry, record=replace(entry.record, content="second"))])
    (seen,) = await product.fetch([Ref(key=entry.key, scope=entry.record.scope)])
    assert Kept.read(seen.payload).record.content == "second"
    await store.close()


async def an_index_that_was_written_after_an_erasure_still_answers(folder: Path) -> None:
    store = await open_store(f"chroma://{folder}", space=SPACE)
    scope = a_scope()
    first, second = a_record(scope, "archaeopteryx"), a_record(scope, "pelican")
    await keep(store, first, second, vector=a_vector(1))
    await store.write(a_change(scope, erase=(first.id,)))
    await store.close()
    store = await open_store(f"chroma://{folder}", space=SPACE)
    crowd = records(a_scope(), _BEYOND_ITS_BUFFER)
    for start in range(0, len(crowd), 200):
        puts = [beginning(record, a_vector(0, 1)) for record in crowd[start : start + 200]]
        await store.write(a_change(crowd[0].scope, *puts))
    await store.close()
    store = await open_store(f"chroma://{folder}", space=SPACE)
    assert ids(await store.search(a_query(scope, "", a_vector(1)), 9)) == [second.id]
    assert len(await store.search(a_query(crowd[0].scope, "", a_vector(0, 1)), 700)) == 700
    assert erasing.holding(folder, "archaeopteryx") == []
    await store.close()
