"""OpenWOP responses: one envelope for every error, `{error, message, details?}`."""

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
from memorywire_openwop.entries import format_time
from memorywire_openwop.host import SnapshotUnavailable
from memorywire_server.http.answers import as_json, how, status_of

_CODES: Mapping[type[MemorywireError], tuple[str, int]] = {
    TooLarge: ("payload_too_large", 413),
    ValueTooLarge: ("payload_too_large", 413),
    WrongMethod: ("method_not_allowed", 405),
    InvalidRequest: ("validation_error", 400),
    Refused: ("forbidden", 403),
    CapabilityUnsupported: ("capability_not_provided", 422),
    SnapshotUnavailable: (SnapshotUnavailable.code, 422),
}
"""Errors with another code or status in OpenWOP than on the wire."""


def as_envelope(error: MemorywireError, headers: Mapping[str, str] | None = None) -> Response:
    """Encode an error, without content of memories or credentials."""
    usual = (error.code, status_of(error))
    code, status = next((_CODES[kind] for kind in type(error).__mro__ if kind in _CODES), usual)
    fields: dict[str, Json] = {"error": code, "message": error.detail}
    details = _details(error)
    events = {**(headers or {}), **how(error)}
    return as_json({**fields, "details": details} if details else fields, status, events)


def run_document(run: Run, variables: Mapping[str, Json]) -> dict[str, Json]:
    """Encode the current state of a run."""
    fields: dict[str, Json] = {
        "runId": run.id,
        "workflowId": run.workflow,
        "status": run.status.value,
        "createdAt": format_time(run.at),
        "variables": dict(variables),
    }
    more = {
        "endedAt": None if run.ended_at is None else format_time(run.ended_at),
        "error": run.error,
        "sourceRunId": run.parent,
    }
    return fields | {name: value for name, value in more.items() if value is not None}


def event_document(event: RunEvent) -> dict[str, Json]:
    return {
        "eventId": event.id,
        "runId": event.run,
        "sequence": event.sequence,
        "type": event.type,
        "timestamp": format_time(event.at),
        "payload": dict(event.payload),
    }


def _details(error: MemorywireError) -> dict[str, Json]:
    if isinstance(error, SnapshotUnavailable):
        return error.details
    changes = error.proposal_id if isinstance(error, ApprovalPending) else None
    events = {"field": error.field, "fix": error.fix, "proposalId": changes}
    return {name: value for name, value in events.items() if value is not None}
