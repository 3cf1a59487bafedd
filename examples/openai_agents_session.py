"""An OpenAI Agents session kept by memorywire.

pip install "memorywire[openai-agents]"; python examples/openai_agents_session.py

The model here is a stand-in that needs no key: it says how much of the conversation it was given. Leave
`model` out, with OPENAI_API_KEY set, for a real one.
"""

import asyncio
from typing import Any

from agents import Agent, Model, ModelResponse, RunConfig, Runner, Usage
from openai.types.responses import ResponseOutputMessage, ResponseOutputText

from memorywire import Memory
from memorywire.integrations.openai_agents import MemorywireSession


class Counting(Model):
    """Answers with the number of items it was shown."""

    async def get_response(
        self, system_instructions: Any, input: Any, *rest: Any, **named: Any
    ) -> ModelResponse:
        text = ResponseOutputText(text=f"I was shown {len(input)} items", type="output_text", annotations=[])
        said = ResponseOutputMessage(
            id="m", content=[text], role="assistant", status="completed", type="message"
        )
        return ModelResponse(output=[said], usage=Usage(), response_id=None)

    def stream_response(self, *rest: Any, **named: Any) -> Any:
        raise NotImplementedError


async def main() -> None:
    async with Memory("assistant", ["memory://"]) as memory:  # name a store to keep it: sqlite:///memory.db
        session = MemorywireSession(memory, "monday")
        agent = Agent(name="assistant", model=Counting())
        quiet = RunConfig(tracing_disabled=True)
        for said in ("My name is Ana.", "What is my name?"):
            result = await Runner.run(agent, said, session=session, run_config=quiet)
            print(f"{said} -> {result.final_output}")


if __name__ == "__main__":
    asyncio.run(main())
