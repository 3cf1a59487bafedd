"""Memory of an AG2 agent: `Agent(..., plugins=[memory_plugin(memory)])`."""

from collections.abc import Sequence
from typing import Any

from ag2.context import ConversationContext
from ag2.events import BaseEvent, ModelRequest, ModelResponse, TextInput
from ag2.middleware.base import BaseMiddleware, LLMCall
from ag2.plugin import Plugin

from memorywire_frameworks.calling import (
    CONTEXT_TOKENS,
    INSTRUCTIONS,
    AnyMemory,
    Caller,
    MemoryTools,
    build_context,
)


def memory_plugin(memory: AnyMemory, *, budget: int = CONTEXT_TOKENS) -> Plugin:
    """Return a plugin with the tools remember, recall and forget, and instructions when to use them.

    Before each model call, the memories relevant to a good answer are added to the prompt, within `budget`
    tokens; none with a budget of 0.
    """
    caller = Caller(memory)

    def build(event: BaseEvent, context: ConversationContext) -> BaseMiddleware:
        return _ContextMiddleware(event, context, caller=caller, budget=budget)

    return Plugin(prompt=INSTRUCTIONS, tools=MemoryTools(memory).all, middleware=[build])


class _ContextMiddleware(BaseMiddleware):
    def __init__(
        self, event: BaseEvent, context: ConversationContext, *, caller: Caller, budget: int
    ) -> None:
        super().__init__(event, context)
        self._caller = caller
        self._budget = budget

    async def on_llm_call(
        self, call_next: LLMCall, events: Sequence[BaseEvent], context: ConversationContext
    ) -> ModelResponse:
        block = await build_context(self._caller, _read_messages(events), self._budget)
        own = context.prompt
        context.prompt = [*own, block] if block else own
        try:
            return await call_next(events, context)
        finally:
            context.prompt = own


def _read_messages(events: Sequence[BaseEvent]) -> list[dict[str, Any]]:
    messages: list[dict[str, Any]] = []
    for event in events:
        if isinstance(event, ModelRequest):
            texts = [part.content for part in event.parts if isinstance(part, TextInput)]
            messages.append({"role": "user", "content": "\n".join(texts)})
        elif isinstance(event, ModelResponse) and event.message is not None:
            messages.append({"role": "assistant", "content": event.message.content})
    return messages
