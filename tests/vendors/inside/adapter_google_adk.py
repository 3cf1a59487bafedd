"""Memory of Google ADK's agents."""

from pathlib import Path
from typing import Any

from memorywire import Memory
from memorywire.model.errors import NotFound
from tests.vendors.inside.played import ALLERGY, SNACKS, TOKEN, example, parts_of


def _content(text: str, role: str = "user") -> Any:
    from google.genai import types

    return types.Content(role=role, parts=[types.Part(text=text)])


async def _ask(memory: Memory, user_id: str, question: str, **options: Any) -> tuple[str, Any]:
    """The answer of an agent whose model shows its memories, and the session."""
    from google.adk.agents import LlmAgent
    from google.adk.runners import Runner
    from google.adk.sessions import InMemorySessionService

    from memorywire_frameworks.google_adk import MemorywireMemoryService

    model = parts_of("google_adk_memory")["ShowingModel"](model="showing")
    sessions = InMemorySessionService()
    runner = Runner(
        app_name="app",
        agent=LlmAgent(name="assistant", model=model, **options),
        session_service=sessions,
        memory_service=MemorywireMemoryService(memory),
        auto_create_session=True,
    )
    run = runner.run_async(user_id=user_id, session_id="s", new_message=_content(question))
    answers = [event.content.parts[0].text async for event in run if event.content]
    return answers[-1], await sessions.get_session(app_name="app", user_id=user_id, session_id="s")


async def the_model_is_shown_the_memories_of_its_user(folder: Path) -> None:
    from memorywire_frameworks.google_adk import memory_callback

    async with Memory("chat", ["memory://"]) as memory:
        await memory.remember(ALLERGY, user_id="ana")
        callback = memory_callback(memory)
        answer, _ = await _ask(memory, "ana", SNACKS, before_model_callback=callback)
        assert answer == f"- {ALLERGY}"
        answer, _ = await _ask(memory, "ben", SNACKS, before_model_callback=callback)
        assert "Ana" not in answer


async def a_session_is_kept_once_without_its_secrets(folder: Path) -> None:
    from memorywire_frameworks.google_adk import MemorywireMemoryService

    async with Memory("chat", [f"sqlite://{folder}/memory.db"]) as memory:
        _, session = await _ask(memory, "ana", f"My cat is called Momo and my token is {TOKEN}")
        service = MemorywireMemoryService(memory)
        for _ in range(2):
            await service.add_session_to_memory(session)
        kept = [record.words for record in await memory.list(user_id="ana")]
        assert sum("[REDACTED:github-token]" in words for words in kept) >= 1
        assert not any(TOKEN in words for words in kept)
        turns = [words for words in kept if "my token" in words]
        assert len(turns) == len(set(turns))
        found = await service.search_memory(app_name="app", user_id="ana", query="What is my cat called?")
        assert any("Momo" in entry.content.parts[0].text for entry in found.memories)
        others = await service.search_memory(app_name="app", user_id="ben", query="What is my cat called?")
        assert others.memories == []


async def a_memory_is_added_found_and_deleted(folder: Path) -> None:
    from google.adk.memory.memory_entry import MemoryEntry

    from memorywire_frameworks.google_adk import MemorywireMemoryService

    whose: Any = {"app_name": "app", "user_id": "ana"}
    async with Memory("chat", ["memory://"]) as memory:
        service = MemorywireMemoryService(memory)
        await service.add_memory(**whose, memories=[MemoryEntry(content=_content(ALLERGY))])
        (entry,) = (await service.search_memory(**whose, query="What is Ana allergic to?")).memories
        await service.delete_memory(**whose, memory_id=entry.id)
        assert (await service.search_memory(**whose, query="What is Ana allergic to?")).memories == []
        try:
            await service.delete_memory(**whose, memory_id="mem_nothing")
        except NotFound:
            return
        raise AssertionError("it forgot what is not there")


async def the_example_runs(folder: Path) -> None:
    assert "Ana prefers green tea" in await example("google_adk_memory")
