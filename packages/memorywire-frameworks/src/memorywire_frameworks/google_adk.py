"""Memory of Google ADK: `Runner(..., memory_service=MemorywireMemoryService(memory))`.

`memory_callback(memory)` is a `before_model_callback` that adds relevant memories to the instructions.
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, TypeAlias

from google.adk.agents.callback_context import CallbackContext
from google.adk.events.event import Event
from google.adk.memory import BaseMemoryService
from google.adk.memory.base_memory_service import SearchMemoryResponse
from google.adk.memory.memory_entry import MemoryEntry
from google.adk.models.llm_request import LlmRequest
from google.adk.sessions.session import Session
from google.genai import types

from memorywire.model.errors import NotFound
from memorywire_frameworks.calling import CONTEXT_TOKENS, AnyMemory, Caller, build_context

Callback: TypeAlias = Callable[..., Awaitable[None]]

_ROLES = {"user": "user", "model": "assistant"}


class MemorywireMemoryService(BaseMemoryService):
    """The memories of each user of an app, in the memory of one agent.

    An added session becomes turns of a conversation; adding it again adds no turn twice. ADK's tools
    `load_memory` and `preload_memory` search them.
    """

    def __init__(self, memory: AnyMemory, *, most: int = 10) -> None:
        """A search returns at most `most` memories."""
        self._caller = Caller(memory)
        self._most = most

    async def add_session_to_memory(self, session: Session) -> None:
        """Store the turns of the session."""
        await self._add(session.events, session.user_id, session.id)

    async def add_events_to_memory(
        self,
        *,
        app_name: str,
        user_id: str,
        events: Sequence[Event],
        session_id: str | None = None,
        custom_metadata: Mapping[str, object] | None = None,
    ) -> None:
        """Store these turns."""
        await self._add(events, user_id, session_id)

    async def add_memory(
        self,
        *,
        app_name: str,
        user_id: str,
        memories: Sequence[MemoryEntry],
        custom_metadata: Mapping[str, object] | None = None,
    ) -> None:
        """Remember each text."""
        for entry in memories:
            metadata = {**(custom_metadata or {}), **entry.custom_metadata}
            text = _read_content(entry.content)
            await self._caller.run(self._caller.memory.remember(text, user_id=user_id, metadata=metadata))

    async def search_memory(self, *, app_name: str, user_id: str, query: str) -> SearchMemoryResponse:
        """Return the memories that answer the query, best first."""
        recalled = await self._caller.run(self._caller.memory.recall(query, user_id=user_id, k=self._most))
        entries = [
            MemoryEntry(
                id=hit.id,
                content=types.Content(role="user", parts=[types.Part(text=hit.text)]),
                timestamp=datetime.fromtimestamp(hit.record.created_at / 1000, UTC).isoformat(),
            )
            for hit in recalled.hits
        ]
        return SearchMemoryResponse(memories=entries)

    async def delete_memory(self, *, app_name: str, user_id: str, memory_id: str | None = None) -> None:
        """Forget one memory. Raises NotFound if the user has no memory with this id."""
        receipt = await self._caller.run(self._caller.memory.forget(memory_id or "", user_id=user_id))
        if receipt.missing_ids:
            raise NotFound("there is no such memory", field="memory_id")

    async def _add(self, events: Sequence[Event], user_id: str, session_id: str | None) -> None:
        turns = [
            {
                "role": _ROLES.get(event.content.role or "", "assistant"),
                "content": text,
                "at": int(event.timestamp * 1000),
            }
            for event in events
            if event.content is not None and (text := _read_content(event.content)).strip()
        ]
        if turns:
            options: Any = {} if session_id is None else {"session_id": session_id}
            await self._caller.run(self._caller.memory.layer.add(turns, user_id=user_id, **options))


def memory_callback(memory: AnyMemory, *, budget: int = CONTEXT_TOKENS) -> Callback:
    """Return a `before_model_callback` that adds the relevant memories to the instructions."""
    caller = Caller(memory)

    async def show_context(callback_context: CallbackContext, llm_request: LlmRequest) -> None:
        messages = [
            {"role": _ROLES.get(one.role or "", "assistant"), "content": _read_content(one)}
            for one in llm_request.contents
        ]
        user_id = None if caller.memory.user_id is not None else callback_context.user_id
        block = await build_context(caller, messages, budget, user_id)
        if block:
            llm_request.append_instructions([block])

    return show_context


def _read_content(content: types.Content) -> str:
    return "\n".join(part.text for part in content.parts or () if part.text)
