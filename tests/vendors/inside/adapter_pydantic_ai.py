"""Our tools in an agent of Pydantic AI, whose model is one of its own stand-ins."""

from pathlib import Path
from typing import Any

from memorywire import Memory
from tests.vendors.inside.played import example


async def _played(memory: Memory, *calls: tuple[str, dict[str, Any]]) -> list[Any]:
    """What each call of a model returned to it."""
    from pydantic_ai import Agent
    from pydantic_ai.messages import ModelResponse, RetryPromptPart, TextPart, ToolCallPart, ToolReturnPart
    from pydantic_ai.models.function import FunctionModel

    from memorywire.integrations.pydantic_ai import memory_toolset

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
        assert gone == {"forgotten": [kept["id"]], "missing": []}
        assert nothing == "Nothing in memory answers that."


async def a_problem_goes_back_to_the_model_with_the_way_out(folder: Path) -> None:
    async with Memory("tools", ["memory://"]) as memory:
        first, second = await _played(
            memory, ("remember", {"content": " "}), ("remember", {"content": "Ana lives in Lisbon"})
        )
        assert "content" in str(first)
        assert second["status"] == "committed"


async def the_tools_and_when_to_use_them_are_told_to_the_model(folder: Path) -> None:
    from pydantic_ai import Agent
    from pydantic_ai.models.test import TestModel

    from memorywire.integrations.pydantic_ai import INSTRUCTIONS, memory_toolset

    async with Memory("tools", ["memory://"]) as memory:
        model = TestModel(call_tools=[])
        await Agent(model, toolsets=[memory_toolset(memory)]).run("hello")
        told = model.last_model_request_parameters
        assert told is not None
        assert sorted(tool.name for tool in told.function_tools) == ["forget", "recall", "remember"]
        assert INSTRUCTIONS in str(told.instruction_parts)


async def the_example_runs(folder: Path) -> None:
    assert "| Ana prefers green tea to coffee." in await example("pydantic_ai_toolset")
