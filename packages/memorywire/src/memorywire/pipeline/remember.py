"""Remember: one new memory, or a new version of one, exactly once."""

from dataclasses import replace

from memorywire.model.answers import Redacted, Remembered
from memorywire.model.change import Base, Change, End, EndReason, Put
from memorywire.model.errors import Conflict, Duplicate, InvalidRequest, NotFound
from memorywire.model.kv import is_entry
from memorywire.model.record import MemoryType, Record, Trust
from memorywire.model.requests import Remember
from memorywire.model.values import maker
from memorywire.pipeline.commit import Plan
from memorywire.pipeline.context import Context
from memorywire.pipeline.limits import refuse_large
from memorywire.pipeline.receipts import fingerprint, known, receipt, replayed, stored_key
from memorywire.pipeline.sanitize import Cleaned, weighed, without_secrets
from memorywire.procedures.parse import check

_ATTEMPTS = 3  # a race moves the base at most once per rival; after that the caller should know


async def remember(
    request: Remember, context: Context, vector: bytes | None = None, redacted: Cleaned | None = None
) -> Remembered:
    """Plan and submit; plan again when a rival moved what the plan had read.

    `redacted` is the request without its secrets, and `vector` what it means, if somebody knows already.
    """
    refuse_large(request.metadata, "metadata")
    _refuse_unsound(request)
    asked = await weighed(redacted or without_secrets(request, context), context)
    if asked.request is not request:
        _refuse_unsound(asked.request)  # a marker may stand where a name stood
    answer = await _remembered(asked, context, vector)
    if not asked.secrets:
        return answer
    return replace(answer, redacted=tuple(Redacted(kind=kind, place=place) for kind, place in asked.secrets))


async def _remembered(asked: Cleaned, context: Context, vector: bytes | None) -> Remembered:
    request, left = asked.request, _ATTEMPTS
    while True:
        if request.idempotency_key is not None:
            earlier = await replayed(request, context)
            if earlier is not None:
                return earlier
        if request.expires_at is not None and request.expires_at <= context.clock():
            raise InvalidRequest(
                "expires_at is not in the future",
                field="expires_at",
                fix="give a later moment, in epoch milliseconds",
            )
        try:
            return await _remember_once(asked, context, vector)
        except Conflict:
            left -= 1
            if not left or request.if_version is not None:
                raise


def _refuse_unsound(request: Remember) -> None:
    """Stop before a procedure is kept that nobody could run, or that only harm could come from."""
    if request.type is MemoryType.PROCEDURAL:
        check(request.content)


async def _remember_once(asked: Cleaned, context: Context, vector: bytes | None) -> Remembered:
    request, now = asked.request, context.clock()
    current = None if request.id is None else await _current(request, request.id, context)
    record = first_version(request, request.id or context.mint(), now, asked.trust)
    if current is not None:
        record = _next_version(record, current, request.if_version)
    replaced = await _superseded(request, context) if request.supersedes else []
    if current is not None and request.if_version is None:
        return await _duplicate(request, context, current, replaced, now)
    if replaced and request.if_version is None and (twin := await context.store.duplicate(record, now)):
        return await _duplicate(request, context, twin, replaced, now)
    base = Base.LIVE if current else Base.NOTHING
    change = maker(Change)(
        id=context.mint(),
        operation="remember",
        scope=record.scope,
        at=now,
        put=(maker(Put)(record=record, base=base, vector=vector, unique=True),),
        end=_ends(replaced, record.id),
        key=stored_key(request),
        fingerprint=fingerprint(request),
    )
    try:
        done = await context.submit(maker(Plan)(change=change, request=request, secrets=asked.secrets))
    except Duplicate as refusal:
        twins = await context.store.get(record.scope, [refusal.existing])
        if not twins or request.if_version is not None:
            raise
        return await _duplicate(request, context, twins[0], replaced, now)
    return receipt(done, record.id, record.version, now)


async def _current(request: Remember, id: str, context: Context) -> Record | None:
    """The live version of the id the caller names, if any."""
    found = await context.store.get(request.scope, [id])
    if not found and request.if_version is not None:
        raise Conflict(f"{id} has no live version here", field="if_version")
    return found[0] if found else None


def draft(request: Remember) -> Record:
    """What a request would keep, before it has an id and a moment: its text and its digest are final."""
    return first_version(request, "", 0)


def first_version(request: Remember, id: str, now: int, trust: Trust = Trust.STANDARD) -> Record:
    """The first version of what is to be kept."""
    return maker(Record)(
        id=id,
        scope=request.scope,
        type=request.type,
        content=request.content,
        metadata=request.metadata,
        tags=request.tags,
        source=request.source,
        session_id=request.session_id,
        confidence=request.confidence,
        occurred_at=request.occurred_at,
        expires_at=request.expires_at,
        created_at=now,
        updated_at=now,
        supersedes=request.supersedes,
        derived_from=request.derived_from,
        trust=trust,
    )


def _next_version(fresh: Record, current: Record, if_version: int | None) -> Record:
    """The version after the current one; without `if_version` a taken id is accepted only for a retry."""
    following = replace(
        fresh,
        scope=current.scope,
        created_at=current.created_at,
        version=current.version + 1,
        trust=Trust.lowest(fresh.trust, current.trust),
    )
    if if_version is None and not _same_request(fresh, current):
        raise Conflict(
            f"{current.id} already exists at version {current.version} and says something else",
            field="id",
            fix=f"pass if_version: {current.version} to write a new version",
        )
    if if_version is not None and if_version != current.version:
        raise Conflict(
            f"{current.id} is at version {current.version}, not {if_version}",
            field="if_version",
            fix="read it again and decide on the current version",
        )
    if if_version is not None and is_entry(current) and not is_entry(fresh):
        raise Conflict(f"{current.id} is the value of a key", field="id", fix="set it by its key")
    return following


def _same_request(fresh: Record, current: Record) -> bool:
    """Whether sending this again is a retry of what made the current version."""
    given = ("digest", "metadata", "tags", "source", "session_id", "confidence", "expires_at")
    return all(getattr(fresh, name) == getattr(current, name) for name in given)


async def _superseded(request: Remember, context: Context) -> list[Record]:
    found = await context.store.get(request.scope, request.supersedes)
    missing = set(request.supersedes) - {record.id for record in found}
    if missing:
        raise NotFound(f"no live memory {sorted(missing)[0]} to supersede", field="supersedes")
    return [record for record in found if record.id != request.id]


def _ends(replaced: list[Record], by: str) -> tuple[End, ...]:
    return tuple(
        [End(id=old.id, version=old.version, reason=EndReason.SUPERSEDED, into=by) for old in replaced]
    )


async def _duplicate(
    request: Remember, context: Context, twin: Record, replaced: list[Record], now: int
) -> Remembered:
    """Keep nothing new, because `twin` says it already; what the request supersedes ends in its favour.

    The result is kept under the idempotency key all the same, so that a retry gets the same answer.
    """
    change = Change(
        id=context.mint(),
        operation="remember",
        scope=request.scope,
        at=now,
        end=_ends([old for old in replaced if old.id != twin.id], twin.id),
        key=stored_key(request),
        fingerprint=fingerprint(request),
        about=twin.id,
    )
    if change.end or change.key is not None:
        done = await context.submit(Plan(change=change, request=request))
        if done.staged:
            return receipt(done, twin.id, twin.version, twin.updated_at)
    return known(context, twin.id, twin.version, twin.updated_at, change.id if change.end else None)
