"""Redaction on read: removes from returned memories what the policy hides from the caller."""

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
    """Return the memories, without content and metadata where a rule redacts them for this caller."""
    rules = await find_redactions(records, scope, context, owners)
    if not any(rules):
        return records
    return [
        record if rule is None else _redact(record, rule) for record, rule in zip(records, rules, strict=True)
    ]


async def drop_redacted(records: Sequence[Record], scope: Scope, context: Context) -> list[Record]:
    """Return the memories that no rule redacts for this caller."""
    rules = await find_redactions(records, scope, context)
    return [record for record, rule in zip(records, rules, strict=True) if rule is None]


async def redact_versions(versions: Sequence[Version], scope: Scope, context: Context) -> tuple[Version, ...]:
    """Redact the versions of a memory; each version is judged by its own content."""
    there = [version.record for version in versions if version.record is not None]
    records = iter(await redact_records(there, scope, context))
    return tuple([one if one.record is None else replace(one, record=next(records)) for one in versions])


async def find_redactions(
    records: Sequence[Record], scope: Scope, context: Context, owners: Owners | None = None
) -> list[Rule | None]:
    """Return for each memory the rule that redacts it for this caller, or None."""
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
