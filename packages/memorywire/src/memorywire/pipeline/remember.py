"""Remember: stores new memories or new versions, each exactly once; a single request is a batch of one."""

import hashlib
import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import NamedTuple, TypeAlias

from msgspec import Struct, to_builtins
from msgspec.structs import replace

from memorywire.facts import label_record, pin_record
from memorywire.model.answers import Outcome, Redacted, Remembered, Status
from memorywire.model.change import Base, Change, End, EndReason, Footprint, Put
from memorywire.model.errors import (
    Conflict,
    Duplicate,
    IdempotencyConflict,
    InvalidRequest,
    MemorywireError,
    NotFound,
    Refused,
)
from memorywire.model.kv import is_entry
from memorywire.model.proposal import WAITING
from memorywire.model.record import MemoryType, Record, Scope, Standing, Trust, digest_content
from memorywire.model.requests import Remember
from memorywire.pipeline.commit import commit
from memorywire.pipeline.context import Context, refuse_unreviewed, unsupported
from memorywire.pipeline.plan import CommitResult, Plan, build_committed, build_staged, refuse_large
from memorywire.pipeline.transaction import catch_each, gather_results
from memorywire.policy.injection import find_clear
from memorywire.policy.judge import trust_of
from memorywire.policy.redact import are_innocent, redact_remember
from memorywire.procedures.parse import check

_ATTEMPTS = 3  # each concurrent writer can invalidate a plan once; after that the caller gets the Conflict


def build_receipt(result: CommitResult, id: str, version: int, at: int) -> Remembered:
    """Build the receipt of a plan that was committed or held.

    If the request was already held, the receipt has the id of the existing proposal's memory.
    """
    if result.proposed is not None and result.proposed.put:
        record = result.proposed.put[0].record
        id, version, at = record.id, record.version, result.proposed.at
    return Remembered(id=id, version=version, stored_at=at, **result.receipt())


def build_duplicate_receipt(
    context: Context, id: str, version: int, at: int, change_id: str | None
) -> Remembered:
    """Build the receipt of a duplicate: the memory already existed."""
    return Remembered(
        id=id,
        version=version,
        stored_at=at,
        status=Status.DUPLICATE,
        stores=context.names,
        outcomes=tuple(Outcome(store=name) for name in context.names),
        change_id=change_id,
    )


def build_stored_key(request: Remember) -> str | None:
    """Return the idempotency key as it is stored: a user's key is hashed together with the user.

    Stores keep keys per agent, so a key that another user has used must neither conflict nor replay.
    """
    key, user = request.idempotency_key, request.scope.user
    if key is None or user is None:
        return key
    digest = hashlib.blake2b(f"{len(user)}:{user}{key}".encode(errors="surrogatepass"), digest_size=20)
    return f"user:{digest.hexdigest()}"


async def find_replay(request: Remember, context: Context) -> Remembered | None:
    """Return the receipt of an earlier request with the same idempotency key; None for a new key.

    Earlier releases stored a user's key unhashed; such a key still matches for the same user.
    """
    historian = context.historian("idempotency_key")
    agent = Scope(agent=request.scope.agent, tenant=request.scope.tenant)
    keys = dict.fromkeys(
        key for key in (build_stored_key(request), request.idempotency_key) if key is not None
    )
    user = request.scope.user
    for key in keys:
        earlier = await historian.committed(agent, key)
        if earlier is not None and user in (None, earlier.change.scope.user):
            return await _build_replay(earlier, request, agent, context)
        proposal = await _find_proposed(request, key, agent, context)
        if proposal is not None:
            return proposal
    return None


async def _build_replay(earlier: Footprint, request: Remember, agent: Scope, context: Context) -> Remembered:
    """Build the receipt of the change that was committed under the key of this request."""
    historian = context.historian("idempotency_key")
    _refuse_another(earlier.change.fingerprint, request)
    if earlier.change.about is not None:
        chain = await historian.history(agent, earlier.change.about)
        twin = [version for version in chain if version.began <= earlier.sequence][-1]  # as it was then
        change_id = earlier.change.id if earlier.ended else None
        return build_duplicate_receipt(context, twin.id, twin.number, twin.began_at, change_id)
    written = earlier.began[0]
    memories = len({version.id for version in (*earlier.began, *earlier.ended)})
    result = build_committed(earlier.change.id, memories, context.names)
    return build_receipt(result, written.id, written.number, earlier.change.at)


async def _find_proposed(request: Remember, key: str, agent: Scope, context: Context) -> Remembered | None:
    """Return the receipt of a request that is still held; raises Refused if its proposal was closed."""
    if context.governance is None:
        return None
    proposal = await context.governance.journal.find_by_key(agent, key)
    if proposal is None or request.scope.user not in (None, proposal.scope.user):
        return None
    if proposal.change is not None:
        _refuse_another(proposal.change.fingerprint, request)
    change, decision = proposal.change, proposal.decision
    if proposal.state not in WAITING:
        why = "nobody decided in time" if decision is None else decision.reason or f"decided by {decision.by}"
        raise Refused(
            f"this was held, and the proposal is {proposal.state}: {why}",
            field="idempotency_key",
            fix="use a new key to ask again",
        )
    if change is None or not change.put:
        return None
    record = change.put[0].record
    return build_receipt(build_staged(proposal, context), record.id, record.version, change.at)


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


def fingerprint(request: Remember) -> str | None:
    """Return a digest that is equal for equal requests; None without a key, as nothing is compared then."""
    if request.idempotency_key is None:
        return None
    fields = to_builtins(request)
    for name in _LATER_FIELDS & {name for name, value in fields.items() if value is None}:
        del fields[name]
    return hashlib.blake2b(json.dumps(fields, sort_keys=True).encode(), digest_size=16).hexdigest()


_LATER_FIELDS = frozenset({"kind", "slot", "pinned", "reasoning"})
"""Fields added after the first release with fingerprints; if unset, they must not change the digest."""


class SafeRequest(Struct, frozen=True, kw_only=True, gc=False):
    """A redacted request, with the secrets found in it as (kind, place); `label` allows labelling."""

    request: Remember
    secrets: tuple[tuple[str, str], ...] = ()
    label: bool = True


def redact(request: Remember, context: Context) -> SafeRequest:
    """Redact the secrets in the request."""
    if context.governance is None:
        return SafeRequest(request=request)
    clean, findings = redact_remember(request, context.governance.redactor)
    secrets = tuple((finding.kind, finding.place) for finding in findings) if findings else ()
    return SafeRequest(request=clean, secrets=secrets)


async def find_trust(request: Remember, context: Context) -> Trust:
    """Return the trust of the memory, limited by its source, the request and its origins.

    Raises CapabilityUnsupported when the request asks for a review and no journal is configured.
    """
    if context.governance is None:
        _refuse_what_is_not_wired(request)
        return request.trust or Trust.STANDARD
    trust = trust_of(request.source, await context.governance.rulebook.policy(request.scope.tenant))
    if request.trust is not None or request.derived_from:
        limits = [] if request.trust is None else [request.trust]
        trust = Trust.lowest(trust, *limits, *await _read_origin_trust(request, context))
    return trust


async def _read_origin_trust(request: Remember, context: Context) -> list[Trust]:
    """Return the trust of each memory this one derives from; raises NotFound if one is missing."""
    if not request.derived_from:
        return []
    records = await context.store.get(request.scope, request.derived_from)
    missing = set(request.derived_from) - {record.id for record in records}
    if missing:
        raise NotFound(f"no live memory {sorted(missing)[0]} to derive from", field="derived_from")
    return [record.trust for record in records]


def _refuse_what_is_not_wired(request: Remember) -> None:
    refuse_unreviewed(request)
    if request.privacy_intent is not None:
        raise unsupported("privacy_intent", "no policy is wired here that could honour it")


Answer: TypeAlias = Remembered | MemorywireError


async def remember(
    request: Remember,
    context: Context,
    *,
    standing: Standing = Standing.ACTIVE,
    unique: bool = True,
    label: bool = True,
) -> Remembered:
    """Store one memory; raises the error that prevents it.

    With an archived `standing`, recalls do not find it by default. Unless `unique`, it is stored even if a
    live memory has the same content. Without `label`, its kind of fact is not detected.
    """
    item = sanitize(request, context)
    if not label:
        item = replace(item, label=False)
    (answer,) = await _remember_independent([item], context, standing, unique)
    if isinstance(answer, Exception):
        raise answer
    return answer


async def remember_each(requests: Sequence[Remember], context: Context) -> list[Answer]:
    """Return the receipt or the error of each request, as if they had been sent one after the other."""
    answers: dict[int, Answer] = {}
    items: dict[int, SafeRequest] = {}
    clear = [False] * len(requests)
    if context.governance is not None:
        clear = find_clear(requests, partial(are_innocent, redactor=context.governance.redactor))
    for at, (request, is_clear) in enumerate(zip(requests, clear, strict=True)):
        try:
            items[at] = sanitize(request, context, is_clear=is_clear)
        except MemorywireError as problem:
            answers[at] = problem
    for run in _split_runs(items):
        some = [items[at] for at in run]
        outcomes = await _remember_independent(some, context, Standing.ACTIVE, unique=True)
        for at, answer in zip(run, outcomes, strict=True):
            if isinstance(answer, Exception) and not isinstance(answer, MemorywireError):
                raise answer
            answers[at] = answer
    return [answers[at] for at in range(len(requests))]


def sanitize(request: Remember, context: Context, *, is_clear: bool = False) -> SafeRequest:
    """Validate and redact the request; `is_clear` skips redaction of a request known to have no secrets.

    Raises InvalidRequest for too much metadata, and for a procedure that cannot run or can only do harm.
    """
    if request.metadata:
        refuse_large(request.metadata, "metadata")
    if request.type is MemoryType.PROCEDURAL:
        check(request.content)
    item = SafeRequest(request=request) if is_clear else redact(request, context)
    if item.request is not request and request.type is MemoryType.PROCEDURAL:
        check(item.request.content)  # redaction may have replaced a name by a marker
    return item


def _split_runs(items: Mapping[int, SafeRequest]) -> Iterator[list[int]]:
    """Yield runs of requests that do not affect each other, so that each run can be committed together.

    A request that ends or replaces a memory forms its own run, because later requests may depend on it.
    """
    run: list[int] = []
    names: set[tuple[str, str]] = set()
    for at, item in items.items():
        request = item.request
        own = {("content", digest_content(request.type, request.content, request.occurred_at))}
        if request.id is not None:
            own.add(("id", request.id))
        if request.idempotency_key is not None:
            own.add(("key", request.idempotency_key))
        is_alone = bool(request.supersedes) or request.if_version is not None
        if run and (is_alone or not names.isdisjoint(own)):
            yield run
            run, names = [], set()
        run.append(at)
        names |= own
        if is_alone:
            yield run
            run, names = [], set()
    if run:
        yield run


async def _remember_independent(
    items: Sequence[SafeRequest], context: Context, standing: Standing, unique: bool
) -> list[Remembered | Exception]:
    """Plan and commit requests that do not affect each other.

    A request is planned again when a concurrent write changed what its plan had read, and when the store
    finds a live memory with the same content.
    """
    answers: dict[int, Remembered | Exception] = {}
    twins: dict[int, Record | None] = {}
    conflicts: Counter[int] = Counter()
    pending = list(range(len(items)))
    while pending:
        now = context.clock()  # one time for the whole batch
        works = [plan_remember(items[at], context, now, twins.get(at), standing, unique) for at in pending]
        # Only planning that reads other memories gains from running concurrently.
        is_concurrent = len(items) > 1 and any(
            one.id or one.idempotency_key or one.supersedes or one.derived_from
            for one in (items[at].request for at in pending)
        )
        plans = await (gather_results(works) if is_concurrent else catch_each(works))
        results = iter(await commit([one.plan for one in plans if isinstance(one, RememberPlan)], context))
        outcomes, pending = list(zip(pending, plans, strict=True)), []
        for at, plan in outcomes:
            request = items[at].request
            answer = _build_answer(plan, next(results), context) if isinstance(plan, RememberPlan) else plan
            if isinstance(answer, Duplicate):
                records = await context.store.get(request.scope, [answer.existing])
                twins[at] = records[0] if records else None  # it may have been removed since
            if isinstance(answer, Conflict) and conflicts[at] + 1 < _ATTEMPTS and request.if_version is None:
                conflicts[at] += 1
                pending.append(at)
            else:
                answers[at] = _name_secrets(answer, items[at]) if items[at].secrets else answer
    return [*map(answers.__getitem__, range(len(items)))]


def _name_secrets(answer: Remembered | Exception, item: SafeRequest) -> Remembered | Exception:
    """Add to the receipt which secrets were redacted; an error is returned unchanged."""
    if isinstance(answer, Exception):
        return answer
    return replace(answer, redacted=tuple(Redacted(kind=kind, place=place) for kind, place in item.secrets))


class RememberPlan(NamedTuple):
    """The plan of a remember; `twin` is a live memory with the same content, so nothing new is stored."""

    plan: Plan
    twin: Record | None = None


async def plan_remember(
    item: SafeRequest,
    context: Context,
    now: int,
    twin: Record | None = None,
    standing: Standing = Standing.ACTIVE,
    unique: bool = True,
) -> RememberPlan | Remembered:
    """Plan the change that stores the memory; returns a receipt if there is nothing to write.

    There is nothing to write for a repeated request, or if a live memory has the same content. `twin` is
    such a memory, if one is known.
    """
    request = item.request
    trust = await find_trust(request, context)
    if request.idempotency_key is not None and (earlier := await find_replay(request, context)) is not None:
        return earlier
    if request.expires_at is not None and request.expires_at <= now:
        raise InvalidRequest(
            "expires_at is not in the future",
            field="expires_at",
            fix="give a later moment, in epoch milliseconds",
        )
    current = None if request.id is None else await _current(request, request.id, context)
    record = first_version(request, request.id or context.mint(), now, trust)
    if item.label:
        record = label_record(record, request.kind, request.slot)
    if request.pinned is not None:
        record = pin_record(record, pinned=request.pinned)
    if current is not None:
        record = _next_version(record, current, request.if_version)
    old_records = await _read_superseded(request, context) if request.supersedes else []
    if twin is None and request.if_version is None:
        twin = current
        if twin is None and old_records:
            twin = await context.store.duplicate(record, now)
    if twin is not None:
        return _plan_duplicate(request, context, twin, old_records, now)
    if standing is not Standing.ACTIVE:
        record = replace(record, standing=standing)
    base = Base.LIVE if current else Base.NOTHING
    has_key = request.idempotency_key is not None
    change = Change(
        id=context.mint(),
        operation="remember",
        scope=record.scope,
        at=now,
        put=(Put(record=record, base=base, unique=unique),),
        end=_end_each(old_records, record.id) if old_records else (),
        reason=request.reasoning,
        key=build_stored_key(request) if has_key else None,
        fingerprint=fingerprint(request) if has_key else None,
    )
    return RememberPlan(Plan(change=change, request=request, secrets=item.secrets))


def _plan_duplicate(
    request: Remember, context: Context, twin: Record, old_records: Sequence[Record], now: int
) -> RememberPlan | Remembered:
    """Plan a duplicate of `twin`: store nothing new, and end what the request supersedes in favour of it.

    The result is still recorded under the idempotency key, so that a retry gets the same answer.
    """
    change = Change(
        id=context.mint(),
        operation="remember",
        scope=request.scope,
        at=now,
        end=_end_each([old for old in old_records if old.id != twin.id], twin.id),
        key=build_stored_key(request),
        fingerprint=fingerprint(request),
        reason=request.reasoning,
        about=twin.id,
    )
    if change.end or change.key is not None:
        return RememberPlan(Plan(change=change, request=request), twin)
    return build_duplicate_receipt(context, twin.id, twin.version, twin.updated_at, None)


def _build_answer(
    plan: RememberPlan, result: CommitResult | Exception, context: Context
) -> Remembered | Exception:
    change, twin = plan.plan.change, plan.twin
    if isinstance(result, Exception):
        return result
    if twin is None:
        record = change.put[0].record
        return build_receipt(result, record.id, record.version, change.at)
    if result.is_staged:
        return build_receipt(result, twin.id, twin.version, twin.updated_at)
    change_id = change.id if change.end else None
    return build_duplicate_receipt(context, twin.id, twin.version, twin.updated_at, change_id)


async def _current(request: Remember, id: str, context: Context) -> Record | None:
    """Return the live version of this id, or None; raises Conflict if `if_version` requires one."""
    records = await context.store.get(request.scope, [id])
    if not records and request.if_version is not None:
        raise Conflict(f"{id} has no live version here", field="if_version")
    return records[0] if records else None


def draft_record(request: Remember) -> Record:
    """Build the record of a request without id and time; its text and digest are final."""
    return first_version(request, "", 0)


def first_version(request: Remember, id: str, now: int, trust: Trust = Trust.STANDARD) -> Record:
    """Build the first version of the memory."""
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
    """Build the version after `current`; without `if_version` an existing id is accepted only for a retry."""
    following = replace(
        fresh,
        scope=current.scope,
        created_at=current.created_at,
        expires_at=current.expires_at if fresh.expires_at is None else fresh.expires_at,
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
    """Whether the request is a retry of the one that made the current version."""
    fields = ("digest", "metadata", "tags", "source", "session_id", "confidence", "expires_at")
    return all(getattr(fresh, name) == getattr(current, name) for name in fields)


async def _read_superseded(request: Remember, context: Context) -> list[Record]:
    records = await context.store.get(request.scope, request.supersedes)
    missing = set(request.supersedes) - {record.id for record in records}
    if missing:
        raise NotFound(f"no live memory {sorted(missing)[0]} to supersede", field="supersedes")
    return [record for record in records if record.id != request.id]


def _end_each(records: Sequence[Record], by: str) -> tuple[End, ...]:
    return tuple(
        [End(id=old.id, version=old.version, reason=EndReason.SUPERSEDED, into=by) for old in records]
    )
