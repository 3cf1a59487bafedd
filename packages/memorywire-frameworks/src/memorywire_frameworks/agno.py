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
    """The `learning` of an agent with this memory; `options` are those of `MemorywireLearning`."""
    return LearningMachine(custom_stores={"memorywire": MemorywireLearning(memory, **options)})


class MemorywireLearning:
    """A `LearningStore`: the memories that a good answer depends on, and the tools remember, recall, forget.

    The user of a run is the user of the memories, unless the memory has a user of its own. `Agent.run` needs
    a `memorywire.sync.Memory`, `Agent.arun` takes either. Nothing is kept but what the agent remembers.
    """

    learning_type = "memorywire"
    schema = str
    was_updated = False

    def __init__(self, memory: AnyMemory, *, budget: int = CONTEXT_TOKENS) -> None:
        self._memory = memory
        self._caller = Caller(memory)
        self._budget = budget

    def recall(self, message: str | None = None, user_id: str | None = None, **context: Any) -> str | None:
        """The block for this message; None without one."""
        inner = (
            Caller(asynchronous(self._memory)) if isinstance(self._memory, BlockingMemory) else self._caller
        )
        return self._caller.wait(self._build(inner, message, user_id)) or None

    async def arecall(
        self, message: str | None = None, user_id: str | None = None, **context: Any
    ) -> str | None:
        """As `recall`."""
        return await self._build(self._caller, message, user_id) or None

    async def _build(self, caller: Caller, message: str | None, user_id: str | None) -> str:
        messages = [{"role": "user", "content": message or ""}]
        return await build_context(caller, messages, self._budget, self._choose_user(user_id))

    def build_context(self, data: Any) -> str:
        """The block as it is."""
        return str(data or "")

    def instructions(self) -> str:
        """When to use the tools."""
        return INSTRUCTIONS

    def get_tools(self, user_id: str | None = None, **context: Any) -> list[Callable[..., Any]]:
        """The tools of a run without an event loop."""
        tools = MemoryTools(self._memory, self._choose_user(user_id))
        if not isinstance(self._memory, BlockingMemory):
            return tools.all
        inner = MemoryTools(asynchronous(self._memory), self._choose_user(user_id))
        return [_blocking(self._caller, tool) for tool in inner.all]

    async def aget_tools(self, user_id: str | None = None, **context: Any) -> list[Callable[..., Any]]:
        """The tools of a run on an event loop."""
        return MemoryTools(self._memory, self._choose_user(user_id)).all

    def process(self, messages: Sequence[Any], **context: Any) -> None:
        """Do nothing: the agent decides what it remembers."""

    async def aprocess(self, messages: Sequence[Any], **context: Any) -> None:
        """Do nothing: the agent decides what it remembers."""

    def _choose_user(self, user_id: str | None) -> str | None:
        return None if self._caller.memory.user_id is not None else user_id


def _blocking(caller: Caller, tool: Callable[..., Any]) -> Callable[..., Any]:
    """The tool for callers without an event loop, with its own signature."""
    from functools import wraps

    @wraps(tool)
    def call(*args: Any, **named: Any) -> Any:
        return caller.wait(tool(*args, **named))

    return call
