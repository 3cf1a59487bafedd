"""An OpenAI Agents session stored in memorywire.

pip install "memorywire-core[openai-agents]"; python examples/openai_agents_session.py

The model is a fake that needs no key: it answers with the number of items in its input. For a real model, set
OPENAI_API_KEY and leave out `model`.
"""

import asyncio
from typing import Any

from agents import Agent, Model, ModelResponse, RunConfig, Runner, Usage
from openai.types.responses import ResponseOutputMessage, ResponseOutputText

from memorywire import Memory
from memorywire_frameworks.openai_agents import MemorywireSession


class CountingModel(Model):
    """Answers with the number of items in its input."""

    async def get_response(
        self, system_instructions: Any, input: Any, *rest: Any, **named: Any
    ) -> ModelResponse:
        text = ResponseOutputText(text=f"My input has {len(input)} items", type="output_text", annotations=[])
        message = ResponseOutputMessage(
            id="m", content=[text], role="assistant", status="completed", type="message"
        )
        return ModelResponse(output=[message], usage=Usage(), response_id=None)

    def stream_response(self, *rest: Any, **named: Any) -> Any:
        raise NotImplementedError


async def main() -> None:
    async with Memory("assistant", ["memory://"]) as memory:  # use a file to persist: sqlite:///./memory.db
        session = MemorywireSession(memory, "monday")
        agent = Agent(name="assistant", model=CountingModel())
        config = RunConfig(tracing_disabled=True)
        for message in ("My name is Ana.", "What is my name?"):
            result = await Runner.run(agent, message, session=session, run_config=config)
            print(f"{message} -> {result.final_output}")


if __name__ == "__main__":
    asyncio.run(main())
