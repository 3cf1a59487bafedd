"""Memory of an AutoGen agent: `AssistantAgent(..., memory=[MemorywireMemory(memory)])`."""

from typing import Any

from autogen_core import CancellationToken
from autogen_core.memory import Memory, MemoryContent, MemoryMimeType, MemoryQueryResult, UpdateContextResult
from autogen_core.model_context import ChatCompletionContext
from autogen_core.models import AssistantMessage, SystemMessage, UserMessage
from pydantic import BaseModel

from memorywire.model.errors import CapabilityUnsupported
from memorywire_frameworks.calling import (
    CONTEXT_TOKENS,
    AnyMemory,
    Caller,
    MemoryTools,
    build_context,
    read_text,
)


class MemorywireMemory(Memory):
    """Adds the memories relevant to a good answer to the model's context, as a system message.

    `tools` are remember, recall and forget, for `AssistantAgent(tools=...)`. Closing the agent does not close
    the memory, and an agent cannot clear it.
    """

    component_provider_override = "memorywire_frameworks.autogen.MemorywireMemory"

    def __init__(self, memory: AnyMemory, *, budget: int = CONTEXT_TOKENS) -> None:
        self._caller = Caller(memory)
        self._budget = budget
        self.tools = MemoryTools(memory).all

    async def update_context(self, model_context: ChatCompletionContext) -> UpdateContextResult:
        """Add the block of memories to the messages, unless it is there."""
        messages = await model_context.get_messages()
        roles = ((UserMessage, "user"), (AssistantMessage, "assistant"))
        talk = [
            {"role": role, "content": read_text(one.content)}
            for one in messages
            for kind, role in roles
            if isinstance(one, kind)
        ]
        block = await build_context(self._caller, talk, self._budget)
        shown = {one.content for one in messages if isinstance(one, SystemMessage)}
        if block and block not in shown:
            await model_context.add_message(SystemMessage(content=block))
        results = [_content(block)] if block else []
        return UpdateContextResult(memories=MemoryQueryResult(results=results))

    async def query(
        self,
        query: str | MemoryContent,
        cancellation_token: CancellationToken | None = None,
        **kwargs: Any,
    ) -> MemoryQueryResult:
        """Return the memories that answer the query, best first; `kwargs` are options of `Memory.recall`."""
        words = query if isinstance(query, str) else str(query.content)
        recalled = await self._caller.run(self._caller.memory.recall(words, **kwargs))
        results = [_content(hit.text, id=hit.id, score=hit.score) for hit in recalled.hits]
        return MemoryQueryResult(results=results)

    async def add(self, content: MemoryContent, cancellation_token: CancellationToken | None = None) -> None:
        """Remember a text or an object."""
        value = content.content
        if not isinstance(value, str | dict):
            kind = type(value).__name__
            raise CapabilityUnsupported(f"memory keeps texts and objects, not {kind}", field="content")
        await self._caller.run(self._caller.memory.remember(value, metadata=content.metadata or {}))

    async def clear(self) -> None:
        """Raise CapabilityUnsupported: memories are forgotten by id or filter, so that it can be undone."""
        raise CapabilityUnsupported(
            "an agent cannot clear its memory", fix="forget by a filter: memorywire forget --help"
        )

    async def close(self) -> None:
        """Do nothing: the caller that opened the memory closes it."""

    def _to_config(self) -> BaseModel:
        raise CapabilityUnsupported("a memory that is open has no configuration", fix="build it in code")


def _content(text: str, **metadata: Any) -> MemoryContent:
    return MemoryContent(content=text, mime_type=MemoryMimeType.TEXT, metadata=metadata or None)
