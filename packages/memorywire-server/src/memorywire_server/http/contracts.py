"""Routes of the key-value interface, `/v0/kv/{scope}/{scope_id}/{key}`, and of memory layers."""

from collections.abc import Awaitable, Callable
from functools import partial
from typing import TypeAlias

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from memorywire.client.kv import KeyValue, entry_document, setting
from memorywire.client.layer import Layer, event_document, facts_document, find_event
from memorywire.journal.operators import Right
from memorywire.model.answers import Status
from memorywire.model.errors import Forbidden, MemorywireError, NotFound
from memorywire.model.kv import Deleted, Kept, Limits, Owner, OwnerKind
from memorywire.model.layer import EventState
from memorywire.model.record import Json, Scope
from memorywire.policy.patterns import names
from memorywire.wire.codec import encode
from memorywire_server.http.answers import ACCEPTED, as_json, status_of
from memorywire_server.http.endpoint import (
    Handler,
    Service,
    build_route,
    caller_of,
    get_parameters,
    problem_with,
    read_checked_body,
)
from memorywire_server.http.openapi import ENTRIES, ENTRY
from memorywire_server.http.requests import with_headers

Verb: TypeAlias = Callable[[Request, Service, KeyValue], Awaitable[Response]]


def kv_routes(service: Service) -> list[Route]:
    read, write = partial(_of_owner, Right.READ), partial(_of_owner, Right.WRITE)
    return [
        build_route(
            service, ENTRY, GET=read(_get), PUT=write(_set), POST=write(_incr), DELETE=write(_delete)
        ),
        build_route(service, ENTRIES, GET=read(_list), POST=write(_set_many)),
        build_route(service, "/v0/kv-search/{scope}/{scope_id}", POST=read(_search)),
        build_route(service, "/v0/kv-stats/{scope}/{scope_id}", GET=read(_stats)),
        build_route(service, "/v0/kv-reembed/{scope}/{scope_id}", POST=write(_reembed)),
    ]


def _of_owner(right: Right, verb: Verb) -> Handler:
    """Run the operation on the owner in the path; raises Forbidden without access to its keys."""

    async def handle(request: Request, service: Service) -> Response:
        caller, parameters = caller_of(request), get_parameters(request)
        caller.require(right)
        kind = OwnerKind(parameters["scope"])
        owner = Owner(kind=kind, id=parameters["scope_id"], tenant=caller.tenant)
        if kind is OwnerKind.TENANT and owner.id != caller.tenant:
            raise Forbidden("your token does not cover this tenant", field="scope_id")
        caller.require_agent({"agent_id": owner.scope.agent}, optional=False)
        return await verb(request, service, KeyValue(service.opener(caller), owner, Limits()))

    return handle


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
    parameters = get_parameters(request)
    options = {name: parameters[name] for name in ("prefix", "after", "limit") if name in parameters}
    listing = await service.finish(keys.list(**options))
    document = {"entries": [entry_document(entry) for entry in listing], "truncated": listing.truncated}
    return as_json(document if listing.next is None else {**document, "next": listing.next})


async def _set_many(request: Request, service: Service, keys: KeyValue) -> Response:
    body = await read_checked_body("kv_set_many.request", request, service, limit=service.limits.batch)
    entries = [(entry, problem_with(entry, "kv_entry.request")) for entry in body["entries"]]
    settings = [setting(**entry) for entry, problem in entries if problem is None]
    receipts = iter(await service.finish(keys.keep_each(settings)))
    items: list[Json] = []
    for result in (problem or next(receipts) for _, problem in entries):
        if isinstance(result, MemorywireError):
            items.append({"status": status_of(result), "problem": result.problem()})
        else:
            items.append({"status": _choose_status(result), "answer": encode(result)})
    return as_json({"items": items})


async def _search(request: Request, service: Service, keys: KeyValue) -> Response:
    body = await read_checked_body("kv_search.request", request, service)
    result = await service.finish(keys.search(body.pop("query"), **body))
    matches: list[Json] = []
    for match in result:
        document: dict[str, Json] = {**entry_document(match.entry), "score": round(match.score, 6)}
        if match.merged_from:
            document["merged_from"] = [entry_document(entry) for entry in match.merged_from]
        matches.append(document)
    return as_json({**encode(result), "matches": matches})


async def _stats(request: Request, service: Service, keys: KeyValue) -> Response:
    return as_json(encode(await service.finish(keys.stats())))


async def _reembed(request: Request, service: Service, keys: KeyValue) -> Response:
    await read_checked_body("kv_reembed.request", request, service)
    return as_json(encode(await service.finish(keys.reembed())))


def _answer_receipt(receipt: Kept) -> Response:
    headers = {} if receipt.proposal_id is not None else {"ETag": f'"{receipt.version}"'}
    return as_json(encode(receipt), _choose_status(receipt), headers)


def _choose_status(receipt: Kept | Deleted) -> int:
    """Return 202 if the value waits for approval or for an unavailable store, else 200."""
    return ACCEPTED if receipt.status in (Status.STAGED, Status.DEFERRED) else 200


def layer_routes(service: Service) -> list[Route]:
    return [
        build_route(service, "/v0/layer/add", POST=_add),
        build_route(service, "/v0/layer/recall", POST=_recall),
        build_route(service, "/v0/layer/events/{event_id}", GET=_get_event),
    ]


async def _add(request: Request, service: Service) -> Response:
    body = await read_checked_body("layer_add.request", request, service, limit=service.limits.batch)
    layer = _open_layer(request, service, body, Right.WRITE)
    event = await service.finish(layer.add(body.pop("messages"), **body))
    return as_json(event_document(event), ACCEPTED if event.state is EventState.PENDING else 200)


async def _recall(request: Request, service: Service) -> Response:
    body = await read_checked_body("layer_recall.request", request, service)
    layer = _open_layer(request, service, body, Right.READ)
    # On the wire, a request without a user covers all users.
    body.setdefault("scope", "all" if layer.scope.user is None else "user")
    return as_json(facts_document(await service.finish(layer.recall(body.pop("query"), **body))))


async def _get_event(request: Request, service: Service) -> Response:
    """Return the state of added messages; raises NotFound for an event of another agent."""
    caller, parameters = caller_of(request), get_parameters(request)
    caller.require(Right.READ)
    container = service.as_caller(caller)
    event = await service.finish(find_event(container, caller.tenant, parameters["event_id"]))
    whose = {"agent_id": event.scope.agent, "user_id": event.scope.user}
    others = [name for name in whose if parameters.get(name, whose[name]) != whose[name]]
    if others or not names(caller.agents, event.scope.agent):
        raise NotFound("there is no such event", field="event_id")
    return as_json(event_document(event))


def _open_layer(request: Request, service: Service, body: dict[str, Json], right: Right) -> Layer:
    """Open the memory layer of the scope that is in the body, and remove the scope from the body."""
    caller = caller_of(request)
    caller.require(right)
    caller.require_agent(body, optional=False)
    scope = Scope(tenant=caller.tenant, agent=body.pop("agent_id"), user=body.pop("user_id", None))
    return Layer(service.opener(caller), scope)
