"""Memory of LlamaIndex's chat engines and agents."""

from pathlib import Path
from typing import Any

from memorywire import Memory
from tests.vendors.inside.played import ALLERGY, BLOCK, SNACKS, TOKEN, example


def _message(role: str, content: str) -> Any:
    from llama_index.core.base.llms.types import ChatMessage

    return ChatMessage(role=role, content=content)


async def the_model_is_shown_the_memories_of_its_user(folder: Path) -> None:
    from llama_index.core.memory import Memory as ChatMemory

    from memorywire_frameworks.llama_index import MemorywireBlock

    async with Memory("chat", ["memory://"], user_id="ana") as memory:
        await memory.remember(ALLERGY)
        await memory.remember("Ben is allergic to peanuts.", user_id="ben")
        chat = ChatMemory.from_defaults(
            async_database_uri="sqlite+aiosqlite:///:memory:", memory_blocks=[MemorywireBlock(memory)]
        )
        await chat.aput(_message("user", SNACKS))
        first, *_ = await chat.aget()
        assert first.role.value == "system"
        assert BLOCK in first.content
        assert "Ben" not in first.content
        without = MemorywireBlock(memory, budget=0)
        assert await without.aget([_message("user", SNACKS)]) == ""


async def what_leaves_the_chat_is_kept_and_its_secrets_are_not(folder: Path) -> None:
    from memorywire_frameworks.llama_index import MemorywireBlock

    async with Memory("chat", [f"sqlite://{folder}/memory.db"], user_id="ana") as memory:
        block = MemorywireBlock(memory)
        await block.aput([_message("user", f"My token is {TOKEN}"), _message("assistant", "Noted.")])
        kept = [record.words for record in await memory.list()]
        assert any("[REDACTED:github-token]" in words for words in kept)
        assert not any(TOKEN in words for words in kept)


async def an_agent_has_the_tools(folder: Path) -> None:
    from memorywire_frameworks.llama_index import memory_tools

    async with Memory("chat", ["memory://"]) as memory:
        remember, recall, _forget = memory_tools(memory)
        await remember.acall(content=ALLERGY)
        assert ALLERGY in str((await recall.acall(question="What is Ana allergic to?")).raw_output)


async def the_example_runs(folder: Path) -> None:
    assert "Ana prefers green tea" in await example("llama_index_memory")
