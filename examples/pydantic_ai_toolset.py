"""A Pydantic AI agent with memory as tools.

pip install "memorywire-core[pydantic-ai]"; python examples/pydantic_ai_toolset.py

The model is Pydantic AI's FunctionModel, which makes the calls below; use a real one instead.
"""

import asyncio

from pydantic_ai import Agent
from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart, ToolCallPart, ToolReturnPart
from pydantic_ai.models.function import AgentInfo, FunctionModel

from memorywire import Memory
from memorywire_frameworks.pydantic_ai import memory_toolset


def respond(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
    """Remember, then recall, then answer with the recalled memories."""
    results = [part for message in messages for part in message.parts if isinstance(part, ToolReturnPart)]
    if not results:
        return ModelResponse(
            parts=[ToolCallPart("remember", {"content": "Ana prefers green tea to coffee."})]
        )
    if len(results) == 1:
        return ModelResponse(parts=[ToolCallPart("recall", {"question": "what does Ana drink?"})])
    return ModelResponse(parts=[TextPart(str(results[-1].content))])


async def main() -> None:
    async with Memory("assistant", ["memory://"]) as memory:  # use a file to persist: sqlite:///./memory.db
        agent = Agent(FunctionModel(respond), toolsets=[memory_toolset(memory)])
        result = await agent.run("What does Ana drink?")
        print(result.output)


if __name__ == "__main__":
    asyncio.run(main())
