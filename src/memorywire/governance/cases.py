"""A case: a request and what it would do, as rules see it; and whether a rule speaks of it."""

import json
from collections.abc import Callable, Mapping
from typing import Any

from memorywire.governance.patterns import fits, folded, names
from memorywire.governance.rules import ABOUT_RECORDS, Condition, Operation, Rule, Verdict
from memorywire.model.record import Json, MemoryType, Record, Scope, Trust
from memorywire.model.values import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """What is judged: who asks for what, and what it would do.

    `records` would be put, `ending` are those that would be ended or erased, as far as they were read.
    `secrets` are (kind, place), `instructions` are (sign, place), `similar` are ids of live memories.
    """

    operation: str
    scope: Scope
    caller: str
    records: tuple[Record, ...] = ()
    ended: int = 0
    erased: int = 0
    by_filter: bool = False
    secrets: tuple[tuple[str, str], ...] = ()
    instructions: tuple[tuple[str, str], ...] = ()
    similar: tuple[str, ...] = ()
    approval_required: bool = False
    privacy_intent: Mapping[str, Json] | None = None
    ending: tuple[Record, ...] = ()

    @property
    def destructive(self) -> bool:
        """Whether something would be gone afterwards that is there now."""
        return self.ended + self.erased > 0

    @property
    def affects(self) -> int:
        return len(self.records) + self.ended + self.erased

    @property
    def may_be_automatic(self) -> bool:
        """Whether a learned rule may let it pass: new, not procedural, not suspicious, not untrusted."""
        return (
            self.operation == Operation.REMEMBER
            and not (self.destructive or self.secrets or self.instructions)
            and bool(self.records)
            and all(
                record.version == 1
                and record.trust is not Trust.UNTRUSTED
                and record.type is not MemoryType.PROCEDURAL
                for record in self.records
            )
        )


def matches(rule: Rule, case: Case) -> bool:
    """Whether the rule speaks of this case.

    Conditions on memories look at what is written or, when nothing is, at what is taken away. To hold or
    to refuse, one memory that meets them is enough; to allow, all must. Only a rule that names recall
    speaks of recall.
    """
    if not speaks_of(rule, case.operation):
        return False
    if not rule.when.about_records:
        return _meets(rule.when, case, None)
    memories = case.records or case.ending
    if len(memories) == 1:
        return _meets(rule.when, case, memories[0])
    met = (_meets(rule.when, case, record) for record in memories)
    return bool(memories) and (all(met) if rule.verdict is Verdict.ALLOW else any(met))


def speaks_of(rule: Rule, operation: str) -> bool:
    """Whether a rule can speak of this operation."""
    named = rule.when.operation
    return operation in named or not (named or operation == Operation.RECALL)


def _meets(when: Condition, case: Case, record: Record | None) -> bool:
    for name, wanted in when.given.items():
        if name in ABOUT_RECORDS:
            met = record is not None and _record_meets(name, wanted, record)
        else:
            met = _case_meets(name, wanted, case, record)
        if not met:
            return False
    return True


def _record_meets(name: str, wanted: Any, record: Record) -> bool:
    match name:
        case "type" | "trust":
            return getattr(record, name) in wanted
        case "source":
            return fits(wanted, record.source)
        case "tags":
            return any(fits(wanted, tag) for tag in record.tags)
        case "confidence_below":
            return bool(record.confidence < wanted)
        case _:
            content = record.content
            words = folded(content if isinstance(content, str) else json.dumps(content, ensure_ascii=False))
            return any(folded(part) in words for part in wanted)


def _case_meets(name: str, wanted: Any, case: Case, record: Record | None) -> bool:
    match name:
        case "everything":
            return True
        case "unless":
            return not _meets(wanted, case, record)
        case "operation":
            return case.operation in wanted
        case "tenant" | "agent" | "user":
            return names(wanted, getattr(case.scope, name))
        case "caller":
            return names(wanted, case.caller)
        case "affects_at_least":
            return bool(case.affects >= wanted)
        case _:
            return bool(wanted is _SIGNS[name](case))


_SIGNS: Mapping[str, Callable[[Case], bool]] = {
    "contains_secret": lambda case: bool(case.secrets),
    "looks_like_instruction": lambda case: bool(case.instructions),
    "similar_to_existing": lambda case: bool(case.similar),
    "destructive": lambda case: case.destructive,
    "erases": lambda case: case.erased > 0,
    "by_filter": lambda case: case.by_filter,
}
