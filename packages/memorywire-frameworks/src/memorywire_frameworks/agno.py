"""Memory of an Agno agent: `Agent(..., learning=memory_machine(memory))`."""

from collections.abc import Callable, Sequence
from typing import Any

from agno.learn.machine import LearningMachine

from memorywire.client.sync import Memory as BlockingMemory
from memorywire.client.sync import asynchronous
from memorywire_frameworks.calling import (
    CONTEXT_TOKENS,
    INSTRUCTIONS,
    AnyMemory,
    Caller,
    MemoryTools,
    build_context,
)


def memory_machine(memory: AnyMemory, **options: Any) -> LearningMachine:
    """Return the `learning` of an agent with this memory; `options` are those of `MemorywireLearning`."""
    return LearningMachine(custom_stores={"memorywire": MemorywireLearning(memory, **options)})


class MemorywireLearning:
    """A `LearningStore`: recalls the memories a good answer needs, and has tools: remember, recall, forget.

    The user of a run is the user of the memories, unless the memory has a user itself. `Agent.run` needs a
    `memorywire.sync.Memory`, `Agent.arun` takes either. Only what the agent remembers is stored.
    """

    learning_type = "memorywire"
    schema = str
    was_updated = False

    def __init__(self, memory: AnyMemory, *, budget: int = CONTEXT_TOKENS) -> None:
        self._memory = memory
        self._caller = Caller(memory)
        self._budget = budget

    def recall(self, message: str | None = None, user_id: str | None = None, **context: Any) -> str | None:
        """Return the block of memories for this message, or None."""
        inner = (
            Caller(asynchronous(self._memory)) if isinstance(self._memory, BlockingMemory) else self._caller
        )
        return self._caller.wait(self._build(inner, message, user_id)) or None

    async def arecall(
        self, message: str | None = None, user_id: str | None = None, **context: Any
    ) -> str | None:
        """Like `recall`, on an event loop."""
        return await self._build(self._caller, message, user_id) or None

    async def _build(self, caller: Caller, message: str | None, user_id: str | None) -> str:
        messages = [{"role": "user", "content": message or ""}]
        return await build_context(caller, messages, self._budget, self._choose_user(user_id))

    def build_context(self, data: Any) -> str:
        """Return the block unchanged."""
        return str(data or "")

    def instructions(self) -> str:
        """Return the instructions when to use the tools."""
        return INSTRUCTIONS

    def get_tools(self, user_id: str | None = None, **context: Any) -> list[Callable[..., Any]]:
        """Return the tools of a run without an event loop."""
        tools = MemoryTools(self._memory, self._choose_user(user_id))
        if not isinstance(self._memory, BlockingMemory):
            return tools.all
        inner = MemoryTools(asynchronous(self._memory), self._choose_user(user_id))
        return [_blocking(self._caller, tool) for tool in inner.all]

    async def aget_tools(self, user_id: str | None = None, **context: Any) -> list[Callable[..., Any]]:
        """Return the tools of a run on an event loop."""
        return MemoryTools(self._memory, self._choose_user(user_id)).all

    def process(self, messages: Sequence[Any], **context: Any) -> None:
        """Do nothing: the agent decides what it remembers."""

    async def aprocess(self, messages: Sequence[Any], **context: Any) -> None:
        """Do nothing: the agent decides what it remembers."""

    def _choose_user(self, user_id: str | None) -> str | None:
        return None if self._caller.memory.user_id is not None else user_id


def _blocking(caller: Caller, tool: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap a tool for callers without an event loop, with the same signature."""
    from functools import wraps

    @wraps(tool)
    def call(*args: Any, **named: Any) -> Any:
        return caller.wait(tool(*args, **named))

    return call
