"""Memory of AutoGen's agents."""

from pathlib import Path

from memorywire import Memory
from memorywire.model.errors import CapabilityUnsupported
from tests.vendors.inside.played import ALLERGY, BLOCK, SNACKS, TOKEN, example, parts_of


async def the_model_is_shown_the_memories_of_its_user_once(folder: Path) -> None:
    from autogen_agentchat.agents import AssistantAgent

    from memorywire_frameworks.autogen import MemorywireMemory

    model = parts_of("autogen_memory")["ShowingModel"]()
    async with Memory("chat", ["memory://"], user_id="ana") as memory:
        await memory.remember(ALLERGY)
        await memory.remember("Ben is allergic to peanuts.", user_id="ben")
        agent = AssistantAgent("assistant", model, memory=[MemorywireMemory(memory)])
        for _ in range(2):
            answer = (await agent.run(task=SNACKS)).messages[-1].to_text()
            assert answer == BLOCK


async def a_text_is_added_and_found(folder: Path) -> None:
    from autogen_core.memory import MemoryContent, MemoryMimeType

    from memorywire_frameworks.autogen import MemorywireMemory

    async with Memory("chat", [f"sqlite://{folder}/memory.db"]) as memory:
        own = MemorywireMemory(memory)
        await own.add(MemoryContent(content=ALLERGY, mime_type=MemoryMimeType.TEXT))
        (found,) = (await own.query("What is Ana allergic to?")).results
        assert found.content == ALLERGY
        assert found.metadata is not None
        assert (await memory.get(found.metadata["id"])).words == ALLERGY


async def a_pasted_token_is_not_kept_and_ends_no_turn(folder: Path) -> None:
    from memorywire_frameworks.autogen import MemorywireMemory

    async with Memory("chat", ["memory://"]) as memory:
        remember, *_ = MemorywireMemory(memory).tools
        await remember(f"The token is {TOKEN}")
        assert not any(TOKEN in record.words for record in await memory.list())


async def an_agent_cannot_clear_its_memory(folder: Path) -> None:
    from memorywire_frameworks.autogen import MemorywireMemory

    async with Memory("chat", ["memory://"]) as memory:
        await memory.remember(ALLERGY)
        try:
            await MemorywireMemory(memory).clear()
        except CapabilityUnsupported:
            assert len(list(await memory.list())) == 1
            return
        raise AssertionError("it was cleared")


async def the_example_runs(folder: Path) -> None:
    assert "Ana prefers green tea" in await example("autogen_memory")
