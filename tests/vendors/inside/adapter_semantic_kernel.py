"""Memory of Semantic Kernel's agents."""

from pathlib import Path

from memorywire import Memory
from tests.vendors.inside.played import ALLERGY, SNACKS, TOKEN, example, parts_of


async def the_model_is_shown_the_memories_of_its_user_and_the_history_is_not(folder: Path) -> None:
    from semantic_kernel.agents import ChatCompletionAgent

    from memorywire_frameworks.semantic_kernel import MemoryThread

    model = parts_of("semantic_kernel_memory")["ShowingModel"](ai_model_id="showing")
    async with Memory("chat", ["memory://"]) as memory:
        await memory.remember(ALLERGY, user_id="ana")
        await memory.remember("Ben is allergic to peanuts.", user_id="ben")
        agent = ChatCompletionAgent(service=model, name="assistant")
        thread = MemoryThread(memory, user_id="ana")
        for _ in range(2):
            response = await agent.get_response(messages=SNACKS, thread=thread)
            assert response.message.content == f"- {ALLERGY}"
        history = [
            message async for message in MemoryThread(memory, thread._chat_history, budget=0).get_messages()
        ]
        assert [message.role.value for message in history] == ["user", "assistant"] * 2


async def the_functions_of_the_plugin_keep_facts_and_no_token(folder: Path) -> None:
    from semantic_kernel import Kernel

    from memorywire_frameworks.semantic_kernel import MemoryPlugin

    async with Memory("chat", ["memory://"]) as memory:
        kernel = Kernel()
        kernel.add_plugin(MemoryPlugin(memory), plugin_name="memory")
        for content in (ALLERGY, f"The token is {TOKEN}"):
            await kernel.invoke(plugin_name="memory", function_name="remember", content=content)
        question = "What is Ana allergic to?"
        found = await kernel.invoke(plugin_name="memory", function_name="recall", question=question)
        assert ALLERGY in str(found)
        assert not any(TOKEN in record.words for record in await memory.list())


async def the_example_runs(folder: Path) -> None:
    assert "Ana prefers green tea" in await example("semantic_kernel_memory")
