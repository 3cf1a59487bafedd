"""The addresses of the host: runs, events and replays as OpenWOP has them, memory as our own extension."""

from collections.abc import Awaitable, Callable, Mapping
from typing import TypeAlias

from starlette.requests import Request
from starlette.responses import Response

from memorywire.journal.operators import Right
from memorywire.journal.runs import Run, RunStatus
from memorywire.model.errors import CapabilityUnsupported, Forbidden, InvalidRequest, NotFound
from memorywire.model.record import Json, Scope
from memorywire.policy.patterns import names
from memorywire.server.http.answers import as_json
from memorywire.server.http.endpoint import caller_of
from memorywire_openwop.adapter import Adapter, Visitor, own_memories
from memorywire_openwop.discovery import inventory
from memorywire_openwop.entries import draft_from, entry_of, wanted_from
from memorywire_openwop.host import SESSION
from memorywire_openwop.passes import compact, consolidate
from memorywire_openwop.refs import issue, locate
from memorywire_openwop.server.answers import event_document, run_document
from memorywire_openwop.server.desk import Desk, number, part, text

Verb: TypeAlias = Callable[[Request, Desk, Visitor], Awaitable[Response]]

_CREATED = 201
_REFS_MOST = 64


async def agents(request: Request, desk: Desk, visitor: Visitor) -> Response:
    mine = [one for one in desk.manifests if names(caller_of(request).agents, one["agentId"])]
    return as_json(inventory(desk.host, mine))


async def start(request: Request, desk: Desk, visitor: Visitor) -> Response:
    """Start a run; fields that this host does not use are ignored, and the tenant is the caller's own."""
    body = await desk.body(request)
    if body.get("tenantId", visitor.tenant) != visitor.tenant:
        raise Forbidden("this tenant is not yours", field="tenantId")
    run = await desk.host.start(visitor, text(body, "workflowId"), _refs(body))
    document = run_document(run, await desk.host.variables(visitor, run))
    if run.workflow == SESSION:
        document["memory"] = {kind: issue(scope) for kind, scope in own_memories(run).items()}
    return as_json(document, _CREATED)


async def snapshot(request: Request, desk: Desk, visitor: Visitor) -> Response:
    run = await desk.run(request, visitor)
    return as_json(run_document(run, await desk.host.variables(visitor, run)))


async def events(request: Request, desk: Desk, visitor: Visitor) -> Response:
    return as_json({"events": await _events(request, desk, await desk.run(request, visitor))})


async def poll(request: Request, desk: Desk, visitor: Visitor) -> Response:
    """The events behind `lastSequence`, at once; whoever wants more asks again."""
    run = await desk.run(request, visitor)
    ended = run.status is not RunStatus.RUNNING
    return as_json({"events": await _events(request, desk, run), "isComplete": ended})


async def fork(request: Request, desk: Desk, visitor: Visitor) -> Response:
    body = await desk.body(request)
    source = await desk.run(request, visitor)
    if body.get("mode") != "replay":
        raise CapabilityUnsupported("a run can only be replayed here", field="mode", fix="use replay")
    from_seq = number(body.get("fromSeq", 0), "fromSeq")
    run = await desk.host.replay(visitor, source, from_seq)
    said = {"runId": run.id, "sourceRunId": source.id, "mode": "replay", "fromSeq": from_seq}
    return as_json({**said, "status": run.status.value}, _CREATED)


async def complete(request: Request, desk: Desk, visitor: Visitor) -> Response:
    return await _end(request, desk, visitor, RunStatus.COMPLETED)


async def cancel(request: Request, desk: Desk, visitor: Visitor) -> Response:
    return await _end(request, desk, visitor, RunStatus.CANCELLED)


async def secret(request: Request, desk: Desk, visitor: Visitor) -> Response:
    """Register a secret of the run; it is written nowhere, and the answer does not repeat it."""
    body = await desk.body(request)
    run = await desk.run(request, visitor)
    desk.host.resolve(run, text(body, "secretId"), text(body, "value"))
    return as_json({"secretId": body["secretId"]}, _CREATED)


async def memory(request: Request, desk: Desk, visitor: Visitor) -> Response:
    """One of the four operations, as the run sees memory."""
    name = request.path_params["verb"]
    if name not in _OPERATIONS:
        raise NotFound("there is no such operation", fix=f"one of: {', '.join(_OPERATIONS)}")
    try:
        body = await desk.body(request)
    except InvalidRequest as problem:
        if problem.field == "memoryRef" and name in _NOWHERE:
            return as_json(_NOWHERE[name])
        raise
    run = await desk.run(request, visitor)
    async with desk.host.at_work(run):
        adapter = desk.host.adapter(visitor, run)
        return as_json(await _OPERATIONS[name](adapter, text(body, "memoryRef"), body))


async def look(request: Request, desk: Desk, visitor: Visitor) -> Response:
    """A memory as it is now."""
    query = request.query_params
    asked: dict[str, Json] = {name: query[name] for name in ("tag",) if name in query}
    wanted = wanted_from({"limit": number(query.get("limit", 0), "limit"), **asked})
    found = await desk.host.adapter(visitor).list(request.path_params["ref"], wanted)
    return as_json({"entries": [entry_of(record) for record in found]})


async def refer(request: Request, desk: Desk, visitor: Visitor) -> Response:
    """The reference to the memory of an agent, or of one of its users."""
    body = await desk.body(request)
    user = text(body, "userId") if "userId" in body else None
    ref = issue(Scope(tenant=visitor.tenant, agent=text(body, "agentId"), user=user))
    if locate(ref, visitor.tenant) is None:
        raise InvalidRequest("no agent or user can be called that", field="agentId", fix="use a shorter name")
    if desk.host.adapter(visitor).place(ref) is None:
        raise Forbidden("this agent is not yours", field="agentId")
    return as_json({"memoryRef": ref}, _CREATED)


async def compacted(request: Request, desk: Desk, visitor: Visitor) -> Response:
    passed = await compact(desk.host, visitor, text(await desk.body(request), "memoryRef"))
    output = {} if passed.output is None else {"outputContent": entry_of(passed.output)["content"]}
    return as_json({"type": passed.type, "payload": passed.payload, **output})


async def consolidated(request: Request, desk: Desk, visitor: Visitor) -> Response:
    passed = await consolidate(desk.host, visitor, text(await desk.body(request), "memoryRef"))
    return as_json({"type": passed.type, "event": passed.payload})


async def seed(request: Request, desk: Desk, visitor: Visitor) -> Response:
    """Put made-up entries, for a host under test; the ids they bring are not used."""
    body = await desk.body(request)
    ref, entries = text(body, "memoryRef"), body.get("entries")
    if not isinstance(entries, list) or not all(isinstance(one, dict) for one in entries):
        raise InvalidRequest("entries is a list of objects", field="entries")
    drafts = [draft_from({name: entry[name] for name in entry if name != "id"}) for entry in entries]
    adapter = desk.host.adapter(visitor)
    for one in drafts:
        await adapter.put(ref, one)
    return as_json({"seeded": len(drafts)}, _CREATED)


async def canary(request: Request, desk: Desk, visitor: Visitor) -> Response:
    """A consolidation for a host under test: with a secret written twice, if that is asked for."""
    body = await desk.body(request)
    ref = text(body, "memoryRef")
    adapter = desk.host.adapter(visitor)
    value = f"canary-{desk.host.container.context.mint()}"
    if body.get("includeSecretCanary") is True:
        adapter.vault.add("canary", value)
        for _ in range(2):
            await adapter.put(ref, draft_from({"content": f"the secret is {value}"}))
    passed = await consolidate(desk.host, visitor, ref)
    kept = await adapter.list(ref, wanted_from({}))
    leaked = any(value in str(entry_of(record)) for record in kept)
    return as_json({"event": passed.payload, "secretLeaked": leaked})


async def _list(adapter: Adapter, ref: str, body: Mapping[str, Json]) -> Json:
    found = await adapter.list(ref, wanted_from(part(body, "options")))
    return {"entries": [entry_of(record) for record in found]}


async def _get(adapter: Adapter, ref: str, body: Mapping[str, Json]) -> Json:
    found = await adapter.get(ref, text(body, "id"))
    return {"entry": None if found is None else entry_of(found)}


async def _put(adapter: Adapter, ref: str, body: Mapping[str, Json]) -> Json:
    return {"entry": entry_of(await adapter.put(ref, draft_from(part(body, "entry"))))}


async def _delete(adapter: Adapter, ref: str, body: Mapping[str, Json]) -> Json:
    return {"deleted": await adapter.delete(ref, text(body, "id"))}


_OPERATIONS: Mapping[str, Callable[[Adapter, str, Mapping[str, Json]], Awaitable[Json]]] = {
    "list": _list,
    "get": _get,
    "put": _put,
    "delete": _delete,
}


_NOWHERE: Mapping[str, Json] = {"list": {"entries": []}, "get": {"entry": None}}
"""What a reference leads to that no text can be, such as one with a NUL in it."""


async def _events(request: Request, desk: Desk, run: Run) -> list[Json]:
    after = number(request.query_params.get("lastSequence", 0), "lastSequence")
    return [event_document(event) for event in await desk.host.events(run, after)]


async def _end(request: Request, desk: Desk, visitor: Visitor, status: RunStatus) -> Response:
    run = await desk.run(request, visitor)
    return as_json(run_document(await desk.host.end(visitor, run, status), {}))


def _refs(body: Mapping[str, Json]) -> list[str]:
    found = body.get("memoryRefs", [])
    if (
        not isinstance(found, list)
        or len(found) > _REFS_MOST
        or not all(isinstance(ref, str) for ref in found)
    ):
        raise InvalidRequest(f"memoryRefs is a list of at most {_REFS_MOST} texts", field="memoryRefs")
    return found


READING: Mapping[str, Verb] = {
    "/agents": agents,
    "/runs/{run}": snapshot,
    "/runs/{run}/events": events,
    "/runs/{run}/events/poll": poll,
    "/memory/{ref:path}": look,
}
WRITING: Mapping[str, Verb] = {
    "/runs": start,
    "/runs/{run}:fork": fork,
    "/runs/{run}:cancel": cancel,
    "/host/memorywire/runs/{run}:complete": complete,
    "/host/memorywire/runs/{run}/secrets": secret,
    "/host/memorywire/runs/{run}/memory/{verb}": memory,
    "/host/memorywire/refs": refer,
    "/host/memorywire/memory/compact": compacted,
    "/host/memorywire/memory/consolidate": consolidated,
}
TESTING: Mapping[str, Verb] = {
    "/test/memory/seed": seed,
    "/test/memory/compact": compacted,
    "/host/sample/memory/consolidate": canary,
}
"""What only a host under test serves."""

NEEDS: Mapping[str, Right] = {"GET": Right.READ, "POST": Right.WRITE}
