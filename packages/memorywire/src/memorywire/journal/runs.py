"""Runs of an OpenWOP host: the events of each, in order, and the versions of memories it has read."""

import json
from collections.abc import Callable, Iterable, Mapping
from enum import StrEnum
from functools import partial
from typing import Any

from msgspec import Struct, field
from msgspec.structs import replace

from memorywire.journal.backend import Session
from memorywire.journal.journal import Journal
from memorywire.model.errors import Conflict
from memorywire.model.record import Json, Scope


class RunStatus(StrEnum):
    RUNNING = "running"
    COMPLETED = "completed"
    FAILED = "failed"
    CANCELLED = "cancelled"


class Run(Struct, frozen=True, kw_only=True):
    """One run. `moments` maps each bound memory to the last change before the run began.

    `variables` is its result, with memories by name, never in full. A replay has a `parent`.
    """

    id: str
    tenant: str
    caller: str
    workflow: str
    at: int
    status: RunStatus = RunStatus.RUNNING
    ended_at: int | None = None
    moments: Mapping[str, str] = field(default_factory=dict)
    variables: Mapping[str, Json] = field(default_factory=dict)
    error: Mapping[str, Json] | None = None
    parent: str | None = None


class RunEvent(Struct, frozen=True, kw_only=True):
    """An event of a run; its sequence is assigned when it is stored."""

    id: str
    run: str
    at: int
    type: str
    payload: Mapping[str, Json]
    sequence: int = 0


class RunRead(Struct, frozen=True, kw_only=True):
    """A version that a run has read."""

    scope: Scope
    id: str
    version: int


class Runs:
    """The runs of a journal."""

    def __init__(self, journal: Journal) -> None:
        self._backend = journal.backend

    async def begin(self, run: Run, event: RunEvent) -> None:
        """Store a run and its first event."""

        def work(db: Session) -> None:
            db.execute("add_run", _run_row(run))
            _append_event(db, event)

        await self._backend.write(work)

    async def find(self, tenant: str, id: str) -> Run | None:
        row = await self._backend.read(lambda db: db.row("run", {"tenant": tenant, "id": id}))
        return None if row is None else _read_run(row)

    async def list_open(self, before: int) -> list[Run]:
        """Return the runs of all tenants that began before that time and have not ended, oldest first."""
        rows = await self._backend.read(lambda db: db.rows("open_runs_before", {"moment": before}))
        return [_read_run(row) for row in rows]

    async def end(self, run: Run, event: RunEvent) -> None:
        """Store how the run ended, and its last event; raises Conflict if it had already ended."""
        row = {"id": run.id, "status": run.status.value, "ended_at": run.ended_at, "body": _encode_body(run)}

        def work(db: Session) -> None:
            if db.row("end_run", row) is None:
                raise Conflict("the run has ended", field="runId")
            _append_event(db, event)

        await self._backend.write(work)

    async def append_event(self, event: RunEvent) -> None:
        """Store an event of a run, after all its earlier ones."""
        await self._backend.write(partial(_append_event, event=event))

    async def list_events(self, run: str, after: int = 0) -> list[RunEvent]:
        """Return the events of the run after that number, in order."""
        return await self._backend.read(partial(_list_events, run=run, after=after))

    async def add_reads(self, run: str, reads: Iterable[RunRead]) -> None:
        """Store which versions a run has read."""
        await self._backend.write(partial(_add_reads, run=run, reads=tuple(reads)))

    async def list_reads(self, run: Run) -> list[RunRead]:
        """Return all versions that the run has read."""
        return await self._backend.read(partial(_list_reads, run=run))

    async def repeat(self, run: Run, source: Run, mint: Callable[[], str]) -> None:
        """Store a run with copies of the events and reads of its source; events keep their times."""

        def work(db: Session) -> None:
            db.execute("add_run", _run_row(run))
            for event in _list_events(db, source.id, 0):
                _add_event(db, replace(event, id=mint(), run=run.id))
            _add_reads(db, run.id, _list_reads(db, source))

        await self._backend.write(work)


def _append_event(db: Session, event: RunEvent) -> None:
    last = int(db.value("last_run_event", {"run": event.run}))
    _add_event(db, replace(event, sequence=last + 1))


def _list_events(db: Session, run: str, after: int) -> list[RunEvent]:
    return [
        RunEvent(id=id, run=run, sequence=sequence, at=at, type=type, payload=json.loads(payload))
        for id, run, sequence, at, type, payload in db.rows("run_events", {"run": run, "after": after})
    ]


def _add_reads(db: Session, run: str, reads: Iterable[RunRead]) -> None:
    for read in reads:
        place = {"run": run, "agent": read.scope.agent, "user": read.scope.user}
        db.execute("add_run_read", place | {"memory": read.id, "version": read.version})


def _list_reads(db: Session, run: Run) -> list[RunRead]:
    return [
        RunRead(scope=Scope(tenant=run.tenant, agent=agent, user=user), id=memory, version=version)
        for agent, user, memory, version in db.rows("run_reads", {"run": run.id})
    ]


def _add_event(db: Session, event: RunEvent) -> None:
    row = {"run": event.run, "sequence": event.sequence, "id": event.id, "at": event.at, "type": event.type}
    db.execute("add_run_event", row | {"payload": json.dumps(event.payload, ensure_ascii=False)})


def _run_row(run: Run) -> dict[str, Any]:
    return {
        "id": run.id,
        "tenant": run.tenant,
        "caller": run.caller,
        "workflow": run.workflow,
        "status": run.status.value,
        "at": run.at,
        "ended_at": run.ended_at,
        "body": _encode_body(run),
    }


def _encode_body(run: Run) -> str:
    body = {
        "moments": dict(run.moments),
        "variables": dict(run.variables),
        "error": run.error,
        "parent": run.parent,
    }
    return json.dumps(body, ensure_ascii=False)


def _read_run(row: tuple[Any, ...]) -> Run:
    id, tenant, caller, workflow, status, at, ended_at, body = row
    return Run(
        id=id,
        tenant=tenant,
        caller=caller,
        workflow=workflow,
        status=RunStatus(status),
        at=at,
        ended_at=ended_at,
        **json.loads(body),
    )
