"""Memory of AG2's agents."""

import json
from pathlib import Path
from typing import Any

from memorywire import Memory
from tests.vendors.inside.played import ALLERGY, BLOCK, SNACKS, TOKEN, example


async def the_model_is_shown_the_memories_of_its_user(folder: Path) -> None:
    from ag2 import Agent
    from ag2.testing import TestConfig, TrackingConfig

    from memorywire_frameworks.ag2 import memory_plugin

    async with Memory("chat", ["memory://"], user_id="ana") as memory:
        await memory.remember(ALLERGY)
        await memory.remember("Ben is allergic to peanuts.", user_id="ben")
        tracked: Any = TrackingConfig(TestConfig("nuts are out", "again"))
        agent = Agent("assistant", "Be brief.", config=tracked, plugins=[memory_plugin(memory)])
        reply = await agent.ask(SNACKS)
        await reply.ask(SNACKS)
        prompts = [call.prompt for call in tracked.calls]
        assert [prompt.count(BLOCK) for prompt in prompts] == [1, 1]
        assert all(prompt[0] == "Be brief." for prompt in prompts)


async def a_pasted_token_is_not_kept_and_ends_no_turn(folder: Path) -> None:
    from ag2 import Agent
    from ag2.events import ToolCallEvent
    from ag2.testing import TestConfig

    from memorywire_frameworks.ag2 import memory_plugin

    words = json.dumps({"content": f"The token is {TOKEN}"})
    async with Memory("chat", ["memory://"]) as memory:
        script = TestConfig(ToolCallEvent(name="remember", arguments=words), "done")
        reply = await Agent("assistant", config=script, plugins=[memory_plugin(memory)]).ask("Keep my token")
        assert reply.body == "done"
        assert not any(TOKEN in record.words for record in await memory.list())


async def the_example_runs(folder: Path) -> None:
    assert "Ana prefers green tea" in await example("ag2_memory")
