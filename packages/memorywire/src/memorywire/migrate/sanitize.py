"""Prepares imported changes: redacts secrets, limits trust, applies the policy, adds vectors."""

import math
from collections.abc import Callable, Sequence
from itertools import islice
from typing import TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from memorywire.journal.acts import Act
from memorywire.migrate.history import build_entry
from memorywire.model.change import Change, Put
from memorywire.model.errors import InvalidRequest, MemorywireError
from memorywire.model.record import MemoryType, Record, Trust
from memorywire.model.requests import Remember
from memorywire.model.text import CONTENT_CHARS_MAX
from memorywire.pipeline.commit import build_case, commit_one
from memorywire.pipeline.context import Context
from memorywire.pipeline.plan import Plan, refuse_large
from memorywire.pipeline.scan import asking, redacted
from memorywire.policy.judge import Policy, judge, trust_of
from memorywire.policy.redact import redact_remember
from memorywire.policy.rules import Verdict
from memorywire.procedures.parse import check
from memorywire.search.reference import floats


class RedactedChange(Struct, frozen=True, kw_only=True):
    """A redacted change, and the kind and place of each secret that it had."""

    change: Change
    secrets: tuple[tuple[str, str], ...] = ()


def redact_changes(changes: Sequence[Change], context: Context) -> list[RedactedChange | MemorywireError]:
    """Redact each change, or return its error. Blocks: call it on a thread."""
    results: list[RedactedChange | MemorywireError] = []
    for change in changes:
        secrets: list[tuple[str, str]] = []
        try:
            puts = [replace(put, record=_redact_record(put.record, context, secrets)) for put in change.put]
        except MemorywireError as problem:
            results.append(problem)
            continue
        clean = replace(change, put=tuple(puts), reason=context.without_secrets(change.reason))
        results.append(RedactedChange(change=clean, secrets=tuple(secrets)))
    return results


def _redact_record(record: Record, context: Context, secrets: list[tuple[str, str]]) -> Record:
    refuse_large(record.metadata, "metadata")
    if isinstance(record.content, str) and len(record.content) > CONTENT_CHARS_MAX:
        raise InvalidRequest(
            f"memory {record.id} is longer than {CONTENT_CHARS_MAX} characters: {len(record.content)}",
            field="content",
            fix="split it at the source and import it again",
        )
    if record.type is MemoryType.PROCEDURAL:
        check(record.content)
    if context.governance is None:
        return record
    request, findings = redact_remember(build_request(record), context.governance.redactor)
    if not findings:
        return record
    secrets += [(finding.kind, finding.place) for finding in findings]
    return redacted(record, request)


def build_request(record: Record) -> Remember:
    """Return the request that would remember this record, whatever its version."""
    return replace(asking(record, hold=False), if_version=None)


async def judge_change(redaction: RedactedChange, context: Context) -> Verdict:
    """Return the policy's verdict on the puts of a change, not on its ends; records a refusal."""
    if context.governance is None or not redaction.change.put:
        return Verdict.ALLOW
    policy = await context.governance.rulebook.policy(redaction.change.scope.tenant)
    judgement = judge(await build_case(_build_plan(redaction), context, policy), policy)
    if judgement.verdict is Verdict.REFUSE:
        scope, details = redaction.change.scope, {"rule": judgement.rule}
        entry = build_entry(context, scope, "refused", subject=redaction.change.id, details=details)
        await context.governance.journal.write(Act(entries=(entry,)))
    return judgement.verdict


async def hold_change(redaction: RedactedChange, context: Context) -> str | None:
    """Hold the change for review and return the id of its proposal; idempotent."""
    plan = _build_plan(redaction)
    puts = tuple(replace(put, unique=True) for put in plan.change.put)
    receipt = await commit_one(replace(plan, change=replace(plan.change, put=puts)), context)
    return receipt.proposal_id


def _build_plan(redaction: RedactedChange) -> Plan:
    change = replace(redaction.change, operation="remember", end=())
    return Plan(change=change, request=build_request(change.put[0].record), secrets=redaction.secrets)


TrustLimit: TypeAlias = Callable[[Record, Policy], Trust]
"""Returns the highest trust that an imported record may have."""


def trust_nothing(record: Record, policy: Policy) -> Trust:
    """Limit trust for a file without a known signature, which the operator did not mark as trusted."""
    return Trust.UNTRUSTED


def trust_operator(record: Record, policy: Policy) -> Trust:
    """Limit trust for content that the operator trusts: only patterns of the policy lower it."""
    return trust_of(record.source, replace(policy, default_trust=Trust.STANDARD))


def trust_by_source(own_names: frozenset[str]) -> TrustLimit:
    """Return a limit by the policy's trust of each source; `own_names`, set by the importer, are standard."""

    def trusting(record: Record, policy: Policy) -> Trust:
        return Trust.STANDARD if record.source in own_names else trust_of(record.source, policy)

    return trusting


async def limit_trust(change: Change, context: Context, trusting: TrustLimit) -> Change | MemorywireError:
    """Return the change with the trust of each memory limited, or its error."""
    if context.governance is None or not change.put:
        return change
    policy = await context.governance.rulebook.policy(change.scope.tenant)
    puts: list[Put] = []
    try:
        for put in change.put:
            trust = Trust.lowest(put.record.trust, trusting(put.record, policy))
            puts.append(replace(put, record=replace(put.record, trust=trust)))
    except InvalidRequest as problem:
        return problem
    return replace(change, put=tuple(puts))


async def embed_changes(changes: Sequence[Change], context: Context) -> list[Change]:
    """Add a vector to every put without a valid one, with one call of the embedder."""
    size = context.embedder.space.dimension
    puts = [put for change in changes for put in change.put]
    valid = [put.vector is not None and is_unit_vector(put.vector, size) for put in puts]
    missing = [put.record.meaning for put, is_valid in zip(puts, valid, strict=True) if not is_valid]
    vectors = iter(await context.embedder.embed(missing) if missing else ())
    complete = (
        put if is_valid else replace(put, vector=next(vectors))
        for put, is_valid in zip(puts, valid, strict=True)
    )
    return [replace(change, put=tuple(islice(complete, len(change.put)))) for change in changes]


_UNIT_TOLERANCE = 1e-3
"""The tolerance of a unit vector's length, because stored vectors have 16 bits per number."""


def is_unit_vector(vector: bytes, size: int) -> bool:
    """Whether the vector has `size` finite 32-bit floats and length one."""
    if len(vector) != 4 * size:
        return False
    square = math.fsum(number * number for number in floats(vector))
    return math.isfinite(square) and abs(math.sqrt(square) - 1.0) <= _UNIT_TOLERANCE
