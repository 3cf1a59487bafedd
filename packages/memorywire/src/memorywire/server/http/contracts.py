"""Keys and values over HTTP: `/v0/kv/{scope}/{scope_id}/{key}`, and what is asked of all keys of an owner."""

from collections.abc import Awaitable, Callable, Mapping
from typing import TypeAlias

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from memorywire.client.kv import KeyValue, entry_document, setting
from memorywire.client.layer import Layer, event_document, facts_document, find_event
from memorywire.journal.operators import Right
from memorywire.model.answers import Status
from memorywire.model.errors import Forbidden, MemorywireError, NotFound
from memorywire.model.kv import Deleted, Kept, Limits, Match, Owner, OwnerKind, Searched
from memorywire.model.layer import EventState
from memorywire.model.record import Json, Scope
from memorywire.policy.patterns import names
from memorywire.server.auth import Caller
from memorywire.server.http.answers import ACCEPTED, as_json, status_of
from memorywire.server.http.endpoint import (
    Endpoint,
    Service,
    build_route,
    caller_of,
    get_parameters,
    problem_with,
    read_checked_body,
)
from memorywire.server.http.openapi import ENTRIES, ENTRY
from memorywire.server.http.requests import with_headers
from memorywire.wire.codec import encode

Verb: TypeAlias = Callable[[Request, Service, KeyValue], Awaitable[Response]]


def kv_routes(service: Service) -> list[Route]:
    return [
        build_route(
            path, {method: _endpoint(right, verb, service) for method, (right, verb) in verbs.items()}
        )
        for path, verbs in _ROUTES.items()
    ]


def _endpoint(right: Right, verb: Verb, service: Service) -> Endpoint:
    async def endpoint(request: Request) -> Response:
        request.state.operation = "kv"
        return await verb(request, service, _shelf(request, service, caller_of(request), right))

    return endpoint


def _shelf(request: Request, service: Service, caller: Caller, right: Right) -> KeyValue:
    """The keys that the address names; raises unless the caller has the right to them."""
    caller.require(right)
    owner = Owner(
        kind=OwnerKind(get_parameters(request)["scope"]),
        id=get_parameters(request)["scope_id"],
        tenant=caller.tenant,
    )
    if owner.kind is OwnerKind.TENANT and owner.id != caller.tenant:
        raise Forbidden("this tenant is not yours", field="scope_id")
    caller.require_agent({"agent_id": owner.scope.agent}, optional=False)
    return KeyValue(service.opener(caller), owner, Limits())


async def _get(request: Request, service: Service, keys: KeyValue) -> Response:
    entry = await service.finish(keys.get(get_parameters(request)["key"]))
    if entry is None:
        raise NotFound("there is nothing under this key", field="key")
    return as_json(entry_document(entry), headers={"ETag": f'"{entry.version}"'})


async def _set(request: Request, service: Service, keys: KeyValue) -> Response:
    body = await read_checked_body("kv_set.request", request, service)
    body = with_headers(("if_version",), body, get_parameters(request))
    value = body.pop("value")
    return _answer_receipt(await service.finish(keys.set(get_parameters(request)["key"], value, **body)))


async def _incr(request: Request, service: Service, keys: KeyValue) -> Response:
    body = await read_checked_body("kv_incr.request", request, service)
    return _answer_receipt(await service.finish(keys.incr(get_parameters(request)["key"], body.get("by", 1))))


async def _delete(request: Request, service: Service, keys: KeyValue) -> Response:
    receipt = await service.finish(keys.delete(get_parameters(request)["key"]))
    return as_json(encode(receipt), _choose_status(receipt))


async def _list(request: Request, service: Service, keys: KeyValue) -> Response:
    options = {
        name: value for name, value in get_parameters(request).items() if name in ("prefix", "after", "limit")
    }
    listing = await service.finish(keys.list(**options))
    document = {"entries": [entry_document(entry) for entry in listing], "truncated": listing.truncated}
    return as_json(document if listing.next is None else {**document, "next": listing.next})


async def _set_many(request: Request, service: Service, keys: KeyValue) -> Response:
    body = await read_checked_body("kv_set_many.request", request, service, limit=service.limits.batch)
    problems = [problem_with(entry, "kv_entry.request") for entry in body["entries"]]
    asked_for = zip(body["entries"], problems, strict=True)
    settings = [setting(**entry) for entry, problem in asked_for if problem is None]
    receipts = iter(await service.finish(keys.keep_each(settings)))
    return as_json({"items": [_describe_item(problem or next(receipts)) for problem in problems]})


async def _search(request: Request, service: Service, keys: KeyValue) -> Response:
    body = await read_checked_body("kv_search.request", request, service)
    query = body.pop("query")
    return as_json(_describe_matches(await service.finish(keys.search(query, **body))))


async def _stats(request: Request, service: Service, keys: KeyValue) -> Response:
    return as_json(encode(await service.finish(keys.stats())))


async def _reembed(request: Request, service: Service, keys: KeyValue) -> Response:
    await read_checked_body("kv_reembed.request", request, service)
    return as_json(encode(await service.finish(keys.reembed())))


_ROUTES: Mapping[str, Mapping[str, tuple[Right, Verb]]] = {
    ENTRY: {
        "GET": (Right.READ, _get),
        "PUT": (Right.WRITE, _set),
        "POST": (Right.WRITE, _incr),
        "DELETE": (Right.WRITE, _delete),
    },
    ENTRIES: {"GET": (Right.READ, _list), "POST": (Right.WRITE, _set_many)},
    "/v0/kv-search/{scope}/{scope_id}": {"POST": (Right.READ, _search)},
    "/v0/kv-stats/{scope}/{scope_id}": {"GET": (Right.READ, _stats)},
    "/v0/kv-reembed/{scope}/{scope_id}": {"POST": (Right.WRITE, _reembed)},
}


def _answer_receipt(receipt: Kept) -> Response:
    headers = {} if receipt.proposal_id is not None else {"ETag": f'"{receipt.version}"'}
    return as_json(encode(receipt), _choose_status(receipt), headers)


def _choose_status(receipt: Kept | Deleted) -> int:
    """202 for a value that waits for a person, or for a store that was away."""
    return ACCEPTED if receipt.status in (Status.STAGED, Status.DEFERRED) else 200


def _describe_item(result: Kept | MemorywireError) -> dict[str, Json]:
    if isinstance(result, MemorywireError):
        return {"status": status_of(result), "problem": result.problem()}
    return {"status": _choose_status(result), "answer": encode(result)}


def _describe_matches(result: Searched) -> dict[str, Json]:
    document: dict[str, Json] = encode(result)
    return {**document, "matches": [_describe_match(match) for match in result]}


def _describe_match(match: Match) -> dict[str, Json]:
    document: dict[str, Json] = {**entry_document(match.entry), "score": round(match.score, 6)}
    if match.merged_from:
        document["merged_from"] = [entry_document(entry) for entry in match.merged_from]
    return document


def layer_routes(service: Service) -> list[Route]:
    return [
        build_route("/v0/layer/add", {"POST": _add(service)}),
        build_route("/v0/layer/recall", {"POST": _recall(service)}),
        build_route("/v0/layer/events/{event_id}", {"GET": _event(service)}),
    ]


def _add(service: Service) -> Endpoint:
    async def add(request: Request) -> Response:
        """Take messages in."""
        request.state.operation = "layer"
        body = await read_checked_body("layer_add.request", request, service, limit=service.limits.batch)
        layer = _layer(service, caller_of(request), body, Right.WRITE)
        event = await service.finish(layer.add(body.pop("messages"), **_rest(body)))
        return as_json(event_document(event), ACCEPTED if event.state is EventState.PENDING else 200)

    return add


def _recall(service: Service) -> Endpoint:
    async def recall(request: Request) -> Response:
        """Ask what conversations gave away."""
        request.state.operation = "layer"
        body = await read_checked_body("layer_recall.request", request, service)
        layer = _layer(service, caller_of(request), body, Right.READ)
        return as_json(facts_document(await service.finish(layer.recall(body.pop("query"), **_rest(body)))))

    return recall


def _event(service: Service) -> Endpoint:
    async def event(request: Request) -> Response:
        """Return the state of added messages; raises NotFound for an event of another agent."""
        request.state.operation = "layer"
        caller = caller_of(request)
        caller.require(Right.READ)
        parameters = get_parameters(request)
        container = await service.opener(caller)()
        event_of_messages = await service.finish(find_event(container, caller.tenant, parameters["event_id"]))
        whose = {"agent_id": event_of_messages.scope.agent, "user_id": event_of_messages.scope.user}
        others = [name for name in whose if parameters.get(name, whose[name]) != whose[name]]
        if others or not names(caller.agents, event_of_messages.scope.agent):
            raise NotFound("there is no such event", field="event_id")
        return as_json(event_document(event_of_messages))

    return event


def _layer(service: Service, caller: Caller, body: Mapping[str, Json], right: Right) -> Layer:
    caller.require(right)
    caller.require_agent(body, optional=False)
    scope = Scope(tenant=caller.tenant, agent=body["agent_id"], user=body.get("user_id"))
    return Layer(service.opener(caller), scope)


def _rest(body: dict[str, Json]) -> dict[str, Json]:
    return {name: value for name, value in body.items() if name not in ("agent_id", "user_id")}
