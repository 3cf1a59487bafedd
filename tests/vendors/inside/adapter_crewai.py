"""Memory of CrewAI's crews."""

from pathlib import Path

from memorywire import sync
from memorywire.model.errors import CapabilityUnsupported
from tests.vendors.inside.played import ALLERGY, SNACKS, TOKEN, example


async def a_task_begins_with_the_memories_of_its_user(folder: Path) -> None:
    from memorywire_frameworks.crewai import MemorywireMemory

    with sync.Memory("crew", ["memory://"], user_id="ana") as memory:
        memory.remember(ALLERGY)
        memory.remember("Ben is allergic to peanuts.", user_id="ben")
        crew = MemorywireMemory(memory)
        assert [match.record.content for match in crew.recall(SNACKS, limit=5)] == [ALLERGY]
        assert crew.recall("What is 17 times 23?") == []


async def the_tools_of_a_crew_save_and_find_and_keep_no_token(folder: Path) -> None:
    from crewai.tools.memory_tools import create_memory_tools

    from memorywire_frameworks.crewai import MemorywireMemory

    with sync.Memory("crew", [f"sqlite://{folder}/memory.db"]) as memory:
        search, save = create_memory_tools(MemorywireMemory(memory))
        assert "Saved" in save.run(contents=[ALLERGY])
        save.run(contents=[f"The token is {TOKEN}", "Momo is a cat."])
        assert ALLERGY in search.run(queries=["What is Ana allergic to?"])
        kept = [record.words for record in memory.list()]
        assert "Momo is a cat." in kept
        assert not any(TOKEN in words for words in kept)


async def a_memory_that_is_only_read_keeps_nothing(folder: Path) -> None:
    from memorywire_frameworks.crewai import MemorywireMemory

    with sync.Memory("crew", ["memory://"]) as memory:
        assert MemorywireMemory(memory, read_only=True).remember(ALLERGY) is None
        assert list(memory.list()) == []


async def a_crew_forgets_by_id_and_cannot_clear_its_memory(folder: Path) -> None:
    from memorywire_frameworks.crewai import MemorywireMemory

    with sync.Memory("crew", ["memory://"]) as memory:
        crew = MemorywireMemory(memory)
        record = crew.remember(ALLERGY, scope="/guests", categories=["food"])
        assert record is not None
        assert set(memory.get(record.id).tags) == {"food", "scope:/guests"}
        try:
            crew.reset()
        except CapabilityUnsupported:
            assert crew.forget(record_ids=[record.id]) == 1
            assert list(memory.list()) == []
            return
        raise AssertionError("it was cleared")


async def the_example_runs(folder: Path) -> None:
    assert "Ana prefers green tea" in await example("crewai_memory")
