"""Answers as HTTP says them: JSON, problems with the right status, and when to come back."""

import json
from collections.abc import Mapping

from starlette.responses import Response

from memorywire.model.errors import (
    ApprovalPending,
    BudgetExceeded,
    CapabilityUnsupported,
    Conflict,
    EmbedderFailed,
    Forbidden,
    InvalidJson,
    InvalidRequest,
    MemorywireError,
    Misdirected,
    NotFound,
    Overloaded,
    QuotaExceeded,
    RateLimited,
    Refused,
    SecretLeakage,
    StoreCorrupt,
    StoreError,
    TooLarge,
    TooManyAffected,
    TooSlow,
    Unauthenticated,
    UnknownOperation,
    ValueTooLarge,
    WrongMedia,
    WrongMethod,
)
from memorywire.model.record import Json

JSON = "application/json"
PROBLEM = "application/problem+json"
MOVED = 412
ACCEPTED = 202
_AGAIN = 1  # seconds after which a busy store is worth another try

STATUSES: Mapping[type[MemorywireError], int] = {
    InvalidRequest: 422,
    InvalidJson: 400,
    UnknownOperation: 404,
    TooLarge: 413,
    ValueTooLarge: 413,
    TooSlow: 408,
    WrongMedia: 415,
    WrongMethod: 405,
    Unauthenticated: 401,
    Forbidden: 403,
    Misdirected: 421,
    NotFound: 404,
    Conflict: 409,
    TooManyAffected: 409,
    QuotaExceeded: 409,
    Refused: 403,
    ApprovalPending: 409,
    BudgetExceeded: 429,
    RateLimited: 429,
    Overloaded: 503,
    SecretLeakage: 422,
    CapabilityUnsupported: 422,
    StoreError: 503,
    StoreCorrupt: 500,
    EmbedderFailed: 503,
    MemorywireError: 500,
}


def status_of(error: MemorywireError) -> int:
    """The status of the nearest named ancestor in the error tree."""
    return next(STATUSES[kind] for kind in type(error).__mro__ if kind in STATUSES)


def as_json(document: Json, status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    return Response(encode_json(document), status, headers, media_type=JSON)


def encode_json(document: Json) -> bytes:
    return json.dumps(document, ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode()


def as_problem(
    error: MemorywireError, status: int | None = None, headers: Mapping[str, str] | None = None
) -> Response:
    """The wire's own problem shape, which is what RFC 9457 calls extension members."""
    all_headers = {**(headers or {}), **how(error)}
    # A problem may name a key that is no text: what cannot be said of it is left out.
    body = json.dumps(error.problem(), ensure_ascii=False).encode(errors="replace")
    return Response(body, status or status_of(error), all_headers, media_type=PROBLEM)


def how(error: MemorywireError) -> dict[str, str]:
    """The headers that tell a caller what to do about the error."""
    if isinstance(error, Unauthenticated):
        return {"WWW-Authenticate": "Bearer"}
    if isinstance(error, TooLarge | TooSlow):  # what is left of the body is not read
        return {"Connection": "close"}
    wait = getattr(error, "retry_after", None)
    if wait is None and status_of(error) == STATUSES[StoreError]:
        wait = _AGAIN
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
