"""A Semantic Kernel agent with memory.

pip install "memorywire-core[semantic-kernel]"; python examples/semantic_kernel_memory.py

The model is a fake that needs no key: it answers with the memories in its input. Use a real one instead.
"""

import asyncio
from typing import Any

from semantic_kernel.agents import ChatCompletionAgent
from semantic_kernel.connectors.ai.chat_completion_client_base import ChatCompletionClientBase
from semantic_kernel.contents import ChatHistory, ChatMessageContent
from semantic_kernel.contents.utils.author_role import AuthorRole

from memorywire import Memory
from memorywire_frameworks.semantic_kernel import MemoryPlugin, MemoryThread


class ShowingModel(ChatCompletionClientBase):
    """Answers with the lines of its input that are memories."""

    async def get_chat_message_contents(
        self, chat_history: ChatHistory, settings: Any, **options: Any
    ) -> list[ChatMessageContent]:
        told = [one.content for one in chat_history if one.role is AuthorRole.SYSTEM]
        lines = [line for text in told for line in text.splitlines() if line.startswith("- Ana")]
        text = "\n".join(lines) or "I know nothing about that."
        return [ChatMessageContent(role=AuthorRole.ASSISTANT, content=text)]


async def main() -> None:
    async with Memory("assistant", ["memory://"]) as memory:  # use a file to persist: sqlite:///./memory.db
        await memory.remember("Ana prefers green tea to coffee.")
        agent = ChatCompletionAgent(
            service=ShowingModel(ai_model_id="showing"), name="assistant", plugins=[MemoryPlugin(memory)]
        )
        response = await agent.get_response(messages="What does Ana drink?", thread=MemoryThread(memory))
        print(response.message.content)


if __name__ == "__main__":
    asyncio.run(main())
