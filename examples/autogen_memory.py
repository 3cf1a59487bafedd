"""An AutoGen agent with memory.

pip install "memorywire-core[autogen]"; python examples/autogen_memory.py

The model is a fake that needs no key: it answers with the memories in its input. Use a real client instead.
"""

import asyncio
from collections.abc import Sequence
from typing import Any

from autogen_agentchat.agents import AssistantAgent
from autogen_core.models import (
    ChatCompletionClient,
    CreateResult,
    LLMMessage,
    ModelFamily,
    ModelInfo,
    RequestUsage,
    SystemMessage,
)

from memorywire import Memory
from memorywire_frameworks.autogen import MemorywireMemory


class ShowingModel(ChatCompletionClient):
    """Answers with the system messages of its input that are memories."""

    async def create(self, messages: Sequence[LLMMessage], **options: Any) -> CreateResult:
        shown = [
            one.content for one in messages if isinstance(one, SystemMessage) and "<memory" in one.content
        ]
        text = "\n".join(shown) or "I know nothing about that."
        usage = RequestUsage(prompt_tokens=0, completion_tokens=0)
        return CreateResult(finish_reason="stop", content=text, usage=usage, cached=False)

    def create_stream(self, messages: Sequence[LLMMessage], **options: Any) -> Any:
        raise NotImplementedError

    async def close(self) -> None: ...

    def actual_usage(self) -> RequestUsage:
        return RequestUsage(prompt_tokens=0, completion_tokens=0)

    def total_usage(self) -> RequestUsage:
        return self.actual_usage()

    def count_tokens(self, messages: Sequence[LLMMessage], **options: Any) -> int:
        return 0

    def remaining_tokens(self, messages: Sequence[LLMMessage], **options: Any) -> int:
        return 1_000

    @property
    def capabilities(self) -> Any:
        return self.model_info

    @property
    def model_info(self) -> ModelInfo:
        return ModelInfo(
            vision=False,
            function_calling=True,
            json_output=False,
            structured_output=False,
            family=ModelFamily.UNKNOWN,
        )


async def main() -> None:
    async with Memory("assistant", ["memory://"]) as memory:  # use a file to persist: sqlite:///./memory.db
        await memory.remember("Ana prefers green tea to coffee.")
        own = MemorywireMemory(memory)
        agent = AssistantAgent("assistant", ShowingModel(), memory=[own], tools=own.tools)
        result = await agent.run(task="What does Ana drink?")
        print(result.messages[-1].to_text())


if __name__ == "__main__":
    asyncio.run(main())
