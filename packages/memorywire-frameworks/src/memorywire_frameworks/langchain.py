"""Adds memories to the prompt of a LangChain or LangGraph model: `memory_prompt(memory)`."""

from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

from langchain_core.messages import BaseMessage, SystemMessage
from langchain_core.messages.utils import convert_to_messages
from langchain_core.runnables import Runnable, RunnableLambda

from memorywire.client.sync import Memory as BlockingMemory
from memorywire.client.sync import asynchronous
from memorywire_frameworks.calling import (
    CONTEXT_TOKENS,
    AnyMemory,
    Caller,
    build_context,
    join_texts,
    read_text,
)

Talk: TypeAlias = "str | Sequence[Any] | Mapping[str, Any]"

_ROLES = {"human": "user", "ai": "assistant"}


def memory_prompt(
    memory: AnyMemory, *, system: str = "", budget: int = CONTEXT_TOKENS
) -> Runnable[Talk, list[BaseMessage]]:
    """Return a step before a model that puts the memories relevant to a good answer before the messages.

    It takes a text, messages, or the state of a graph with `messages`, so it can be the `prompt` of a
    LangGraph agent or the first step of a chain: `memory_prompt(memory) | model`. `invoke` needs a
    `memorywire.sync.Memory`; `ainvoke` takes either memory.
    """

    async def add_context(talk: Talk, caller: Caller) -> list[BaseMessage]:
        messages = _read_messages(talk)
        words = [
            {"role": _ROLES.get(one.type, one.type), "content": read_text(one.content)} for one in messages
        ]
        block = await build_context(caller, [one for one in words if one["role"] != "system"], budget)
        own = messages[:1] if messages and isinstance(messages[0], SystemMessage) else []
        text = join_texts(system, *(read_text(one.content) for one in own), block)
        return [*([SystemMessage(text)] if text else []), *messages[len(own) :]]

    async def show_context(talk: Talk) -> list[BaseMessage]:
        return await add_context(talk, Caller(memory))

    if not isinstance(memory, BlockingMemory):
        return RunnableLambda(show_context)
    inner = Caller(asynchronous(memory))  # runs on the memory's event loop, so it must not block on that loop
    return RunnableLambda(lambda talk: Caller(memory).wait(add_context(talk, inner)), show_context)


def _read_messages(talk: Talk) -> list[BaseMessage]:
    if isinstance(talk, str):
        talk = [talk]
    messages = talk["messages"] if isinstance(talk, Mapping) else talk
    converted: list[BaseMessage] = convert_to_messages(messages)
    return converted
