"""Remembers the turns of a conversation and the facts found in it, each once, however often it is retried."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import partial

from memorywire.model.answers import Remembered, Status
from memorywire.model.errors import (
    Conflict,
    EmbedderFailed,
    EmbedderNotConfigured,
    MemorywireError,
    StoreError,
)
from memorywire.model.ids import part_of
from memorywire.model.layer import MARK, Conversation, Event, EventState, Fact, Kind
from memorywire.model.record import MemoryType, Record
from memorywire.model.requests import Remember
from memorywire.pipeline.commit import Plan, Submitted
from memorywire.pipeline.context import Context
from memorywire.pipeline.receipts import known
from memorywire.pipeline.remember import draft, remember
from memorywire.stores.contract import SupportsHistory

AWAY = (StoreError, EmbedderFailed, EmbedderNotConfigured)
"""Errors that say nothing about the memory: it cannot be kept now, but may be later."""


async def remembered(event: Event, requests: Iterable[Remember], context: Context) -> Event:
    """Remember each request, and note in the event what was kept, held or refused."""
    memories: list[str] = []
    held: list[str] = []
    refused: list[str] = []
    for request in requests:
        try:
            receipt = await _kept(request, context)
        except AWAY:
            raise
        except MemorywireError as problem:
            refused.append(problem.detail)
            continue
        (held if receipt.status is Status.STAGED else memories).append(receipt.proposal_id or receipt.id)
    return replace(
        event,
        state=EventState.DONE,
        memories=tuple(dict.fromkeys(memories)),
        held=tuple(dict.fromkeys(held)),
        error="; ".join(dict.fromkeys(refused)) or None,
        conversation=None,
        found=None,
    )


def turns(event: Event, conversation: Conversation) -> list[Remember]:
    """A request for every turn, as it was said, with who said it and when."""
    return [
        Remember(
            scope=event.scope,
            type=MemoryType.EPISODIC,
            content=turn.content,
            metadata={
                **conversation.metadata,
                "role": turn.role,
                **({} if turn.name is None else {"speaker": turn.name}),
                MARK: {"kind": Kind.TURN.value, "event": event.id},
            },
            source=turn.role,
            id=part_of(event.id, place),
            session_id=conversation.session_id,
            occurred_at=turn.at,
        )
        for place, turn in enumerate(conversation.turns)
    ]


def facts(event: Event, conversation: Conversation, found: Sequence[Fact], name: str) -> list[Remember]:
    """A request for every fact that the extractor of that name found."""
    return [
        Remember(
            scope=event.scope,
            type=fact.type,
            content=fact.text,
            confidence=fact.confidence,
            metadata={**conversation.metadata, MARK: {"kind": Kind.FACT.value, "event": event.id}},
            source=f"extractor:{name}",
            session_id=conversation.session_id,
            occurred_at=fact.occurred_at,
        )
        for fact in found
    ]


async def _kept(request: Remember, context: Context) -> Remembered:
    """Remember a fact unless it is known; remember a turn even when another turn says the same."""
    if request.id is None:
        return await remember(request, context)
    there = await _there(request, context)
    if there is not None:
        return known(context, there.id, there.version, there.updated_at, None)
    repeating = replace(context, corridor=partial(_also_twice, context))
    try:
        return await remember(_keyed(request, context), repeating)
    except Conflict:  # an earlier try has kept it, and somebody has forgotten it since
        return known(context, request.id, 1, context.clock(), None)


def _keyed(turn: Remember, context: Context) -> Remember:
    """The turn with an idempotency key, where possible, so that a held turn is not proposed twice."""
    can_be = context.office is not None and isinstance(context.store, SupportsHistory)
    return replace(turn, idempotency_key=turn.id) if can_be else turn


async def _there(request: Remember, context: Context) -> Record | None:
    """The memory of this turn, if an earlier try kept it, or an earlier call gave the same dated turn."""
    found = await context.store.get(request.scope, [request.id or ""])
    if found or request.occurred_at is None:
        return found[0] if found else None
    twin = await context.store.duplicate(draft(request), context.clock())
    return twin if twin is not None and _turn(twin) == _turn(request) else None


def _turn(said: Record | Remember) -> object:
    """What identifies a turn: its session and metadata, without the mark of how it came here."""
    return said.session_id, {name: value for name, value in said.metadata.items() if name != MARK}


async def _also_twice(context: Context, plan: Plan, _: Context) -> Submitted:
    """A corridor that keeps a turn even when a memory says the same: people repeat themselves."""
    puts = tuple(replace(put, unique=False) for put in plan.change.put)
    return await context.submit(replace(plan, change=replace(plan.change, put=puts)))
