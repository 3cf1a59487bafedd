"""Asks the house for a visitor: one operation in, one answer of the wire out, or one problem."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias, TypeVar

from memorywire.model.record import Json
from memorywire.servers.callers import Caller
from memorywire.servers.mcp.visits import Visit

if TYPE_CHECKING:  # the engine is loaded by the first request, so that the handshake need not wait for it
    from memorywire.servers.http.door import Door

OpenDoor: TypeAlias = Callable[[], Awaitable["Door"]]

A = TypeVar("A")


@dataclass(frozen=True, slots=True, kw_only=True)
class Clerk:
    """`open_door` opens the house when it is first needed, and gives the same door ever after."""

    open_door: OpenDoor

    async def ask(self, operation: str, arguments: Mapping[str, Json], visit: Visit, kind: type[A]) -> A:
        """The answer to the agent."""
        return await self._ask(operation, visit.payload(arguments), visit.caller, kind)

    async def review(self, operation: str, fields: Mapping[str, Json], visit: Visit, kind: type[A]) -> A:
        """The answer to whoever decides about what this agent wants to change."""
        from memorywire.model.errors import Forbidden

        if visit.reviewer is None:
            raise Forbidden("nobody can decide through this connection", fix="use `memorywire review`")
        return await self._ask(operation, visit.payload(fields), visit.reviewer, kind)

    async def _ask(self, operation: str, payload: Mapping[str, Json], caller: Caller, kind: type[A]) -> A:
        from memorywire.facades.dispatch import dispatch
        from memorywire.servers.http.door import permit

        door = await self.open_door()
        permit(operation, payload, caller)
        asked = dispatch(operation, payload, door.as_caller(caller), tenant=caller.tenant)
        answer = await door.finish(asked)
        assert isinstance(answer, kind)  # noqa: S101 - each operation has one kind of answer
        return answer
