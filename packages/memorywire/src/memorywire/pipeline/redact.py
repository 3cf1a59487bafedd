"""Redaction on reading: what the policy keeps from this caller is not in any memory that they are given."""

from collections.abc import Sequence

from msgspec.structs import replace

from memorywire.model.change import Version
from memorywire.model.record import Record, Scope
from memorywire.model.requests import Owners
from memorywire.pipeline.context import Context
from memorywire.policy.judge import Case, find_redaction
from memorywire.policy.rules import Rule


async def redact_records(
    records: Sequence[Record], scope: Scope, context: Context, owners: Owners | None = None
) -> Sequence[Record]:
    """The memories; of one that a rule redacts for this caller, neither content nor metadata."""
    rules = await find_redactions(records, scope, context, owners)
    if not any(rules):
        return records
    return [
        record if rule is None else _redact(record, rule) for record, rule in zip(records, rules, strict=True)
    ]


async def drop_redacted(records: Sequence[Record], scope: Scope, context: Context) -> list[Record]:
    """The memories that this caller may read."""
    rules = await find_redactions(records, scope, context)
    return [record for record, rule in zip(records, rules, strict=True) if rule is None]


async def redact_versions(versions: Sequence[Version], scope: Scope, context: Context) -> tuple[Version, ...]:
    """The versions of a memory; what one of them says is judged by what it says itself."""
    there = [version.record for version in versions if version.record is not None]
    records = iter(await redact_records(there, scope, context))
    return tuple([one if one.record is None else replace(one, record=next(records)) for one in versions])


async def find_redactions(
    records: Sequence[Record], scope: Scope, context: Context, owners: Owners | None = None
) -> list[Rule | None]:
    """For each memory the rule that keeps its content from this caller, if any."""
    governance = context.governance
    if governance is None or not records:
        return [None] * len(records)
    policy = await governance.rulebook.policy(scope.tenant)
    if not policy.redactions:
        return [None] * len(records)
    whole = Owners.ALL if scope.user is None else Owners.USER
    case = Case(operation="recall", scope=scope, caller=governance.caller, owners=owners or whole)
    return [find_redaction(record, case, policy) for record in records]


def _redact(record: Record, rule: Rule) -> Record:
    return replace(record, content=f"[REDACTED:{rule.name}]", metadata={})
