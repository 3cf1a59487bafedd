"""Share: an agent lends memories to another agent of the tenant, by a grant that can be revoked.

A grant is a record of the lender, so policy, review, ledger, history, undo and erasure treat it as any other
record. The journal only notes which grants name which borrower. Each recall of the borrower reads those
grants, and searches the memories of each lender with the filter of its grants. So a revocation, or a change
of a lent memory, takes effect at once. A borrower cannot lend on, because a grant selects only memories of
the agent that gives it.
"""

import hashlib
from collections.abc import Mapping, Sequence

from msgspec import Struct
from msgspec.structs import replace

from memorywire.journal.ledger import Filters
from memorywire.model.answers import Grant, Grants, Shared, Status, Verdict
from memorywire.model.change import Base, Change, End, EndReason, Put
from memorywire.model.codec import dumps
from memorywire.model.errors import InvalidRequest, NotFound, StoreError
from memorywire.model.grant import MARK, is_grant, read_grant
from memorywire.model.kv import MARK as KEYED
from memorywire.model.oversight import Given
from memorywire.model.proposal import LENT, RecallNote
from memorywire.model.query import And, Compare, Filter, Not, Operator, Or, Query, Scored, Where, owned_by
from memorywire.model.record import Json, MemoryType, Record, Scope, Standing, Trust
from memorywire.model.requests import Recall, Share, Shares, Unshare
from memorywire.pipeline.candidates import SearchResult, begin_embedding, search_stores
from memorywire.pipeline.commit import commit_one
from memorywire.pipeline.context import Context
from memorywire.pipeline.fairness import Balanced, discount
from memorywire.pipeline.plan import Plan, build_untouched
from memorywire.pipeline.recall import Admitting, balance_sources, build_query, find_pool
from memorywire.pipeline.redact import drop_redacted, redact_records
from memorywire.policy.judge import trust_of
from memorywire.stores.contract import SupportsHistory, SupportsListing

_NO_ENTRY = Not(Compare(("metadata", KEYED, "bytes"), Operator.EXISTS, True))
"""Excludes key-value entries: they are never lent, even if a search would find their text."""

_SEE = "see: memorywire shares"
_ORDER = (Verdict.NO_MATCH, Verdict.WEAK, Verdict.MATCH)


async def share(request: Share, context: Context) -> Shared:
    """Give a grant; returns a duplicate receipt if it is in force already."""
    plan = await plan_share(request, context)
    [put] = plan.change.put
    if put.base is not Base.LIVE:
        return await _commit(plan, put.record, context)
    receipt = build_untouched(context).receipt() | {"status": Status.DUPLICATE}
    return Shared(share_id=put.record.id, borrower=request.borrower, **receipt)


async def unshare(request: Unshare, context: Context) -> Shared:
    """Revoke a grant; undoing this change restores the grant."""
    plan = await plan_unshare(request, context)
    [record] = await context.store.get(request.scope, [request.share_id])
    return await _commit(plan, record, context)


async def _commit(plan: Plan, record: Record, context: Context) -> Shared:
    result = await commit_one(plan, context)
    context.require_governance().rulebook.forget()
    return Shared(share_id=record.id, borrower=record.metadata[MARK]["borrower"], **result.receipt())


async def plan_share(request: Share, context: Context) -> Plan:
    """Plan the change that gives the grant; its put has base `live` if the grant is in force already."""
    context.require_governance()
    request = replace(request, reasoning=context.without_secrets(request.reasoning))
    now = context.clock()
    await _check(request, now, context)
    types = [one.value for one in request.types]
    mark = {"borrower": request.borrower, "ids": [*request.ids], "types": types, "tags": [*request.tags]}
    record = Record(
        id="",
        scope=request.scope,
        type=MemoryType.SEMANTIC,
        content=f"Lends memories to agent {request.borrower}: {_describe(request.scope.user, mark)}",
        metadata={MARK: mark},
        expires_at=request.expires_at,
        created_at=now,
        updated_at=now,
        standing=Standing.ARCHIVED,
    )
    put = await _find_place(record, context)
    change = _build_change("share", request, context)
    return Plan(change=replace(change, put=(put,)), request=request)


async def plan_unshare(request: Unshare, context: Context) -> Plan:
    """Plan the change that revokes the grant; raises NotFound if no such grant is in force."""
    context.require_governance()
    request = replace(request, reasoning=context.without_secrets(request.reasoning))
    records = await _read_grants(request.scope, [request.share_id], context)
    if not records:
        raise NotFound(f"no grant {request.share_id} is in force here", field="share_id", fix=_SEE)
    end = End(id=records[0].id, version=records[0].version, reason=EndReason.FORGOTTEN)
    change = _build_change("unshare", request, context)
    return Plan(change=replace(change, end=(end,)), request=request)


def _build_change(operation: str, request: Share | Unshare, context: Context) -> Change:
    id, at, scope = context.mint(), context.clock(), request.scope
    return Change(id=id, operation=operation, scope=scope, at=at, reason=request.reasoning)


async def list_shares(request: Shares, context: Context) -> Grants:
    """List the grants in force that the agent gave or received; with a user, only those of this user."""
    scope = request.scope
    rows = await context.require_governance().journal.list_loans(scope.tenant)
    lenders: dict[str, list[str]] = {}
    for borrower, lender, id in rows:
        if scope.agent in (borrower, lender):
            lenders.setdefault(lender, []).append(id)
    grants: list[Grant] = []
    for lender, ids in lenders.items():
        owner = replace(scope, agent=lender)
        grants += map(read_grant, await _read_grants(owner, ids, await context.serving(owner)))
    return Grants(items=tuple(sorted(grants, key=lambda grant: (grant.created_at, grant.share_id))))


async def _check(request: Share, now: int, context: Context) -> None:
    """Raise an error that names the field if the grant is invalid."""
    scope = request.scope
    if request.borrower == scope.agent:
        raise InvalidRequest("an agent cannot lend to itself", field="borrower", fix="name another agent")
    if not (request.ids or request.types or request.tags):
        fix = "give ids, types or tags; all types together are everything"
        raise InvalidRequest("nothing is selected", field="ids", fix=fix)
    if request.expires_at is not None and request.expires_at <= now:
        fix = "give a later moment, in epoch milliseconds"
        raise InvalidRequest("expires_at is not in the future", field="expires_at", fix=fix)
    for name, agent in (("agent_id", scope.agent), ("borrower", request.borrower)):
        if not await _is_known(agent, scope.tenant, context):
            fix = "see: memorywire agents; an agent is known once it has remembered or recalled something"
            raise NotFound(f"no agent {agent} is known here", field=name, fix=fix)
    records = {record.id: record for record in await context.store.get(scope, request.ids)}
    for id in request.ids:
        record = records.get(id)
        if record is None or is_grant(record) or not record.alive(now):
            raise NotFound(f"there is no live memory {id} to lend", field="ids")
        if record.scope.user != scope.user:
            fix = "name the user: memories of a user are lent only by a grant that names them"
            raise InvalidRequest(f"{id} belongs to a user", field="user_id", fix=fix)


async def _is_known(agent: str, tenant: str, context: Context) -> bool:
    store = context.store
    if isinstance(store, SupportsListing) and agent in dict(await store.owners(tenant)):
        return True
    journal = context.require_governance().journal
    return bool(await journal.filter_entries(Filters(tenant=tenant, agent=agent), limit=1))


def _describe(user: str | None, mark: Mapping[str, Json]) -> str:
    parts = [f"{name} {', '.join(mark[name])}" for name in ("ids", "types", "tags") if mark[name]]
    return "; ".join(parts if user is None else [f"of user {user}", *parts])


async def _find_place(record: Record, context: Context) -> Put:
    """Return the put of a grant under an id derived from its content, which identifies repeated requests."""
    scope, store, generation = record.scope, context.store, 0
    agent = replace(scope, user=None)  # an erased grant has the mark of its user
    while True:
        text = dumps((scope.tenant, scope.agent, scope.user, record.metadata, record.expires_at, generation))
        id = f"grant-{hashlib.blake2b(text.encode(), digest_size=16).hexdigest()}"
        live = await store.get(scope, [id])
        if live:
            return Put(record=live[0], base=Base.LIVE, bare=True)
        past = await store.history(agent, id) if isinstance(store, SupportsHistory) else []
        if not past or past[-1].record is not None:
            number, base = (past[-1].number + 1, Base.ENDED) if past else (1, Base.NOTHING)
            return Put(record=replace(record, id=id, version=number), base=base, bare=True)
        generation += 1  # an id that was erased is not used again


async def _read_grants(scope: Scope, ids: Sequence[str], context: Context) -> list[Record]:
    """Return the grants with these ids that are in force."""
    now = context.clock()
    records = await context.store.get(scope, ids)
    return [record for record in records if is_grant(record) and record.alive(now)]


class Loan(Struct, frozen=True, kw_only=True):
    """What one agent currently lends to another: the lender's context, the filter, and the maximum trust."""

    lender: Scope
    context: Context
    filter: Filter
    trust: Trust

    def lower(self, record: Record) -> Record:
        return replace(record, trust=Trust.lowest(record.trust, self.trust))

    async def find(self, where: Where) -> list[Record]:
        """Find the lent memories that match, as the borrower may see them."""
        scope = replace(where.scope, agent=self.lender.agent)
        narrow = replace(where, scope=scope, filter=And((self.filter, where.filter)))
        records = [record async for record in self.context.all_matching(narrow)]
        return [self.lower(record) for record in await drop_redacted(records, scope, self.context)]


async def open_loans(scope: Scope, context: Context, failed: list[str]) -> list[Loan]:
    """Return what other agents lend to the scope's agent now; adds unreachable lenders to `failed`."""
    governance = context.require_governance()
    ids: dict[str, list[str]] = {}
    for borrower, lender, id in await governance.rulebook.list_loans(scope.tenant):
        if borrower == scope.agent:
            ids.setdefault(lender, []).append(id)
    policy, loans = await governance.rulebook.policy(scope.tenant), []
    for lender in sorted(ids):
        owner = Scope(agent=lender, tenant=scope.tenant)
        try:
            there = await context.serving(owner)
            grants = [read_grant(record) for record in await _read_grants(owner, ids[lender], there)]
        except StoreError:
            failed.append(f"share:{lender}")
            continue
        filters = tuple(_build_filter(grant) for grant in grants if grant.borrower == scope.agent)
        if filters:
            trust = trust_of(f"agent:{lender}", policy)
            loans.append(Loan(lender=owner, context=there, filter=Or(filters), trust=trust))
    return loans


def _build_filter(grant: Grant) -> Filter:
    """Build the filter for the memories of the lender that the grant selects."""
    parts: list[Filter] = [owned_by(grant.user_id), _NO_ENTRY]
    if grant.ids:
        parts.append(Compare(("id",), Operator.IN, list(grant.ids)))
    if grant.types:
        parts.append(Compare(("type",), Operator.IN, [one.value for one in grant.types]))
    if grant.tags:
        parts.append(Or(tuple(Compare(("tags",), Operator.EQ, tag) for tag in grant.tags)))
    return And(tuple(parts))


async def read_lent(agent: Scope, note: RecallNote, context: Context) -> dict[str, Given]:
    """Return the lent hits of a past recall; only those still lent and unchanged include the memory."""
    lenders: Mapping[str, str] = (note.details or {}).get(LENT, {})
    where = Where(
        scope=agent,
        alive_at=context.clock(),
        filter=Compare(("id",), Operator.IN, list(lenders)),
    )
    records: dict[tuple[str, int], Record] = {}
    for loan in await open_loans(agent, context, []):
        records |= {(one.id, one.version): one for one in await loan.find(where)}
    given: dict[str, Given] = {}
    for id, version, score in note.hits:
        if lender := lenders.get(id):
            memory, is_lent = records.get((id, version)), (id, version) in records
            given[id] = Given(
                id=id, version=version, score=score, current=is_lent, memory=memory, lender=lender
            )
    return given


async def search_loan(loan: Loan, request: Recall, started: int) -> tuple[SearchResult, Query, Recall]:
    """Search the lender's memories; returns the result, and the query and request narrowed to the loan."""
    scope, filter = replace(request.scope, agent=loan.lender.agent), And((loan.filter, request.filter))
    asked = replace(request, scope=scope, filter=filter, include=(), hops=0, quorum_k=1)
    query = build_query(asked, started)
    embedding = begin_embedding(asked, loan.context)
    result = await search_stores(query, embedding, find_pool(asked), asked, loan.context)
    return result, query, asked


async def find_near(request: Recall, context: Context, failed: list[str]) -> list[Record]:
    """Find the lent memories near the query of a `context` request, as the borrower may see them."""
    records: list[Record] = []
    for loan in await open_loans(request.scope, context, failed):
        try:
            result, _, asked = await search_loan(loan, request, context.clock())
        except StoreError:
            failed.append(f"share:{loan.lender.agent}")
            continue
        own = [one.record for one in result.candidates if loan.lender.covers(one.record.scope)]
        records += map(loan.lower, await drop_redacted(own, asked.scope, loan.context))
    return records


async def add_lent(
    own: Balanced, request: Recall, started: int, admitting: Admitting, context: Context
) -> Balanced:
    """Add the candidates that other agents lend, admitted by the same rules as the lender's own recalls."""
    balanced, failed = own, list[str]()
    for loan in await open_loans(request.scope, context, failed):
        try:
            result, query, asked = await search_loan(loan, request, started)
            lent = await balance_sources(result, query, asked, loan.context, admitting)
        except StoreError:
            failed.append(f"share:{loan.lender.agent}")
        else:
            balanced = _join(balanced, await _lower(lent, loan, asked, context))
    asked_of = replace(balanced.asked, degraded=(*balanced.asked.degraded, *failed))
    return replace(balanced, asked=asked_of)


async def _lower(lent: Balanced, loan: Loan, asked: Recall, context: Context) -> Balanced:
    """Cap the trust of lent candidates by the loan, and redact them by the lender's policy.

    Candidates that the loan makes untrusted are discounted and limited like other untrusted memories.
    """
    governance, kept = context.require_governance(), list[Scored]()
    share = max(1, int((await governance.rulebook.policy(asked.scope.tenant)).source_share * asked.k))
    hits = lent.admission.admitted
    records = await redact_records([hit.record for hit in hits], asked.scope, loan.context, asked.owners)
    lowered = 0
    for hit, record in zip(hits, records, strict=True):
        candidate = replace(hit, record=loan.lower(record))
        if candidate.record.trust is Trust.UNTRUSTED and record.trust is not Trust.UNTRUSTED:
            candidate, lowered = discount(candidate), lowered + 1
        if lowered <= share or candidate.record.trust is not Trust.UNTRUSTED:
            kept.append(candidate)
    kept.sort(key=lambda one: -one.score)
    return replace(lent, admission=replace(lent.admission, admitted=tuple(kept)))


def _join(own: Balanced, lent: Balanced) -> Balanced:
    """Merge both results by score; existing candidates keep their order and come first in a tie."""
    merged, ids = list(own.admission.admitted), {one.record.id for one in own.admission.admitted}
    for one in lent.admission.admitted:
        if one.record.id not in ids:
            later = (at for at, other in enumerate(merged) if other.score < one.score)
            merged.insert(next(later, len(merged)), one)
    verdicts = [own.admission.verdict, *([lent.admission.verdict] if lent.admission.admitted else [])]
    admission = replace(own.admission, admitted=tuple(merged), verdict=max(verdicts, key=_ORDER.index))
    first, second = own.asked, lent.asked
    names = {outcome.store for outcome in first.outcomes}
    returned = {
        one.record.id: part.stores(one.record.id) for part in (second, first) for one in part.candidates
    }
    asked = replace(
        first,
        candidates=[*first.candidates, *second.candidates],
        outcomes=(*first.outcomes, *(one for one in second.outcomes if one.store not in names)),
        returned_by=returned,
        rankings=(*first.rankings, *second.rankings),
        degraded=tuple(dict.fromkeys((*first.degraded, *second.degraded))),
    )
    return replace(own, asked=asked, admission=admission)
