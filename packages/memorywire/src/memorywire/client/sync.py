"""The blocking client: the async one, run on a loop of its own in one background thread."""

from collections.abc import AsyncGenerator, Callable, Coroutine, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from datetime import datetime
from os import PathLike
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self, TypeVar, Unpack

from memorywire.client.bulk import Result
from memorywire.client.memory import Memory as AsyncMemory
from memorywire.client.options import (
    AuditOptions,
    DecideOptions,
    ExpireOptions,
    FacetOptions,
    FeedbackOptions,
    ForgetOptions,
    HelpedName,
    ListOptions,
    MergeOptions,
    ProposalsOptions,
    ReachOptions,
    RecallOptions,
    RecallsOptions,
    RememberOptions,
    ScopeOption,
    TrialOptions,
    VerbName,
)
from memorywire.model.answers import Expired, Forgotten, Merged, Page, Recalled, Remembered, Undone
from memorywire.model.capabilities import Capabilities
from memorywire.model.change import Change, Version
from memorywire.model.proposal import Debt
from memorywire.model.record import Json, Record
from memorywire.model.review import Decided, ProposalPage, Reviewed
from memorywire.model.rulings import Reasons, Reverted, RuleBook, RuleTrial
from memorywire.model.survey import AgentList, FacetCounts, Judged, RecallPage
from memorywire.runtime.portal import Portal

if TYPE_CHECKING:  # what few ask for is loaded by those who do
    from memorywire.client.blocking_contracts import BlockingHarness, BlockingKeyValue, BlockingLayer
    from memorywire.client.procedures import BlockingProcedure
    from memorywire.journal.audit import Examination
    from memorywire.journal.events import Event
    from memorywire.model.findings import Cleared, Scanned
    from memorywire.model.recovery import Recovered

A = TypeVar("A")


class Memory:
    """The same verbs as `memorywire.Memory`, for code without an event loop; safe to share by threads.

    >>> with Memory(agent_id="demo", stores=["memory://"]) as memory:
    ...     receipt = memory.remember("The deploy key rotates on the first of the month")
    ...     found = memory.recall("when is the deploy key rotated?")
    >>> receipt.status.value, found.hits[0].id == receipt.id
    ('committed', True)
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        """Takes what the async client takes."""
        self._memory = AsyncMemory(*args, **kwargs)
        self._portal = Portal()

    def events(self, after: int | None = None) -> "Iterator[Event]":
        """As the async client's; each step waits for the next event."""
        feed = self._memory.events(after)
        try:
            while True:
                yield self._run(_following(feed))
        except StopAsyncIteration:
            return
        finally:
            self._run(feed.aclose())

    def _run(self, work: Coroutine[Any, Any, A]) -> A:
        return self._portal.run(work)

    def remember(self, content: str | Mapping[str, Any], **options: Unpack[RememberOptions]) -> Remembered:
        return self._run(self._memory.remember(content, **options))

    def remember_many(
        self,
        items: Iterable[str | Mapping[str, Any]],
        *,
        on_progress: Callable[[int], None] | None = None,
    ) -> list[Result]:
        return self._run(self._memory.remember_many(items, on_progress=on_progress))

    def recall(self, query: str, **options: Unpack[RecallOptions]) -> Recalled:
        return self._run(self._memory.recall(query, **options))

    def forget(self, ids: str | Sequence[str] | None = None, **options: Unpack[ForgetOptions]) -> Forgotten:
        return self._run(self._memory.forget(ids, **options))

    def merge(self, canonical: str, duplicates: Sequence[str], **options: Unpack[MergeOptions]) -> Merged:
        return self._run(self._memory.merge(canonical, duplicates, **options))

    def expire(self, policy: Mapping[str, Any], **options: Unpack[ExpireOptions]) -> Expired:
        return self._run(self._memory.expire(policy, **options))

    def get(self, id: str, **options: Unpack[ScopeOption]) -> Record:
        return self._run(self._memory.get(id, **options))

    def list(self, **options: Unpack[ListOptions]) -> Page:
        return self._run(self._memory.list(**options))

    def history(self, id: str, **options: Unpack[ScopeOption]) -> "tuple[Version, ...]":
        return self._run(self._memory.history(id, **options))

    def procedure(self, id: str, **options: Unpack[ScopeOption]) -> "BlockingProcedure":
        from memorywire.client.procedures import BlockingProcedure

        return BlockingProcedure.load(self, id, **options)

    def undo(self, change_id: str, **options: Unpack[ScopeOption]) -> Undone:
        return self._run(self._memory.undo(change_id, **options))

    def changes(self, limit: int = 20, **options: Unpack[ScopeOption]) -> "tuple[Change, ...]":
        return self._run(self._memory.changes(limit, **options))

    def proposals(self, **options: Unpack[ProposalsOptions]) -> ProposalPage:
        return self._run(self._memory.proposals(**options))

    def proposal(self, proposal_id: str, **options: Unpack[ReachOptions]) -> Reviewed:
        return self._run(self._memory.proposal(proposal_id, **options))

    def decide(
        self, proposal_ids: str | Sequence[str], verb: VerbName, **options: Unpack[DecideOptions]
    ) -> Decided:
        return self._run(self._memory.decide(proposal_ids, verb, **options))

    def why(self, recall_id: str, **options: Unpack[ReachOptions]) -> Reasons:
        return self._run(self._memory.why(recall_id, **options))

    def agents(self) -> AgentList:
        return self._run(self._memory.agents())

    def facets(self, **options: Unpack[FacetOptions]) -> FacetCounts:
        return self._run(self._memory.facets(**options))

    def recalls(self, **options: Unpack[RecallsOptions]) -> RecallPage:
        return self._run(self._memory.recalls(**options))

    def feedback(
        self, recall_id: str, memory_id: str, helped: HelpedName, **options: Unpack[FeedbackOptions]
    ) -> Judged:
        return self._run(self._memory.feedback(recall_id, memory_id, helped, **options))

    def rules(self) -> RuleBook:
        return self._run(self._memory.rules())

    def set_rules(self, rules: Sequence[Mapping[str, Any]], *, if_edition: int | None = None) -> RuleBook:
        return self._run(self._memory.set_rules(rules, if_edition=if_edition))

    def test_rule(self, rule: Mapping[str, Any], **options: Unpack[TrialOptions]) -> RuleTrial:
        return self._run(self._memory.test_rule(rule, **options))

    def activate_rule(self, name: str) -> RuleBook:
        return self._run(self._memory.activate_rule(name))

    def revert_rule(self, name: str) -> Reverted:
        return self._run(self._memory.revert_rule(name))

    def audit_log(
        self,
        *,
        subject: str | None = None,
        before: int | None = None,
        limit: int = 20,
        **filters: Unpack[AuditOptions],
    ) -> "tuple[dict[str, Json], ...]":
        asked = self._memory.audit_log(subject=subject, before=before, limit=limit, **filters)
        return self._run(asked)

    def audit_verify(self, *, checkpoint: str | None = None, state: bool = False) -> "Examination":
        return self._run(self._memory.audit_verify(checkpoint=checkpoint, state=state))

    def audit_checkpoint(self) -> str:
        return self._run(self._memory.audit_checkpoint())

    def audit_export(
        self, path: str | PathLike[str], *, whole: bool = False, **filters: Unpack[AuditOptions]
    ) -> int:
        return self._run(self._memory.audit_export(path, whole=whole, **filters))

    def debts(self) -> "tuple[Debt, ...]":
        return self._run(self._memory.debts())

    def pay_debts(self) -> bool:
        return self._run(self._memory.pay_debts())

    def write_off(self, change_id: str, *, why: str, store: str | None = None) -> Debt:
        return self._run(self._memory.write_off(change_id, why=why, store=store))

    def scan(self, **options: Unpack[ScopeOption]) -> "Scanned":
        return self._run(self._memory.scan(**options))

    def clear(
        self, ids: str | Sequence[str], *, hold: bool = True, **options: Unpack[ScopeOption]
    ) -> "tuple[Cleared, ...]":
        return self._run(self._memory.clear(ids, hold=hold, **options))

    def recover(
        self, source: str, *, since: int | datetime, dry_run: bool = False, **options: Unpack[ScopeOption]
    ) -> "Recovered":
        return self._run(self._memory.recover(source, since=since, dry_run=dry_run, **options))

    @property
    def kv(self) -> "BlockingKeyValue":
        from memorywire.client.blocking_contracts import BlockingKeyValue

        return BlockingKeyValue(self._run, self._memory.kv)

    @property
    def layer(self) -> "BlockingLayer":
        from memorywire.client.blocking_contracts import BlockingLayer

        return BlockingLayer(self._run, self._memory.layer)

    @property
    def harness(self) -> "BlockingHarness":
        from memorywire.client.blocking_contracts import BlockingHarness

        return BlockingHarness(self._run, self._memory.harness)

    def capabilities(self) -> Capabilities:
        return self._run(self._memory.capabilities())

    def health(self) -> dict[str, Json]:
        return self._run(self._memory.health())

    def call(self, operation: str, payload: Mapping[str, Json]) -> dict[str, Json]:
        return self._run(self._memory.call(operation, payload))

    def close(self) -> None:
        """Flush and close the store and end the thread; closing twice is fine."""
        self._portal.end(self._memory.close)

    def __enter__(self) -> Self:
        self._run(self._memory.__aenter__())
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


def asynchronous(memory: Memory) -> AsyncMemory:
    """The async client behind a blocking one, for coroutines that `send` runs."""
    return memory._memory


def send(memory: Memory, work: Coroutine[Any, Any, A]) -> "Future[A]":
    """A future for what the coroutine gives; it runs in the background thread of the memory."""
    return memory._portal.send(work)


def run(memory: Memory, work: Coroutine[Any, Any, A]) -> A:
    """What the coroutine gives, which runs in the background thread of the memory."""
    return memory._run(work)


async def _following(feed: AsyncGenerator[A, None]) -> A:
    """A coroutine, which is what the loop's thread takes; an `anext` is only awaitable."""
    return await anext(feed)
