"""Runs of an OpenWOP host: what each told, in order, and which versions of which memories it was shown.

Every function works inside the caller's transaction.
"""

import json
from collections.abc import Callable, Iterable, Mapping
from enum import StrEnum
from typing import Any

import apsw
from msgspec import Struct, field
from msgspec.structs import replace

from memorywire.model.errors import Conflict
from memorywire.model.record import Json, Scope
from memorywire.stores.sqlite.sql import Document

QUERIES = Document(__package__, "queries_runs.sql")


class RunStatus(StrEnum):
    RUNNING = "running"
    COMPLETED = "completed"
    FAILED = "failed"
    CANCELLED = "cancelled"


class Run(Struct, frozen=True, kw_only=True):
    """One run. `moments` says of each memory it is bound to behind which change it began.

    `variables` is what came out of it, with memories by name and never in full. A replay has a `parent`.
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
    """What a run tells; its sequence is given when it is kept."""

    id: str
    run: str
    at: int
    type: str
    payload: Mapping[str, Json]
    sequence: int = 0


class RunRead(Struct, frozen=True, kw_only=True):
    """A version that a run was shown."""

    scope: Scope
    id: str
    version: int


def begin(db: apsw.Connection, run: Run, event: RunEvent) -> None:
    """Keep a run, and that it began."""
    db.execute(QUERIES["add_run"], _row(run))
    tell(db, event)


def run(db: apsw.Connection, tenant: str, id: str) -> Run | None:
    row = db.execute(QUERIES["run"], {"tenant": tenant, "id": id}).fetchone()
    return None if row is None else _run(row)


def begun_before(db: apsw.Connection, moment: int) -> list[Run]:
    """The runs of every tenant that began so early and have not ended, the oldest first."""
    return [_run(row) for row in db.execute(QUERIES["runs_begun_before"], {"moment": moment})]


def end(db: apsw.Connection, run: Run, event: RunEvent) -> None:
    """Keep how the run ended, and that it did; Conflict when it had ended before."""
    ended = {"id": run.id, "status": run.status.value, "ended_at": run.ended_at, "body": _body(run)}
    if db.execute(QUERIES["end_run"], ended).fetchone() is None:
        raise Conflict("the run has ended", field="runId")
    tell(db, event)


def tell(db: apsw.Connection, event: RunEvent) -> None:
    """Keep what a run tells, behind everything it told before."""
    last = int(db.execute(QUERIES["last_run_event"], {"run": event.run}).get)
    _tell(db, replace(event, sequence=last + 1))


def told(db: apsw.Connection, run: str, after: int = 0) -> list[RunEvent]:
    """What the run told behind that number, in order."""
    return [
        RunEvent(id=id, run=run, sequence=sequence, at=at, type=type, payload=json.loads(payload))
        for id, run, sequence, at, type, payload in db.execute(
            QUERIES["run_events"], {"run": run, "after": after}
        )
    ]


def show(db: apsw.Connection, run: str, reads: Iterable[RunRead]) -> None:
    """Keep what a run was shown."""
    for read in reads:
        place = {"run": run, "agent": read.scope.agent, "user": read.scope.user}
        db.execute(QUERIES["add_run_read"], place | {"memory": read.id, "version": read.version})


def shown(db: apsw.Connection, run: Run) -> list[RunRead]:
    """All that the run was shown."""
    return [
        RunRead(scope=Scope(tenant=run.tenant, agent=agent, user=user), id=memory, version=version)
        for agent, user, memory, version in db.execute(QUERIES["run_reads"], {"run": run.id})
    ]


def repeat(db: apsw.Connection, run: Run, source: Run, mint: Callable[[], str]) -> None:
    """Keep a run that tells and was shown what its source told and was shown, at the times it did."""
    db.execute(QUERIES["add_run"], _row(run))
    for event in told(db, source.id):
        _tell(db, replace(event, id=mint(), run=run.id))
    show(db, run.id, shown(db, source))


def _tell(db: apsw.Connection, event: RunEvent) -> None:
    row = {"run": event.run, "sequence": event.sequence, "id": event.id, "at": event.at, "type": event.type}
    db.execute(QUERIES["add_run_event"], row | {"payload": json.dumps(event.payload, ensure_ascii=False)})


def _row(run: Run) -> dict[str, Any]:
    return {
        "id": run.id,
        "tenant": run.tenant,
        "caller": run.caller,
        "workflow": run.workflow,
        "status": run.status.value,
        "at": run.at,
        "ended_at": run.ended_at,
        "body": _body(run),
    }


def _body(run: Run) -> str:
    said = {
        "moments": dict(run.moments),
        "variables": dict(run.variables),
        "error": run.error,
        "parent": run.parent,
    }
    return json.dumps(said, ensure_ascii=False)


def _run(row: tuple[Any, ...]) -> Run:
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
