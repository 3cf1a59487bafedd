"""One consolidation run.

Passes propose steps, each step is applied to a draft and judged by the policy, the result is tested on a
copy, and all steps are committed as one change.
"""

from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Sequence
from contextlib import suppress

from msgspec import Struct, field
from msgspec.structs import replace

from memorywire.journal.acts import Act
from memorywire.model.consolidation import (
    DREAM,
    OFF,
    ConsolidationSettings,
    Limits,
    Probe,
    Result,
    Retention,
    RunResult,
    Step,
)
from memorywire.model.errors import EmbedderNotConfigured
from memorywire.model.kv import MARK as KEYED
from memorywire.model.query import Where
from memorywire.model.record import Record, Scope
from memorywire.pipeline.commit import build_case, hold
from memorywire.pipeline.context import Context
from memorywire.pipeline.extract import open_chat
from memorywire.pipeline.plan import Plan, entry_of
from memorywire.pipeline.transaction import Transaction
from memorywire.policy.judge import Judgement, judge
from memorywire.policy.rules import Verdict
from memorywire.stores.contract import SupportsChangeLog
from memorywire_consolidate.likeness import Thresholds, Vectors, fit_thresholds
from memorywire_consolidate.passes import (
    find_conflicts,
    find_exact,
    find_excess,
    find_near,
    find_semantic,
    find_unused,
)
from memorywire_consolidate.probes import rehearse
from memorywire_consolidate.runs import Decisions, find_restored_ids, load_decisions
from memorywire_consolidate.short_term import is_changeable
from memorywire_consolidate.steps import Draft
from memorywire_consolidate.summaries import (
    ModelReport,
    ModelSettings,
    ask_model,
    estimate_model,
    group_repetitions,
    group_sessions,
)


class ConsolidationRun(Struct, frozen=True, kw_only=True):
    """The options of one run: limits, retention, and the probes whose recall must not fall.

    Without `model` no model is asked for summaries and procedures.
    """

    limits: Limits = field(default_factory=Limits)
    retention: Retention = field(default_factory=Retention)
    probes: tuple[Probe, ...] = ()
    model: ModelSettings | None = None
    dry_run: bool = False


def build_run(settings: ConsolidationSettings) -> ConsolidationRun:
    """Return the run that the settings describe."""
    chat = None if settings.model == OFF else open_chat(settings.model, api_key=settings.key, field="model")
    return ConsolidationRun(
        limits=settings.limits,
        retention=settings.retention,
        model=None if chat is None else ModelSettings(chat, settings.spending),
    )


async def dream(scope: Scope, context: Context, options: ConsolidationRun) -> RunResult:
    """Consolidate the memories of the scope. Deletes nothing; commits one change, or none.

    Texts that a model writes from the memories are proposed to a person.
    """
    context.historian(DREAM)
    run = _Run(scope, context, options)
    result = await run.execute()
    return replace(result, model=(await run.ask_model()).document())


class _Run:
    """The state of a run in progress."""

    def __init__(self, scope: Scope, context: Context, options: ConsolidationRun) -> None:
        self.scope = scope
        self.context = context
        self.options = options
        self.started_at = context.clock()
        self.skipped = 0
        self.decisions = Decisions()
        self.restored_ids: frozenset[str] = frozenset()
        self.proposals: list[tuple[Step, Plan, Judgement]] = []
        self.refused: list[tuple[str, Step]] = []
        self.thresholds: Thresholds | None = None

    async def execute(self) -> RunResult:
        records = [record for record in await self._load_live() if is_changeable(record)]
        earlier = [pair async for pair in self._load_merged(records)]
        self.decisions = await load_decisions(self.scope, self.context)
        self.restored_ids = await find_restored_ids(self.scope, self.context)
        self.draft = Draft(records, self.started_at, frozen=self.decisions.waiting, earlier=earlier)
        with suppress(EmbedderNotConfigured):
            self.thresholds = await fit_thresholds(self.context.embedder)
        vectors = await self._load_vectors([*records, *(record for record, _ in earlier)])
        for find_steps in self._passes(vectors):
            for step in list(find_steps()):
                await self._consider(step)
        result = RunResult(
            result=Result.CALM,
            memories=len(records),
            steps=tuple(self.draft.steps),
            refused=tuple(self.refused),
            left=self.skipped,
        )
        return await self._finish(result, records, vectors)

    async def ask_model(self) -> ModelReport:
        """Ask the model for summaries and procedures, or report why it is not asked."""
        model = self.options.model
        if model is None:
            return ModelReport()
        if self.context.governance is None:
            return ModelReport(problem="proposals need a journal, and none is configured")
        records = [record for record in await self._load_live() if KEYED not in record.metadata]
        groups = list(group_sessions(records))
        if self.thresholds is not None:
            vectors = await self._load_vectors(records)
            groups += group_repetitions(records, vectors, self.thresholds.related)
        if self.options.dry_run:
            return await estimate_model(groups, self.context, model)
        deadline = self.started_at + int(self.options.limits.seconds * 1000)
        return await ask_model(groups, records, self.context, model, deadline)

    async def _load_live(self) -> list[Record]:
        where = Where(scope=self.scope, alive_at=self.started_at)
        return [record async for record in self.context.all_matching(where)]

    async def _load_merged(self, records: Sequence[Record]) -> AsyncIterator[tuple[Record, str]]:
        """Yield the records that earlier runs merged into these, each with the id of its survivor."""
        historian = self.context.historian(DREAM)
        for record in records:
            for id in record.merged_from:
                history = await historian.history(self.scope, id)
                if history and history[-1].record is not None:
                    yield history[-1].record, record.id

    def _passes(self, vectors: Vectors) -> Iterator[Callable[[], Iterable[Step]]]:
        draft, retention, now = self.draft, self.options.retention, self.started_at
        thresholds = self.thresholds
        yield lambda: find_exact(draft.free, retention)
        yield lambda: find_near(draft.free, retention)
        if thresholds is not None:
            yield lambda: find_semantic(draft.wordings, vectors, thresholds, retention)
        yield lambda: find_conflicts(draft.wordings, retention)
        yield lambda: find_unused(draft.free, retention, now)
        yield lambda: find_excess(draft.free, retention)

    async def _load_vectors(self, records: Sequence[Record]) -> Vectors:
        return {} if self.thresholds is None else await load_vectors(records, self.context)

    async def _consider(self, step: Step) -> None:
        """Take the step, propose it to a person, or skip it: for a later run, or because a rule refuses."""
        free = {record.id for record in self.draft.free}
        # A step that a person rejected or undid before is not made again.
        is_rejected = self.decisions.is_rejected(step.touched) or not self.restored_ids.isdisjoint(step.ids)
        if not step.touched <= free or is_rejected:
            return
        if self._exceeds_limits(step):
            self.skipped += 1
            return
        plan = self.draft.plan(step, self.context.mint())
        judgement = await self._judge(step, plan)
        if judgement.verdict is Verdict.ALLOW:
            self.draft.take(step)
            return
        self.draft.freeze(step)
        can_propose = step.kept is not None and self.context.governance is not None
        if judgement.verdict is Verdict.HOLD and can_propose:
            self.proposals.append((step, plan, judgement))
        else:
            self.refused.append((judgement.rule, step))

    def _exceeds_limits(self, step: Step) -> bool:
        touched_count = sum(len(one.ids) for one in self.draft.steps)
        late = self.context.clock() - self.started_at > self.options.limits.seconds * 1000
        return late or touched_count + len(step.ids) > self.options.limits.allowed(len(self.draft.first))

    async def _judge(self, step: Step, plan: Plan) -> Judgement:
        """Return the verdict of the policy; a step that is not sure is at least held."""
        held = Judgement(verdict=Verdict.HOLD, rule=DREAM, reason=step.why)
        if self.context.governance is None:
            return held if not step.sure else replace(held, verdict=Verdict.ALLOW)
        policy = await self.context.governance.rulebook.policy(self.scope.tenant)
        judgement = judge(await build_case(plan, self.context, policy), policy)
        return held if judgement.verdict is Verdict.ALLOW and not step.sure else judgement

    async def _finish(self, result: RunResult, records: Sequence[Record], vectors: Vectors) -> RunResult:
        """Test the result on a copy, commit all steps as one change, then propose the held steps."""
        counts = Counter(step.name.value for step in result.steps)
        reason = "dreamed: " + ", ".join(f"{count} {name}" for name, count in counts.items())
        change = self.draft.change(self.context.mint(), self.scope, reason)
        if self.options.probes and result.steps and vectors:
            rehearsal = await rehearse(self.options.probes, records, vectors, change, self.context)
            result = replace(result, probes=rehearsal.document())
            if rehearsal.is_worse:
                return replace(result, result=Result.DISCARDED)
        if self.options.dry_run:
            proposed_steps = tuple(("", step) for step, _, _ in self.proposals)
            return replace(result, result=Result.REHEARSED, proposed=proposed_steps)
        if result.steps:
            if self.context.governance is None:
                await self.context.store.write(change)
            else:
                steps = [step.document() for step in result.steps]
                entry = entry_of(change, "committed", self.context, steps=steps)
                await Transaction(self.context).commit_one(change, Act(entries=(entry,)))
            result = replace(result, result=Result.COMMITTED, run=change.id)
        proposed_steps = tuple([(await self._propose(*proposal), proposal[0]) for proposal in self.proposals])
        return replace(result, proposed=proposed_steps)

    async def _propose(self, step: Step, plan: Plan, judgement: Judgement) -> str:
        policy = await self.context.require_governance().rulebook.policy(self.scope.tenant)
        case = await build_case(plan, self.context, policy)
        receipt = await hold(plan, case, judgement, policy, self.context)
        return receipt.proposal_id or ""


async def load_vectors(records: Sequence[Record], context: Context) -> Vectors:
    """Return the stored vectors of the records, and embed those that the store does not return."""
    vectors: list[bytes | None] = [None] * len(records)
    if isinstance(context.store, SupportsChangeLog) and records:
        versions = [(record.id, record.version) for record in records]
        vectors = await context.store.vectors(records[0].scope.tenant, versions)
    missing = [record for record, vector in zip(records, vectors, strict=True) if vector is None]
    new_vectors = iter(await context.embedder.embed([record.meaning for record in missing]))
    return {
        record.id: next(new_vectors) if vector is None else vector
        for record, vector in zip(records, vectors, strict=True)
    }
