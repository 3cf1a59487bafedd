"""A session of the OpenAI Agents SDK, kept by memorywire: `MemorywireSession(memory, "a session")`.

Each item is an entry of the agent's keys, in the order it was added.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from agents import SessionABC
from agents.memory import SessionSettings

from memorywire.facades.memory import Memory
from memorywire.integrations.entries import every_entry
from memorywire.model.errors import InvalidRequest
from memorywire.model.kv import Entry
from memorywire.model.record import Json

_DIGITS = 12


class MemorywireSession(SessionABC):
    """The history of one conversation. An item that holds a secret is refused."""

    def __init__(
        self, memory: Memory, session_id: str, *, session_settings: SessionSettings | None = None
    ) -> None:
        if not session_id or "/" in session_id:
            raise InvalidRequest("a session has a name without slashes", field="session_id")
        self.session_id = session_id
        self.session_settings = session_settings or SessionSettings()
        self._memory = memory

    async def get_items(self, limit: int | None = None) -> list[Any]:
        """All items, or the last ones, oldest first."""
        most = self.session_settings.limit if limit is None else limit
        entries = await self._entries()
        return [
            entry.value for entry in (entries if most is None else entries[max(0, len(entries) - most) :])
        ]

    async def add_items(self, items: Sequence[Mapping[str, Json]]) -> None:
        """Append them; when one is refused, those behind it are not kept either."""
        entries = await self._entries()
        start = _number(entries[-1]) + 1 if entries else 0
        for number, item in enumerate(items, start=start):
            await self._memory.kv.set(self._key(number), dict(item), if_version=0, source="agents-session")

    async def pop_item(self) -> Any | None:
        """Take the newest item away and give it; None when there is none."""
        entries = await self._entries()
        if not entries:
            return None
        await self._memory.kv.delete(entries[-1].key)
        return entries[-1].value

    async def clear_session(self) -> None:
        for entry in await self._entries():
            await self._memory.kv.delete(entry.key)

    async def _entries(self) -> list[Entry]:
        return await every_entry(self._memory, self._prefix)

    @property
    def _prefix(self) -> str:
        return f"sessions/{self.session_id}/"

    def _key(self, number: int) -> str:
        """Numbers of one width, so that the order of the keys is that of the items."""
        return f"{self._prefix}{number:0{_DIGITS}}"


def _number(entry: Entry) -> int:
    return int(entry.key.rpartition("/")[2])
