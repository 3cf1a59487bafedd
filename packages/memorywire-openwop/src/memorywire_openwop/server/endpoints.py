"""The host's endpoints: runs, events and replays as in OpenWOP, and memory as our own extension."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import partial
from typing import Any, TypeAlias

from msgspec import Struct
from starlette.requests import Request
from starlette.responses import Response

from memorywire.journal.operators import Right
from memorywire.journal.runs import Run, RunStatus
from memorywire.model.errors import (
    CapabilityUnsupported,
    Forbidden,
    InvalidRequest,
    NotFound,
    Unauthenticated,
)
from memorywire.model.record import Json, Scope
from memorywire.policy.patterns import names
from memorywire_openwop.adapter import Adapter, Requester, list_run_memories
from memorywire_openwop.compaction import compact, consolidate
from memorywire_openwop.discovery import list_agents
from memorywire_openwop.entries import check_fields, encode_entry, parse_draft, parse_listing, parse_search
from memorywire_openwop.host import SESSION, Host
from memorywire_openwop.refs import build_ref, parse_ref
from memorywire_openwop.server.answers import event_document, run_document
from memorywire_server.auth import Caller
from memorywire_server.http.answers import as_json
from memorywire_server.http.endpoint import Service, caller_of
from memorywire_server.http.requests import read_body


class HostContext(Struct, frozen=True, kw_only=True):
    """What every endpoint uses; `manifests` are the agents of the inventory."""

    host: Host
    service: Service
    manifests: Sequence[Mapping[str, Json]]

    async def body(self, request: Request) -> dict[str, Any]:
        limits = self.service.limits
        body = await read_body(request, limit=limits.body, seconds=limits.body_seconds)
        if not isinstance(body, dict):
            raise InvalidRequest("the body must be an object")
        return body

    async def run(self, request: Request, caller: Requester) -> Run:
        """Return the run of the path."""
        return await self.host.run(caller, request.path_params["run"])


def authorize(request: Request, right: Right) -> Requester:
    """Return the caller if it has the right; otherwise raises the error of the authenticator."""
    caller: Caller | None = request.state.caller
    if caller is None:
        refusal: Exception = getattr(request.state, "refusal", None) or Unauthenticated("no caller")
        raise refusal
    caller.require(right)
    return Requester(name=caller.name, tenant=caller.tenant, reaches=partial(names, caller.agents))


def text(body: Mapping[str, Json], name: str) -> str:
    """Return a required string field."""
    value = body.get(name)
    if not isinstance(value, str) or not value:
        raise InvalidRequest(f"{name} is missing or not a string", field=name)
    return value


def number(value: Json, name: str) -> int:
    """Parse a non-negative integer from JSON or a query."""
    if isinstance(value, str) and value.isascii() and value.isdecimal() and len(value) < 10:
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise InvalidRequest(f"{name} must be an integer, 0 or more", field=name)
    return value


def part(body: Mapping[str, Json], name: str) -> dict[str, Json]:
    """Return an optional object field."""
    value = body.get(name, {})
    if not isinstance(value, dict):
        raise InvalidRequest(f"{name} must be an object", field=name)
    return value


EXTENSION = "/host/memorywire"
"""The path prefix of operations that OpenWOP does not define."""

Verb: TypeAlias = Callable[[Request, HostContext, Requester], Awaitable[Response]]

_CREATED = 201
_REFS_MOST = 64


async def agents(request: Request, context: HostContext, caller: Requester) -> Response:
    mine = [one for one in context.manifests if names(caller_of(request).agents, one["agentId"])]
    return as_json(list_agents(context.host, mine))


async def start(request: Request, context: HostContext, caller: Requester) -> Response:
    """Start a run in the caller's tenant; ignores fields that this host does not use."""
    body = await context.body(request)
    if body.get("tenantId", caller.tenant) != caller.tenant:
        raise Forbidden("your token does not cover this tenant", field="tenantId")
    run = await context.host.start(caller, text(body, "workflowId"), _refs(body))
    document = run_document(run, await context.host.variables(caller, run))
    if run.workflow == SESSION:
        document["memory"] = {kind: build_ref(scope) for kind, scope in list_run_memories(run).items()}
    return as_json(document, _CREATED)


async def snapshot(request: Request, context: HostContext, caller: Requester) -> Response:
    run = await context.run(request, caller)
    return as_json(run_document(run, await context.host.variables(caller, run)))


async def events(request: Request, context: HostContext, caller: Requester) -> Response:
    return as_json({"events": await _events(request, context, await context.run(request, caller))})


async def poll(request: Request, context: HostContext, caller: Requester) -> Response:
    """Return the events after `lastSequence`, without waiting for more."""
    run = await context.run(request, caller)
    end_state = run.status is not RunStatus.RUNNING
    return as_json({"events": await _events(request, context, run), "isComplete": end_state})


async def fork(request: Request, context: HostContext, caller: Requester) -> Response:
    body = await context.body(request)
    source = await context.run(request, caller)
    if body.get("mode") != "replay":
        raise CapabilityUnsupported("a run can only be replayed, not forked", field="mode", fix="use replay")
    from_seq = number(body.get("fromSeq", 0), "fromSeq")
    run = await context.host.replay(caller, source, from_seq)
    fields = {"runId": run.id, "sourceRunId": source.id, "mode": "replay", "fromSeq": from_seq}
    return as_json({**fields, "status": run.status.value}, _CREATED)


async def complete(request: Request, context: HostContext, caller: Requester) -> Response:
    return await _end(request, context, caller, RunStatus.COMPLETED)


async def cancel(request: Request, context: HostContext, caller: Requester) -> Response:
    return await _end(request, context, caller, RunStatus.CANCELLED)


async def secret(request: Request, context: HostContext, caller: Requester) -> Response:
    """Register a secret of the run; it is not stored, and the response does not repeat it."""
    body = await context.body(request)
    run = await context.run(request, caller)
    context.host.resolve(run, text(body, "secretId"), text(body, "value"))
    return as_json({"secretId": body["secretId"]}, _CREATED)


async def memory(request: Request, context: HostContext, caller: Requester) -> Response:
    """Run a memory operation or a search on memory as the run sees it."""
    name = request.path_params["verb"]
    if name not in _OPERATIONS:
        raise NotFound("there is no such operation", fix=f"one of: {', '.join(_OPERATIONS)}")
    try:
        body = await context.body(request)
    except InvalidRequest as problem:
        if problem.field == "memoryRef" and name in _NOWHERE:
            return as_json(_NOWHERE[name])
        raise
    run = await context.run(request, caller)
    async with context.host.at_work(run):
        adapter = context.host.adapter(caller, run)
        return as_json(await _OPERATIONS[name](adapter, text(body, "memoryRef"), body))


async def look(request: Request, context: HostContext, caller: Requester) -> Response:
    """List the current entries of a memory."""
    query = request.query_params
    redaction: dict[str, Json] = {name: query[name] for name in ("tag",) if name in query}
    listing = parse_listing({"limit": number(query.get("limit", 0), "limit"), **redaction})
    records = await context.host.adapter(caller).list(request.path_params["ref"], listing)
    return as_json({"entries": [encode_entry(record) for record in records]})


async def refer(request: Request, context: HostContext, caller: Requester) -> Response:
    """Return the reference to the memory of an agent, or of one of its users."""
    body = await context.body(request)
    user = text(body, "userId") if "userId" in body else None
    ref = build_ref(Scope(tenant=caller.tenant, agent=text(body, "agentId"), user=user))
    if parse_ref(ref, caller.tenant) is None:
        raise InvalidRequest(
            "this name is too long for an agent or a user", field="agentId", fix="use a shorter name"
        )
    if context.host.adapter(caller).place(ref) is None:
        raise Forbidden("your token does not cover this agent", field="agentId")
    return as_json({"memoryRef": ref}, _CREATED)


async def compacted(request: Request, context: HostContext, caller: Requester) -> Response:
    passed = await compact(context.host, caller, text(await context.body(request), "memoryRef"))
    output = {} if passed.output is None else {"outputContent": encode_entry(passed.output)["content"]}
    return as_json({"type": passed.type, "payload": passed.payload, **output})


async def consolidated(request: Request, context: HostContext, caller: Requester) -> Response:
    passed = await consolidate(context.host, caller, text(await context.body(request), "memoryRef"))
    return as_json({"type": passed.type, "event": passed.payload})


async def forget_subject(request: Request, context: HostContext, caller: Requester) -> Response:
    """Erase all data of a person, of one agent or of all agents of the tenant."""
    body = await context.body(request)
    check_fields(body, "the body", ("subject", "agentId", "reason", "dryRun"))
    given = {"agent_id": "agentId", "reason": "reason", "dry_run": "dryRun"}
    payload = {name: body[field] for name, field in given.items() if field in body}
    subject = text(body, "subject")
    answer = await context.service.call("erase", {"user_id": subject, **payload}, caller_of(request))
    counts = {"forgotten": answer["erased"], "waiting": answer["waiting"]}
    return as_json({**counts, "subjectRemoved": answer["id_removed"], "dryRun": answer["dry_run"]})


async def seed(request: Request, context: HostContext, caller: Requester) -> Response:
    """Store test entries on a host under test; ignores their ids."""
    body = await context.body(request)
    ref, entries = text(body, "memoryRef"), body.get("entries")
    if not isinstance(entries, list) or not all(isinstance(one, dict) for one in entries):
        raise InvalidRequest("entries must be a list of objects", field="entries")
    drafts = [parse_draft({name: entry[name] for name in entry if name != "id"}) for entry in entries]
    adapter = context.host.adapter(caller)
    for one in drafts:
        await adapter.put(ref, one)
    return as_json({"seeded": len(drafts)}, _CREATED)


async def canary(request: Request, context: HostContext, caller: Requester) -> Response:
    """Consolidate on a host under test; on request, first writes an entry with a secret twice."""
    body = await context.body(request)
    ref = text(body, "memoryRef")
    adapter = context.host.adapter(caller)
    value = f"canary-{context.host.container.context.mint()}"
    if body.get("includeSecretCanary") is True:
        adapter.vault.add("canary", value)
        for _ in range(2):
            await adapter.put(ref, parse_draft({"content": f"the secret is {value}"}))
    passed = await consolidate(context.host, caller, ref)
    entry = await adapter.list(ref, parse_listing({}))
    leaked = any(value in str(encode_entry(record)) for record in entry)
    return as_json({"event": passed.payload, "secretLeaked": leaked})


async def _list(adapter: Adapter, ref: str, body: Mapping[str, Json]) -> Json:
    records = await adapter.list(ref, parse_listing(part(body, "options")))
    return {"entries": [encode_entry(record) for record in records]}


async def _search(adapter: Adapter, ref: str, body: Mapping[str, Json]) -> Json:
    return {"entries": [encode_entry(record) for record in await adapter.search(ref, parse_search(body))]}


async def _get(adapter: Adapter, ref: str, body: Mapping[str, Json]) -> Json:
    record = await adapter.get(ref, text(body, "id"))
    return {"entry": None if record is None else encode_entry(record)}


async def _write(adapter: Adapter, ref: str, body: Mapping[str, Json]) -> Json:
    return {"entry": encode_entry(await adapter.put(ref, parse_draft(part(body, "entry"))))}


async def _delete(adapter: Adapter, ref: str, body: Mapping[str, Json]) -> Json:
    return {"deleted": await adapter.delete(ref, text(body, "id"))}


_OPERATIONS: Mapping[str, Callable[[Adapter, str, Mapping[str, Json]], Awaitable[Json]]] = {
    "list": _list,
    "search": _search,
    "get": _get,
    "put": _write,
    "delete": _delete,
}


_NOWHERE: Mapping[str, Json] = {"list": {"entries": []}, "search": {"entries": []}, "get": {"entry": None}}
"""Responses for a reference that is not valid text, such as one with a NUL."""


async def _events(request: Request, context: HostContext, run: Run) -> list[Json]:
    after = number(request.query_params.get("lastSequence", 0), "lastSequence")
    return [event_document(event) for event in await context.host.events(run, after)]


async def _end(request: Request, context: HostContext, caller: Requester, status: RunStatus) -> Response:
    run = await context.run(request, caller)
    return as_json(run_document(await context.host.end(caller, run, status), {}))


def _refs(body: Mapping[str, Json]) -> list[str]:
    refs = body.get("memoryRefs", [])
    if not isinstance(refs, list) or len(refs) > _REFS_MOST or not all(isinstance(ref, str) for ref in refs):
        raise InvalidRequest(f"memoryRefs must be a list of at most {_REFS_MOST} texts", field="memoryRefs")
    return refs


READING: Mapping[str, Verb] = {
    "/agents": agents,
    "/runs/{run}": snapshot,
    "/runs/{run}/events": events,
    "/runs/{run}/events/poll": poll,
    EXTENSION + "/memory/{ref:path}": look,
}
WRITING: Mapping[str, Verb] = {
    "/runs": start,
    "/runs/{run}:fork": fork,
    "/runs/{run}:cancel": cancel,
    EXTENSION + "/runs/{run}:complete": complete,
    EXTENSION + "/runs/{run}/secrets": secret,
    EXTENSION + "/runs/{run}/memory/{verb}": memory,
    EXTENSION + "/refs": refer,
    EXTENSION + "/memory/compact": compacted,
    EXTENSION + "/memory/consolidate": consolidated,
    EXTENSION + "/memory/forget": forget_subject,
}
TESTING_READS: Mapping[str, Verb] = {"/memory/{ref:path}": look}
TESTING: Mapping[str, Verb] = {
    "/test/memory/seed": seed,
    "/test/memory/compact": compacted,
    "/host/sample/memory/consolidate": canary,
}
"""Endpoints that only a host under test serves."""

NEEDS: Mapping[str, Right] = {"GET": Right.READ, "POST": Right.WRITE}
