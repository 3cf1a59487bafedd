"""What every endpoint of the host has at hand: the host, the door, and who asks for what."""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from msgspec import Struct
from starlette.requests import Request

from memorywire.journal.operators import Right
from memorywire.journal.runs import Run
from memorywire.model.errors import InvalidRequest, Unauthenticated
from memorywire.model.record import Json
from memorywire.policy.patterns import names
from memorywire.server.auth import Caller
from memorywire.server.http.endpoint import Service
from memorywire.server.http.requests import read_body
from memorywire_openwop.adapter import Visitor
from memorywire_openwop.host import Host


class Desk(Struct, frozen=True, kw_only=True):
    """`manifests` are the agents of the inventory."""

    host: Host
    service: Service
    manifests: Sequence[Mapping[str, Json]]

    async def body(self, request: Request) -> dict[str, Any]:
        limits = self.service.limits
        body = await read_body(request, limit=limits.body, seconds=limits.body_seconds)
        if not isinstance(body, dict):
            raise InvalidRequest("the body is an object")
        return body

    async def run(self, request: Request, visitor: Visitor) -> Run:
        """The run that the address names."""
        return await self.host.run(visitor, request.path_params["run"])


def admitted(request: Request, right: Right) -> Visitor:
    """The caller, if they have the right; raises what the doorkeeper said to others."""
    caller: Caller | None = request.state.caller
    if caller is None:
        refusal: Exception = getattr(request.state, "refusal", None) or Unauthenticated("nobody asks")
        raise refusal
    caller.require(right)
    return Visitor(name=caller.name, tenant=caller.tenant, reaches=partial(names, caller.agents))


def text(body: Mapping[str, Json], name: str) -> str:
    """A field that must be there."""
    found = body.get(name)
    if not isinstance(found, str) or not found:
        raise InvalidRequest(f"{name} is missing, or no text", field=name)
    return found


def number(value: Json, name: str) -> int:
    """A whole number, 0 or more, as JSON or a query says it."""
    if isinstance(value, str) and value.isascii() and value.isdecimal() and len(value) < 10:
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise InvalidRequest(f"{name} is an integer, 0 or more", field=name)
    return value


def part(body: Mapping[str, Json], name: str) -> dict[str, Json]:
    """An object that may be left out."""
    found = body.get(name, {})
    if not isinstance(found, dict):
        raise InvalidRequest(f"{name} is an object", field=name)
    return found
