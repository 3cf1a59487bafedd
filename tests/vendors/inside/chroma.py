"""What the real Chroma does with what it is given, and what its room does about it."""

from pathlib import Path

from msgspec.structs import replace

from memorywire.model.capabilities import Feature
from memorywire.stores.registry import open_store
from memorywire_adapters.products import Entry, Kept, Ref
from memorywire_testing.samples import SPACE, a_record, a_scope, a_vector, end, keep


async def in_a_folder_no_hard_delete_is_promised(folder: Path) -> None:
    """The files of its index have room for more than they hold, filled with what lay in memory."""
    for url, promised in (("chroma://", True), (f"chroma://{folder}", False)):
        store = await open_store(url, space=SPACE)
        assert (Feature.HARD_DELETE in store.features) is promised
        await keep(store, record := a_record(a_scope()))
        await end(store, record)
        assert (await store.health())["to_remove"] == 0
        await store.close()


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
