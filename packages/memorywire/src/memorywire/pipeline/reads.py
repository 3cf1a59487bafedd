"""Reads without ranking: one memory, a page, history, the change log, recalls, feedback, counts."""

from collections import Counter
from collections.abc import Mapping, Sequence

from memorywire.journal.acts import Act
from memorywire.journal.entries import Entry
from memorywire.model.answers import Chain, ChangeLog, Page
from memorywire.model.errors import NotFound
from memorywire.model.oversight import (
    AgentList,
    Agents,
    AgentSummary,
    FacetCounts,
    Facets,
    FacetValue,
    Feedback,
    Given,
    Helped,
    Judged,
    Reasons,
    RecallPage,
    Recalls,
    RecallSummary,
    Why,
)
from memorywire.model.proposal import LENT, ORIGIN, Reach, RecallNote
from memorywire.model.query import Where
from memorywire.model.record import RECALLABLE, Record, Scope, Standing
from memorywire.model.requests import Changes, Get, History, List, Order
from memorywire.pipeline.context import Context, unsupported
from memorywire.pipeline.redact import redact_records, redact_versions
from memorywire.stores.contract import SupportsListing, SupportsReplicas, SupportsTally

LOOKED_AT = 1_000
"""How many of the newest memories are counted if the store cannot count all of them itself."""

_FACETS = ("type", "user_id", "source", "trust", "standing", "tags")
_VALUES = 20
_FEEDBACK = "feedback"


async def agents(request: Agents, context: Context) -> AgentList:
    counts = dict(await require_listing(context, "agents").owners(request.tenant))
    waiting = (
        {} if context.governance is None else await context.governance.journal.count_waiting(request.tenant)
    )
    names = sorted(counts.keys() | waiting.keys())
    return AgentList(
        items=tuple(
            AgentSummary(agent_id=name, memories=counts.get(name, 0), waiting=waiting.get(name, 0))
            for name in names
        )
    )


async def facets(request: Facets, context: Context) -> FacetCounts:
    where, store = build_list_filter(request, context), require_listing(context, "facets")
    counts = await store.tally(where) if isinstance(store, SupportsTally) else None
    if counts is not None:
        fields = {name: _list_most(counts.get(name, {})) for name in _FACETS}
        return FacetCounts(looked_at=counts[""][""], fields=fields)
    newest = await store.newest(where, None, LOOKED_AT)
    return FacetCounts(looked_at=len(newest), fields=_count_facets(newest))


async def recalls(request: Recalls, context: Context) -> RecallPage:
    reach = request.reach
    notes = await context.require_governance().journal.list_recalls(
        reach.tenant,
        agent=reach.agent,
        user=reach.user,
        memory=request.memory_id,
        origin={name: getattr(request, name) for name in ORIGIN},
        before=request.before,
        limit=request.limit,
    )
    return RecallPage(items=tuple(_build_summary(note) for note in notes))


async def feedback(request: Feedback, context: Context) -> Judged:
    """Record feedback on a returned memory in the ledger; nothing else changes."""
    note = await recall_in_reach(request.reach, request.recall_id, context)
    if request.memory_id not in {id for id, _, _ in note.hits}:
        raise NotFound("that recall did not hand out this memory", field="memory_id")
    governance, now = context.require_governance(), context.clock()
    reason = context.without_secrets(request.reason)
    details = {"memory": request.memory_id, "reason": reason}
    entry = Entry(
        at=now,
        operation=_FEEDBACK,
        scope=note.scope,
        actor=governance.caller,
        kind=request.helped,
        subject=note.id,
        details={name: value for name, value in details.items() if value is not None},
    )
    await governance.journal.write(Act(entries=(entry,)))
    return Judged(
        memory_id=request.memory_id, helped=request.helped, by=governance.caller, at=now, reason=reason
    )


async def read_feedback(note: RecallNote, context: Context) -> tuple[Judged, ...]:
    """Return all feedback on the memories a recall returned, oldest first."""
    entries = await context.require_governance().journal.find_entries(note.scope.tenant, note.id)
    return tuple(
        Judged(
            memory_id=entry["details"]["memory"],
            helped=Helped(entry["kind"]),
            by=entry["actor"],
            at=entry["at"],
            reason=entry["details"].get("reason"),
        )
        for entry in reversed(entries)
        if entry["operation"] == _FEEDBACK
    )


async def recall_in_reach(reach: Reach, recall_id: str, context: Context) -> RecallNote:
    """Return the log entry of a recall; raises the same NotFound whether it is missing or out of reach."""
    note = await context.require_governance().journal.find_recall(reach.tenant, recall_id)
    if note is None or not reach.covers(note.scope):
        raise NotFound("no such recall here", field="recall_id")
    return note


def build_list_filter(request: List | Facets, context: Context) -> Where:
    """Build the condition that selects the memories of a list or of facets."""
    archive = {Standing.ARCHIVED} if "archived" in request.include else set()
    return Where(
        scope=request.scope,
        alive_at=context.clock(),
        types=frozenset(request.types),
        standings=RECALLABLE | archive,
        filter=request.filter,
    )


def require_listing(context: Context, wanted_for: str) -> SupportsListing:
    """Return the store, or the first of several, that supports listing."""
    store = context.store
    each = (
        [store.replica(name) for name in store.replica_names]
        if isinstance(store, SupportsReplicas)
        else [store]
    )
    listing = next((one for one in each if isinstance(one, SupportsListing)), None)
    if listing is None:
        raise unsupported(wanted_for, f"store {store.name} cannot look over what it holds")
    return listing


def _count_facets(records: Sequence[Record]) -> dict[str, tuple[FacetValue, ...]]:
    counts = {
        "type": Counter(record.type.value for record in records),
        "user_id": Counter(record.scope.user for record in records if record.scope.user),
        "source": Counter(record.source for record in records if record.source),
        "trust": Counter(record.trust.value for record in records),
        "standing": Counter(record.standing.value for record in records),
        "tags": Counter(tag for record in records for tag in record.tags),
    }
    return {name: _list_most(count) for name, count in counts.items()}


def _list_most(counts: Mapping[str, int]) -> tuple[FacetValue, ...]:
    by_count = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    return tuple(FacetValue(value=value, count=count) for value, count in by_count[:_VALUES])


def _build_summary(note: RecallNote) -> RecallSummary:
    return RecallSummary(
        recall_id=note.id,
        scope=note.scope,
        at=note.at,
        caller=note.caller,
        verdict=note.verdict,
        count=len(note.hits),
        query=note.query or None,
        **note.origin,
    )


async def get(request: Get, context: Context) -> Record:
    """Return the current version; raises NotFound if it is missing or expired."""
    records = await context.store.get(request.scope, [request.id])
    if not records or not records[0].alive(context.clock()):
        raise NotFound(f"no live memory {request.id}", field="id")
    (record,) = await redact_records(records[:1], request.scope, context)
    return record


async def list_(request: List, context: Context) -> Page:
    where = build_list_filter(request, context)
    newest = request.order is Order.NEWEST
    read = require_listing(context, "order").newest if newest else context.store.find
    records = await read(where, request.after, request.limit + 1)
    items = tuple(await redact_records(records[: request.limit], request.scope, context))
    return Page(
        items=items,
        total=await context.store.count(where),
        next=items[-1].id if len(records) > request.limit else None,
    )


async def history(request: History, context: Context) -> Chain:
    versions = await context.historian("history").history(request.scope, request.id)
    if not versions:
        raise NotFound(f"no memory {request.id}", field="id")
    return Chain(id=request.id, versions=await redact_versions(versions, request.scope, context))


async def changes(request: Changes, context: Context) -> ChangeLog:
    changes = await context.historian("changes").changes(request.scope, request.limit)
    return ChangeLog(changes=tuple(changes))


async def why(request: Why, context: Context) -> Reasons:
    """Return what the recall returned; raises the same NotFound whether it is missing or out of reach."""
    note = await recall_in_reach(request.reach, request.recall_id, context)
    agent = Scope(agent=note.scope.agent, tenant=note.scope.tenant)
    lent: Mapping[str, Given] = {}
    if note.details is not None and LENT in note.details:
        from memorywire.pipeline.share import read_lent  # few agents are lent anything

        lent = await read_lent(agent, note, context)
    return Reasons(
        recall_id=note.id,
        scope=note.scope,
        at=note.at,
        caller=note.caller,
        verdict=note.verdict,
        results=tuple([lent.get(hit[0]) or await _read_version(agent, *hit, context) for hit in note.hits]),
        query=note.query or None,
        as_of=None if note.details is None else note.details.get("as_of"),
        **note.origin,
        feedback=await read_feedback(note, context),
    )


async def _read_version(scope: Scope, id: str, version: int, score: float, context: Context) -> Given:
    """Return the version of the memory that the recall returned, from its history."""
    versions = await context.historian("why").history(scope, id)
    links = [one for one in versions if one.number == version]
    link = next(iter(await redact_versions(links, scope, context)), None)
    return Given(
        id=id,
        version=version,
        score=score,
        current=link is not None and link.ended is None,
        memory=None if link is None else link.record,
    )
