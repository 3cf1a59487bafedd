"""The routes of the audit: the ledger, its proofs and signatures, exports, pending writes and events."""

import asyncio
from collections.abc import AsyncIterator, Mapping
from functools import partial

from msgspec import to_builtins
from msgspec.structs import asdict
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from memorywire.client.events import Event
from memorywire.client.export import export_person
from memorywire.journal.audit import Examination, examine, prove_entry
from memorywire.journal.ledger import Filters, Row
from memorywire.journal.operators import Right
from memorywire.journal.signed_notes import parse_checkpoints
from memorywire.journal.signer import Signer
from memorywire.model.errors import InvalidRequest, NotFound, StoreError
from memorywire.model.record import Json
from memorywire.pipeline.context import unsupported
from memorywire.policy.patterns import names
from memorywire.wire.codec import encode
from memorywire_server.auth import Caller
from memorywire_server.http.answers import as_json, encode_json
from memorywire_server.http.endpoint import Service, caller_of, get_parameters

_PAGE = 100
_NEWEST = 20_000


async def entries(service: Service, caller: Caller, parameters: Mapping[str, Json]) -> dict[str, Json]:
    """Return a page of the ledger, newest first, and the start of the next; requires the right to review."""
    caller.require(Right.REVIEW)
    caller.require_agent(parameters, optional=True)
    rest = dict(parameters)
    before, limit = rest.pop("before", None), rest.pop("limit", _PAGE)
    subject = rest.pop("subject", None)
    if subject is not None:
        agent = rest.pop("agent_id", None)
        for name in sorted(rest):
            raise InvalidRequest(
                "subject gives every entry about it and takes no filters", field=name, fix=f"leave out {name}"
            )
        rows = await service.finish(service.journal.find_entries_about(caller.tenant, subject))
        about = [row for row in rows if _is_for(row, caller) and agent in (None, row.said["agent"])]
        return {"entries": [_describe_entry(row) for row in about]}
    scope = {"agent": rest.pop("agent_id", None), "user": rest.pop("user_id", None)}
    filters = Filters(tenant=caller.tenant, **scope, **rest)
    rows = await service.finish(service.journal.filter_entries(filters, before=before, limit=limit))
    answer: dict[str, Json] = {
        "entries": [_describe_entry(row) for row in rows if caller.hears_of(row.said["operation"])]
    }
    if len(rows) == limit and rows[-1].seq > 1:
        answer["next"] = rows[-1].seq
    return answer


async def entry(service: Service, caller: Caller, sequence: int) -> dict[str, Json]:
    """Return an entry about the caller's tenant and agents; otherwise it counts as missing."""
    caller.require(Right.REVIEW)
    row = await service.finish(service.journal.find_entry(sequence))
    if row is None or not _is_for(row, caller):
        raise NotFound(f"no entry {sequence} of the ledger here", field="seq")
    return _describe_entry(row)


async def proof(service: Service, caller: Caller, sequence: int) -> str:
    """Return the proof that an entry is in the signed ledger; signs new entries first."""
    await entry(service, caller, sequence)
    signer = _signer(service)
    await service.finish(service.journal.sign())
    lines = await service.finish(service.journal.audit(lambda db: list(prove_entry(db, signer, sequence))))
    return "".join(f"{line}\n" for line in lines)


async def verdict(
    service: Service, caller: Caller, text: str | None = None, *, state: bool = False
) -> dict[str, Json]:
    """Verify the ledger, also against saved checkpoints; with `state`, compare it with the data."""
    caller.require(Right.MANAGE, everywhere=True)
    checkpoints, unreadable = parse_checkpoints(text or "")
    if text is not None and (unreadable or not checkpoints):
        raise InvalidRequest(
            "this is not a checkpoint",
            field="checkpoint",
            fix="send the answer of /v0/audit/checkpoint unchanged",
        )
    work = partial(examine, signer=service.journal.signer, saved=checkpoints, state=state)
    return _describe_verdict(await service.finish(service.journal.audit(work)))


async def signed(service: Service, caller: Caller) -> dict[str, Json]:
    """Return the newest signature and its key; signs new entries first."""
    caller.require(Right.MANAGE, everywhere=True)
    signer = _signer(service)
    note = await service.finish(service.journal.sign())
    if note is None:
        raise NotFound("the ledger is empty", fix="remember something first")
    key = await asyncio.to_thread(signer.verifier)
    return {"checkpoint": note, "key": str(key)}


async def growth(service: Service, caller: Caller) -> list[tuple[int, str, int]]:
    """Return counts by day and operation among the newest entries: (day, operation, count)."""
    caller.require(Right.REVIEW)
    return await service.finish(service.journal.count_operations_by_day(caller.tenant, _NEWEST))


async def owed(service: Service, caller: Caller) -> list[dict[str, Json]]:
    """Return the outbox entries of the caller's changes, oldest first."""
    caller.require(Right.REVIEW)
    pending = await service.finish(service.journal.list_outbox())
    scopes = ((debt, debt.change.scope) for debt in pending)
    return [
        debt.summary()
        for debt, scope in scopes
        if scope.tenant == caller.tenant and names(caller.agents, scope.agent)
    ]


async def get_entries(request: Request, service: Service) -> Response:
    return as_json(await entries(service, caller_of(request), get_parameters(request)))


async def get_verdict(request: Request, service: Service) -> Response:
    parameters = get_parameters(request)
    checkpoint, state = parameters.get("checkpoint"), bool(parameters.get("state"))
    return as_json(await verdict(service, caller_of(request), checkpoint, state=state))


async def get_proof(request: Request, service: Service) -> Response:
    text = await proof(service, caller_of(request), get_parameters(request)["seq"])
    return as_json({"lines": text.splitlines()})


async def get_checkpoint(request: Request, service: Service) -> Response:
    return as_json(await signed(service, caller_of(request)))


async def post_archive(request: Request, service: Service) -> Response:
    """Archive the new entries of the ledger at the location in the server's settings."""
    caller_of(request).require(Right.MANAGE, everywhere=True)
    if service.archive is None:
        raise unsupported("archive", "this server archives its ledger nowhere")
    return as_json(to_builtins(await service.finish(service.archive.write())))


async def get_export(request: Request, service: Service) -> Response:
    """Export all data of a user; requires the right to manage, and all agents unless one is named."""
    caller, parameters = caller_of(request), get_parameters(request)
    return as_json(await export(service, caller, parameters))


async def export(service: Service, caller: Caller, fields: Mapping[str, Json]) -> dict[str, Json]:
    """Return the bundle of a user as JSON."""
    caller.require(Right.MANAGE)
    caller.require_agent(fields, optional=True)
    work = export_person(service.as_caller(caller), caller.tenant, fields["user_id"], fields.get("agent_id"))
    document: dict[str, Json] = encode(await service.finish(work))
    return document


async def get_debts(request: Request, service: Service) -> Response:
    return as_json({"debts": await owed(service, caller_of(request))})


def _signer(service: Service) -> Signer:
    if service.journal.signer is None:
        raise unsupported("audit", "this journal lives in memory and signs nothing")
    return service.journal.signer


def _is_for(row: Row, caller: Caller) -> bool:
    entry = row.said
    mine = bool(entry["tenant"] == caller.tenant) and names(caller.agents, entry["agent"])
    return mine and caller.hears_of(entry["operation"])


def _describe_verdict(examination: Examination) -> dict[str, Json]:
    report, fault = examination.report, examination.report.fault
    verdict: dict[str, Json] = {
        "ok": examination.ok,
        "entries": report.entries,
        "sealed": report.sealed,
        "exposed": report.exposed,
        "checkpoints": report.checkpoints,
        "root": report.root.hex(),
        "unreadable": examination.unreadable,
    }
    optional = {"origin": report.origin, "key": None if examination.key is None else str(examination.key)}
    verdict |= {name: value for name, value in optional.items() if value is not None}
    if fault is not None:
        until = {} if fault.until is None else {"until": fault.until}
        verdict["fault"] = {"entry": fault.entry, "reason": fault.reason, **until}
    if examination.state is not None:
        state = examination.state
        differences = [asdict(one) for one in state.differences]
        counts: dict[str, Json] = {"versions": state.versions, "rows": state.rows}
        verdict["state"] = {"ok": state.ok, **counts, "differences": differences}
    return verdict


def _describe_entry(row: Row) -> dict[str, Json]:
    """Rename fields as on the wire, `agent_id` and `user_id`; omits the tenant, which is the caller's."""
    document = dict(row.said)
    document["agent_id"] = document.pop("agent")
    if "user" in document:
        document["user_id"] = document.pop("user")
    del document["tenant"]
    return document


_BEAT_SECONDS = 15.0


async def stream_events(request: Request, service: Service) -> Response:
    """Stream every change, proposal and decision as it is committed, without content.

    The stream continues after `Last-Event-ID` or `after`, or starts now.
    """
    caller, parameters = caller_of(request), get_parameters(request)
    caller.require(Right.READ)
    after = parameters.get("Last-Event-ID", parameters.get("after"))
    request.state.lease.require_stream()
    place = await service.feed.now() if after is None else int(after)
    lines = _lines(place, service, caller)
    return StreamingResponse(lines, media_type="text/event-stream", headers={"X-Accel-Buffering": "no"})


async def _lines(place: int, service: Service, caller: Caller) -> AsyncIterator[bytes]:
    """Yield events after `place`; the middleware ends the stream."""
    quiet = 0.0
    try:
        yield b": listening\n\n"
        while True:
            position = service.feed.heard
            events, place = await service.feed.after(place, tenant=caller.tenant, agents=caller.agents)
            for event in events:
                if caller.hears_of(event.operation):
                    data = encode_json(as_document(event))
                    yield b"id: %d\nevent: %s\ndata: %s\n\n" % (event.id, event.kind.encode(), data)
            quiet = 0.0 if events else quiet + await service.feed.pause(position)
            if quiet >= _BEAT_SECONDS:
                quiet = 0.0
                yield b": still here\n\n"
    except StoreError:  # the client reconnects and continues where the stream ended
        return


def as_document(event: Event) -> dict[str, Json]:
    """Encode an event for publication: the operation and ids, without content and tenant."""
    fields = {
        "id": event.id,
        "at": event.at,
        "operation": event.operation,
        "kind": event.kind,
        "agent_id": event.agent,
        "user_id": event.user,
        "actor": event.actor,
        "subject": event.subject,
        "memories": list(event.memories),
    }
    return {name: value for name, value in fields.items() if value is not None}
