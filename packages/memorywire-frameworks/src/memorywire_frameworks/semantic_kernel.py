"""Memory of a Semantic Kernel agent: a plugin with tools, and a thread that starts with relevant memories.

agent = ChatCompletionAgent(service=service, plugins=[MemoryPlugin(memory)])
await agent.get_response(messages="...", thread=MemoryThread(memory))
"""

from collections.abc import AsyncIterable
from typing import Annotated, Any

from semantic_kernel.agents import ChatHistoryAgentThread
from semantic_kernel.contents import ChatHistory, ChatMessageContent
from semantic_kernel.contents.utils.author_role import AuthorRole
from semantic_kernel.functions import kernel_function

from memorywire_frameworks.calling import CONTEXT_TOKENS, AnyMemory, Caller, MemoryTools, build_context


class MemoryPlugin:
    """The functions remember, recall and forget. They return errors as answers, so the run continues."""

    def __init__(self, memory: AnyMemory, *, user_id: str | None = None) -> None:
        """With a `user_id`, the memories are that user's."""
        self._tools = MemoryTools(memory, user_id)

    @kernel_function(description="Keep one fact, as a whole sentence that a stranger understands.")
    async def remember(
        self, content: Annotated[str, "The fact. Never a password or a key."]
    ) -> Annotated[dict[str, Any], "The id and the state of the memory."]:
        """As `MemoryTools.remember`."""
        return await self._tools.remember(content)

    @kernel_function(
        description="Ask memory a question; an empty memory, or one that does not know, says so."
    )
    async def recall(
        self,
        question: Annotated[str, "What you want to know, in plain words."],
        most: Annotated[int, "How many memories at most."] = 5,
    ) -> Annotated[str, "The memories, as data."]:
        """As `MemoryTools.recall`."""
        return await self._tools.recall(question, most)

    @kernel_function(description="Forget one memory by the id that recall showed; a person can take it back.")
    async def forget(
        self, id: Annotated[str, "The id of the memory."]
    ) -> Annotated[dict[str, Any], "What was forgotten."]:
        """As `MemoryTools.forget`."""
        return await self._tools.forget(id)


class MemoryThread(ChatHistoryAgentThread):
    """A thread that shows the agent the memories relevant to a good answer before its messages.

    They are not part of the thread's history.
    """

    def __init__(
        self,
        memory: AnyMemory,
        chat_history: ChatHistory | None = None,
        thread_id: str | None = None,
        *,
        budget: int = CONTEXT_TOKENS,
        user_id: str | None = None,
    ) -> None:
        super().__init__(chat_history, thread_id)
        self._caller = Caller(memory)
        self._budget = budget
        self._user_id = user_id

    async def get_messages(self) -> AsyncIterable[ChatMessageContent]:
        """Yield the messages of the thread, after a system message with the memories, if any."""
        messages = [message async for message in super().get_messages()]
        talk = [
            {"role": one.role.value, "content": one.content}
            for one in messages
            if one.role in (AuthorRole.USER, AuthorRole.ASSISTANT)
        ]
        block = await build_context(self._caller, talk, self._budget, self._user_id)
        if block:
            yield ChatMessageContent(role=AuthorRole.SYSTEM, content=block)
        for message in messages:
            yield message
