"""Remember: one new memory, or a new version of one, exactly once."""

import hashlib
import json
from collections.abc import Mapping, Sequence

from msgspec import Struct, to_builtins
from msgspec.structs import replace

from memorywire.model.answers import Outcome, Redacted, Remembered, Status
from memorywire.model.change import Base, Change, End, EndReason, Footprint, Put, Version
from memorywire.model.errors import (
    Conflict,
    Duplicate,
    IdempotencyConflict,
    InvalidRequest,
    NotFound,
    Refused,
)
from memorywire.model.kv import is_entry, size_of
from memorywire.model.proposal import WAITING, Proposal
from memorywire.model.record import Json, MemoryType, Record, Scope, Trust
from memorywire.model.requests import METADATA_BYTES_MAX, Remember
from memorywire.pipeline.commit import Plan, Submitted, committed, staged
from memorywire.pipeline.context import Context, unsupported
from memorywire.policy.judge import trust_of
from memorywire.policy.redact import redact_remember
from memorywire.procedures.parse import check


def is_large(metadata: Mapping[str, Json]) -> bool:
    """Whether this is more metadata than a memory may have."""
    return bool(metadata) and size_of(metadata) > METADATA_BYTES_MAX


def refuse_large(metadata: Mapping[str, Json], field: str) -> None:
    """Stop, naming the field to blame, before a memory gets more metadata than it may have."""
    if is_large(metadata):
        raise InvalidRequest(
            f"the metadata would be {size_of(metadata)} bytes of JSON, {METADATA_BYTES_MAX} are allowed",
            field=field,
            fix="keep large things elsewhere and refer to them",
        )


def receipt(done: Submitted, id: str, version: int, at: int) -> Remembered:
    """The receipt of what was just submitted.

    A request that waits already keeps the id it waits under: that is the id that will exist.
    """
    if done.held is not None and done.held.put:
        record = done.held.put[0].record
        id, version, at = record.id, record.version, done.held.at
    return Remembered(
        id=id,
        version=version,
        stored_at=at,
        status=done.status,
        stores=done.stores,
        outcomes=done.outcomes,
        change_id=done.change_id,
        pending_approval=done.staged,
        approval_url=done.approval_url,
        proposal_id=done.proposal_id,
        rule=done.rule,
        degraded=done.degraded,
    )


def known(context: Context, id: str, version: int, at: int, change_id: str | None) -> Remembered:
    """The receipt of a duplicate: the memory was there already."""
    return Remembered(
        id=id,
        version=version,
        stored_at=at,
        status=Status.DUPLICATE,
        stores=context.names,
        outcomes=tuple(Outcome(store=name) for name in context.names),
        change_id=change_id,
    )


def stored_key(request: Remember) -> str | None:
    """The idempotency key as it is kept: a user's keys are apart from those of the agent's other users.

    Stores know one key for each agent. A key that another user has used must neither conflict nor replay.
    """
    key, user = request.idempotency_key, request.scope.user
    if key is None or user is None:
        return key
    digest = hashlib.blake2b(f"{len(user)}:{user}{key}".encode(errors="surrogatepass"), digest_size=20)
    return f"user:{digest.hexdigest()}"


async def replayed(request: Remember, context: Context) -> Remembered | None:
    """The receipt of the same request sent before under its idempotency key; None for a new key.

    A user's key may have been kept as it was given, by an earlier release: then it counts for that user.
    """
    historian = context.historian("idempotency_key")
    agent = Scope(agent=request.scope.agent, tenant=request.scope.tenant)
    keys = dict.fromkeys(key for key in (stored_key(request), request.idempotency_key) if key is not None)
    user = request.scope.user
    for key in keys:
        earlier = await historian.committed(agent, key)
        if earlier is not None and user in (None, earlier.change.scope.user):
            return await _receipt_again(earlier, request, agent, context)
        held = await _held(request, key, agent, context)
        if held is not None:
            return held
    return None


async def _receipt_again(earlier: Footprint, request: Remember, agent: Scope, context: Context) -> Remembered:
    """The receipt of a change that was committed under the key of this request."""
    historian = context.historian("idempotency_key")
    _refuse_another(earlier.change.fingerprint, request)
    if earlier.change.about is not None:
        chain = await historian.history(agent, earlier.change.about)
        return _found_again(earlier, chain, context)
    written = earlier.began[0]
    memories = len({version.id for version in (*earlier.began, *earlier.ended)})
    done = committed(earlier.change.id, memories, context)
    return receipt(done, written.id, written.number, earlier.change.at)


async def _held(request: Remember, key: str, agent: Scope, context: Context) -> Remembered | None:
    """The receipt of a request that is still held; raises Refused once a person has said no."""
    if context.office is None:
        return None
    proposal = await context.office.journal.keyed(agent, key)
    if proposal is None or request.scope.user not in (None, proposal.scope.user):
        return None
    if proposal.change is not None:
        _refuse_another(proposal.change.fingerprint, request)
    if proposal.state not in WAITING:
        raise Refused(
            f"this was held, and the proposal is {proposal.state}: {_said(proposal)}",
            field="idempotency_key",
            fix="use a new key to ask again",
        )
    return _still_held(proposal, context)


def _still_held(proposal: Proposal, context: Context) -> Remembered | None:
    change = proposal.change
    if change is None or not change.put:
        return None
    record = change.put[0].record
    return receipt(staged(proposal, context), record.id, record.version, change.at)


def _said(proposal: Proposal) -> str:
    decision = proposal.decision
    return "nobody decided in time" if decision is None else decision.reason or f"decided by {decision.by}"


def _refuse_another(earlier: str | None, request: Remember) -> None:
    if earlier is None:
        raise IdempotencyConflict(
            "what this key wrote or found was erased since; nobody can tell if this is the same request",
            field="idempotency_key",
            fix="use a new key to write it again",
        )
    if earlier != fingerprint(request):
        raise IdempotencyConflict(
            "this idempotency_key was used for another request",
            field="idempotency_key",
            fix="use a new key for a new request",
        )


def _found_again(earlier: Footprint, chain: Sequence[Version], context: Context) -> Remembered:
    """The receipt of a duplicate, with its twin as it was when the key was first used."""
    twin = [version for version in chain if version.began <= earlier.sequence][-1]
    named = earlier.change.id if earlier.ended else None
    return known(context, twin.id, twin.number, twin.began_at, named)


def fingerprint(request: Remember) -> str | None:
    """A digest that is equal for equal requests; None without a key, because then nothing is compared."""
    if request.idempotency_key is None:
        return None
    return hashlib.blake2b(
        json.dumps(to_builtins(request), sort_keys=True).encode(), digest_size=16
    ).hexdigest()


class Cleaned(Struct, frozen=True, kw_only=True):
    """A request without secrets, what was found in it as (kind, place), and how far it is believed."""

    request: Remember
    secrets: tuple[tuple[str, str], ...]
    trust: Trust


async def cleaned(request: Remember, context: Context) -> Cleaned:
    """The request without secrets, with the trust that its source and origins allow."""
    return await weighed(without_secrets(request, context), context)


async def weighed(redacted: Cleaned, context: Context) -> Cleaned:
    """The request with the trust that its source and origins allow; its secrets are gone already."""
    request = redacted.request
    if context.office is None:
        _refuse_what_is_not_wired(request)
        trust = request.trust or Trust.STANDARD
    else:
        trust = trust_of(request.source, await context.office.rulebook.policy(request.scope.tenant))
        if request.trust is not None or request.derived_from:
            asked = [] if request.trust is None else [request.trust]
            trust = Trust.lowest(trust, *asked, *await _origins(request, context))
    return Cleaned(request=request, secrets=redacted.secrets, trust=trust)


def without_secrets(request: Remember, context: Context) -> Cleaned:
    """The request without secrets, found without waiting for anything; `weighed` then sets its trust."""
    if context.office is None:
        return Cleaned(request=request, secrets=(), trust=Trust.STANDARD)
    redacted, findings = redact_remember(request, context.office.redactor)
    secrets = tuple([(finding.kind, finding.place) for finding in findings])
    return Cleaned(request=redacted, secrets=secrets, trust=Trust.STANDARD)


async def _origins(request: Remember, context: Context) -> list[Trust]:
    """The trust of each memory this one was derived from; NotFound when one of them is missing."""
    if not request.derived_from:
        return []
    found = await context.store.get(request.scope, request.derived_from)
    missing = set(request.derived_from) - {record.id for record in found}
    if missing:
        raise NotFound(f"no live memory {sorted(missing)[0]} to derive from", field="derived_from")
    return [record.trust for record in found]


def _refuse_what_is_not_wired(request: Remember) -> None:
    if request.approval_required:
        raise unsupported(
            "approval_required", "no review queue is wired here, and the write must not pass unseen"
        )
    if request.privacy_intent is not None:
        raise unsupported("privacy_intent", "no policy is wired here that could honour it")


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
    change = Change(
        id=context.mint(),
        operation="remember",
        scope=record.scope,
        at=now,
        put=(Put(record=record, base=base, vector=vector, unique=True),),
        end=_ends(replaced, record.id),
        key=stored_key(request),
        fingerprint=fingerprint(request),
    )
    try:
        done = await context.submit(Plan(change=change, request=request, secrets=asked.secrets))
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


def draft_record(request: Remember) -> Record:
    """What a request would keep, before it has an id and a moment: its text and its digest are final."""
    return first_version(request, "", 0)


def first_version(request: Remember, id: str, now: int, trust: Trust = Trust.STANDARD) -> Record:
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
