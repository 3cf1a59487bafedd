"""Our tools in an agent of Pydantic AI, whose model is one of its own stand-ins."""

import asyncio
from pathlib import Path
from typing import Any

from memorywire import Memory, sync
from tests.vendors.inside.played import example, holding_forgets


async def _played(memory: Any, *calls: tuple[str, dict[str, Any]]) -> list[Any]:
    """What each call of a model returned to it."""
    from pydantic_ai import Agent
    from pydantic_ai.messages import ModelResponse, RetryPromptPart, TextPart, ToolCallPart, ToolReturnPart
    from pydantic_ai.models.function import FunctionModel

    from memorywire_frameworks.pydantic_ai import memory_toolset

    returned: list[Any] = []

    def play(messages: Any, info: Any) -> Any:
        parts = [part for message in messages for part in message.parts]
        returned[:] = [part.content for part in parts if isinstance(part, ToolReturnPart | RetryPromptPart)]
        left = calls[len(returned) :]
        return ModelResponse(parts=[ToolCallPart(*left[0]) if left else TextPart("done")])

    await Agent(FunctionModel(play), toolsets=[memory_toolset(memory)], retries=3).run("go")
    return returned


async def a_model_remembers_recalls_and_forgets(folder: Path) -> None:
    async with Memory("tools", ["memory://"]) as memory:
        fact = ("remember", {"content": "Ana prefers green tea to coffee"})
        asked = ("recall", {"question": "what does Ana drink?"})
        kept, found = await _played(memory, fact, asked)
        assert kept["status"] == "committed"
        assert "| Ana prefers green tea to coffee" in found
        gone, nothing = await _played(memory, ("forget", {"id": kept["id"]}), asked)
        assert gone == {"forgotten": [kept["id"]], "missing": [], "awaits_review": []}
        assert nothing == "Nothing in memory answers that."


async def a_problem_goes_back_to_the_model_with_the_way_out(folder: Path) -> None:
    async with Memory("tools", ["memory://"]) as memory:
        first, second = await _played(
            memory, ("remember", {"content": " "}), ("remember", {"content": "Ana lives in Lisbon"})
        )
        assert "content" in str(first)
        assert second["status"] == "committed"


async def problems_do_not_end_a_run_however_often_they_come(folder: Path) -> None:
    async with Memory("tools", ["memory://"]) as memory:
        blank = [("remember", {"content": " "})] * 6
        returned = await _played(memory, *blank, ("recall", {"question": " "}), ("forget", {"id": "x"}))
        assert [problem["code"] for problem in returned[:6]] == ["validation_error"] * 6
        assert "could not be asked" in returned[6]


async def a_forget_that_waits_for_a_person_says_so(folder: Path) -> None:
    async with Memory("tools", ["memory://"], policy=holding_forgets(folder)) as memory:
        receipt = await memory.remember("Ana lives in Lisbon")
        (answer,) = await _played(memory, ("forget", {"id": receipt.id}))
        assert answer == {"forgotten": [], "missing": [], "awaits_review": [receipt.id]}


async def a_secret_is_replaced_and_the_run_goes_on(folder: Path) -> None:
    token = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
    async with Memory("tools", ["memory://"]) as memory:
        (receipt,) = await _played(memory, ("remember", {"content": f"The deploy token is {token}"}))
        assert receipt["status"] == "committed"
        assert token not in str((await memory.get(receipt["id"])).content)


async def the_tools_work_on_a_second_event_loop(folder: Path) -> None:
    fact = ("remember", {"content": "Ana prefers green tea to coffee"})
    async with Memory("tools", ["memory://"]) as memory:
        await memory.remember("opened on this loop")
        (receipt,) = await asyncio.to_thread(asyncio.run, _played(memory, fact))
        assert receipt["status"] == "committed"
    with sync.Memory("tools", ["memory://"]) as blocking:
        (receipt,) = await _played(blocking, fact)
        assert receipt["status"] == "committed"


async def the_tools_and_when_to_use_them_are_told_to_the_model(folder: Path) -> None:
    from pydantic_ai import Agent
    from pydantic_ai.models.test import TestModel

    from memorywire_frameworks.pydantic_ai import INSTRUCTIONS, memory_toolset

    async with Memory("tools", ["memory://"]) as memory:
        model = TestModel(call_tools=[])
        await Agent(model, toolsets=[memory_toolset(memory)]).run("hello")
        told = model.last_model_request_parameters
        assert told is not None
        assert sorted(tool.name for tool in told.function_tools) == ["forget", "recall", "remember"]
        assert INSTRUCTIONS in str(told.instruction_parts)


async def a_prompt_brings_the_memories_that_an_answer_depends_on(folder: Path) -> None:
    from pydantic_ai import Agent
    from pydantic_ai.models.test import TestModel

    from memorywire_frameworks.pydantic_ai import memory_toolset

    async def told(memory: Any, prompt: str, **options: Any) -> str:
        model = TestModel(call_tools=[])
        await Agent(model, toolsets=[memory_toolset(memory, **options)]).run(prompt)
        assert model.last_model_request_parameters is not None
        return str(model.last_model_request_parameters.instruction_parts)

    async with Memory("tools", ["memory://"], user_id="ana") as memory:
        await memory.remember("Ana is allergic to peanuts.")
        await memory.remember("Ben is allergic to peanuts.", user_id="ben")
        block = await told(memory, "Which snacks can I eat?")
        assert "- Ana is allergic to peanuts." in block
        assert "Ben" not in block
        assert "peanuts" not in await told(memory, "What is 17 times 23?")
        assert "peanuts" not in await told(memory, "Which snacks can I eat?", budget=0)
    with sync.Memory("tools", ["memory://"]) as blocking:
        blocking.remember("I am allergic to peanuts.")
        assert "peanuts" in await told(blocking, "Which snacks can I eat?")


async def a_memory_that_cannot_be_read_does_not_end_a_run(folder: Path) -> None:
    policy = folder / "policy.toml"
    policy.write_text('[[rule]]\nname = "no"\nverdict = "refuse"\noperation = ["recall"]\n')
    async with Memory("tools", ["memory://"], policy=str(policy)) as memory:
        assert await _played(memory) == []


async def the_example_runs(folder: Path) -> None:
    assert "| Ana prefers green tea to coffee." in await example("pydantic_ai_toolset")
