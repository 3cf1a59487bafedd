"""A session of the OpenAI Agents SDK, stored in memorywire: `MemorywireSession(memory, "a session")`.

`memory_filter(memory)` adds the memories relevant to the prompt to the model's instructions.

Each item is an entry of the agent's keys. Its key starts with the time it was added, so writers need not
coordinate numbers: all items are stored, however many processes add at the same time.
"""

import secrets
import time
from collections.abc import Callable, Mapping, Sequence
from math import isfinite
from typing import Any

from agents import SessionABC
from agents.memory import SessionSettings
from agents.run import CallModelData, CallModelInputFilter, ModelInputData
from msgspec.structs import replace

from memorywire.client.kv import KeyValue, setting
from memorywire.model.errors import (
    ApprovalPending,
    InvalidRequest,
    MemorywireError,
    QuotaExceeded,
    ValueTooLarge,
)
from memorywire.model.kv import Entry, Kept, Limits, Setting, size_of
from memorywire.model.record import Json
from memorywire.model.text import storable
from memorywire_frameworks.calling import (
    ADAPTER_LIMITS,
    CONTEXT_TOKENS,
    INDEXED_BYTES,
    AnyMemory,
    Caller,
    build_context,
    entries_of,
    join_texts,
)

SESSION_LIMITS = replace(ADAPTER_LIMITS, quota_bytes=256 * 1024 * 1024)
"""Limits of one session: sessions do not share a quota."""

_CHARS_MAX = 160
_MOMENT_DIGITS, _PLACE_DIGITS = 19, 6
_INTEGER_BOUND = 2**63


class MemorywireSession(SessionABC):
    """The history of one conversation.

    A marker replaces a secret in an item before it is stored. Items up to `limits` are stored whole; items
    above 64 KiB are not indexed. The memory may be async or blocking; a session of a blocking memory works on
    every event loop.
    """

    def __init__(
        self,
        memory: AnyMemory,
        session_id: str,
        *,
        session_settings: SessionSettings | None = None,
        limits: Limits = SESSION_LIMITS,
        clock_ns: Callable[[], int] = time.time_ns,
    ) -> None:
        if not session_id or "/" in session_id:
            raise InvalidRequest("the name of a session cannot contain slashes", field="session_id")
        if len(session_id) > _CHARS_MAX or not session_id.isprintable():
            detail = f"a session id has 1 to {_CHARS_MAX} printable characters"
            raise InvalidRequest(detail, field="session_id")
        self.session_id = session_id
        self.session_settings = session_settings or SessionSettings()
        self._caller = Caller(memory)
        self._limits = limits
        self._clock_ns = clock_ns
        self._prefix = self._caller.prefix(f"sessions/{session_id}/")
        self._last: int | None = None

    async def get_items(self, limit: int | None = None) -> list[Any]:
        """Return all items, or the last ones, oldest first."""
        most = self.session_settings.limit if limit is None else limit
        entries = await self._caller.run(self._entries())
        recent = entries if most is None else entries[max(0, len(entries) - most) :]
        return [entry.value for entry in recent]

    async def add_items(self, items: Sequence[Mapping[str, Json]]) -> None:
        """Append all items, or none if one cannot be stored."""
        if items:
            await self._caller.run(self._add(items))

    async def pop_item(self) -> Any | None:
        """Remove and return the newest item; None if there is none, or if a person has to approve first."""
        return await self._caller.run(self._pop())

    async def clear_session(self) -> None:
        """Remove all items. Raises ApprovalPending if a person has to approve first."""
        await self._caller.run(self._clear())

    async def _add(self, items: Sequence[Mapping[str, Json]]) -> None:
        if self._last is None:
            await self._entries()  # an earlier writer's clock may have been ahead
        self._last = max(self._clock_ns(), (self._last or 0) + 1)
        batch = f"{self._prefix}{self._last:0{_MOMENT_DIGITS}}-{secrets.token_hex(4)}"
        settings = [_setting(f"{batch}-{at:0{_PLACE_DIGITS}}", item) for at, item in enumerate(items)]
        step = self._limits.entries_at_once
        results: list[Kept | MemorywireError] = []
        for at in range(0, len(settings), step):
            results += await self._keys.keep_each(settings[at : at + step])
        problem = next((one for one in results if isinstance(one, MemorywireError)), None)
        if problem is None:
            return
        for one in results:
            if isinstance(one, Kept):
                await self._keys.delete(one.key)
        if isinstance(problem, QuotaExceeded | ValueTooLarge):
            own = self._keys.limits == self._limits  # otherwise the limits are those of a server
            larger = "give MemorywireSession larger limits=Limits(...)" if own else "open the store itself"
            problem.fix = f"clear the session, or {larger}"
        raise problem

    async def _pop(self) -> Any | None:
        while entries := await self._entries():
            receipt = await self._keys.delete(entries[-1].key)
            if receipt.proposal_id is not None:
                return None
            if receipt.existed:  # otherwise another caller popped it
                return entries[-1].value
        return None

    async def _clear(self) -> None:
        receipts = [await self._keys.delete(entry.key) for entry in await self._entries()]
        proposal_id = next((one.proposal_id for one in receipts if one.proposal_id is not None), None)
        if proposal_id is not None:
            raise ApprovalPending(
                "a person must approve before the session is cleared",
                proposal_id=proposal_id,
                fix="decide with `memorywire review`",
            )

    async def _entries(self) -> list[Entry]:
        entries = await entries_of(self._keys, self._prefix)
        # The time of the newest item; earlier releases numbered items from 0.
        newest = int(entries[-1].key.rpartition("/")[2].partition("-")[0]) if entries else 0
        self._last = max(self._last or 0, newest)
        return entries

    @property
    def _keys(self) -> KeyValue:
        return self._caller.keys(self._prefix, self._limits)


def memory_filter(memory: AnyMemory, *, budget: int = CONTEXT_TOKENS) -> CallModelInputFilter:
    """Return a `call_model_input_filter` that appends the relevant memories to the instructions."""
    caller = Caller(memory)

    async def show_context(data: CallModelData[Any]) -> ModelInputData:
        items: list[Any] = data.model_data.input
        messages = [item for item in items if isinstance(item, Mapping) and "role" in item]
        block = await build_context(caller, messages, budget)
        return ModelInputData(input=items, instructions=join_texts(data.model_data.instructions, block))

    return show_context


def _setting(key: str, item: Mapping[str, Json]) -> Setting:
    value = _storable(item)
    index = "all" if size_of(value) <= INDEXED_BYTES else "none"
    return setting(key, value, source="agents-session", index=index, redact=True)


def _storable(value: Json) -> Json:
    """Return the value as storable JSON, so that a NUL in an output does not end a run."""
    if isinstance(value, str):
        return storable(value)
    if isinstance(value, Mapping):
        return {str(_storable(name)): _storable(inner) for name, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_storable(inner) for inner in value]
    beyond = type(value) is int and not -_INTEGER_BOUND <= value < _INTEGER_BOUND
    return str(value) if beyond or (isinstance(value, float) and not isfinite(value)) else value
