"""Runs of the host: starts, ends and replays them, and records their events and reads."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress
from functools import partial
from typing import TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from memorywire.app import Container
from memorywire.app.dispatch import perform
from memorywire.journal.acts import Wanted
from memorywire.journal.journal import Journal
from memorywire.journal.runs import Run, RunEvent, RunRead, Runs, RunStatus
from memorywire.model.capabilities import Edition
from memorywire.model.capabilities import Host as Serves
from memorywire.model.errors import Conflict, InvalidRequest, MemorywireError, NotFound
from memorywire.model.proposal import State
from memorywire.model.record import Json, Record, Scope
from memorywire.model.requests import Forget
from memorywire.pipeline.context import Context, Governance, Rulebook
from memorywire.pipeline.rules import all_proposals
from memorywire.policy.documents import Profile, policy_from_toml
from memorywire.policy.judge import Policy
from memorywire_openwop.adapter import Adapter, Requester, list_run_memories
from memorywire_openwop.entries import encode_entry
from memorywire_openwop.refs import parse_ref
from memorywire_openwop.snapshot import find_newest_change, find_version, list_all_ids
from memorywire_openwop.vault import Vault


def run_ended_error() -> Conflict:
    return Conflict("the run has ended", field="runId", fix="start another one")


class OpenRun:
    """Tracks an open run: its operations finish before it ends, and none starts afterwards.

    So a run gets no events, and no entries in its own memories, after its end.
    """

    def __init__(self) -> None:
        self.vault = Vault()
        self._at_work = 0
        self._idle = asyncio.Event()
        self._idle.set()
        self._ending = False

    @asynccontextmanager
    async def at_work(self) -> AsyncIterator[None]:
        """Count an operation of the run; raises Conflict if the run is ending."""
        if self._ending:
            raise run_ended_error()
        self._at_work += 1
        self._idle.clear()
        try:
            yield
        finally:
            self._at_work -= 1
            if not self._at_work:
                self._idle.set()

    @asynccontextmanager
    async def ending(self) -> AsyncIterator[None]:
        """Wait for running operations, then end the run; if the body fails, the run stays open."""
        self._ending = True
        try:
            await self._idle.wait()
            yield
        except BaseException:
            self._ending = False
            raise


class RunTimeout(MemorywireError):
    """A run did not end within the time limit."""

    code = "run_timeout"


class SnapshotUnavailable(MemorywireError):
    """A memory that the run read was erased, so the run cannot be replayed."""

    code = "replay_memory_snapshot_unavailable"

    def __init__(self, *, run: str, from_seq: int) -> None:
        super().__init__(
            "a memory that the run was shown has been erased", fix="start a new run on the present memory"
        )
        self.details = {"sourceRunId": run, "fromSeq": from_seq, "reason": "retention_expired"}


class _OpenRulebook(Rulebook):
    """A rulebook with the base policy only, without the tenant's rules."""

    async def policy(self, tenant: str) -> Policy:
        return self.base


async def erase_run_memory(scope: Scope, context: Context) -> None:
    """Erase every memory ever stored in the scope, and pending proposals for it, with a ledger entry."""
    ids = await list_all_ids(scope, await context.serving(scope))
    if context.governance is not None:
        ids |= await _list_pending_ids(scope, context.governance)
        context = replace(context, governance=_open_governance(context, context.governance))
    if ids:
        erasure = Forget(scope=scope, ids=tuple(sorted(ids)), hard_delete=True)
        await perform(erasure, await context.serving(scope))


def _open_governance(context: Context, governance: Governance) -> Governance:
    base = policy_from_toml({"profile": Profile.OPEN})
    return replace(governance, rulebook=_OpenRulebook(base, governance.journal, context.clock))


async def _list_pending_ids(scope: Scope, governance: Governance) -> set[str]:
    """Return the ids of memories that pending proposals would create."""
    listing = Wanted(tenant=scope.tenant, agent=scope.agent, states=frozenset({State.PENDING}))
    changes = [proposal.change async for proposal in all_proposals(listing, governance.journal)]
    return {put.record.id for change in changes if change is not None for put in change.put}


SESSION = "memorywire.session"
"""The workflow of a run that the caller carries out; it lasts until the caller ends it."""

RUN_HOURS = 168.0
"""Default time limit of a run, in hours."""

CALLER = "system:openwop"
"""The actor in the ledger for runs that the host ended."""

_READ = "$shown"
_HOUR_MS = 3_600_000
_HOW = {
    RunStatus.COMPLETED: "run.completed",
    RunStatus.FAILED: "run.failed",
    RunStatus.CANCELLED: "run.cancelled",
}

Work: TypeAlias = Callable[["Host", Adapter], Awaitable[Mapping[str, Json]]]
"""The function that carries out a run; returns the run's variables."""


class Workflow(Struct, frozen=True, kw_only=True):
    """A workflow: a function from the tenant to the memories it is bound to, and the work."""

    refs: Callable[[str], Sequence[str]]
    work: Work


class Host:
    """Manages runs over an open container; `workflows` run by themselves, `serves` is what it advertises.

    A run that exceeds `run_hours` fails. A run's secrets are only in the memory of this process, so no other
    process can write to the run.
    """

    def __init__(
        self,
        container: Container,
        journal: Journal,
        *,
        serves: Serves,
        workflows: Mapping[str, Workflow] | None = None,
        run_hours: float = RUN_HOURS,
        edition: Edition = Edition.V1_14,
    ) -> None:
        self.container = container
        self.edition = edition
        self.serves = serves
        self._runs = Runs(journal)
        self._workflows = workflows or {}
        self._run_hours = run_hours
        self._open_runs: dict[str, OpenRun] = {}

    @property
    def fixtures(self) -> tuple[str, ...]:
        """The names of the workflows that run by themselves, as published scenarios expect them."""
        return tuple(sorted(self._workflows))

    async def start(self, caller: Requester, workflow: str, refs: Sequence[str] = ()) -> Run:
        """Start a run. A workflow that runs by itself has ended when this returns."""
        definition = self._workflows.get(workflow)
        if definition is None and workflow != SESSION:
            raise NotFound("there is no such workflow", field="workflowId", fix=f"use {SESSION}")
        scopes = refs if definition is None else definition.refs(caller.tenant)
        run = await self._begin(caller, workflow, scopes)
        return run if definition is None else await self._carry_out(caller, run, definition.work)

    async def run(self, caller: Requester, id: str) -> Run:
        """Return a run of the tenant, if the caller may access all memories that it is bound to.

        Ends the run first if it exceeded its time limit.
        """
        run = await self._runs.find(caller.tenant, id)
        scopes = () if run is None else (parse_ref(ref, run.tenant) for ref in run.moments)
        if run is None or not all(scope and caller.reaches(scope.agent) for scope in scopes):
            raise NotFound("there is no such run", field="runId")
        running = run.status is RunStatus.RUNNING
        return await self._end_overdue_run(run) if running and run.at < self._overdue_before else run

    async def events(self, run: Run, after: int = 0) -> list[RunEvent]:
        """Return the run's events after the sequence number `after`."""
        return await self._runs.list_events(run.id, after)

    def adapter(self, caller: Requester, run: Run | None = None) -> Adapter:
        """Return an adapter that sees memory as the run does; without a run, the current state."""
        return Adapter(
            context=self._context(caller),
            caller=caller,
            vault=Vault() if run is None else self._open(run).vault,
            max_bytes=self.serves.max_entry_bytes,
            run=run,
            **({} if run is None else {"tell": partial(self.tell, run), "show": partial(self._show, run)}),
        )

    def resolve(self, run: Run, secret: str, value: str) -> None:
        """Register a secret of the run, to be redacted from everything that the run writes from now on."""
        self._open(run).vault.add(secret, value)

    def at_work(self, run: Run) -> AbstractAsyncContextManager[None]:
        """Keep the run from ending while the context is open; raises Conflict if it has ended."""
        return self._open(run).at_work()

    async def end(
        self, caller: Requester, run: Run, status: RunStatus, variables: Mapping[str, Json] | None = None
    ) -> Run:
        """End a run; erases its own memories and drops its secrets."""
        now = self.container.context.clock()
        end_state = replace(run, status=status, ended_at=now, variables=variables or {})
        await self._end(caller, end_state)
        return end_state

    async def end_overdue(self) -> None:
        """End all runs that exceeded the time limit; failures are retried at the next call."""
        for run in await self._runs.list_open(self._overdue_before):
            with suppress(MemorywireError):
                await self._end_overdue_run(run)

    async def replay(self, caller: Requester, source: Run, from_seq: int) -> Run:
        """Create a run with a copy of the source's events; raises SnapshotUnavailable if a read is gone."""
        events = await self.events(source)
        if source.status is RunStatus.RUNNING:
            raise Conflict("the run has not ended", field="runId", fix="end it first")
        if not 0 <= from_seq <= len(events):
            raise InvalidRequest("the run has no event with that number", field="fromSeq")
        await self._check_reads(caller, source, from_seq)
        mint = self.container.context.mint
        again = replace(source, id=mint(), caller=caller.name, parent=source.id)
        await self._runs.repeat(again, source, mint)
        return again

    async def variables(self, caller: Requester, run: Run) -> dict[str, Json]:
        """Return a run's variables, with the memories it read as they were then; erased ones are left out."""
        return {name: await self._fill_in(caller, run, value) for name, value in run.variables.items()}

    async def tell(self, run: Run, type: str, payload: Mapping[str, Json]) -> None:
        await self._runs.append_event(self._event(run, type, payload))

    @asynccontextmanager
    async def passing(self, caller: Requester, workflow: str, ref: str) -> AsyncIterator[Adapter]:
        """Open a run for the host's own work on current memory; it ends when the context closes."""
        run = await self._begin(caller, workflow, [ref])
        try:
            yield replace(self.adapter(caller, run), run=None)
        except MemorywireError as problem:
            await self._fail_run(caller, run, problem)
            raise
        await self.end(caller, run, RunStatus.COMPLETED)

    async def _begin(self, caller: Requester, workflow: str, refs: Sequence[str]) -> Run:
        self.container.context.historian("memory snapshots")
        live, moments = self.adapter(caller), {}
        for ref in refs:
            scope = live.place(ref)
            if scope is not None:
                moments[ref] = await find_newest_change(scope, await live.context.serving(scope))
        context = self.container.context
        run = Run(
            id=context.mint(),
            tenant=caller.tenant,
            caller=caller.name,
            workflow=workflow,
            at=context.clock(),
            moments=moments,
        )
        event = self._event(run, "run.started", {"workflowId": workflow})
        await self._runs.begin(run, event)
        self._open_runs[run.id] = OpenRun()
        return run

    async def _carry_out(self, caller: Requester, run: Run, work: Work) -> Run:
        try:
            variables = await work(self, self.adapter(caller, run))
        except MemorywireError as problem:
            return await self._fail_run(caller, run, problem)
        return await self.end(caller, run, RunStatus.COMPLETED, variables)

    async def _fail_run(self, caller: Requester, run: Run, problem: MemorywireError) -> Run:
        error = {"code": problem.code, "message": problem.detail}
        failure = replace(run, status=RunStatus.FAILED, ended_at=self.container.context.clock(), error=error)
        await self._end(caller, failure)
        return failure

    @property
    def _overdue_before(self) -> int:
        """Runs that started before this time have exceeded the time limit."""
        return self.container.context.clock() - round(self._run_hours * _HOUR_MS)

    async def _end_overdue_run(self, run: Run) -> Run:
        """End an overdue run and return it; if it has ended meanwhile, return that state."""
        late = RunTimeout(f"the run did not end within {self._run_hours:g} hours")
        try:
            return await self._fail_run(Requester(name=CALLER, tenant=run.tenant), run, late)
        except Conflict:
            end_state = await self._runs.find(run.tenant, run.id)
            return run if end_state is None else end_state

    async def _end(self, caller: Requester, run: Run) -> None:
        async with self._open_runs.get(run.id, OpenRun()).ending():
            # Must come first: a run that is recorded as ended is not cleaned up again.
            for scope in list_run_memories(run).values():
                await erase_run_memory(scope, self._context(caller))
            event = self._event(run, _HOW[run.status], {} if run.error is None else {"error": run.error})
            await self._runs.end(run, event)
            self._open_runs.pop(run.id, None)

    async def _check_reads(self, caller: Requester, source: Run, from_seq: int) -> None:
        for read in await self._runs.list_reads(source):
            if await self._read_again(caller, read) is None:
                raise SnapshotUnavailable(run=source.id, from_seq=from_seq)

    async def _show(self, run: Run, reads: Sequence[RunRead]) -> None:
        if reads:
            await self._runs.add_reads(run.id, reads)

    async def _read_again(self, caller: Requester, read: RunRead) -> Record | None:
        context = await self._context(caller).serving(read.scope)
        return await find_version(read.scope, read.id, read.version, context)

    async def _fill_in(self, caller: Requester, run: Run, value: Json) -> Json:
        if isinstance(value, list):
            each = [await self._fill_in(caller, run, one) for one in value]
            return [one for one in each if one is not None]
        if not isinstance(value, dict) or _READ not in value:
            return value
        agent, user, id, version = value[_READ]
        scope = Scope(tenant=run.tenant, agent=agent, user=user)
        record = await self._read_again(caller, RunRead(scope=scope, id=id, version=version))
        return None if record is None else encode_entry(record)

    def _event(self, run: Run, type: str, payload: Mapping[str, Json]) -> RunEvent:
        context = self.container.context
        return RunEvent(id=context.mint(), run=run.id, at=context.clock(), type=type, payload=payload)

    def _context(self, caller: Requester) -> Context:
        return self.container.as_caller(caller.name)

    def _open(self, run: Run) -> OpenRun:
        if run.status is not RunStatus.RUNNING:
            self._open_runs.pop(run.id, None)  # another process may have ended it
            raise run_ended_error()
        if run.id not in self._open_runs:
            raise Conflict(
                "the secrets of this run were given to another process, or to this one before it restarted",
                field="runId",
                fix="cancel the run and start another one",
            )
        return self._open_runs[run.id]


def name_record(record: Record) -> dict[str, Json]:
    """Refer to a memory in the variables of a run by name and version, without its content."""
    return {_READ: [record.scope.agent, record.scope.user, record.id, record.version]}
