"""Short-term memory: valuable memories become semantic memories, cold ones are archived.

Short-term memories are those with the tag `short-term`, grouped by session, and, with a window of N, the
newest N of each agent and user. Recency, salience and confidence score them. Changes are ordinary remembers
and archivings: judged, recorded, and undoable. A second round writes nothing.
"""

import heapq
from collections import Counter
from collections.abc import Mapping, Sequence

from msgspec import Struct
from msgspec.structs import replace

from memorywire.model.answers import Remembered
from memorywire.model.clock import DAY_MS
from memorywire.model.consolidation import ConsolidationSettings, Promoted, Promotion, Retention
from memorywire.model.errors import Conflict, NotFound, Refused
from memorywire.model.kv import MARK as KEYED
from memorywire.model.layer import MARK as LAYER
from memorywire.model.layer import Kind
from memorywire.model.query import Compare, Operator, Where
from memorywire.model.record import RECALLABLE, MemoryType, Record, Scope, Standing, Trust
from memorywire.model.requests import Remember
from memorywire.pipeline.commit import build_case, commit_one
from memorywire.pipeline.context import Context
from memorywire.pipeline.forget import plan_archive
from memorywire.pipeline.plan import Plan
from memorywire.pipeline.remember import plan_remember, remember, sanitize
from memorywire.pipeline.scan import asking
from memorywire.policy.judge import judge
from memorywire.policy.rules import Verdict
from memorywire.search.text import terms
from memorywire_consolidate.runs import Decisions, load_decisions

SHORT_TERM = "short-term"
_HOUR_MS = DAY_MS // 24
_EVENTS = frozenset({MemoryType.EPISODIC, MemoryType.EMOTIONAL})
"""The types that a window includes: facts and procedures are long-term from the start."""


class Window(Struct, frozen=True, kw_only=True):
    """The weights of a score from 0 to 1, the score for promotion, and when a memory is cold.

    The score combines recency, salience (how often other memories mention it) and confidence. A memory is
    cold if it scores below `cold` for longer than `rest_ms`, is older than `age_ms`, or is beyond `most`.
    """

    half_life_ms: int
    worth: float = 0.6
    cold: float = 0.0
    rest_ms: int = 0
    age_ms: int | None = None
    most: int | None = None
    recency: float = 0.2
    salience: float = 0.5
    confidence: float = 0.3


SESSION = Window(half_life_ms=_HOUR_MS, age_ms=6 * _HOUR_MS, most=50)
"""For notes with the tag: a session ends within hours."""

NEWEST = Window(half_life_ms=DAY_MS, cold=0.35, rest_ms=DAY_MS)
"""For the newest memories of a user: cold means neither used for a day nor mentioned again."""


async def promote(
    scope: Scope,
    context: Context,
    settings: ConsolidationSettings,
    *,
    session: Window = SESSION,
    dry_run: bool = False,
) -> Promotion:
    """Promote or archive the short-term memories of the scope, once."""
    now = context.clock()
    decisions = await load_decisions(scope, context)
    round = _Round(context, decisions, settings.retention, dry_run)
    for window, memories in await _load_windows(scope, context, settings, session):
        scores = zip(score_memories(memories, window, now), memories, strict=True)
        by_score = sorted(scores, key=lambda pair: (-pair[0], pair[1].id))
        rest = [(score, record) for score, record in by_score if score < window.worth]
        for _, record in by_score[: len(by_score) - len(rest)]:
            await round.promote(record)
        for at, (score, record) in enumerate(rest):
            if _is_cold(record, score, at, window, now):
                await round.evict(record)
        round.memories += len(memories)
    return round.report()


def _is_cold(record: Record, score: float, rank: int, window: Window, now: int) -> bool:
    idle = now - _last_use(record)
    return (
        (score < window.cold and idle > window.rest_ms)
        or (window.age_ms is not None and idle > window.age_ms)
        or (window.most is not None and rank >= window.most)
    )


async def _load_windows(
    scope: Scope, context: Context, settings: ConsolidationSettings, session: Window
) -> list[tuple[Window, list[Record]]]:
    """Return the short-term memories in the groups that are scored together."""
    is_note = Compare(("tags",), Operator.EQ, SHORT_TERM)
    where = Where(scope=scope, alive_at=context.clock(), standings=frozenset(Standing))
    sessions: dict[object, list[Record]] = {}
    async for record in context.all_matching(replace(where, filter=is_note, standings=RECALLABLE)):
        sessions.setdefault((record.scope, record.session_id), []).append(record)
    groups = [(session, notes) for notes in sessions.values()]
    if settings.window:
        newest: dict[Scope, list[tuple[int, str, Record]]] = {}
        # Count archived ones too: an archived memory must not draw older ones into the window.
        async for record in context.all_matching(where):
            if is_changeable(record) and not record.derived_from:
                heap = newest.setdefault(record.scope, [])
                heapq.heappush(heap, (record.created_at, record.id, record))
                if len(heap) > settings.window:
                    heapq.heappop(heap)
        for heap in newest.values():
            records = [record for _, _, record in sorted(heap, reverse=True)]
            groups.append((NEWEST, list(filter(_is_event, records))))
    return groups


def _is_event(record: Record) -> bool:
    return record.type in _EVENTS and record.standing in RECALLABLE and SHORT_TERM not in record.tags


def is_changeable(record: Record) -> bool:
    """Return whether consolidation may change the record; not key-value entries and conversation turns."""
    layer = record.metadata.get(LAYER)
    is_turn = isinstance(layer, Mapping) and layer.get("kind") == Kind.TURN
    return KEYED not in record.metadata and not is_turn


def score_memories(memories: Sequence[Record], window: Window, now: int) -> list[float]:
    """Return the score of each memory among the others."""
    words = [frozenset(terms(memory.words)) for memory in memories]
    mentions = Counter(term for each in words for term in each)
    return [
        window.recency * 0.5 ** ((now - _last_use(memory)) / window.half_life_ms)
        + window.salience * _measure_salience(each, mentions)
        + window.confidence * memory.confidence
        for memory, each in zip(memories, words, strict=True)
    ]


def _last_use(record: Record) -> int:
    return max(record.created_at, record.recalled_at or 0)


def _measure_salience(words: frozenset[str], mentions: Counter[str]) -> float:
    """Return 0 for a memory that no other mentions; 1 from three mentions of its words on, on average."""
    again = sum(min(mentions[word] - 1, 2) for word in words)
    return again / (2 * len(words)) if words else 0.0


class _Round:
    """One round over the short-term memories, and its results."""

    def __init__(self, context: Context, decisions: Decisions, retention: Retention, dry_run: bool) -> None:
        self._context = context
        self._decisions = decisions
        self._retention = retention
        self._dry_run = dry_run
        self.memories = 0
        self._promoted: list[Promoted] = []
        self._archived: list[str] = []
        self._staged: list[str] = []
        self._refused: list[str] = []

    def report(self) -> Promotion:
        return Promotion(
            memories=self.memories,
            promoted=tuple(self._promoted),
            archived=tuple(self._archived),
            staged=tuple(self._staged),
            refused=tuple(self._refused),
        )

    async def promote(self, record: Record) -> None:
        """Make a memory long-term: a fact loses its tag; any other type gets a new fact derived from it."""
        if record.trust is Trust.UNTRUSTED or await self._is_settled(record):
            return
        request, context = _ask_to_keep(record), self._context
        try:
            planned = await plan_remember(sanitize(request, context), context, context.clock())
            if not isinstance(planned, Remembered) and await self._is_refused(planned.plan, record):
                return
            if self._dry_run:
                self._promoted.append(Promoted(id=record.id, into=request.id))
                return
            receipt = await remember(request, context)
            if receipt.pending_approval:
                self._staged.append(record.id)
                return
            if request.id is None:
                await commit_one(plan_archive(record, context), context)
        except (Conflict, NotFound, Refused):
            return  # it changed in the meantime, or a person rejected it
        self._promoted.append(Promoted(id=record.id, into=receipt.id))

    async def evict(self, record: Record) -> None:
        """Archive a cold memory."""
        if await self._is_settled(record):
            return
        plan = plan_archive(record, self._context)
        if await self._is_refused(plan, record):
            return
        try:
            is_staged = not self._dry_run and (await commit_one(plan, self._context)).is_staged
        except Conflict:
            return  # it changed in the meantime
        (self._staged if is_staged else self._archived).append(record.id)

    async def _is_settled(self, record: Record) -> bool:
        """Return whether it is pinned, awaits a decision of a person, or was decided by one."""
        if self._retention.pinned(record) or record.id in self._decisions.waiting:
            return True
        if self._decisions.is_rejected(frozenset({record.id})):
            return True
        if record.version == 1:
            return False
        # A memory that was archived and is active again was restored by a person.
        history = await self._context.historian("promote").history(record.scope, record.id)
        return any(one.record is not None and one.record.standing is Standing.ARCHIVED for one in history)

    async def _is_refused(self, plan: Plan, record: Record) -> bool:
        """Return whether a rule refuses the plan; asked first, so that not every round records a refusal."""
        if self._context.governance is None:
            return False
        policy = await self._context.governance.rulebook.policy(record.scope.tenant)
        judgement = judge(await build_case(plan, self._context, policy), policy)
        if judgement.verdict is Verdict.REFUSE:
            self._refused.append(record.id)
            return True
        return False


def _ask_to_keep(record: Record) -> Remember:
    """Return the request that makes a memory long-term."""
    lasting = tuple(tag for tag in record.tags if tag != SHORT_TERM)
    request = replace(asking(record, hold=False), tags=lasting, derived_from=record.derived_from)
    if record.type is MemoryType.SEMANTIC:
        return request
    return replace(
        request,
        type=MemoryType.SEMANTIC,
        id=None,
        if_version=None,
        derived_from=(record.id,),
        # One promotion per memory: a second round gets the receipt of the first.
        idempotency_key=f"promote:{record.id}",
    )
