"""What the real MemOS does with what it is given, and what its room does about it."""

import logging
from pathlib import Path

from memorywire.model.errors import CapabilityUnsupported, InvalidRequest, StoreBusy, StoreUnavailable
from memorywire.model.record import Scope
from memorywire.stores.contract import Ingester, SupportsHistory
from memorywire.stores.registry import open_store
from memorywire_testing.expect import refused
from memorywire_testing.samples import (
    SPACE,
    a_query,
    a_record,
    a_scope,
    a_vector,
    everything,
    ids,
    keep,
)
from tests.vendors.inside import erasing
from tests.vendors.inside.speaking import a_service

SAID = [{"role": "user", "content": "I only drink gyokuro, the green one."}]


async def erased_words_leave_every_file(folder: Path) -> None:
    await erasing.leaves_every_file(f"memos://{folder}", folder)


async def its_own_search_would_show_one_agent_the_memories_of_another(folder: Path) -> None:
    store = await open_store(f"memos://{folder}", space=SPACE)
    mine, theirs = a_record(a_scope(), "mine"), a_record(a_scope(), "theirs")
    await keep(store, mine, vector=a_vector(1, 1))
    await keep(store, theirs, vector=a_vector(1))
    memory = store._product._memory
    memory.embedder = _Pointing()
    assert [found.memory for found in memory.search("anything", 1)] == ["theirs"]
    assert ids(await store.search(a_query(mine.scope, "anything", a_vector(1)), 1)) == [mine.id]
    await store.close()


class _Pointing:
    def embed(self, texts: list[str]) -> list[list[float]]:
        return [[1.0, *[0.0] * (SPACE.dimension - 1)] for _ in texts]


async def its_confidence_counts_to_a_hundred_and_ours_to_one(folder: Path) -> None:
    store = await open_store(f"memos://{folder}", space=SPACE)
    record = a_record(a_scope(), confidence=0.375)
    await keep(store, record)
    (theirs,) = store._product._memory.get_all()
    assert theirs.metadata.confidence == 37.5
    assert await store.get(record.scope, [record.id]) == [record]
    await store.close()


async def a_user_and_an_agent_of_one_name_are_two(folder: Path) -> None:
    store = await open_store(f"memos://{folder}", space=SPACE)
    record = a_record(Scope(agent="ana", user="assistant"))
    await keep(store, record, vector=a_vector(1))
    assert await store.search(a_query(Scope(agent="assistant", user="ana"), "", a_vector(1)), 9) == []
    assert ids(await store.search(a_query(Scope(agent="ana"), "", a_vector(1)), 9)) == [record.id]
    await store.close()


async def whoever_started_the_process_keeps_the_root_logger(folder: Path) -> None:
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    store = await open_store(f"memos://{folder}", space=SPACE)
    assert (root.handlers, root.level) == (handlers, level)
    await keep(store, a_record(a_scope(), "archaeopteryx"))
    logging.getLogger("anybody").error("archaeopteryx")
    await store.close()
    assert not [name for name in erasing.holding(folder, "archaeopteryx") if name.endswith(".log")]


async def a_folder_is_opened_once_at_a_time(folder: Path) -> None:
    store = await open_store(f"memos://{folder}", space=SPACE)
    with refused(StoreBusy, field="store"):
        await open_store(f"memos://{folder}", space=SPACE)
    await store.close()
    await (await open_store(f"memos://{folder}", space=SPACE)).close()


async def without_a_folder_it_would_write_where_it_was_started(folder: Path) -> None:
    with refused(InvalidRequest, field="store"):
        await open_store("memos://", space=SPACE)


async def what_it_finds_in_a_conversation_is_told_and_not_kept(folder: Path) -> None:
    found = [{"key": "tea", "value": "Ana likes green tea", "tags": []}]
    with a_service(lambda request: {"memory list": found}) as address:
        store = await open_store(f"memos://{folder}?llm={address}&model=scripted", space=SPACE)
        assert isinstance(store, Ingester)
        scope = a_scope(user="ana")
        assert await store.ingest(scope, SAID) == ["Ana likes green tea"]
        assert await store.count(everything(scope)) == 0
        assert (await store.health())["entries"] == 0
        await store.close()


async def without_a_language_model_a_conversation_is_not_said_to_hold_nothing(folder: Path) -> None:
    away = {"": CapabilityUnsupported, "?llm=http://127.0.0.1:9/v1": StoreUnavailable}
    for options, problem in away.items():
        store = await open_store(f"memos://{folder}{options}", space=SPACE)
        with refused(problem):
            await store.ingest(a_scope(), SAID)
        await store.close()


async def there_is_no_history_to_promise(folder: Path) -> None:
    store = await open_store(f"memos://{folder}", space=SPACE)
    assert not isinstance(store, SupportsHistory)
    await store.close()
