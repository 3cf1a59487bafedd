"""Everything that can go wrong, as one tree; each error is a problem a caller can show.

MemorywireError
├── InvalidRequest         the request is invalid; nothing was done
│   ├── InvalidJson        the bytes are not valid JSON for this format
│   ├── UnknownOperation   no such operation in this wire format
│   ├── TooLarge           the request has too many bytes
│   ├── TooSlow            the request was not received in time
│   ├── WrongMedia         the media type of the body is not supported
│   ├── WrongMethod        the route exists, but not with this method
│   ├── WrongType          the value under a key has the wrong type
│   └── ValueTooLarge      the value has too many bytes
├── Unauthenticated        the caller is unknown
├── Forbidden              the caller is known but lacks the right
│   └── Misdirected        the request names another host
├── NotFound               no such memory or change in this scope
├── Conflict               the state has changed, or the id or the content is taken
│   ├── Duplicate          the same content is already live in this scope
│   └── IdempotencyConflict   the key was used for another request
├── TooManyAffected        the plan affects more memories than `max_affected` allows
├── QuotaExceeded          the values of one owner would exceed their quota
├── Refused                the policy refuses the request
├── ApprovalPending        a person must approve first
├── BudgetExceeded         the request exceeds the budget of the caller
├── RateLimited            the caller sends too many requests
│   └── Overloaded         the server has too many requests
├── SecretLeakage          a secret is in a place where it cannot be redacted
├── CapabilityUnsupported  no configured component supports this
│   ├── VectorUnsupported  the store has no vectors
│   ├── EmbedderNotConfigured   no embedder is configured
│   └── DimensionMismatch  the embedder's vectors are of another space than the store's
├── StoreError             the store could not answer
│   ├── StoreUnavailable   the store is not reachable, or the disk failed
│   ├── StoreBusy          another process held the write lock too long
│   ├── StoreCorrupt       the store returned invalid data
│   ├── StoreNewer         the file was written by a newer release
│   ├── SpaceMismatch      the file has vectors of another embedding space
│   └── UnsafeEngine       this SQLite build can lose committed writes
└── EmbedderFailed         the embedding model or endpoint could not answer
"""

from collections.abc import Mapping
from typing import ClassVar


class MemorywireError(Exception):
    """An error with a stable `code`, a sentence, and, if known, the field and the fix.

    A traceback shows both below the sentence.
    """

    code: ClassVar[str] = "internal"

    def __init__(self, detail: str, *, field: str | None = None, fix: str | None = None) -> None:
        super().__init__(detail)
        self.detail = detail
        self.field = field
        self.fix = fix

    @property
    def fix(self) -> str | None:
        return self._fix

    @fix.setter
    def fix(self, fix: str | None) -> None:
        self._fix = fix
        told = {"field": self.field, "fix": fix}
        self.__notes__ = [f"{name}: {value}" for name, value in told.items() if value is not None]

    def problem(self) -> dict[str, str]:
        """Return the error as the wire format has it: `{code, detail, field?, fix?}`."""
        parts: Mapping[str, str | None] = {
            "code": self.code,
            "detail": self.detail,
            "field": self.field,
            "fix": self.fix,
        }
        return {name: value for name, value in parts.items() if value is not None}


class InvalidRequest(MemorywireError):
    code = "validation_error"


class InvalidJson(InvalidRequest):
    code = "invalid_json"


class UnknownOperation(InvalidRequest):
    code = "unknown_operation"


class TooLarge(InvalidRequest):
    code = "too_large"


class TooSlow(InvalidRequest):
    code = "too_slow"


class WrongMedia(InvalidRequest):
    code = "unsupported_media_type"


class WrongMethod(InvalidRequest):
    code = "method_not_allowed"


class WrongType(InvalidRequest):
    code = "wrong_type"


class ValueTooLarge(InvalidRequest):
    code = "value_too_large"


class Unauthenticated(MemorywireError):
    code = "unauthenticated"


class Forbidden(MemorywireError):
    code = "forbidden"


class Misdirected(Forbidden):
    code = "misdirected"


class NotFound(MemorywireError):
    code = "not_found"


class Conflict(MemorywireError):
    code = "conflict"


class Duplicate(Conflict):
    """Raised by a store when a unique put finds its content live; `existing` names the record."""

    def __init__(self, existing: str) -> None:
        super().__init__(f"the same content is live as {existing}", field="content")
        self.existing = existing


class IdempotencyConflict(Conflict):
    code = "idempotency_conflict"


class TooManyAffected(MemorywireError):
    code = "too_many_affected"


class QuotaExceeded(MemorywireError):
    code = "quota_exceeded"


class Refused(MemorywireError):
    code = "refused_by_policy"


class ApprovalPending(MemorywireError):
    """A person must approve first; `proposal_id` names the proposal."""

    code = "approval_pending"

    def __init__(
        self, detail: str, *, proposal_id: str, field: str | None = None, fix: str | None = None
    ) -> None:
        super().__init__(detail, field=field, fix=fix)
        self.proposal_id = proposal_id


class BudgetExceeded(MemorywireError):
    """`retry_after` is the wait in seconds; None when the request exceeds the whole budget."""

    code = "budget_exceeded"

    def __init__(
        self, detail: str, *, retry_after: int | None, field: str | None = None, fix: str | None = None
    ) -> None:
        super().__init__(detail, field=field, fix=fix)
        self.retry_after = retry_after


class RateLimited(MemorywireError):
    """`retry_after` is the wait in seconds."""

    code = "rate_limited"

    def __init__(self, detail: str, *, retry_after: int) -> None:
        super().__init__(detail, fix=f"wait {retry_after} s and send it again")
        self.retry_after = retry_after


class Overloaded(RateLimited):
    code = "overloaded"


class SecretLeakage(MemorywireError):
    code = "secret_leakage"


class CapabilityUnsupported(MemorywireError):
    code = "capability_unsupported"


class VectorUnsupported(CapabilityUnsupported):
    code = "vector_unsupported"


class EmbedderNotConfigured(CapabilityUnsupported):
    code = "embedder_not_configured"


class StoreError(MemorywireError):
    code = "store_error"
    asked = True
    """Whether the request reached the store; it does not while the store is suspended after failures."""


class StoreUnavailable(StoreError):
    code = "store_unavailable"


class StoreBusy(StoreError):
    code = "store_busy"


class StoreCorrupt(StoreError):
    code = "store_corrupt"


DAMAGED_FIX = "see what is damaged with: memorywire doctor; then restore a backup"


def corrupt_row(id: str, error: Exception) -> StoreCorrupt:
    """The error of a row that cannot be read."""
    return StoreCorrupt(f"the row of {id} is damaged: {error!r}", fix=DAMAGED_FIX)


class StoreNewer(StoreError):
    code = "store_newer"


class SpaceMismatch(StoreError):
    code = "space_mismatch"


class UnsafeEngine(StoreError):
    code = "unsafe_engine"


class EmbedderFailed(MemorywireError):
    code = "embedder_failed"


class DimensionMismatch(CapabilityUnsupported, EmbedderFailed):
    code = "dimension_mismatch"
