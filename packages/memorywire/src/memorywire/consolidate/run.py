"""A night: passes over an agent's memory, tried on a draft, judged, rehearsed, committed as one change."""

from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping, Sequence

from msgspec import Struct, field
from msgspec.structs import replace

from memorywire.consolidate.conflicts import conflicts
from memorywire.consolidate.decay import over_caps, over_time
from memorywire.consolidate.draft import Draft
from memorywire.consolidate.duplicates import exact, near, semantic
from memorywire.consolidate.gather import Group, repetitions, sessions
from memorywire.consolidate.likeness import Vectors
from memorywire.consolidate.people import People, asked_of_people
from memorywire.consolidate.probes import Probe, rehearse
from memorywire.consolidate.runs import brought_back
from memorywire.consolidate.steps import DREAM, Dreamed, Result, Step
from memorywire.consolidate.thinking import Thinking, Thought, expected, think
from memorywire.consolidate.thresholds import Thresholds, fitted
from memorywire.journal.contract import Act
from memorywire.model.change import Change
from memorywire.model.consolidation import OFF, ConsolidationSettings, Limits, Retention
from memorywire.model.errors import EmbedderNotConfigured
from memorywire.model.kv import MARK as KEYED
from memorywire.model.layer import MARK as LAYER
from memorywire.model.layer import Kind
from memorywire.model.record import Record, Scope
from memorywire.model.where import Where
from memorywire.pipeline.commit import Plan
from memorywire.pipeline.context import Context
from memorywire.pipeline.extract import open_chat
from memorywire.pipeline.govern import case_of, hold
from memorywire.pipeline.ledger import entry_of
from memorywire.pipeline.outbox import carry_out
from memorywire.policy.judge import Judgement, judge
from memorywire.policy.rules import Verdict
from memorywire.stores.contract import SupportsChangeLog


class ConsolidationRun(Struct, frozen=True, kw_only=True):
    """What one run may do: its limits, the retention, and the questions that must not be answered worse.

    Without `thinking` no model is asked.
    """

    limits: Limits = field(default_factory=Limits)
    retention: Retention = field(default_factory=Retention)
    probes: tuple[Probe, ...] = ()
    thinking: Thinking | None = None
    dry_run: bool = False


def night_of(sleep: ConsolidationSettings) -> ConsolidationRun:
    """The night that these settings describe."""
    chat = None if sleep.model == OFF else open_chat(sleep.model, api_key=sleep.key, field="model")
    return ConsolidationRun(
        limits=sleep.limits,
        retention=sleep.retention,
        thinking=None if chat is None else Thinking(chat, sleep.spending),
    )


async def dream(scope: Scope, context: Context, night: ConsolidationRun) -> Dreamed:
    """One run over the memories of the scope. Nothing is deleted; what is done is one change, or none.

    What a model makes of the memories, as they are then, is proposed to a person.
    """
    context.historian(DREAM)
    run = _Run(scope, context, night)
    done = await run.made()
    return replace(done, thought=(await run.thought()).document())


class _Run:
    """One run while it is under way."""

    def __init__(self, scope: Scope, context: Context, night: ConsolidationRun) -> None:
        self.scope = scope
        self.context = context
        self.night = night
        self.began = context.clock()
        self.left = 0
        self.people = People()
        self.spared: frozenset[str] = frozenset()
        self.held: list[tuple[Step, Plan, Judgement]] = []
        self.refused: list[tuple[str, Step]] = []
        self.thresholds: Thresholds | None = None

    async def made(self) -> Dreamed:
        found = [record for record in await self._alive() if _free_to_change(record)]
        earlier = [said async for said in self._earlier(found)]
        self.people = await asked_of_people(self.scope, self.context)
        self.spared = await brought_back(self.scope, self.context)
        self.draft = Draft(found, self.began, frozen=self.people.waiting, earlier=earlier)
        self.thresholds = await self._fitted()
        vectors = await self._vectors([*found, *(record for record, _ in earlier)])
        for make in self._passes(vectors):
            for step in list(make()):
                await self._consider(step)
        done = Dreamed(
            result=Result.CALM,
            memories=len(found),
            steps=tuple(self.draft.steps),
            refused=tuple(self.refused),
            left=self.left,
        )
        return await self._settled(done, found, vectors)

    async def thought(self) -> Thought:
        """What a model makes of the memories, or why none is asked."""
        thinking = self.night.thinking
        if thinking is None:
            return Thought()
        if self.context.office is None:
            return Thought(problem="nobody could propose anything: no journal is wired here")
        records = [record for record in await self._alive() if KEYED not in record.metadata]
        groups = [*sessions(records), *await self._repetitions(records)]
        if self.night.dry_run:
            return await expected(groups, self.context, thinking)
        until = self.began + int(self.night.limits.seconds * 1000)
        return await think(groups, records, self.context, thinking, until)

    async def _repetitions(self, records: Sequence[Record]) -> list[Group]:
        if self.thresholds is None:
            return []
        return list(repetitions(records, await self._vectors(records), self.thresholds.related))

    async def _alive(self) -> list[Record]:
        where = Where(scope=self.scope, alive_at=self.began)
        return [record async for record in self.context.all_matching(where)]

    async def _earlier(self, found: Sequence[Record]) -> AsyncIterator[tuple[Record, str]]:
        """The statements that were merged into these memories on former nights."""
        historian = self.context.historian(DREAM)
        for record in found:
            for id in record.merged_from:
                history = await historian.history(self.scope, id)
                if history and history[-1].record is not None:
                    yield history[-1].record, record.id

    def _passes(self, vectors: Vectors) -> Iterator[Callable[[], Iterable[Step]]]:
        draft, retention, now = self.draft, self.night.retention, self.began
        thresholds = self.thresholds
        yield lambda: exact(draft.free, retention)
        yield lambda: near(draft.free, retention)
        if thresholds is not None:
            yield lambda: semantic(draft.wordings, vectors, thresholds, retention)
        yield lambda: conflicts(draft.wordings, retention)
        yield lambda: over_time(draft.free, retention, now)
        yield lambda: over_caps(draft.free, retention)

    async def _fitted(self) -> Thresholds | None:
        """The thresholds of likeness in this embedding space; None without an embedder."""
        try:
            return await fitted(self.context.embedder)
        except EmbedderNotConfigured:
            return None

    async def _vectors(self, records: Sequence[Record]) -> Vectors:
        return {} if self.thresholds is None else await vectors_of(records, self.context)

    async def _consider(self, step: Step) -> None:
        """Take the step, hold it for a person, or leave it: for another night, or because a rule says so."""
        free = {record.id for record in self.draft.free}
        if not step.touched <= free or self._unwanted(step):
            return
        if self._full(step):
            self.left += 1
            return
        plan = self.draft.plan(step, self.context.mint())
        judgement = await self._judged(step, plan)
        if judgement.verdict is Verdict.ALLOW:
            self.draft.take(step)
            return
        self.draft.freeze(step)
        if judgement.verdict is Verdict.HOLD and step.kept is not None and self.context.office is not None:
            self.held.append((step, plan, judgement))
        else:
            self.refused.append((judgement.rule, step))

    def _unwanted(self, step: Step) -> bool:
        """Whether a person has rejected or taken back the same before."""
        return self.people.refused(step.touched) or not self.spared.isdisjoint(step.ids)

    def _full(self, step: Step) -> bool:
        taken = sum(len(one.ids) for one in self.draft.steps)
        late = self.context.clock() - self.began > self.night.limits.seconds * 1000
        return late or taken + len(step.ids) > self.night.limits.allowed(len(self.draft.first))

    async def _judged(self, step: Step, plan: Plan) -> Judgement:
        """The policy's verdict on the step; what the dream itself doubts is at least held."""
        doubted = Judgement(verdict=Verdict.HOLD, rule=DREAM, reason=step.why)
        if self.context.office is None:
            return doubted if not step.sure else replace(doubted, verdict=Verdict.ALLOW)
        policy = await self.context.office.rulebook.policy(self.scope.tenant)
        judgement = judge(await case_of(plan, self.context, policy), policy)
        return doubted if judgement.verdict is Verdict.ALLOW and not step.sure else judgement

    async def _settled(self, done: Dreamed, found: Sequence[Record], vectors: Vectors) -> Dreamed:
        """Rehearse on a copy, then commit all steps at once, then propose what was held."""
        change = self.draft.change(self.context.mint(), self.scope, _reason(done.steps))
        if self.night.probes and done.steps and vectors:
            probed = await rehearse(self.night.probes, found, vectors, change, self.context)
            done = replace(done, probes=probed.document())
            if probed.worse:
                return replace(done, result=Result.DISCARDED)
        if self.night.dry_run:
            proposed = tuple(("", step) for step, _, _ in self.held)
            return replace(done, result=Result.REHEARSED, proposed=proposed)
        if done.steps:
            await self._commit(change, done.steps)
            done = replace(done, result=Result.COMMITTED, run=change.id)
        return replace(done, proposed=tuple([(await self._propose(*held), held[0]) for held in self.held]))

    async def _commit(self, change: Change, steps: Sequence[Step]) -> None:
        if self.context.office is None:
            await self.context.store.write(change)
            return
        entry = entry_of(change, "committed", self.context, steps=[step.document() for step in steps])
        await carry_out(change, Act(entries=(entry,)), self.context)

    async def _propose(self, step: Step, plan: Plan, judgement: Judgement) -> str:
        policy = await self.context.governance.rulebook.policy(self.scope.tenant)
        case = await case_of(plan, self.context, policy)
        done = await hold(plan, case, judgement, policy, self.context)
        return done.proposal_id or ""


async def vectors_of(records: Sequence[Record], context: Context) -> Vectors:
    """What the store keeps, where it hands vectors out, and for the others new ones."""
    kept: list[bytes | None] = [None] * len(records)
    if isinstance(context.store, SupportsChangeLog) and records:
        named = [(record.id, record.version) for record in records]
        kept = await context.store.vectors(records[0].scope.tenant, named)
    missing = [record for record, vector in zip(records, kept, strict=True) if vector is None]
    made = iter(await context.embedder.embed([record.meaning for record in missing]))
    return {
        record.id: next(made) if vector is None else vector
        for record, vector in zip(records, kept, strict=True)
    }


def _free_to_change(record: Record) -> bool:
    """Whether a dream may change it: values of keys and turns of conversations stay as they were said."""
    marked = record.metadata.get(LAYER)
    turn = isinstance(marked, Mapping) and marked.get("kind") == Kind.TURN
    return KEYED not in record.metadata and not turn


def _reason(steps: Sequence[Step]) -> str:
    counts = Counter(step.name.value for step in steps)
    return "dreamed: " + ", ".join(f"{count} {name}" for name, count in counts.items())
