"""Remember: one new memory, or a new version of one, exactly once."""

import hashlib
import json
from collections.abc import Sequence
from dataclasses import asdict, replace

from memorywire.engine.commit import commit
from memorywire.engine.limits import refuse_large
from memorywire.engine.tools import Tools, unsupported
from memorywire.model.answers import Outcome, Remembered, Status
from memorywire.model.change import Base, Change, End, EndReason, Footprint, Put, Version
from memorywire.model.errors import Conflict, Duplicate, IdempotencyConflict, InvalidRequest, NotFound
from memorywire.model.record import Record, Scope
from memorywire.model.requests import Remember

_ATTEMPTS = 3  # a race moves the base at most once per rival; after that the caller should know


async def remember(request: Remember, tools: Tools, vector: bytes | None = None) -> Remembered:
    """Plan and commit; plan again when a rival moved what the plan had read."""
    _refuse_what_is_not_wired(request)
    refuse_large(request.metadata, "metadata")
    for attempt in range(_ATTEMPTS):
        replayed = await _replayed(request, tools)
        if replayed is not None:
            return replayed
        if request.expires_at is not None and request.expires_at <= tools.clock():
            raise InvalidRequest("expires_at is not in the future", field="expires_at")
        try:
            return await _remember_once(request, tools, vector)
        except Conflict:
            if attempt == _ATTEMPTS - 1 or request.if_version is not None:
                raise
    raise AssertionError("unreachable: the last attempt returns or raises")


async def _remember_once(request: Remember, tools: Tools, vector: bytes | None) -> Remembered:
    now = tools.clock()
    current = await _current(request, tools)
    record = _record(request, request.id or tools.mint(), now)
    if current is not None:
        record = _next_version(record, current, request.if_version)
    replaced = await _superseded(request, tools)
    retried = current if request.if_version is None else None
    twin = retried or await tools.store.duplicate(record, now)
    if twin is not None and request.if_version is None:
        return await _duplicate(request, tools, twin, replaced, now)
    if twin is not None and twin.id not in request.supersedes:
        raise Duplicate(twin.id)
    change = Change(
        id=tools.mint(),
        operation="remember",
        scope=record.scope,
        at=now,
        put=(Put(record=record, base=Base.LIVE if current else Base.NOTHING, vector=vector, unique=True),),
        end=_ends(replaced, record.id),
        key=request.idempotency_key,
        fingerprint=_fingerprint(request),
    )
    await commit(change, tools)
    return _receipt(tools, record.id, record.version, now, Status.COMMITTED, change.id)


async def _current(request: Remember, tools: Tools) -> Record | None:
    """The live version of the id the caller names, if any."""
    if request.id is None:
        return None
    found = await tools.store.get(request.scope, [request.id])
    if not found and request.if_version is not None:
        raise Conflict(f"{request.id} has no live version here", field="if_version")
    return found[0] if found else None


def draft(request: Remember) -> Record:
    """What a request would keep, before it has an id and a moment: its text and its digest are final."""
    return _record(request, "", 0)


def _record(request: Remember, id: str, now: int) -> Record:
    """The first version of what is to be kept."""
    return Record(
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
    )


def _next_version(fresh: Record, current: Record, if_version: int | None) -> Record:
    """The version after the current one; without `if_version` only a retry may name a taken id."""
    following = replace(
        fresh, scope=current.scope, created_at=current.created_at, version=current.version + 1
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
    return following


def _same_request(fresh: Record, current: Record) -> bool:
    """Whether sending this again is a retry of what made the current version."""
    given = ("digest", "metadata", "tags", "source", "session_id", "confidence", "expires_at")
    return all(getattr(fresh, name) == getattr(current, name) for name in given)


async def _superseded(request: Remember, tools: Tools) -> list[Record]:
    if not request.supersedes:
        return []
    found = await tools.store.get(request.scope, request.supersedes)
    missing = set(request.supersedes) - {record.id for record in found}
    if missing:
        raise NotFound(f"no live memory {sorted(missing)[0]} to supersede", field="supersedes")
    return [record for record in found if record.id != request.id]


def _ends(replaced: list[Record], by: str) -> tuple[End, ...]:
    return tuple(
        End(id=old.id, version=old.version, reason=EndReason.SUPERSEDED, into=by) for old in replaced
    )


async def _duplicate(
    request: Remember, tools: Tools, twin: Record, replaced: list[Record], now: int
) -> Remembered:
    """Nothing new is kept; what the request supersedes still ends, in favour of the existing twin.

    The answer to a key is kept even when nothing else is, so that a retry gets it again.
    """
    change = Change(
        id=tools.mint(),
        operation="remember",
        scope=request.scope,
        at=now,
        end=_ends([old for old in replaced if old.id != twin.id], twin.id),
        key=request.idempotency_key,
        fingerprint=_fingerprint(request),
        about=twin.id,
    )
    if change.end or change.key is not None:
        await commit(change, tools)
    named = change.id if change.end else None
    return _receipt(tools, twin.id, twin.version, twin.updated_at, Status.DUPLICATE, named)


def _receipt(
    tools: Tools, id: str, version: int, at: int, status: Status, change_id: str | None
) -> Remembered:
    name = tools.store.name
    return Remembered(
        id=id,
        version=version,
        stored_at=at,
        status=status,
        stores=(name,),
        outcomes=(Outcome(store=name, count=1 if status is Status.COMMITTED else 0),),
        change_id=change_id,
    )


async def _replayed(request: Remember, tools: Tools) -> Remembered | None:
    """The receipt of the same request sent before under the same idempotency key."""
    if request.idempotency_key is None:
        return None
    historian = tools.historian("idempotency_key")
    agent = Scope(agent=request.scope.agent, tenant=request.scope.tenant)
    earlier = await historian.committed(agent, request.idempotency_key)
    if earlier is None:
        return None
    if earlier.change.fingerprint is None:
        raise IdempotencyConflict(
            "what this key wrote or found was erased since; nobody can tell if this is the same request",
            field="idempotency_key",
            fix="use a new key to write it again",
        )
    if earlier.change.fingerprint != _fingerprint(request):
        raise IdempotencyConflict(
            "this idempotency_key was used for another request",
            field="idempotency_key",
            fix="use a new key for a new request",
        )
    if earlier.change.about is not None:
        chain = await historian.history(agent, earlier.change.about)
        return _found_again(earlier, chain, tools)
    written = earlier.began[0]
    return _receipt(tools, written.id, written.number, earlier.change.at, Status.COMMITTED, earlier.change.id)


def _found_again(earlier: Footprint, chain: Sequence[Version], tools: Tools) -> Remembered:
    """The receipt of a duplicate: its twin as it was when the key was first used."""
    twin = [version for version in chain if version.began <= earlier.sequence][-1]
    named = earlier.change.id if earlier.ended else None
    return _receipt(tools, twin.id, twin.number, twin.began_at, Status.DUPLICATE, named)


def _fingerprint(request: Remember) -> str | None:
    """Equal for equal requests; only a request with a key is ever compared."""
    if request.idempotency_key is None:
        return None
    return hashlib.blake2b(json.dumps(asdict(request), sort_keys=True).encode(), digest_size=16).hexdigest()


def _refuse_what_is_not_wired(request: Remember) -> None:
    if request.approval_required:
        raise unsupported(
            "approval_required", "no review queue is wired here, and the write must not pass unseen"
        )
    if request.privacy_intent is not None:
        raise unsupported("privacy_intent", "no policy is wired here that could honour it")
