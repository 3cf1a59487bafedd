"""What the real Cognee does with what it is given, and what its room does about it.

Cognee keeps to one folder and one event loop in a process: one claim after the other, on one store.
"""

import os
from pathlib import Path

from memorywire.model.capabilities import Feature
from memorywire.model.errors import CapabilityUnsupported, InvalidRequest
from memorywire.model.record import Scope
from memorywire.stores.contract import Store, SupportsHistory
from memorywire.stores.registry import open_store
from memorywire_adapters.cognee import _dataset
from memorywire_testing.expect import refused
from memorywire_testing.samples import (
    SPACE,
    a_change,
    a_query,
    a_record,
    a_scope,
    a_vector,
    end,
    everything,
    ids,
    keep,
    revising,
    user_of,
)


async def it_keeps_everybody_apart_and_reads_nothing_it_was_not_given(folder: Path) -> None:
    store = await open_store(f"cognee://{folder}", space=SPACE)
    await _an_address_or_a_path_is_kept_and_not_read(store)
    await _two_documents_of_the_same_words_are_two(store)
    await _a_new_wording_replaces_the_old_one_where_adding_again_changes_nothing(store)
    await _a_user_and_an_agent_of_one_name_are_two(store)
    await _nothing_is_told_to_the_vendor()
    assert Feature.HARD_DELETE not in store.features
    assert not isinstance(store, SupportsHistory)
    with refused(CapabilityUnsupported, field="store"):
        await open_store(f"cognee://{folder}/another", space=SPACE)
    await store.close()


async def _an_address_or_a_path_is_kept_and_not_read(store: Store) -> None:
    scope = a_scope()
    kept = [a_record(scope, text) for text in (__file__, "http://127.0.0.1:9/page", "/etc")]
    await keep(store, *kept, vector=a_vector(1))
    assert await store.get(scope, [record.id for record in kept]) == kept
    chunks = await store._product._cognee.search(
        "a page", query_type=store._product._cognee.SearchType.CHUNKS, datasets=[_dataset(scope)], top_k=9
    )
    texts = [hit["text"] for one in chunks for hit in one["search_result"]]
    assert sorted(texts) == sorted(record.content for record in kept)


async def _two_documents_of_the_same_words_are_two(store: Store) -> None:
    scope = a_scope()
    one, other = a_record(scope, "the same words"), a_record(scope, "the same words", confidence=0.5)
    await keep(store, one)
    await keep(store, other)
    await end(store, one)
    assert await store.find(everything(scope)) == [other]


async def _a_new_wording_replaces_the_old_one_where_adding_again_changes_nothing(store: Store) -> None:
    record = a_record(a_scope(), "first")
    await keep(store, record, vector=a_vector(1))
    put = revising(record, content="second", metadata={"node_set": "mine"})
    await store.write(a_change(record.scope, put))
    assert await store.get(record.scope, [record.id]) == [put.record]
    assert ids(await store.search(a_query(record.scope, "second", a_vector(1)), 9)) == [record.id]


async def _a_user_and_an_agent_of_one_name_are_two(store: Store) -> None:
    scope = a_scope(user="assistant")
    record = a_record(scope)
    await keep(store, record, vector=a_vector(1))
    other = Scope(agent="assistant", user=scope.agent)
    assert await store.search(a_query(other, "kettle", a_vector(1)), 9) == []
    agent = user_of(scope, None)
    assert ids(await store.search(a_query(agent, "kettle", a_vector(1)), 9)) == [record.id]


async def _nothing_is_told_to_the_vendor() -> None:
    assert os.environ["TELEMETRY_DISABLED"] == "1"


async def without_access_control_it_would_show_everybody_everything(folder: Path) -> None:
    os.environ["ENABLE_BACKEND_ACCESS_CONTROL"] = "false"
    with refused(CapabilityUnsupported, field="store"):
        await open_store(f"cognee://{folder}", space=SPACE)
    del os.environ["ENABLE_BACKEND_ACCESS_CONTROL"]


async def without_a_folder_it_is_refused(folder: Path) -> None:
    with refused(InvalidRequest, field="store"):
        await open_store("cognee://", space=SPACE)
