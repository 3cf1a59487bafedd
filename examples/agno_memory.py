"""An Agno agent with memory.

pip install "memorywire-core[agno]"; python examples/agno_memory.py

The model is a fake that needs no key: it answers with the memories in its input. Use a real one instead.
"""

import asyncio
from collections.abc import AsyncIterator, Iterator
from typing import Any

from agno.agent import Agent
from agno.db.in_memory import InMemoryDb
from agno.models.base import Model
from agno.models.response import ModelResponse

from memorywire import Memory
from memorywire_frameworks.agno import memory_machine


class ShowingModel(Model):
    """Answers with the lines of its input that are memories."""

    def invoke(self, messages: list[Any], **options: Any) -> ModelResponse:
        lines = [
            line for one in messages for line in str(one.content).splitlines() if line.startswith("- Ana")
        ]
        return ModelResponse(role="assistant", content="\n".join(lines) or "I know nothing about that.")

    async def ainvoke(self, messages: list[Any], **options: Any) -> ModelResponse:
        return self.invoke(messages)

    def invoke_stream(self, messages: list[Any], **options: Any) -> Iterator[ModelResponse]:
        yield self.invoke(messages)

    async def ainvoke_stream(self, messages: list[Any], **options: Any) -> AsyncIterator[ModelResponse]:
        yield self.invoke(messages)

    def _parse_provider_response(self, response: Any, **options: Any) -> ModelResponse:
        return ModelResponse()

    def _parse_provider_response_delta(self, response: Any) -> ModelResponse:
        return ModelResponse()


async def main() -> None:
    async with Memory("assistant", ["memory://"]) as memory:  # use a file to persist: sqlite:///./memory.db
        await memory.remember("Ana prefers green tea to coffee.", user_id="ana")
        learning = memory_machine(memory)  # Agno wants a database beside it, for its own records
        agent = Agent(model=ShowingModel(id="showing"), db=InMemoryDb(), learning=learning, telemetry=False)
        answer = await agent.arun("What does Ana drink?", user_id="ana")
        print(answer.content)


if __name__ == "__main__":
    asyncio.run(main())
