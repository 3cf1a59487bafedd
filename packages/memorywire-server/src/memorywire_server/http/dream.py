"""Routes for consolidation and promotion; they require the right to manage."""

from collections.abc import Mapping

from starlette.requests import Request
from starlette.responses import Response

from memorywire.app.consolidators import consolidate
from memorywire.app.consolidators import promote as promote_once
from memorywire.journal.operators import Right
from memorywire.model.record import Json, Scope
from memorywire.wire.codec import encode
from memorywire_server.auth import Caller
from memorywire_server.http.answers import as_json
from memorywire_server.http.endpoint import Service, caller_of, read_checked_body


async def post_dream(request: Request, service: Service) -> Response:
    body = await read_checked_body("dream.request", request, service)
    return as_json(await dream(service, caller_of(request), body))


async def dream(service: Service, caller: Caller, fields: Mapping[str, Json]) -> dict[str, Json]:
    """Run one consolidation of an agent with the server's settings."""
    scope = _read_scope(caller, fields)
    work = consolidate(scope, service.as_caller(caller), dry_run=fields.get("dry_run", False))
    document: dict[str, Json] = encode(await service.finish(work))
    return document


async def post_promote(request: Request, service: Service) -> Response:
    body = await read_checked_body("promote.request", request, service)
    return as_json(await promote(service, caller_of(request), body))


async def promote(service: Service, caller: Caller, fields: Mapping[str, Json]) -> dict[str, Json]:
    """Run one promotion over an agent's short-term memories."""
    scope, given = _read_scope(caller, fields), {k: fields[k] for k in ("window", "dry_run") if k in fields}
    work = promote_once(scope, service.as_caller(caller), **given)
    document: dict[str, Json] = encode(await service.finish(work))
    return document


def _read_scope(caller: Caller, fields: Mapping[str, Json]) -> Scope:
    caller.require(Right.MANAGE)
    caller.require_agent(fields, optional=False)
    return Scope(tenant=caller.tenant, agent=fields["agent_id"], user=fields.get("user_id"))
