"""Asks the house for a visitor: one operation in, one answer out, or one problem."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from memorywire.model.errors import Forbidden, MemorywireError
from memorywire.model.record import Json
from memorywire.server.mcp.schemas import SCOPE, input_schema
from memorywire.server.mcp.sessions import CONNECTED, Visit

if TYPE_CHECKING:  # the engine is loaded by the first request, so that no handshake waits for it
    from memorywire.server.callers import Caller
    from memorywire.server.http.endpoint import Door

OpenDoor: TypeAlias = Callable[[], Awaitable["Door"]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Clerk:
    """`open_door` opens the house when it is first needed, and gives the same door ever after."""

    open_door: OpenDoor

    async def ask(self, operation: str, arguments: Mapping[str, Json], visit: Visit) -> object:
        """The answer to the agent."""
        _refuse_unknown(operation, arguments)
        return await self._ask(operation, visit.payload(arguments), visit.caller, visit)

    async def review(
        self, operation: str, fields: Mapping[str, Json], visit: Visit, *, elicited: bool = False
    ) -> object:
        """The answer to the person who decides about what this agent wants to change.

        A decision needs a token that proves who decides, or `elicited`: a form about this very proposal was
        answered. Otherwise any program on the connection could decide for the person.
        """
        from memorywire.journal.operators import Right

        if visit.reviewer is None:
            raise Forbidden("nobody decides through this connection", fix="use `memorywire review`")
        if operation == "decide" and not (visit.verified or elicited):
            raise undecided(visit, fields)
        payload = visit.payload(fields)
        visit.reviewer.require(Right.REVIEW)
        visit.reviewer.require_agent(payload, optional=False)
        return await self._ask(operation, payload, visit.reviewer, visit)

    async def can_answer_own(self) -> bool:
        """Whether policy lets a change be approved through the connection that asked for it."""
        office = (await self.open_door()).container.context.office
        return office is None or not office.rulebook.base.four_eyes

    async def _ask(
        self, operation: str, payload: Mapping[str, Json], caller: "Caller", visit: Visit
    ) -> object:
        door = await self.open_door()
        try:
            answer = await door.ask(operation, payload, caller)
        except MemorywireError as error:
            visit.note(operation, {"code": error.code})
            if error.field in SCOPE:  # no argument can name another
                error.fix = CONNECTED
            raise
        from memorywire.wire.codec import encode

        visit.note(operation, {"answer": encode(answer)})
        return answer


def _refuse_unknown(operation: str, arguments: Mapping[str, Json]) -> None:
    """Refuse a field that the tool does not have, and offer only those that it has.

    The wire would offer its own fields, and some of those are not an agent's to choose.
    """
    fields = input_schema(operation)["properties"]
    for name in arguments:
        if name not in fields and name not in SCOPE:
            from memorywire.wire.validate import unknown_field

            raise unknown_field(name, list(fields))


def undecided(visit: Visit, fields: Mapping[str, Json]) -> Forbidden:
    """The problem of a decision that no person is known to have made; its fix says how a person decides."""
    ids = fields.get("proposal_ids")
    first = ids[0] if isinstance(ids, list) and ids and isinstance(ids[0], str) else "PROPOSAL"
    return Forbidden(
        "a program cannot decide for a person: no form about this proposal was answered, and no operator's "
        "token came with the request",
        field="proposal_ids",
        fix=f"let a person decide in the console, or with: {visit.decided_with(first)}",
    )
