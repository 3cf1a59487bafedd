// The errors of the wire format as classes: what one may do about it decides the class, `code` says it exactly.

/** What the server says of a request that it did not carry out. */
export interface Problem {
  code: string;
  detail: string;
  field?: string;
  fix?: string;
}

/** Every error of this client; `code`, `field` and `fix` are those of the wire format. */
export class MemorywireError extends Error {
  readonly code: string;
  readonly field: string | undefined;
  readonly fix: string | undefined;
  /** The HTTP status; 0 when there was no answer. */
  readonly status: number;

  constructor(problem: Problem, status: number, cause?: unknown) {
    super(problem.detail, cause === undefined ? undefined : { cause });
    this.name = new.target.name;
    this.code = problem.code;
    this.field = problem.field;
    this.fix = problem.fix;
    this.status = status;
  }
}

/** The request itself is wrong: sent again unchanged, it fails again. */
export class InvalidRequest extends MemorywireError {}
/** There is no valid token. */
export class Unauthenticated extends MemorywireError {}
/** The token does not allow this. */
export class Forbidden extends MemorywireError {}
/** It does not exist, or it belongs to somebody else. */
export class NotFound extends MemorywireError {}
/** The state has changed, or the id or the key is in use. */
export class Conflict extends MemorywireError {}
/** The policy refuses it, or a person has to approve first. */
export class Refused extends MemorywireError {}
/** Too many requests or changes for now. */
export class LimitExceeded extends MemorywireError {}
/** This server, or one of its stores, cannot do this. */
export class Unsupported extends MemorywireError {}
/** A store or the server does not work at the moment. */
export class Unavailable extends MemorywireError {}
/** There was no answer, or none in time: a write may have taken effect. */
export class ConnectionLost extends MemorywireError {}

type ErrorClass = new (problem: Problem, status: number, cause?: unknown) => MemorywireError;

const CLASSES: Record<string, ErrorClass> = {
  unauthenticated: Unauthenticated,
  forbidden: Forbidden,
  misdirected: Forbidden,
  not_found: NotFound,
  conflict: Conflict,
  idempotency_conflict: Conflict,
  too_many_affected: Refused,
  refused_by_policy: Refused,
  approval_pending: Refused,
  secret_leakage: Refused,
  quota_exceeded: LimitExceeded,
  budget_exceeded: LimitExceeded,
  rate_limited: LimitExceeded,
  overloaded: LimitExceeded,
  capability_unsupported: Unsupported,
  vector_unsupported: Unsupported,
  embedder_not_configured: Unsupported,
};

/** The error for an answer of the server. */
export function errorOf(problem: Problem, status: number): MemorywireError {
  const fallback = status >= 500 ? Unavailable : InvalidRequest;
  return new (CLASSES[problem.code] ?? fallback)(problem, status);
}
