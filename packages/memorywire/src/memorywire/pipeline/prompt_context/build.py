"""Gathers the memories for a context block, chooses its lines, and logs it like a recall.

One search finds memories near the prompt. One indexed read finds memories that apply to every prompt:
constraints, pinned memories and rules of sessions. Only memories of the user, and memories of the agent
that belong to no user, are used.
"""

import asyncio
from collections.abc import Sequence

from msgspec.structs import replace

from memorywire.facts import is_pinned, read_label
from memorywire.model.answers import ContextBlock, ContextLine, Hit, Section, Verdict
from memorywire.model.capabilities import Feature
from memorywire.model.query import STANDING, And, Compare, Filter, Not, Operator, Or, Where, owned_by
from memorywire.model.record import Record, Scope
from memorywire.model.requests import BuildContext, Owners, Recall
from memorywire.pipeline.candidates import SearchResult, begin_embedding, search_stores
from memorywire.pipeline.context import Context
from memorywire.pipeline.prompt_context.choose import Candidate, Choice, build_candidate, choose_lines
from memorywire.pipeline.prompt_context.score import (
    find_revised,
    find_vectors,
    is_related,
    score_memories,
)
from memorywire.pipeline.prompt_context.task import Task, read_task
from memorywire.pipeline.recall import (
    build_query,
    check_permission,
    find_lender,
    log_recall,
    redact_query,
)
from memorywire.pipeline.redact import drop_redacted
from memorywire.search.embed import find_minilm
from memorywire.search.render import render_lines
from memorywire.search.text import terms
from memorywire.search.token_budget import cost, wording
from memorywire.stores.contract import SupportsListing, Tracker

POOL = 24
"""How many candidates the search returns."""

MOST_STANDING = 100
"""The maximum number of constraints, pins and rules to read, oldest first."""

UNRELATED = 40
"""The token budget of a block if no memory is likely to help with the prompt."""

_LAYER_KIND = ("metadata", "layer", "kind")
_LABELLED = Compare(("metadata", "fact", "kind"), Operator.EXISTS, True)


async def build_context(request: BuildContext, context: Context) -> ContextBlock:
    """Build the block for a prompt, within its budget; empty if no memory is relevant."""
    task = read_task(request)
    owners = Owners.AGENT if request.scope.user is None else Owners.USER_AND_AGENT
    recall = Recall(
        scope=request.scope,
        query=task.query,
        k=POOL,
        min_relevance="off",
        owners=owners,
        session_id=request.session_id,
        run_id=request.run_id,
        trace_id=request.trace_id,
    )
    await check_permission(recall, context)
    where = build_where(request.scope, context.clock())
    reading = asyncio.ensure_future(_find(where, STANDING, context))
    await asyncio.sleep(0)  # lets the read start on a store thread; a short search runs on this thread
    try:
        result, vector = await _search(task, recall, where, context)
    finally:
        standing = await reading
    if task.is_about_person:
        standing += await _find(where, _LABELLED, context)
    recent = await _find_recent(request, where, context) if request.recent else []
    several = ([hit.record for hit in result.candidates], standing, recent)
    hits, others, turns = [
        await drop_redacted(_keep_own(records, request.scope), request.scope, context) for records in several
    ]
    failed: list[str] = []
    if await context.finds_loans(request.scope):
        from memorywire.pipeline.share import find_near  # few agents are lent anything

        hits += await find_near(recall, context, failed)
    task, candidates = await _score(task, vector, hits, others, context)
    choices = choose_lines(task, candidates, turns)
    budget = _choose_budget(request, choices, task)
    places, text = render_lines([wording(one.record) for one in choices], budget)
    block = _build_block(request, context.mint(), [choices[place] for place in places], text, task)
    await _record(block, recall, [choices[place] for place in places], context)
    return replace(block, left_out=len(choices) - len(places), degraded=(*result.degraded, *failed))


def build_where(scope: Scope, now: int) -> Where:
    """Select the memories of the user, if there is one, and those of the agent that belong to no user."""
    users = (None,) if scope.user is None else (scope.user, None)
    return Where(
        scope=Scope(agent=scope.agent, tenant=scope.tenant),
        alive_at=now,
        filter=owned_by(*users),
    )


async def _search(task: Task, recall: Recall, where: Where, context: Context) -> tuple[SearchResult, bytes]:
    """Search for memories near the prompt; returns the result and the prompt's vector as a task.

    The task embedder also serves the search if the store has vectors of the same space. If not, the store is
    searched with a vector of its own embedder.
    """
    reader = find_minilm(context.embedder)
    is_own = reader is context.embedder
    embedding = begin_embedding(recall, context, reader.tasks if is_own else None)
    query = replace(build_query(recall, where.alive_at), where=where)
    result = await search_stores(query, embedding, POOL, recall, context)
    if is_own and embedding.vector is not None:
        return result, embedding.vector
    [vector] = await asyncio.to_thread(reader.tasks.embed_here, [task.query])
    return result, vector


async def _find(where: Where, condition: Filter, context: Context) -> list[Record]:
    narrow = replace(where, filter=And((where.filter, condition)))
    return await context.store.find(narrow, None, MOST_STANDING)


async def _find_recent(request: BuildContext, where: Where, context: Context) -> list[Record]:
    """Read the last turns of the session, or of any, oldest first; none if the store cannot list."""
    if not isinstance(context.store, SupportsListing):
        return []
    session = request.session_id
    condition: Filter = (
        Or((Compare(("session_id",), Operator.EXISTS, True), Compare(_LAYER_KIND, Operator.EQ, "turn")))
        if session is None
        else Compare(("session_id",), Operator.EQ, session)
    )
    no_fact = Not(Compare(_LAYER_KIND, Operator.EQ, "fact"))  # facts have the session of their turn
    narrow = replace(where, filter=And((where.filter, condition, no_fact)))
    turns = await context.store.newest(narrow, None, request.recent)
    return turns[::-1]


async def _score(
    task: Task, vector: bytes, hits: Sequence[Record], others: Sequence[Record], context: Context
) -> tuple[Task, list[Candidate]]:
    """Score every memory once; memories not found by the search count as sharing no words with the prompt.

    Also returns the task, with whether the prompt is a task for which memory matters.
    """
    records = list({record.id: record for record in (*hits, *others)}.values())
    vectors = await find_vectors(records, context)
    near = {record.id for record in hits}
    found = [terms(record.words) for record in records[: len(near)]]  # the hits come first
    shares = [len(task.words & words.keys()) / max(1, len(task.words)) for words in found]
    scores = score_memories(vector, vectors, shares + [0.0] * (len(records) - len(near)))
    revised = find_revised(records[: len(near)], vectors[: len(near)], found)
    return replace(task, is_related=is_related(vector, scores)), [
        build_candidate(record, read_label(record), score, is_revised=record.id in revised)
        for record, score in zip(records, scores, strict=True)
    ]


def _keep_own(records: Sequence[Record], scope: Scope) -> list[Record]:
    """Drop what a store should not have returned: memories of another user, agent or tenant."""
    agent = Scope(agent=scope.agent, tenant=scope.tenant)
    return [one for one in records if agent.covers(one.scope) and one.scope.user in (None, scope.user)]


def _choose_budget(request: BuildContext, choices: Sequence[Choice], task: Task) -> int:
    """Return the full budget, or a small one if the prompt seems unrelated and no line was requested."""
    is_asked_for = any(
        one.section in (Section.PROFILE, Section.RECENT) or is_pinned(one.record) for one in choices
    )
    return request.budget if is_asked_for or task.is_related else min(request.budget, UNRELATED)


def _build_block(
    request: BuildContext, id: str, choices: Sequence[Choice], text: str, task: Task
) -> ContextBlock:
    helps = any(
        one.section in (Section.MEMORY, Section.PROFILE) or (one.is_bound and task.is_related)
        for one in choices
    )
    return ContextBlock(
        recall_id=id,
        text=text,
        tokens=cost(text),
        budget=request.budget,
        verdict=Verdict.MATCH if helps else Verdict.WEAK if choices else Verdict.NO_MATCH,
        lines=tuple(
            ContextLine(
                id=one.record.id,
                content=one.record.content,
                section=one.section,
                reason=one.reason,
                score=round(one.score, 6),
                kind=None if one.label is None else one.label.kind.value,
                slot=None if one.label is None else one.label.slot,
                lender=find_lender(one.record, request.scope.agent),
            )
            for one in choices
        ),
    )


async def _record(block: ContextBlock, recall: Recall, choices: Sequence[Choice], context: Context) -> None:
    """Log the returned memories like a recall, so that `why` can report them and the budget counts them."""
    lenders = [find_lender(one.record, recall.scope.agent) for one in choices]
    hits = [
        Hit(record=one.record, score=one.score, stores=context.names, lender=lender)
        for one, lender in zip(choices, lenders, strict=True)
    ]
    if isinstance(context.store, Tracker) and hits and Feature.RECALL_TRACKING in context.store.features:
        scope = replace(recall.scope, user=None)  # memories that belong to no user are used as well
        await context.store.touch(scope, [hit.id for hit in hits if hit.lender is None], context.clock())
    log_recall(block.recall_id, redact_query(recall, context), recall, hits, block.verdict, context)
