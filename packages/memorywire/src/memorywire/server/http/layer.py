"""Conversations over HTTP: `/v0/layer/add`, what became of them, and `/v0/layer/recall`."""

from collections.abc import Mapping

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from memorywire.client.layer import Layer, event_document, facts_document, find_event
from memorywire.journal.operators import Right
from memorywire.model.errors import NotFound
from memorywire.model.layer import EventState
from memorywire.model.record import Json, Scope
from memorywire.policy.patterns import names
from memorywire.server.callers import Caller
from memorywire.server.http.answers import ACCEPTED, as_json
from memorywire.server.http.check_body import asked_body
from memorywire.server.http.endpoint import Door
from memorywire.server.http.handlers import Endpoint, asked, caller_of, described


def layer_routes(door: Door) -> list[Route]:
    return [
        described("/v0/layer/add", {"POST": _add(door)}),
        described("/v0/layer/recall", {"POST": _recall(door)}),
        described("/v0/layer/events/{event_id}", {"GET": _event(door)}),
    ]


def _add(door: Door) -> Endpoint:
    async def add(request: Request) -> Response:
        """Take messages in."""
        request.state.operation = "layer"
        body = await asked_body("layer_add.request", request, door, limit=door.limits.batch)
        layer = _layer(door, caller_of(request), body, Right.WRITE)
        event = await door.finish(layer.add(body.pop("messages"), **_rest(body)))
        return as_json(event_document(event), ACCEPTED if event.state is EventState.PENDING else 200)

    return add


def _recall(door: Door) -> Endpoint:
    async def recall(request: Request) -> Response:
        """Ask what conversations gave away."""
        request.state.operation = "layer"
        body = await asked_body("layer_recall.request", request, door)
        layer = _layer(door, caller_of(request), body, Right.READ)
        return as_json(facts_document(await door.finish(layer.recall(body.pop("query"), **_rest(body)))))

    return recall


def _event(door: Door) -> Endpoint:
    async def event(request: Request) -> Response:
        """Ask what became of messages; an event of somebody else's agent is not there."""
        request.state.operation = "layer"
        caller = caller_of(request)
        caller.require(Right.READ)
        wanted = asked(request)
        container = await door.opener(caller)()
        found = await door.finish(find_event(container, caller.tenant, wanted["event_id"]))
        whose = {"agent_id": found.scope.agent, "user_id": found.scope.user}
        others = [name for name in whose if wanted.get(name, whose[name]) != whose[name]]
        if others or not names(caller.agents, found.scope.agent):
            raise NotFound("there is no such event", field="event_id")
        return as_json(event_document(found))

    return event


def _layer(door: Door, caller: Caller, body: Mapping[str, Json], right: Right) -> Layer:
    caller.require(right)
    caller.require_agent(body, optional=False)
    scope = Scope(tenant=caller.tenant, agent=body["agent_id"], user=body.get("user_id"))
    return Layer(door.opener(caller), scope)


def _rest(body: dict[str, Json]) -> dict[str, Json]:
    return {name: value for name, value in body.items() if name not in ("agent_id", "user_id")}
