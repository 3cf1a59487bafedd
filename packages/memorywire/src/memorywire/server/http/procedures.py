"""Procedures over HTTP: one trigger, one new version of the memory that is the procedure."""

from collections.abc import Mapping
from typing import Any, Unpack, cast

from starlette.requests import Request
from starlette.responses import Response

from memorywire.app.dispatch import dispatch
from memorywire.client.options import RememberOptions, ScopeOption
from memorywire.client.procedures import Procedure
from memorywire.model.answers import Chain, Remembered
from memorywire.model.change import Version
from memorywire.model.record import Json, Record
from memorywire.server.callers import Caller
from memorywire.server.http.answers import ACCEPTED, as_json
from memorywire.server.http.check_body import asked_body
from memorywire.server.http.endpoint import Door, permit
from memorywire.server.http.handlers import Endpoint, asked, caller_of
from memorywire.wire.codec import encode


def trigger_endpoint(door: Door) -> Endpoint:
    async def trigger(request: Request) -> Response:
        """Take one step and keep it."""
        request.state.operation = "trigger"
        body = await asked_body("trigger.request", request, door)
        caller = caller_of(request)
        permit("remember", body, caller)
        answer = await door.finish(_step(Holder(door, caller, body), asked(request)["id"], body))
        return as_json(answer, ACCEPTED if answer["receipt"]["status"] == "staged" else 200)

    return trigger


class Holder:
    """The verbs that a procedure needs, of one agent and as one caller."""

    def __init__(self, door: Door, caller: Caller, asked: Mapping[str, Json]) -> None:
        self._house = door.as_caller(caller)
        self._tenant = caller.tenant
        self._scope = {name: asked[name] for name in ("agent_id", "user_id") if name in asked}

    async def get(self, id: str, **options: Unpack[ScopeOption]) -> Record:
        return cast("Record", await self._ask("get", id=id, **options))

    async def history(self, id: str, **options: Unpack[ScopeOption]) -> tuple[Version, ...]:
        return cast("Chain", await self._ask("history", id=id, **options)).versions

    async def remember(
        self, content: str | Mapping[str, Any], **options: Unpack[RememberOptions]
    ) -> Remembered:
        return cast("Remembered", await self._ask("remember", content=content, **options))

    async def _ask(self, operation: str, **fields: Any) -> object:
        given = {name: value for name, value in fields.items() if value is not None}
        return await dispatch(operation, {**self._scope, **given}, self._house, tenant=self._tenant)


async def _step(holder: Holder, id: str, body: Mapping[str, Json]) -> dict[str, Json]:
    procedure = await Procedure.load(holder, id)
    state = procedure.trigger(body["trigger"], **body.get("facts", {}))
    return {"state": state, "receipt": encode(await procedure.save())}
