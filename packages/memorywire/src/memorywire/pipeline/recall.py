"""Recall: embed the query, search within its scope, admit hits by an absolute floor, return a verdict."""

import asyncio
import hashlib
from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import partial
from typing import TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from memorywire.journal.acts import Act
from memorywire.journal.entries import Entry
from memorywire.model.answers import Hit, NearMiss, Outcome, Recalled
from memorywire.model.answers import Verdict as Found
from memorywire.model.capabilities import Feature
from memorywire.model.clock import DAY_MS
from memorywire.model.codec import dumps
from memorywire.model.errors import ApprovalPending, Refused
from memorywire.model.proposal import LENT, ORIGIN, Proposal, RecallNote, State
from memorywire.model.query import (
    DAMAGED_VECTORS,
    EVERYTHING,
    And,
    Enough,
    Filter,
    Query,
    Scored,
    Where,
    owned_by,
)
from memorywire.model.record import RECALLABLE, Json, Record, Scope, Standing
from memorywire.model.requests import Dedup, DedupMode, Fusion, Owners, RankWeights, Recall
from memorywire.pipeline.candidates import (
    MEASURED,
    SearchResult,
    begin_embedding,
    has_untrusted,
    search_stores,
)
from memorywire.pipeline.context import Context, refuse_unreviewed, unsupported
from memorywire.pipeline.fairness import Balanced, balance
from memorywire.pipeline.links import add_neighbours, raise_linked
from memorywire.pipeline.plan import entry_about
from memorywire.policy.judge import Case, Judgement, Policy, judge
from memorywire.policy.rules import Operation, Verdict
from memorywire.search.admit import Admission, admit, level
from memorywire.search.dates import stretches
from memorywire.search.duplicates import find_repeats, format_statement, group_lookalikes
from memorywire.search.embed import Embedder
from memorywire.search.links import has_links
from memorywire.search.question import (
    asks_about_past,
    asks_for_reply,
    asks_more,
    count_things,
    counts_back,
    find_boilerplate,
    find_names,
)
from memorywire.search.rank import RECALLS, counts_recalls, rank
from memorywire.search.text import UNKNOWN, find_language, split_words
from memorywire.search.token_budget import pack
from memorywire.stores.contract import RecallCounter, Tracker

GRANTED_MS = 3_600_000
"""How long an approved recall may be repeated without another review."""


async def check_permission(request: Recall, context: Context) -> None:
    """Raise if the policy refuses the recall, holds it for review, or it exceeds a budget.

    A rule applies to recalls only if it names them, so that a policy about writes cannot block recalls by
    accident.
    """
    if context.governance is None:
        refuse_unreviewed(request)
        return
    policy = await context.governance.rulebook.policy(request.scope.tenant)
    if policy.about[Operation.RECALL] or request.approval_required:
        about = policy.about[Operation.RECALL]
        case = Case(
            operation="recall",
            scope=request.scope,
            caller=context.governance.caller,
            owners=request.owners or (Owners.ALL if request.scope.user is None else Owners.USER),
            approval_required=request.approval_required,
        )
        judgement = judge(case, replace(policy, rules=about, default=Verdict.ALLOW))
        if judgement.verdict is Verdict.REFUSE:
            await _refuse(request, judgement, context)
        if judgement.verdict is Verdict.HOLD:
            await _hold_recall(request, judgement, policy, context)
    await context.governance.budget.check(request, policy, context.governance.caller, context.clock())


def redact_query(request: Recall, context: Context) -> str:
    """Return the query without secrets, as it may be logged."""
    query, governance = request.query, context.governance
    if governance is None or governance.redactor.finds_nothing((), (query,)):
        return query
    return governance.redactor.text(query)[0]


def _describe_origin(request: Recall, context: Context) -> dict[str, Json]:
    """Return the further details of a recall for its log entry, without secrets."""
    details: dict[str, Json] = {} if request.as_of is None else {"as_of": request.as_of}
    for name in ORIGIN:
        value = getattr(request, name)
        if value is not None:
            details[name] = context.without_secrets(value)
    return details


def log_recall(
    id: str, query: str, request: Recall, hits: Sequence[Hit], verdict: Found, context: Context
) -> None:
    """Log the returned hits under `query`, which is redacted; if logging fails, the recall fails."""
    if context.governance is None:
        return
    governance, details = context.governance, _describe_origin(request, context)
    if lent := {hit.record.id: hit.lender for hit in hits if hit.lender is not None}:
        details[LENT] = lent
    note = RecallNote(
        id=id,
        at=context.clock(),
        scope=request.scope,
        caller=governance.caller,
        query=query,
        verdict=verdict.value,
        hits=tuple([(hit.record.id, hit.record.version, round(hit.score, 6)) for hit in hits]),
        details=details or None,
    )
    governance.journal.note_recall(note)
    governance.budget.spend(note)


async def _refuse(request: Recall, judgement: Judgement, context: Context) -> None:
    entry = Entry(
        at=context.clock(),
        operation="recall",
        scope=request.scope,
        actor=context.require_governance().caller,
        kind="refused",
        details={"rule": judgement.rule},
    )
    await context.require_governance().journal.write(Act(entries=(entry,)))
    raise Refused(judgement.refusal, field="query", fix="ask the person who keeps the policy")


async def _hold_recall(request: Recall, judgement: Judgement, policy: Policy, context: Context) -> None:
    """Return if the recall was approved recently; else hold it for review and raise ApprovalPending."""
    governance, now = context.require_governance(), context.clock()
    key = f"recall:{hashlib.blake2b(dumps(request).encode(), digest_size=16).hexdigest()}"
    agent = Scope(agent=request.scope.agent, tenant=request.scope.tenant)
    known = await governance.journal.find_by_key(agent, key)
    if known is not None and known.state is State.APPROVED and known.decision is not None:
        if now - known.decision.at <= GRANTED_MS:
            return
        known = None
    if known is None or known.state not in (State.PENDING, State.STALE):
        known = Proposal(
            id=context.mint(),
            scope=request.scope,
            operation="recall",
            at=now,
            caller=governance.caller,
            rule=judgement.rule,
            why=judgement.reason,
            request=replace(request, query=redact_query(request, context)),
            change=None,
            key=key,
            expires_at=now + policy.pending_days * DAY_MS,
            proposer=governance.principal,
            reviewers=judgement.reviewers,
        )
        entry = entry_about(known, "staged", governance.caller, now)
        await governance.journal.write(Act(proposals=(known,), entries=(entry,)))
    if governance.reviewers:
        from memorywire.pipeline.reviewers import ask_reviewers  # few hosts bring reviewers

        if await ask_reviewers(known, context) is not None:
            return
    raise ApprovalPending(
        f"this recall waits for a person: {judgement.reason}",
        proposal_id=known.id,
        fix=f"send it again once proposal {known.id} is approved",
    )


Ranker: TypeAlias = Callable[[Sequence[Scored], RankWeights, int], list[Scored]]

_LEAST_POOL = 50
_POOL_PER_HIT = 4
_NOTHING = (None,) * 4


class Chosen(Struct, frozen=True, kw_only=True):
    """The hits, the ids that support each, and the rejected candidates with the reason, best first.

    `repeats` counts the candidates that duplicate a better one, whether or not they were removed.
    """

    hits: tuple[Scored, ...]
    supporting: Mapping[str, tuple[str, ...]]
    passed_over: tuple[tuple[Scored, str], ...]
    repeats: int = 0


Choosing: TypeAlias = Callable[[Sequence[Scored], Recall, int, Embedder], Awaitable[Chosen]]
"""A function that selects the hits of a recall from its admitted candidates, as of a given time."""


def pool(request: Recall, spare: int) -> int:
    """Return how many candidates to fetch: `k + spare`, or more if some may be reordered or removed later."""
    return max(_LEAST_POOL, _POOL_PER_HIT * request.k) if _reorders(request) else request.k + spare


def find_pool(request: Recall) -> int:
    """Return how many candidates to fetch for a recall, including some for the near misses."""
    return pool(request, _NEAR_MISSES)


def enough(
    request: Recall, choosing: Choosing, level: Callable[[float, Mapping[str, float], bool], float]
) -> Enough | None:
    """Return when a store may stop early, given the admission `level`; None if it must not."""
    untold = choosing is choose and not request.explain and not _reorders(request)
    return Enough(request.k, level) if untold else None


def _reorders(request: Recall) -> bool:
    features = (request.rank, request.dedup, request.max_tokens, request.hops or None)
    return features != _NOTHING


async def choose(
    admitted: Sequence[Scored], request: Recall, now: int, embedder: Embedder, ranker: Ranker = rank
) -> Chosen:
    """Select at most `k` admitted candidates, applying the request's `rank`, `dedup` and `max_tokens`."""
    if not _reorders(request):
        beyond = tuple([(scored, "beyond k") for scored in admitted[request.k :]])
        return Chosen(hits=tuple(admitted[: request.k]), supporting={}, passed_over=beyond)
    ranked = list(admitted) if request.rank is None else ranker(admitted, request.rank, now)
    repeats = {} if request.dedup is None else await _find_repeats(ranked, request.dedup, embedder)
    mode = None if request.dedup is None else request.dedup.mode
    removed = {} if mode is DedupMode.KEEP else repeats
    told_by = {} if mode is DedupMode.DROP else repeats
    distinct = [scored for scored in ranked if scored.record.id not in removed]
    packed, skipped = pack(distinct, request.max_tokens, request.k)
    taken = {scored.record.id for scored in (*packed, *skipped)}
    left = [scored for scored in distinct if scored.record.id not in taken]
    support: dict[str, list[str]] = {}
    for repeat, better in told_by.items():
        support.setdefault(better, []).append(repeat)
    return Chosen(
        hits=tuple(packed),
        supporting={better: tuple(ids) for better, ids in support.items()},
        repeats=len(repeats),
        passed_over=(
            *((scored, "over the token budget") for scored in skipped),
            *((s, f"says the same as {removed[s.record.id]}") for s in ranked if s.record.id in removed),
            *((scored, "beyond k") for scored in left),
        ),
    )


async def _find_repeats(ranked: Sequence[Scored], dedup: Dedup, embedder: Embedder) -> dict[str, str]:
    """Map each duplicate to the id of the better memory; embeds only look-alikes, which are rare."""
    groups = await asyncio.to_thread(group_lookalikes, ranked)
    alike = [record for group in groups for record, _ in group]
    vectors = await embedder.embed([format_statement(record) for record in alike]) if alike else []
    by_id = {record.id: vector for record, vector in zip(alike, vectors, strict=True)}
    return find_repeats(groups, by_id, dedup.threshold)


_NEAR_MISSES = 5

Admitting: TypeAlias = Callable[[Sequence[Scored]], Admission]


async def recall(request: Recall, context: Context, choosing: Choosing = choose) -> Recalled:
    """Return up to `k` memories that answer the query, best first, with a verdict."""
    _refuse_what_is_not_wired(request, context)
    await check_permission(request, context)
    started = context.clock()
    embedding = begin_embedding(request, context)
    query = build_query(request, started)
    recall_id, noted = context.mint(), redact_query(request, context)
    more, several = asks_more(request.query), count_things(request.query)
    least, floors = request.min_relevance, context.floors
    admits = partial(level, min_relevance=least, floors=floors, asks_more=more, things=several)
    size, decisive = pool(request, _NEAR_MISSES), enough(request, choosing, admits)
    result = await search_stores(query, embedding, size, request, context, enough=decisive)
    if request.hops:
        result = await add_neighbours(result, request, query, context)
    admitting = partial(admit, min_relevance=least, floors=floors, asks_more=more, things=several)
    balanced = await balance_sources(result, query, request, context, admitting)
    result, admission = balanced.asked, balanced.admission
    if request.hops:
        admission = replace(
            admission, admitted=await raise_linked(admission.admitted, request, query, context)
        )
    if await context.finds_loans(request.scope):
        from memorywire.pipeline.share import add_lent  # few agents are lent anything

        balanced = replace(balanced, admission=admission)
        balanced = await add_lent(balanced, request, started, admitting, context)
        result, admission = balanced.asked, balanced.admission
    chosen = await choosing(admission.admitted, request, query.where.alive_at, context.embedder)
    explanation = _describe_question(query) if request.explain else None
    agent = request.scope.agent
    hits = tuple([_build_hit(scored, chosen, result, explanation, agent) for scored in chosen.hits])
    near_misses = None
    if request.explain:
        cut = _find_near_misses(chosen, admission, balanced.left_out)
        hits, near_misses = await _explain_words(hits, chosen.hits, cut, request, context)
    if await context.redacts(request.scope.tenant):
        hits = await _redact(hits, request, context)
    if isinstance(context.store, Tracker) and hits and request.as_of is None and _is_tracking(context):
        own = [hit.record.id for hit in hits if hit.lender is None]
        await context.store.touch(query.where.scope, own, started)
    log_recall(recall_id, noted, request, hits, admission.verdict, context)
    if request.sign and hits:
        hits = await _sign(hits, recall_id, context)
    return Recalled(
        recall_id=recall_id,
        hits=hits,
        verdict=admission.verdict,
        fusion_used=request.fusion,
        stores_queried=tuple([outcome.store for outcome in result.outcomes]),
        outcomes=_count_outcomes(result, hits),
        degraded=_list_degraded(request, context, admission, result),
        latency_ms=max(0, context.clock() - started),
        floor=admission.floor if request.explain else None,
        near_misses=near_misses,
    )


def _describe_question(query: Query) -> dict[str, float]:
    """Return the signals of the query, which are the same for every hit."""
    signals = {"aside": len(query.boilerplate), "settled": query.settled, "replies": query.replies}
    return {name: float(weight) for name, weight in signals.items() if weight}


async def _redact(hits: tuple[Hit, ...], request: Recall, context: Context) -> tuple[Hit, ...]:
    from memorywire.pipeline.redact import redact_records  # few policies redact what is recalled

    records = await redact_records([hit.record for hit in hits], request.scope, context, request.owners)
    return tuple([replace(hit, record=record) for hit, record in zip(hits, records, strict=True)])


async def _sign(hits: tuple[Hit, ...], recall_id: str, context: Context) -> tuple[Hit, ...]:
    """Sign the hits with the ledger's key, which is created when it is first needed."""
    from memorywire.journal.signed_hits import sign_hits  # few recalls ask for it

    journal = context.require_governance().journal
    if journal.signer is None:
        raise unsupported("sign", "a ledger that is in no file has no key")
    work = partial(sign_hits, hits, recall_id, journal.signer)
    signatures = await asyncio.to_thread(work)
    if signatures is None:
        await journal.settle()
        await journal.sign()
        signatures = await asyncio.to_thread(work)
    if signatures is None:
        raise unsupported("sign", "the ledger is empty, so it has no key")
    return signatures


async def _search_linked(query: Query, request: Recall, limit: int, context: Context) -> SearchResult:
    """Search with a narrowed query; with `hops`, add the neighbours of the candidates."""
    result = await search_stores(query, begin_embedding(request, context), limit, request, context)
    return await add_neighbours(result, request, query, context) if request.hops else result


async def _admit(result: SearchResult, request: Recall, context: Context, admitting: Admitting) -> Admission:
    """Admit the candidates above the floor, with their fusion scores if results were fused."""
    candidates = result.candidates
    if request.rank is not None and (request.rank.frequency > 0 or request.explain):
        candidates = await _add_recall_counts(candidates, context)
    admission = admitting(candidates)
    if request.rank is None and result.fused is not None:
        return replace(admission, admitted=tuple(map(result.by_fusion, admission.admitted)))
    return admission


async def balance_sources(
    result: SearchResult, query: Query, request: Recall, context: Context, admitting: Admitting
) -> Balanced:
    """Admit candidates, limiting each untrusted source to its share; each further search embeds again."""
    if context.governance is None or not has_untrusted(result.candidates):
        return Balanced(asked=result, admission=await _admit(result, request, context, admitting))
    policy = await context.governance.rulebook.policy(request.scope.tenant)
    size = pool(request, _NEAR_MISSES)
    return await balance(
        result,
        query,
        max(1, int(policy.source_share * request.k)),
        lambda narrowed: _search_linked(narrowed, request, size, context),
        lambda one: _admit(one, request, context, admitting),
    )


def build_query(request: Recall, now: int) -> Query:
    """Build the query without vectors; relative times such as "yesterday" count from `as_of`, or from now."""
    moment, days = now if request.as_of is None else request.as_of, request.fresher_than_days
    scope, filter = _select_owners(request)
    where = Where(
        scope=scope,
        alive_at=moment,
        as_of=request.as_of,
        types=frozenset(request.types),
        created_since=None if days is None else max(moment - days * DAY_MS, 0),
        standings=RECALLABLE | ({Standing.ARCHIVED} if "archived" in request.include else set()),
        filter=filter,
    )
    return Query(
        where=where,
        text=request.query,
        times=stretches(request.query, moment),
        names=find_names(request.query),
        boilerplate=find_boilerplate(request.query),
        ago=counts_back(request.query),
        settled=asks_about_past(request.query),
        replies=asks_for_reply(request.query),
        explain=request.explain,
    )


def _select_owners(request: Recall) -> tuple[Scope, Filter]:
    """Return the scope to search, and the filter extended by the user condition that `owners` implies."""
    if request.owners in (None, Owners.USER):
        return request.scope, request.filter
    scope = replace(request.scope, user=None)
    if request.owners in (Owners.ALL, Owners.TEAM):
        return scope, request.filter
    users = [None] if request.owners is Owners.AGENT else [request.scope.user, None]
    own = owned_by(*users)
    return scope, own if request.filter == EVERYTHING else And((own, request.filter))


def _count_outcomes(result: SearchResult, hits: Sequence[Hit]) -> tuple[Outcome, ...]:
    """Return the outcome of each store with its number of hits."""
    return tuple(
        [
            replace(outcome, count=sum([outcome.store in hit.stores for hit in hits]))
            for outcome in result.outcomes
        ]
    )


def _build_hit(
    scored: Scored, chosen: Chosen, result: SearchResult, explanation: dict[str, float] | None, agent: str
) -> Hit:
    """Build a hit; `explanation` has the signals of the query, if the request asks for them."""
    return Hit(
        record=scored.record,
        score=scored.score,
        lender=find_lender(scored.record, agent),
        stores=result.stores(scored.record.id),
        supporting=chosen.supporting.get(scored.record.id, ()),
        signals=None
        if explanation is None
        else {**scored.signals, **explanation, **result.ranks(scored.record.id)},
    )


def find_lender(record: Record, agent: str) -> str | None:
    """Return the agent that lends the memory to `agent`; None if it is the agent's own."""
    return None if record.scope.agent == agent else record.scope.agent


def _find_near_misses(
    chosen: Chosen, admission: Admission, left_out: Sequence[tuple[Scored, str]]
) -> Sequence[tuple[Scored, str]]:
    below = [(scored, "below the relevance floor") for scored in admission.cut]
    return (*left_out, *chosen.passed_over, *below)[:_NEAR_MISSES]


async def _explain_words(
    hits: Sequence[Hit],
    chosen: Sequence[Scored],
    cut: Sequence[tuple[Scored, str]],
    request: Recall,
    context: Context,
) -> tuple[tuple[Hit, ...], tuple[NearMiss, ...]]:
    """Add to hits and near misses what each word of the query matched in them.

    Memories that the policy redacts for the caller get no such explanation.
    """
    from memorywire.search.explain import explain_words  # few recalls ask for it

    shown = [*chosen, *(scored for scored, _ in cut)]
    if await context.redacts(request.scope.tenant):
        from memorywire.pipeline.redact import find_redactions

        records = [scored.record for scored in shown]
        rules = await find_redactions(records, request.scope, context, request.owners)
        shown = [scored for scored, rule in zip(shown, rules, strict=True) if rule is None]
    words = await explain_words(request.query, shown, context.embedder)
    return tuple([replace(hit, words=words.get(hit.id)) for hit in hits]), tuple(
        NearMiss(
            id=scored.record.id,
            score=scored.score,
            reason=reason,
            signals=scored.signals,
            words=words.get(scored.record.id),
        )
        for scored, reason in cut
    )


def _list_degraded(
    request: Recall, context: Context, admission: Admission, result: SearchResult
) -> tuple[str, ...]:
    """Return what degraded the recall: unavailable features, failed stores, damaged vectors."""
    by_use = request.rank is not None and request.rank.frequency > 0
    missing = {
        "hops": request.hops > 0 and not has_links(admission.admitted),
        "min_relevance": request.min_relevance == "auto" and not context.floors.fitted,
        "rank.frequency": by_use and not counts_recalls(admission.admitted),
        "language": not _reads_language(request.query, context.embedder),
    }
    is_damaged = bool(result.candidates) and DAMAGED_VECTORS in result.candidates[0].signals
    damage = (DAMAGED_VECTORS,) if is_damaged else ()
    return (*[name for name, is_missing in missing.items() if is_missing], *result.degraded, *damage)


def _reads_language(query: str, embedder: Embedder) -> bool:
    """Whether the embedder knows the language of the query, as far as that can be told."""
    languages = getattr(embedder, "languages", None)
    return languages is None or find_language(query, split_words(query)) in (UNKNOWN, *languages)


async def _add_recall_counts(candidates: list[Scored], context: Context) -> list[Scored]:
    """Add to each candidate how often it was recalled, if the store counts recalls."""
    if not isinstance(context.store, RecallCounter) or not _is_tracking(context):
        return candidates
    counts = await context.store.recalls([scored.record for scored in candidates])
    return [
        replace(scored, signals={**scored.signals, RECALLS: float(count)})
        for scored, count in zip(candidates, counts, strict=True)
    ]


def _is_tracking(context: Context) -> bool:
    return Feature.RECALL_TRACKING in context.store.features


def _refuse_what_is_not_wired(request: Recall, context: Context) -> None:
    wired = len(context.names)
    if request.sign and (context.governance is None or context.governance.journal.signer is None):
        raise unsupported("sign", "a ledger that is in no file has no key")
    if request.quorum_k > wired:
        few = "one store is" if wired == 1 else f"only {wired} stores are"
        raise unsupported("quorum_k", f"{few} wired, so no {request.quorum_k} can agree")
    if request.fusion is Fusion.LEGS and (wired > 1 or not context.store.features >= MEASURED):
        raise unsupported("fusion", "legs are those of one store that ranks by vector and by text")
