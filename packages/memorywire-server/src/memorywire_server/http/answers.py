"""HTTP responses: JSON, problems with the right status, and Retry-After."""

import json
from collections.abc import Mapping

from starlette.responses import Response

from memorywire.model import errors
from memorywire.model.errors import MemorywireError, StoreError, TooLarge, TooSlow, Unauthenticated
from memorywire.model.record import Json

JSON = "application/json"
PROBLEM = "application/problem+json"
MOVED = 412
ACCEPTED = 202

STATUSES: Mapping[type[MemorywireError], int] = {
    errors.InvalidRequest: 422,
    errors.InvalidJson: 400,
    errors.UnknownOperation: 404,
    TooLarge: 413,
    errors.ValueTooLarge: 413,
    TooSlow: 408,
    errors.WrongMedia: 415,
    errors.WrongMethod: 405,
    Unauthenticated: 401,
    errors.Forbidden: 403,
    errors.Misdirected: 421,
    errors.NotFound: 404,
    errors.Conflict: 409,
    errors.TooManyAffected: 409,
    errors.QuotaExceeded: 409,
    errors.Refused: 403,
    errors.ApprovalPending: 409,
    errors.BudgetExceeded: 429,
    errors.RateLimited: 429,
    errors.Overloaded: 503,
    errors.SecretLeakage: 422,
    errors.CapabilityUnsupported: 422,
    StoreError: 503,
    errors.StoreCorrupt: 500,
    errors.EmbedderFailed: 503,
    MemorywireError: 500,
}


def status_of(error: MemorywireError) -> int:
    """Return the status of the error's nearest listed ancestor."""
    return next(STATUSES[kind] for kind in type(error).__mro__ if kind in STATUSES)


def as_json(document: Json, status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    return Response(encode_json(document), status, headers, media_type=JSON)


def encode_json(document: Json) -> bytes:
    return json.dumps(document, ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode()


def as_problem(
    error: MemorywireError, status: int | None = None, headers: Mapping[str, str] | None = None
) -> Response:
    """Encode an error as a problem of the wire, which RFC 9457 allows as extension members."""
    all_headers = {**(headers or {}), **how(error)}
    # A problem may quote a key that is not valid text: that part is left out.
    body = json.dumps(error.problem(), ensure_ascii=False).encode(errors="replace")
    return Response(body, status or status_of(error), all_headers, media_type=PROBLEM)


def how(error: MemorywireError) -> dict[str, str]:
    """Return the headers that tell the caller how to react to the error."""
    if isinstance(error, Unauthenticated):
        return {"WWW-Authenticate": "Bearer"}
    if isinstance(error, TooLarge | TooSlow):  # the rest of the body is not read
        return {"Connection": "close"}
    wait = getattr(error, "retry_after", None)
    if wait is None and status_of(error) == STATUSES[StoreError]:
        wait = 1  # seconds before a retry of a busy store
    return {} if wait is None else {"Retry-After": str(wait)}


PROBES = frozenset({"/healthz", "/readyz"})

_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
    "form-action 'self'; frame-ancestors 'none'; base-uri 'none'"
)
HEADERS: Mapping[str, str] = {
    "Content-Security-Policy": _POLICY,
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
    "Cache-Control": "no-store",
}
