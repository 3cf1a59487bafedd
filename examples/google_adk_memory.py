"""A Google ADK agent with memory.

pip install "memorywire-core[google-adk]"; python examples/google_adk_memory.py

The model is a fake that needs no key: it answers with its instructions. Use a real one instead.
"""

import asyncio
from collections.abc import AsyncGenerator

from google.adk.agents import LlmAgent
from google.adk.models import BaseLlm, LlmRequest, LlmResponse
from google.adk.runners import Runner
from google.adk.sessions import InMemorySessionService
from google.adk.tools import load_memory
from google.genai import types

from memorywire import Memory
from memorywire_frameworks.google_adk import MemorywireMemoryService, memory_callback


class ShowingModel(BaseLlm):
    """Answers with the lines of its instructions that are memories."""

    async def generate_content_async(
        self, llm_request: LlmRequest, stream: bool = False
    ) -> AsyncGenerator[LlmResponse, None]:
        told = str(llm_request.config.system_instruction or "")
        lines = [line for line in told.splitlines() if line.startswith("- Ana")]
        text = "\n".join(lines) or "I know nothing about that."
        yield LlmResponse(content=types.Content(role="model", parts=[types.Part(text=text)]))


async def main() -> None:
    async with Memory("assistant", ["memory://"]) as memory:  # use a file to persist: sqlite:///./memory.db
        await memory.remember("Ana prefers green tea to coffee.", user_id="ana")
        agent = LlmAgent(
            name="assistant",
            model=ShowingModel(model="showing"),
            tools=[load_memory],
            before_model_callback=memory_callback(memory),
        )
        runner = Runner(
            app_name="tea",
            agent=agent,
            session_service=InMemorySessionService(),
            memory_service=MemorywireMemoryService(memory),
            auto_create_session=True,
        )
        question = types.Content(role="user", parts=[types.Part(text="What does Ana drink?")])
        async for event in runner.run_async(user_id="ana", session_id="monday", new_message=question):
            print(event.content.parts[0].text if event.content and event.content.parts else "")


if __name__ == "__main__":
    asyncio.run(main())
