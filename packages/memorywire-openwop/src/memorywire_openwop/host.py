"""Runs: begun, told about, ended, and replayed from what they told and were shown."""

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress
from functools import partial
from typing import TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from memorywire.app import Container
from memorywire.journal.journal import Journal
from memorywire.journal.runs import Run, RunEvent, RunRead, Runs, RunStatus
from memorywire.model.capabilities import Edition
from memorywire.model.capabilities import Host as Serves
from memorywire.model.errors import Conflict, InvalidRequest, MemorywireError, NotFound
from memorywire.model.record import Json, Record, Scope
from memorywire.pipeline.context import Context
from memorywire_openwop.adapter import Adapter, Visitor, own_memories
from memorywire_openwop.attended import Attended, over
from memorywire_openwop.entries import entry_of
from memorywire_openwop.problems import RunTimeout, SnapshotUnavailable
from memorywire_openwop.refs import locate
from memorywire_openwop.sweeping import sweep
from memorywire_openwop.vault import Vault
from memorywire_openwop.view import now_at, version_of

SESSION = "memorywire.session"
"""The workflow of a run that somebody else carries out: it lasts until it is told to end."""

RUN_HOURS = 168.0
"""How long a run may last."""

CALLER = "system:openwop"
"""Who the ledger says ended a run that nobody else did."""

_SHOWN = "$shown"
_HOUR_MS = 3_600_000
_HOW = {
    RunStatus.COMPLETED: "run.completed",
    RunStatus.FAILED: "run.failed",
    RunStatus.CANCELLED: "run.cancelled",
}

Workflow: TypeAlias = Callable[["Host", Adapter], Awaitable[Mapping[str, Json]]]
"""What a run does by itself; gives its variables."""


class Known(Struct, frozen=True, kw_only=True):
    """A workflow: the memories it is bound to, given the tenant, and what it does."""

    refs: Callable[[str], Sequence[str]]
    work: Workflow


class Host:
    """Serves runs over an open house; `workflows` are those that run by themselves, `serves` what it claims.

    A run that lasts longer than `run_hours` has failed. The secrets of a run are in this process alone: a run
    cannot be written through another one.
    """

    def __init__(
        self,
        container: Container,
        journal: Journal,
        *,
        serves: Serves,
        workflows: Mapping[str, Known] | None = None,
        run_hours: float = RUN_HOURS,
        edition: Edition = Edition.V1_14,
    ) -> None:
        self.container = container
        self.edition = edition
        self.serves = serves
        self._runs = Runs(journal)
        self._workflows = workflows or {}
        self._run_hours = run_hours
        self._attended: dict[str, Attended] = {}

    @property
    def fixtures(self) -> tuple[str, ...]:
        """The workflows that run by themselves, by the names that published scenarios look for."""
        return tuple(sorted(self._workflows))

    async def start(self, visitor: Visitor, workflow: str, refs: Sequence[str] = ()) -> Run:
        """Begin a run. One that runs by itself has ended when this returns."""
        known = self._workflows.get(workflow)
        if known is None and workflow != SESSION:
            raise NotFound("there is no such workflow", field="workflowId", fix=f"use {SESSION}")
        bound = refs if known is None else known.refs(visitor.tenant)
        run = await self._begin(visitor, workflow, bound)
        return run if known is None else await self._carry_out(visitor, run, known.work)

    async def run(self, visitor: Visitor, id: str) -> Run:
        """A run of the visitor's tenant, if all it is bound to is in the visitor's reach.

        One that has lasted too long is ended first.
        """
        found = await self._runs.find(visitor.tenant, id)
        bound = () if found is None else (locate(ref, found.tenant) for ref in found.moments)
        if found is None or not all(scope and visitor.reaches(scope.agent) for scope in bound):
            raise NotFound("there is no such run", field="runId")
        running = found.status is RunStatus.RUNNING
        return await self._give_up(found) if running and found.at < self._latest else found

    async def events(self, run: Run, after: int = 0) -> list[RunEvent]:
        """What the run told behind that number."""
        return await self._runs.list_events(run.id, after)

    def adapter(self, visitor: Visitor, run: Run | None = None) -> Adapter:
        """Memory as the run sees it; without a run, as it is now."""
        return Adapter(
            context=self._tools(visitor),
            visitor=visitor,
            vault=Vault() if run is None else self._open(run).vault,
            max_bytes=self.serves.max_entry_bytes,
            run=run,
            **({} if run is None else {"tell": partial(self.tell, run), "show": partial(self._show, run)}),
        )

    def resolve(self, run: Run, secret: str, value: str) -> None:
        """Register a secret of the run: from now on it is redacted from what the run writes."""
        self._open(run).vault.add(secret, value)

    def at_work(self, run: Run) -> AbstractAsyncContextManager[None]:
        """While this lasts the run does not end; raises Conflict when it has."""
        return self._open(run).at_work()

    async def end(
        self, visitor: Visitor, run: Run, status: RunStatus, variables: Mapping[str, Json] | None = None
    ) -> Run:
        """End a run; what it had to itself is erased, its secrets are forgotten."""
        now = self.container.context.clock()
        ended = replace(run, status=status, ended_at=now, variables=variables or {})
        await self._ended(visitor, ended)
        return ended

    async def end_overdue(self) -> None:
        """End the runs that have lasted too long, whoever began them; what fails has another turn."""
        for run in await self._runs.list_open(self._latest):
            with suppress(MemorywireError):
                await self._give_up(run)

    async def replay(self, visitor: Visitor, source: Run, from_seq: int) -> Run:
        """A run that tells what the source told; raises SnapshotUnavailable when its memory is gone."""
        told = await self.events(source)
        if source.status is RunStatus.RUNNING:
            raise Conflict("the run has not ended", field="runId", fix="end it first")
        if not 0 <= from_seq <= len(told):
            raise InvalidRequest("the run told nothing at that number", field="fromSeq")
        await self._refuse_if_gone(visitor, source, from_seq)
        mint = self.container.context.mint
        again = replace(source, id=mint(), caller=visitor.name, parent=source.id)
        await self._runs.repeat(again, source, mint)
        return again

    async def variables(self, visitor: Visitor, run: Run) -> dict[str, Json]:
        """What came out of a run, with the memories it was shown as they were; those erased are left out."""
        return {name: await self._filled_in(visitor, run, value) for name, value in run.variables.items()}

    async def tell(self, run: Run, type: str, payload: Mapping[str, Json]) -> None:
        await self._runs.append_event(self._event(run, type, payload))

    @asynccontextmanager
    async def passing(self, visitor: Visitor, workflow: str, ref: str) -> AsyncIterator[Adapter]:
        """A run of the host's own, over memory as it is now; it ends when the work does."""
        run = await self._begin(visitor, workflow, [ref])
        try:
            yield replace(self.adapter(visitor, run), run=None)
        except MemorywireError as problem:
            await self._fail(visitor, run, problem)
            raise
        await self.end(visitor, run, RunStatus.COMPLETED)

    async def _begin(self, visitor: Visitor, workflow: str, refs: Sequence[str]) -> Run:
        self.container.context.historian("memory snapshots")
        live, moments = self.adapter(visitor), {}
        for ref in refs:
            scope = live.place(ref)
            if scope is not None:
                moments[ref] = await now_at(scope, await live.context.serving(scope))
        context = self.container.context
        run = Run(
            id=context.mint(),
            tenant=visitor.tenant,
            caller=visitor.name,
            workflow=workflow,
            at=context.clock(),
            moments=moments,
        )
        event = self._event(run, "run.started", {"workflowId": workflow})
        await self._runs.begin(run, event)
        self._attended[run.id] = Attended()
        return run

    async def _carry_out(self, visitor: Visitor, run: Run, work: Workflow) -> Run:
        try:
            variables = await work(self, self.adapter(visitor, run))
        except MemorywireError as problem:
            return await self._fail(visitor, run, problem)
        return await self.end(visitor, run, RunStatus.COMPLETED, variables)

    async def _fail(self, visitor: Visitor, run: Run, problem: MemorywireError) -> Run:
        error = {"code": problem.code, "message": problem.detail}
        failed = replace(run, status=RunStatus.FAILED, ended_at=self.container.context.clock(), error=error)
        await self._ended(visitor, failed)
        return failed

    @property
    def _latest(self) -> int:
        """A run that began before this moment has lasted too long."""
        return self.container.context.clock() - round(self._run_hours * _HOUR_MS)

    async def _give_up(self, run: Run) -> Run:
        """End a run that lasted too long; gives it as it is, if it has ended meanwhile."""
        late = RunTimeout(f"nobody ended the run within {self._run_hours:g} hours")
        try:
            return await self._fail(Visitor(name=CALLER, tenant=run.tenant), run, late)
        except Conflict:
            ended = await self._runs.find(run.tenant, run.id)
            return run if ended is None else ended

    async def _ended(self, visitor: Visitor, run: Run) -> None:
        async with self._attended.get(run.id, Attended()).ending():
            # First, because a run that has ended is not looked at again.
            for scope in own_memories(run).values():
                await sweep(scope, self._tools(visitor))
            event = self._event(run, _HOW[run.status], {} if run.error is None else {"error": run.error})
            await self._runs.end(run, event)
            self._attended.pop(run.id, None)

    async def _refuse_if_gone(self, visitor: Visitor, source: Run, from_seq: int) -> None:
        for read in await self._runs.list_reads(source):
            if await self._shown(visitor, read) is None:
                raise SnapshotUnavailable(run=source.id, from_seq=from_seq)

    async def _show(self, run: Run, reads: Sequence[RunRead]) -> None:
        if reads:
            await self._runs.add_reads(run.id, reads)

    async def _shown(self, visitor: Visitor, read: RunRead) -> Record | None:
        context = await self._tools(visitor).serving(read.scope)
        return await version_of(read.scope, read.id, read.version, context)

    async def _filled_in(self, visitor: Visitor, run: Run, value: Json) -> Json:
        if isinstance(value, list):
            each = [await self._filled_in(visitor, run, one) for one in value]
            return [one for one in each if one is not None]
        if not isinstance(value, dict) or _SHOWN not in value:
            return value
        agent, user, id, version = value[_SHOWN]
        scope = Scope(tenant=run.tenant, agent=agent, user=user)
        found = await self._shown(visitor, RunRead(scope=scope, id=id, version=version))
        return None if found is None else entry_of(found)

    def _event(self, run: Run, type: str, payload: Mapping[str, Json]) -> RunEvent:
        context = self.container.context
        return RunEvent(id=context.mint(), run=run.id, at=context.clock(), type=type, payload=payload)

    def _tools(self, visitor: Visitor) -> Context:
        return self.container.as_caller(visitor.name)

    def _open(self, run: Run) -> Attended:
        if run.status is not RunStatus.RUNNING:
            self._attended.pop(run.id, None)  # another process may have ended it
            raise over()
        if run.id not in self._attended:
            raise Conflict(
                "the secrets of this run were known to another process, or to this one before it ended",
                field="runId",
                fix="cancel the run and start another one",
            )
        return self._attended[run.id]


def by_name(record: Record) -> dict[str, Json]:
    """A memory in the variables of a run: which one it was, not what it said."""
    return {_SHOWN: [record.scope.agent, record.scope.user, record.id, record.version]}
