"""Scans stored memories for secrets and instructions, and can remove the secrets."""

import asyncio
from collections.abc import Sequence

from msgspec.structs import replace

from memorywire.model.change import Base, Change, Put
from memorywire.model.errors import Refused, SecretLeakage
from memorywire.model.oversight import Cleared, Kept, Scanned
from memorywire.model.query import Where
from memorywire.model.record import Record, Scope, Standing
from memorywire.model.requests import Remember
from memorywire.pipeline.commit import commit_one
from memorywire.pipeline.context import PAGE, Context
from memorywire.pipeline.plan import Plan
from memorywire.policy.injection import screen_record
from memorywire.policy.redact import Redactor, redact_remember, scan_record

_EVER = 0  # alive at the epoch: expired memories still have content, so they are scanned too


async def scan(scope: Scope, context: Context) -> Scanned:
    """Scan the current version of every memory of the scope, including archived and expired ones."""
    redactor, after, report = context.require_governance().redactor, None, Scanned(memories=0)
    where = Where(scope=scope, alive_at=_EVER, standings=frozenset(Standing))
    while page := await context.store.find(where, after, PAGE):
        read = await asyncio.to_thread(_read, page, redactor)
        report = Scanned(
            memories=report.memories + len(page),
            secrets=report.secrets + read.secrets,
            instructions=report.instructions + read.instructions,
        )
        after = page[-1].id
    return report


def _read(records: Sequence[Record], redactor: Redactor) -> Scanned:
    secrets, instructions = [], []
    for record in records:
        safe_id, _ = redactor.identifier(record.id)
        secrets += [Kept(id=safe_id, what=one.kind, place=one.place) for one in scan_record(record, redactor)]
        for sign, place in screen_record(record):
            safe_place, _ = redactor.text(place)  # a key of the metadata may be the secret
            instructions.append(Kept(id=safe_id, what=sign, place=safe_place))
    return Scanned(memories=len(records), secrets=tuple(secrets), instructions=tuple(instructions))


async def clear(scope: Scope, ids: Sequence[str], context: Context, *, hold: bool) -> tuple[Cleared, ...]:
    """Write a new version without secrets of each memory that has some; `hold` requires a review first."""
    return tuple(
        [
            result
            for record in await context.store.get(scope, ids)
            if (result := await _clear(record, context, hold=hold)) is not None
        ]
    )


async def _clear(record: Record, context: Context, *, hold: bool) -> Cleared | None:
    try:
        request, findings = redact_remember(asking(record, hold=hold), context.require_governance().redactor)
        if not findings:
            return None
        secrets = tuple((finding.kind, finding.place) for finding in findings)
        plan = Plan(change=_change(record, request, context), request=request, secrets=secrets)
        result = await commit_one(plan, context)
    except (SecretLeakage, Refused) as problem:
        safe_id, _ = context.require_governance().redactor.identifier(record.id)
        return Cleared(id=safe_id, problem=problem.problem())
    return Cleared(
        id=record.id, status=result.status, change_id=result.change_id, proposal_id=result.proposal_id
    )


def asking(record: Record, *, hold: bool) -> Remember:
    """Build the request that would store this memory unchanged."""
    return Remember(
        scope=record.scope,
        type=record.type,
        content=record.content,
        metadata=record.metadata,
        confidence=record.confidence,
        source=record.source,
        expires_at=record.expires_at,
        approval_required=hold,
        id=record.id,
        occurred_at=record.occurred_at,
        tags=record.tags,
        session_id=record.session_id,
        if_version=record.version,
    )


def redacted(record: Record, request: Remember) -> Record:
    """Return the memory with its redactable fields taken from the redacted request."""
    return replace(
        record,
        content=request.content,
        metadata=request.metadata,
        tags=request.tags,
        source=request.source,
        session_id=request.session_id,
    )


def _change(record: Record, request: Remember, context: Context) -> Change:
    now, clean = context.clock(), redacted(record, request)
    following = replace(clean, version=record.version + 1, updated_at=now, recalled_at=None)
    put = Put(record=following, base=Base.LIVE)
    return Change(id=context.mint(), operation="remember", scope=record.scope, at=now, put=(put,))
