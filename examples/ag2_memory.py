"""An AG2 agent with memory as tools.

pip install "memorywire-core[ag2]"; python examples/ag2_memory.py

The model is AG2's test model, which makes the calls below; use a real one instead.
"""

import asyncio
import json

from ag2 import Agent
from ag2.events import ToolCallEvent
from ag2.testing import TestConfig

from memorywire import Memory
from memorywire_frameworks.ag2 import memory_plugin


def call(name: str, **arguments: str) -> ToolCallEvent:
    return ToolCallEvent(name=name, arguments=json.dumps(arguments))


async def main() -> None:
    script = TestConfig(
        call("remember", content="Ana prefers green tea to coffee."),
        call("recall", question="What does Ana drink?"),
        "Ana drinks green tea.",
    )
    async with Memory("assistant", ["memory://"]) as memory:  # use a file to persist: sqlite:///./memory.db
        agent = Agent("assistant", config=script, plugins=[memory_plugin(memory)])
        reply = await agent.ask("What does Ana drink?")
        print(reply.body)
        for memory_found in await memory.recall("What does Ana drink?"):
            print(memory_found.text)


if __name__ == "__main__":
    asyncio.run(main())
