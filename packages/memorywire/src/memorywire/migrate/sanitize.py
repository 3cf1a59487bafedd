"""Prepares what arrives from elsewhere: without secrets, and trusted no more than its source is here."""

import math
from collections.abc import Callable, Sequence
from typing import TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from memorywire.journal.contract import Act
from memorywire.journal.entries import Entry
from memorywire.model.change import Change
from memorywire.model.errors import InvalidRequest, MemorywireError
from memorywire.model.parts import CONTENT_CHARS_MAX
from memorywire.model.record import MemoryType, Record, Trust
from memorywire.model.requests import Remember
from memorywire.pipeline.commit import Plan
from memorywire.pipeline.context import Context
from memorywire.pipeline.govern import case_of, governed
from memorywire.pipeline.remember import refuse_large
from memorywire.pipeline.scan import asking, redacted
from memorywire.policy.judge import Policy, judge, trust_of
from memorywire.policy.redact import redact_remember
from memorywire.policy.rules import Verdict
from memorywire.procedures.parse import check
from memorywire.search.reference import floats


class Clean(Struct, frozen=True, kw_only=True):
    """A change without secrets, and the kinds and places of those that were found."""

    change: Change
    secrets: tuple[tuple[str, str], ...] = ()


def cleaned(changes: Sequence[Change], context: Context) -> list[Clean | MemorywireError]:
    """Each change without its secrets, or its problem. Blocks: call it on a thread."""
    return [_cleaned(change, context) for change in changes]


def _cleaned(change: Change, context: Context) -> Clean | MemorywireError:
    found: list[tuple[str, str]] = []
    try:
        puts = tuple(replace(put, record=_record(put.record, context, found)) for put in change.put)
    except MemorywireError as problem:
        return problem
    return Clean(
        change=replace(change, put=puts, reason=context.without_secrets(change.reason)), secrets=tuple(found)
    )


def _record(record: Record, context: Context, found: list[tuple[str, str]]) -> Record:
    refuse_large(record.metadata, "metadata")
    _refuse_long(record)
    if record.type is MemoryType.PROCEDURAL:
        check(record.content)
    if context.office is None:
        return record
    asked, findings = redact_remember(request_for(record), context.office.redactor)
    if not findings:
        return record
    found += [(finding.kind, finding.place) for finding in findings]
    return redacted(record, asked)


def _refuse_long(record: Record) -> None:
    """Refuse a memory that is longer than a remember takes: imports get no exception."""
    if isinstance(record.content, str) and len(record.content) > CONTENT_CHARS_MAX:
        raise InvalidRequest(
            f"memory {record.id} has {len(record.content)} characters, {CONTENT_CHARS_MAX} are allowed",
            field="content",
            fix="cut it into several where it comes from, and import it again",
        )


def request_for(record: Record) -> Remember:
    """What somebody would have asked for to keep this, whose version does not matter here."""
    return replace(asking(record, hold=False), if_version=None)


async def weigh(clean: Clean, context: Context) -> Verdict:
    """The policy's judgement on what a change puts; that something ended elsewhere is not judged again.

    A refusal is written into the ledger.
    """
    if context.office is None or not clean.change.put:
        return Verdict.ALLOW
    policy = await context.office.rulebook.policy(clean.change.scope.tenant)
    judgement = judge(await case_of(_plan(clean), context, policy), policy)
    if judgement.verdict is Verdict.REFUSE:
        entry = Entry(
            at=context.clock(),
            operation="import",
            scope=clean.change.scope,
            actor=context.office.caller,
            kind="refused",
            subject=clean.change.id,
            details={"rule": judgement.rule},
        )
        await context.office.journal.write(Act(entries=(entry,)))
    return judgement.verdict


async def hold(clean: Clean, context: Context) -> str | None:
    """Hold the change for a person, once: an import that is started again finds it waiting."""
    plan = _plan(clean)
    once = tuple(replace(put, unique=True) for put in plan.change.put)
    held = await governed(replace(plan, change=replace(plan.change, put=once)), context)
    return held.proposal_id


def _plan(clean: Clean) -> Plan:
    change = replace(clean.change, operation="remember", end=())
    return Plan(change=change, request=request_for(change.put[0].record), secrets=clean.secrets)


Trusting: TypeAlias = Callable[[Record, Policy], Trust]
"""How far a record from elsewhere is trusted at most."""


def as_untrusted(record: Record, policy: Policy) -> Trust:
    """For a file for which nobody vouches that this installation knows."""
    return Trust.UNTRUSTED


def as_named(record: Record, policy: Policy) -> Trust:
    """For a place whose memories the operator vouches for: only patterns of the policy lower the trust."""
    return trust_of(record.source, replace(policy, default_trust=Trust.STANDARD))


def by_source(named: frozenset[str]) -> Trusting:
    """As the policy trusts the source of each; the `named` ones are those that the operator imports."""

    def trusting(record: Record, policy: Policy) -> Trust:
        return Trust.STANDARD if record.source in named else trust_of(record.source, policy)

    return trusting


async def believed(change: Change, context: Context, trusting: Trusting) -> Change | MemorywireError:
    """The change with each memory trusted no more than it is here, or its problem."""
    if context.office is None or not change.put:
        return change
    policy = await context.office.rulebook.policy(change.scope.tenant)
    try:
        records = [
            replace(put.record, trust=Trust.lowest(put.record.trust, trusting(put.record, policy)))
            for put in change.put
        ]
    except InvalidRequest as problem:
        return problem
    return replace(
        change,
        put=tuple(replace(put, record=record) for put, record in zip(change.put, records, strict=True)),
    )


async def embedded(changes: Sequence[Change], context: Context) -> list[Change]:
    """The changes with a vector on every put that brings no sound one; all are embedded at once."""
    size = context.embedder.space.dimension
    changes = [_without_unsound_vectors(change, size) for change in changes]
    missing = [put.record.meaning for change in changes for put in change.put if put.vector is None]
    vectors = iter(await context.embedder.embed(missing) if missing else ())
    return [
        replace(
            change,
            put=tuple(
                put if put.vector is not None else replace(put, vector=next(vectors)) for put in change.put
            ),
        )
        for change in changes
    ]


_UNIT = 1e-3
"""How far the length of a vector may be from one: vectors are kept with 16 bits a number."""


def _without_unsound_vectors(change: Change, size: int) -> Change:
    """The change without vectors that are of another size, not finite, or not of length one."""
    if all(put.vector is None for put in change.put):
        return change
    puts = (
        put if put.vector is None or is_unit(put.vector, size) else replace(put, vector=None)
        for put in change.put
    )
    return replace(change, put=tuple(puts))


def is_unit(vector: bytes, size: int) -> bool:
    """Whether these are `size` finite 32-bit floats of length one."""
    if len(vector) != 4 * size:
        return False
    squared = math.fsum(number * number for number in floats(vector))
    return math.isfinite(squared) and abs(math.sqrt(squared) - 1.0) <= _UNIT
