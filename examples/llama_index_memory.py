"""A LlamaIndex chat engine with memory.

pip install "memorywire-core[llama-index]"; python examples/llama_index_memory.py

The model is a fake that needs no key: it answers with the memory in its input. For a real model, set `llm`.
"""

import asyncio
from typing import Any

from llama_index.core.base.llms.types import CompletionResponse, CompletionResponseGen, LLMMetadata
from llama_index.core.chat_engine import SimpleChatEngine
from llama_index.core.llms import CustomLLM
from llama_index.core.memory import Memory as ChatMemory

from memorywire import Memory
from memorywire_frameworks.llama_index import MemorywireBlock


class ShowingModel(CustomLLM):
    """Answers with the lines of its input that are memories."""

    @property
    def metadata(self) -> LLMMetadata:
        return LLMMetadata()

    def complete(self, prompt: str, formatted: bool = False, **options: Any) -> CompletionResponse:
        memories = [line for line in prompt.splitlines() if line.startswith("- ")]
        return CompletionResponse(text="\n".join(memories) or "I know nothing about that.")

    def stream_complete(self, prompt: str, formatted: bool = False, **options: Any) -> CompletionResponseGen:
        raise NotImplementedError


async def main() -> None:
    async with Memory("assistant", ["memory://"]) as memory:  # use a file to persist: sqlite:///./memory.db
        await memory.remember("Ana prefers green tea to coffee.")
        chat_memory = ChatMemory.from_defaults(
            async_database_uri="sqlite+aiosqlite:///:memory:", memory_blocks=[MemorywireBlock(memory)]
        )
        engine = SimpleChatEngine.from_defaults(llm=ShowingModel(), memory=chat_memory)
        print(await engine.achat("What does Ana drink?"))


if __name__ == "__main__":
    asyncio.run(main())
