"""Asks the house for a visitor: one operation in, one answer out, or one problem."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from memorywire.model.errors import Forbidden, MemorywireError
from memorywire.model.record import Json
from memorywire.servers.mcp.visits import Visit

if TYPE_CHECKING:  # the engine is loaded by the first request, so that no handshake waits for it
    from memorywire.servers.callers import Caller
    from memorywire.servers.http.door import Door

OpenDoor: TypeAlias = Callable[[], Awaitable["Door"]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Clerk:
    """`open_door` opens the house when it is first needed, and gives the same door ever after."""

    open_door: OpenDoor

    async def ask(self, operation: str, arguments: Mapping[str, Json], visit: Visit) -> object:
        """The answer to the agent."""
        return await self._ask(operation, visit.payload(arguments), visit.caller, visit)

    async def review(self, operation: str, fields: Mapping[str, Json], visit: Visit) -> object:
        """The answer to whoever decides about what this agent wants to change."""
        from memorywire.journal.operators import Right

        if visit.reviewer is None:
            raise Forbidden("nobody decides through this connection", fix="use `memorywire review`")
        payload = visit.payload(fields)
        visit.reviewer.require(Right.REVIEW)
        visit.reviewer.require_agent(payload, optional=False)
        return await self._ask(operation, payload, visit.reviewer, visit)

    async def _ask(
        self, operation: str, payload: Mapping[str, Json], caller: "Caller", visit: Visit
    ) -> object:
        door = await self.open_door()
        try:
            answer = await door.ask(operation, payload, caller)
        except MemorywireError as error:
            visit.note(operation, {"code": error.code})
            raise
        from memorywire.wire.codec import encode

        visit.note(operation, {"answer": encode(answer)})
        return answer
