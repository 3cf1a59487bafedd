"""The message layer: stores conversations, extracts facts from them, and remembers each fact."""

import asyncio
import json
from collections import deque
from collections.abc import Sequence
from contextlib import suppress
from functools import partial

from msgspec import Struct
from msgspec.structs import replace

from memorywire.journal.entries import Entry
from memorywire.journal.ingest_queue import IngestQueue
from memorywire.journal.journal import Journal
from memorywire.model.answers import Hit, Remembered, Status
from memorywire.model.clock import DAY_MS, Clock
from memorywire.model.errors import (
    Conflict,
    EmbedderFailed,
    EmbedderNotConfigured,
    MemorywireError,
    NotFound,
    StoreError,
)
from memorywire.model.ids import part_of
from memorywire.model.kv import MARK as KEYED
from memorywire.model.layer import (
    CALLS_A_DAY,
    MARK,
    Conversation,
    Event,
    EventState,
    Fact,
    FoundFact,
    FoundFacts,
    Kind,
)
from memorywire.model.query import And, Compare, Filter, Not, Operator, Or
from memorywire.model.record import MemoryType, Record, Scope
from memorywire.model.requests import Forget, MinRelevance, Owners, Recall, Remember
from memorywire.pipeline.context import Context, unsupported
from memorywire.pipeline.extract import Extractor
from memorywire.pipeline.forget import forget, propose_forget
from memorywire.pipeline.reconcile import drop_unsupported, find_meant, find_place
from memorywire.pipeline.remember import build_duplicate_receipt, draft_record, remember
from memorywire.stores.contract import SupportsHistory
from memorywire.stores.wrappers.resilience import Breaker

AWAY = (StoreError, EmbedderFailed, EmbedderNotConfigured)
"""Temporary errors: the memory cannot be stored now, but a retry may succeed."""


class Tally:
    """Collects the outcome of each part of a conversation: stored, forgotten, held for review, or refused."""

    def __init__(self) -> None:
        self.turns: list[str] = []
        self.memories: list[str] = []
        self.forgotten: list[str] = []
        self.held: list[str] = []
        self.refusals: list[str] = []

    def add(self, receipt: Remembered, ids: list[str]) -> None:
        """Record a receipt: append to `held` if the write waits for review, else to `ids`."""
        (self.held if receipt.status is Status.STAGED else ids).append(receipt.proposal_id or receipt.id)

    def close(self, event: Event, state: EventState, error: str | None = None) -> Event:
        """Return the finished event, without the text of the conversation."""
        refusals = [*self.refusals, *(() if error is None else (error,))]
        return replace(
            event,
            state=state,
            turns=tuple(dict.fromkeys(self.turns)),
            memories=tuple(dict.fromkeys(self.memories)),
            forgotten=tuple(dict.fromkeys(self.forgotten)),
            held=tuple(dict.fromkeys(self.held)),
            error="; ".join(dict.fromkeys(refusals)) or None,
            conversation=None,
            found=None,
        )


async def keep_turns(event: Event, conversation: Conversation, tally: Tally, context: Context) -> list[str]:
    """Store every turn once and return the ids; add a refused turn to the tally's refusals."""
    ids: list[str] = []
    for request in build_turn_requests(event, conversation):
        try:
            receipt = await _remember_turn(request, context)
        except AWAY:
            raise
        except MemorywireError as problem:
            tally.refusals.append(problem.detail)
            ids.append(request.id or "")
            continue
        tally.add(receipt, tally.turns)
        ids.append(receipt.id)
    return ids


async def keep_facts(requests: Sequence[tuple[Fact, Remember]], tally: Tally, context: Context) -> None:
    """Store new facts, superseding the memories they replace, and forget the memories that facts retract."""
    for fact, request in requests:
        try:
            if fact.retracts:
                await _take_back(fact, request.scope, tally, context)
                continue
            place = await find_place(request, context)
            if isinstance(place, Record):
                tally.memories.append(place.id)
            else:
                tally.add(await remember(place, context), tally.memories)
        except AWAY:
            raise
        except MemorywireError as problem:
            tally.refusals.append(problem.detail)


async def _take_back(fact: Fact, scope: Scope, tally: Tally, context: Context) -> None:
    meant = await find_meant(scope, fact.text, context)
    if meant.doubtful_ids:
        doubt = Forget(scope=scope, ids=meant.doubtful_ids, reason="may be taken back in a conversation")
        proposal_id = await propose_forget(doubt, context)
        tally.held += [proposal_id] if proposal_id is not None else []
    if not meant.ids:
        return
    receipt = await forget(Forget(scope=scope, ids=meant.ids, reason="taken back in a conversation"), context)
    tally.forgotten += receipt.forgotten_ids
    tally.memories = [id for id in tally.memories if id not in receipt.forgotten_ids]
    if receipt.pending_approval and receipt.proposal_id is not None:
        tally.held.append(receipt.proposal_id)


def build_turn_requests(event: Event, conversation: Conversation) -> list[Remember]:
    """Build a request for every turn, with its text, speaker and time unchanged."""
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


def build_fact_requests(
    event: Event, conversation: Conversation, facts: Sequence[Fact], name: str, turn_ids: Sequence[str | None]
) -> list[tuple[Fact, Remember]]:
    """Build a request for each fact of the extractor `name`, derived from the turn the fact comes from."""
    requests: list[tuple[Fact, Remember]] = []
    for fact in facts:
        origin = turn_ids[find_turn(fact, conversation)] if turn_ids else None
        request = Remember(
            scope=event.scope,
            type=fact.type,
            content=fact.text,
            confidence=fact.confidence,
            metadata={**conversation.metadata, MARK: {"kind": Kind.FACT.value, "event": event.id}},
            source=f"extractor:{name}",
            session_id=conversation.session_id,
            occurred_at=fact.occurred_at,
            derived_from=() if origin is None else (origin,),
        )
        requests.append((fact, request))
    return requests


def find_turn(fact: Fact, conversation: Conversation) -> int:
    """Return the index of the fact's turn: the one the extractor names, else the one sharing most words."""
    count = len(conversation.turns)
    if fact.turn is not None and 0 <= fact.turn < count:
        return fact.turn
    words = set(fact.text.casefold().split())
    alike = [len(words & set(turn.content.casefold().split())) for turn in conversation.turns]
    return max(range(count), key=lambda place: (alike[place], place))


async def _remember_turn(request: Remember, context: Context) -> Remembered:
    """Remember a turn even when another turn has the same content."""
    there = await _find_earlier(request, context)
    if there is not None:
        return build_duplicate_receipt(context, there.id, there.version, there.updated_at, None)
    try:  # not unique: people repeat themselves
        return await remember(_add_key(request, context), context, unique=False)
    except Conflict:  # an earlier attempt stored it, and it was forgotten since
        return build_duplicate_receipt(context, request.id or "", 1, context.clock(), None)


def _add_key(turn: Remember, context: Context) -> Remember:
    """Add an idempotency key where possible, so that a retry does not propose a held turn twice."""
    can_be = context.governance is not None and isinstance(context.store, SupportsHistory)
    return replace(turn, idempotency_key=turn.id) if can_be else turn


async def _find_earlier(request: Remember, context: Context) -> Record | None:
    """Find the memory of this turn, from an earlier attempt or an earlier call with the same dated turn."""
    records = await context.store.get(request.scope, [request.id or ""])
    if records or request.occurred_at is None:
        return records[0] if records else None
    twin = await context.store.duplicate(draft_record(request), context.clock())
    return twin if twin is not None and _turn(twin) == _turn(request) else None


def _turn(turn: Record | Remember) -> object:
    """Return what identifies a turn: its session and its metadata, without the layer's own mark."""
    return turn.session_id, {name: value for name, value in turn.metadata.items() if name != MARK}


_LEASE_MS = 120_000
_FIRST_PAUSE_MS = 1_000
_LONGEST_PAUSE_MS = 3_600_000
_MOST_TRIES = 36  # with these pauses, a little more than a day
_KEPT_DAYS = 30
_LOOK_SECONDS = 0.5
_MINUTE_MS = 60_000
_CALLS_A_MINUTE = 60
MOST_HITS = 100


class Allowance:
    """Rate limit for calls to a paid extractor, per minute and per day."""

    def __init__(self, clock: Clock, *, a_day: int = CALLS_A_DAY) -> None:
        self._clock = clock
        self._bounds = ((_MINUTE_MS, _CALLS_A_MINUTE), (DAY_MS, a_day))
        self._ask_extractor: deque[int] = deque()

    def wait_ms(self) -> int:
        """Return the milliseconds until the next call to the extractor is allowed; 0 if it is allowed now."""
        now = self._clock()
        while self._ask_extractor and self._ask_extractor[0] <= now - DAY_MS:
            self._ask_extractor.popleft()
        for span, most in self._bounds:
            recent = [at for at in self._ask_extractor if at > now - span]
            if len(recent) >= most:
                return max(1, recent[-most] + span - now) if most else span
        return 0

    def spend(self) -> None:
        """Count one call to the extractor."""
        self._ask_extractor.append(self._clock())


class Reader:
    """Extracts facts from conversations: at once if the extractor is local, else in the background.

    An accepted conversation is read even if this process ends first. The extracted facts are written to the
    queue before any of them is remembered, so that a retry uses the same facts in the same words.
    """

    def __init__(
        self,
        context: Context,
        journal: Journal | None,
        extractor: Extractor | None,
        allowance: Allowance,
    ) -> None:
        self.extractor = extractor
        self._context = context
        self._queue = None if journal is None else IngestQueue(journal)
        self._allowance = allowance
        self._breaker = Breaker(context.clock)
        self._one_at_a_time = asyncio.Lock()
        self._wanted = asyncio.Event()
        self._working: asyncio.Task[None] | None = None

    async def add(self, scope: Scope, conversation: Conversation, context: Context) -> Event:
        """Accept a conversation; the event is `done` if it was read at once, else `pending`."""
        if conversation.infer and self.extractor is None:
            raise unsupported(
                "infer", "the extractor is switched off, so nobody reads conversations for facts"
            )
        now = context.clock()
        event = Event(
            id=context.mint(),
            scope=scope,
            at=now,
            state=EventState.PENDING,
            due_at=now + _LEASE_MS,
            caller="" if context.governance is None else context.governance.caller,
            conversation=_without_secrets(conversation, context),
        )
        at_once = not conversation.infer or (self.extractor is not None and self.extractor.local)
        if self._queue is None:
            if not at_once:
                raise unsupported("infer", "no journal is wired here that could keep what waits")
            return await self._read(event, context)
        await self._accept(event if at_once else replace(event, due_at=now), self._queue)
        if at_once:
            return await self._settle(event, context, self._queue)
        self.wake()
        return event

    async def event(self, tenant: str, id: str) -> Event:
        """Return the event of a conversation; raises NotFound for an unknown id."""
        if self._queue is None:
            raise unsupported("event", "no journal is wired here")
        event = await self._queue.find(tenant, id)
        if event is None:
            raise NotFound("there is no such event", field="event_id")
        return event

    def wake(self) -> None:
        """Start processing pending conversations in the background, including those of an earlier process."""
        if self._queue is None:
            return
        self._wanted.set()
        if self._working is None or self._working.done():
            self._working = asyncio.get_running_loop().create_task(self._work(self._queue))

    async def drain(self) -> int:
        """Process all conversations that are due, and return how many still wait."""
        if self._queue is None:
            return 0
        while await self._next(self._queue):
            pass
        return await self._queue.count_waiting()

    async def close(self) -> None:
        if self._working is not None:
            self._working.cancel()
            with suppress(asyncio.CancelledError):
                await self._working

    async def _accept(self, event: Event, queue: IngestQueue) -> None:
        """Store the conversation and its ledger entry in one transaction."""
        turn_count = len(event.conversation.turns) if event.conversation is not None else 0
        entry = Entry(
            at=event.at,
            operation="layer",
            scope=event.scope,
            actor=event.caller,
            kind="accepted",
            subject=event.id,
            details={"turns": turn_count},
        )
        await queue.add(event, entry)

    async def _work(self, queue: IngestQueue) -> None:
        """Process the queue until no conversation waits."""
        while self._wanted.is_set():
            self._wanted.clear()
            with suppress(StoreError):  # the journal did not answer: the next round tries again
                while await self._next(queue):
                    pass
                if await queue.count_waiting():
                    self._wanted.set()
            await asyncio.sleep(_LOOK_SECONDS)

    async def _next(self, queue: IngestQueue) -> bool:
        async with self._one_at_a_time:
            now = self._context.clock()
            event = await queue.lease(now, now + _LEASE_MS)
            if event is None:
                return False
            await self._settle(event, self._as(event.caller), queue)
            return True

    def _as(self, caller: str) -> Context:
        governance = self._context.governance
        return (
            self._context
            if governance is None
            else replace(self._context, governance=replace(governance, caller=caller))
        )

    async def _settle(self, event: Event, context: Context, queue: IngestQueue) -> Event:
        """Store the turns, then extract facts; schedule a retry if either fails temporarily.

        Extraction is retried up to `_MOST_TRIES` times, storing the turns without limit.
        """
        tally = Tally()
        try:
            context = await context.serving(event.scope)
            turn_ids = await self._keep_turns(event, tally, context)
        except AWAY as error:
            return await self._put_off(event, event.tries + 1, _pause(event.tries), error.detail, queue)
        wait, why = self._hindrance(event)
        if wait:
            return await self._put_off(event, event.tries, wait, why, queue)
        try:
            result = await self._read_facts(event, turn_ids, tally, context)
        except AWAY as error:
            if event.tries + 1 < _MOST_TRIES:
                return await self._put_off(event, event.tries + 1, _pause(event.tries), error.detail, queue)
            result = tally.close(event, EventState.FAILED, error.detail)
        await queue.end(result, drop_before=context.clock() - _KEPT_DAYS * DAY_MS)
        return result

    def _hindrance(self, event: Event) -> tuple[int, str]:
        """Return how many milliseconds the conversation has to wait, and why; 0 if it can be read now."""
        if event.conversation is None or not event.conversation.infer:
            return 0, ""
        if self.extractor is None:  # switched off since the conversation was accepted
            return _LONGEST_PAUSE_MS, "the extractor is switched off"
        free = self.extractor.local or event.found is not None
        wait = 0 if free else self._allowance.wait_ms()
        return wait, "the extractor's budget is spent"

    async def _put_off(self, event: Event, tries: int, pause: int, error: str, queue: IngestQueue) -> Event:
        due = self._context.clock() + pause
        await queue.postpone(event.id, tries=tries, due_at=due, error=error)
        self.wake()
        return replace(event, tries=tries, due_at=due, error=error)

    async def _read(self, event: Event, context: Context) -> Event:
        tally = Tally()
        context = await context.serving(event.scope)
        turn_ids = await self._keep_turns(event, tally, context)
        return await self._read_facts(event, turn_ids, tally, context)

    async def _keep_turns(self, event: Event, tally: Tally, context: Context) -> list[str | None]:
        """Store the turns; return their ids, None for those without a live memory; empty without `infer`."""
        conversation = event.conversation or Conversation(turns=())
        ids = await keep_turns(event, conversation, tally, context)
        if not conversation.infer:
            return []
        live = {record.id for record in await context.store.get(event.scope, ids)}
        return [id if id in live else None for id in ids]

    async def _read_facts(
        self, event: Event, turn_ids: Sequence[str | None], tally: Tally, context: Context
    ) -> Event:
        conversation = event.conversation or Conversation(turns=())
        if conversation.infer and self.extractor is not None:
            facts = event.found if event.found is not None else await self._extract(event, conversation)
            if not self.extractor.local:
                facts = drop_unsupported(facts, conversation)
            requests = build_fact_requests(event, conversation, facts, self.extractor.name, turn_ids)
            await keep_facts(requests, tally, context)
        else:
            tally.memories = list(tally.turns)
        return tally.close(event, EventState.DONE)

    async def _extract(self, event: Event, conversation: Conversation) -> tuple[Fact, ...]:
        """Extract the facts; saves those of a remote extractor, which may answer differently on a retry."""
        if self.extractor is None:
            return ()
        extraction = await self._breaker(
            "extract", partial(self._ask_extractor, self.extractor, event, conversation)
        )
        clean = [replace(fact, text=self._context.without_secrets(fact.text) or "") for fact in extraction]
        if not self.extractor.local and self._queue is not None:
            await self._queue.set_facts(event.id, clean)
        return tuple(clean)

    async def _ask_extractor(
        self, extractor: Extractor, event: Event, conversation: Conversation
    ) -> Sequence[Fact]:
        """Call the extractor, and count the call unless it is local; called through the circuit breaker."""
        if not extractor.local:
            self._allowance.spend()
        return await extractor.extract(conversation, event.scope)


def _pause(tries: int) -> int:
    return int(min(_FIRST_PAUSE_MS * 2 ** min(tries, 30), _LONGEST_PAUSE_MS))


def _without_secrets(conversation: Conversation, context: Context) -> Conversation:
    """Redact secrets from the conversation, so that it can be stored while it waits."""
    if context.governance is None:
        return conversation
    metadata, _ = context.governance.redactor.json(conversation.metadata, "metadata")
    turns = tuple(
        replace(
            turn,
            role=context.without_secrets(turn.role) or "",
            content=context.without_secrets(turn.content) or "",
            name=context.without_secrets(turn.name),
        )
        for turn in conversation.turns
    )
    session = context.without_secrets(conversation.session_id)
    return replace(conversation, turns=turns, metadata=metadata, session_id=session)


class Asked(Struct, frozen=True, kw_only=True):
    """A query to the layer, with the kinds of memory to search."""

    scope: Scope
    query: str
    top_k: int
    min_relevance: MinRelevance = "auto"
    sources: tuple[Kind, ...] = tuple(Kind)
    owners: Owners | None = None


async def find_facts(question: Asked, usual: Context) -> FoundFacts:
    """Find the facts that answer the query; key-value entries are excluded."""
    from memorywire.pipeline.recall import recall  # ranking is loaded when it is first needed

    context = await usual.serving(question.scope)
    request = Recall(
        scope=question.scope,
        query=question.query,
        k=min(question.top_k * 2, MOST_HITS) if Kind.TURN in question.sources else question.top_k,
        min_relevance=question.min_relevance,
        filter=Or(tuple(_KINDS[kind] for kind in question.sources)),
        owners=question.owners,
    )
    answer = await recall(request, context)
    return FoundFacts(
        facts=tuple(_fact(hit) for hit in _drop_origins(answer.hits)[: question.top_k]),
        verdict=answer.verdict,
        sources=question.sources,
        recall_id=answer.recall_id,
    )


def _drop_origins(hits: Sequence[Hit]) -> list[Hit]:
    """Drop turns from which another hit was derived: the derived fact replaces its turn."""
    origins = {id for hit in hits for id in hit.record.derived_from}
    return [hit for hit in hits if hit.record.id not in origins or not _KINDS[Kind.TURN].matches(hit.record)]


def _fact(hit: Hit) -> FoundFact:
    record = hit.record
    content = record.content
    return FoundFact(
        id=record.id,
        memory=content if isinstance(content, str) else json.dumps(content, ensure_ascii=False),
        score=hit.score,
        kind=next(kind for kind in Kind if _KINDS[kind].matches(record)),
        metadata=record.metadata,
    )


def _kind(kind: Kind) -> Filter:
    return Compare(("metadata", MARK, "kind"), Operator.EQ, kind.value)


_KINDS: dict[Kind, Filter] = {
    Kind.FACT: _kind(Kind.FACT),
    Kind.TURN: _kind(Kind.TURN),
    Kind.NOTE: And(
        (
            Not(Or((_kind(Kind.FACT), _kind(Kind.TURN)))),
            Compare(("metadata", KEYED, "of"), Operator.EXISTS, False),
        )
    ),
}
