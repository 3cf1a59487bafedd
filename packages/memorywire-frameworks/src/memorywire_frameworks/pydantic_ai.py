"""Memory as tools of a Pydantic AI agent: `memory_toolset(memory)`."""

from typing import Any

from pydantic_ai import RunContext
from pydantic_ai.messages import TextPart, UserPromptPart
from pydantic_ai.toolsets import FunctionToolset

from memorywire_frameworks.calling import (
    CONTEXT_TOKENS,
    INSTRUCTIONS,
    AnyMemory,
    Caller,
    MemoryTools,
    build_context,
    read_text,
)


def memory_toolset(
    memory: AnyMemory, *, id: str = "memorywire", budget: int = CONTEXT_TOKENS
) -> FunctionToolset[Any]:
    """Return the tools remember, recall and forget on this memory, with instructions when to use them.

    The instructions also contain the memories relevant to a good answer to the prompt, within `budget`
    tokens; none with a budget of 0.
    """
    tools, caller = MemoryTools(memory), Caller(memory)

    async def show_context(run: RunContext[Any]) -> str:
        return await build_context(caller, _read_messages(run), budget)

    return FunctionToolset(tools.all, id=id, instructions=[INSTRUCTIONS, show_context])


def _read_messages(run: RunContext[Any]) -> list[dict[str, str]]:
    """Return the messages of the user and the model, the prompt last."""
    messages: list[dict[str, str]] = []
    for message in run.messages:
        for part in message.parts:
            if isinstance(part, UserPromptPart):
                messages.append({"role": "user", "content": read_text(part.content)})
            elif isinstance(part, TextPart):
                messages.append({"role": "assistant", "content": part.content})
    prompt = {"role": "user", "content": read_text(run.prompt)}
    return messages if prompt in messages else [*messages, prompt]
