"""Answers as OpenWOP says them: one envelope for every problem, `{error, message, details?}`."""

from collections.abc import Mapping

from starlette.responses import Response

from memorywire.journal.runs import Run, RunEvent
from memorywire.model.errors import (
    ApprovalPending,
    CapabilityUnsupported,
    InvalidRequest,
    MemorywireError,
    Refused,
    TooLarge,
    ValueTooLarge,
    WrongMethod,
)
from memorywire.model.record import Json
from memorywire.server.http.answers import as_json, how, status_of
from memorywire_openwop.entries import moment
from memorywire_openwop.problems import SnapshotUnavailable

_CODES: Mapping[type[MemorywireError], tuple[str, int]] = {
    TooLarge: ("payload_too_large", 413),
    ValueTooLarge: ("payload_too_large", 413),
    WrongMethod: ("method_not_allowed", 405),
    InvalidRequest: ("validation_error", 400),
    Refused: ("forbidden", 403),
    CapabilityUnsupported: ("capability_not_provided", 422),
    SnapshotUnavailable: (SnapshotUnavailable.code, 422),
}
"""Where OpenWOP has another word or another status than the wire."""


def as_envelope(error: MemorywireError, headers: Mapping[str, str] | None = None) -> Response:
    """The problem, without anything that a memory or a credential says."""
    usual = (error.code, status_of(error))
    code, status = next((_CODES[kind] for kind in type(error).__mro__ if kind in _CODES), usual)
    said: dict[str, Json] = {"error": code, "message": error.detail}
    details = _details(error)
    told = {**(headers or {}), **how(error)}
    return as_json({**said, "details": details} if details else said, status, told)


def run_document(run: Run, variables: Mapping[str, Json]) -> dict[str, Json]:
    """A run as it stands."""
    said: dict[str, Json] = {
        "runId": run.id,
        "workflowId": run.workflow,
        "status": run.status.value,
        "createdAt": moment(run.at),
        "variables": dict(variables),
    }
    more = {
        "endedAt": None if run.ended_at is None else moment(run.ended_at),
        "error": run.error,
        "sourceRunId": run.parent,
    }
    return said | {name: value for name, value in more.items() if value is not None}


def event_document(event: RunEvent) -> dict[str, Json]:
    return {
        "eventId": event.id,
        "runId": event.run,
        "sequence": event.sequence,
        "type": event.type,
        "timestamp": moment(event.at),
        "payload": dict(event.payload),
    }


def _details(error: MemorywireError) -> dict[str, Json]:
    if isinstance(error, SnapshotUnavailable):
        return error.details
    held = error.proposal_id if isinstance(error, ApprovalPending) else None
    told = {"field": error.field, "fix": error.fix, "proposalId": held}
    return {name: value for name, value in told.items() if value is not None}
