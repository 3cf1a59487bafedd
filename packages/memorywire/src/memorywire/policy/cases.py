"""A case: a request and what it would do, as rules see it; and whether a rule applies to it."""

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from memorywire.model.record import Json, MemoryType, Record, Scope, Trust
from memorywire.model.values import dataclass
from memorywire.policy.patterns import fits, folded, names
from memorywire.policy.rules import Condition, Operation, Rule, Verdict


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """What is judged: who asks for what, and what it would do.

    `records` would be put, `ending` are those that would be ended or erased, as far as they were read.
    `secrets` are (kind, place), `instructions` are (sign, place), `similar` are ids of live memories.
    `rejected` says that a person rejected the same words before, `undoes_person` that an agent would take
    back what a person did.
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
    rejected: bool = False
    undoes_person: bool = False

    @property
    def destructive(self) -> bool:
        """Whether something that is there now would be gone afterwards."""
        return self.ended + self.erased > 0

    @property
    def affects(self) -> int:
        return len(self.records) + self.ended + self.erased

    @property
    def may_be_automatic(self) -> bool:
        """Whether a learned rule may let it pass: new, not procedural, not suspicious, not untrusted."""
        return (
            self.operation == Operation.REMEMBER
            and not (self.destructive or self.secrets or self.instructions or self.rejected)
            and bool(self.records)
            and all(
                record.version == 1
                and record.trust is not Trust.UNTRUSTED
                and record.type is not MemoryType.PROCEDURAL
                for record in self.records
            )
        )


def matches(rule: Rule, case: Case) -> bool:
    """Whether the rule applies to this case.

    Conditions on memories look at what is written or, when nothing is, at what is taken away. To hold or to
    refuse, one memory that meets them is enough; to allow, all must meet them. Only a rule that names recall
    applies to recalls.
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
    """Whether a rule can apply to this operation."""
    named = rule.when.operation
    return operation in named or not (named or operation == Operation.RECALL)


def _meets(when: Condition, case: Case, record: Record | None) -> bool:
    for name, wanted in when.given.items():
        if name in _OF_MEMORIES:
            met = record is not None and _OF_MEMORIES[name](wanted, record)
        elif name == "unless":
            met = not _meets(wanted, case, record)
        else:
            met = _OF_CASES[name](wanted, case)
        if not met:
            return False
    return True


def _says_one_of(wanted: Sequence[str], content: Json) -> bool:
    words = folded(content if isinstance(content, str) else json.dumps(content, ensure_ascii=False))
    return any(folded(part) in words for part in wanted)


_OF_MEMORIES: Mapping[str, Callable[[Any, Record], bool]] = {
    "type": lambda wanted, record: record.type in wanted,
    "trust": lambda wanted, record: record.trust in wanted,
    "source": lambda wanted, record: fits(wanted, record.source),
    "tags": lambda wanted, record: any(fits(wanted, tag) for tag in record.tags),
    "confidence_below": lambda wanted, record: bool(record.confidence < wanted),
    "content_contains": lambda wanted, record: _says_one_of(wanted, record.content),
}

_OF_CASES: Mapping[str, Callable[[Any, Case], bool]] = {
    "everything": lambda wanted, case: True,
    "operation": lambda wanted, case: case.operation in wanted,
    "tenant": lambda wanted, case: names(wanted, case.scope.tenant),
    "agent": lambda wanted, case: names(wanted, case.scope.agent),
    "user": lambda wanted, case: names(wanted, case.scope.user),
    "caller": lambda wanted, case: names(wanted, case.caller),
    "affects_at_least": lambda wanted, case: bool(case.affects >= wanted),
    "contains_secret": lambda wanted, case: wanted is bool(case.secrets),
    "looks_like_instruction": lambda wanted, case: wanted is bool(case.instructions),
    "similar_to_existing": lambda wanted, case: wanted is bool(case.similar),
    "rejected_before": lambda wanted, case: wanted is case.rejected,
    "undoes_person": lambda wanted, case: wanted is case.undoes_person,
    "destructive": lambda wanted, case: wanted is case.destructive,
    "erases": lambda wanted, case: wanted is (case.erased > 0),
    "by_filter": lambda wanted, case: wanted is case.by_filter,
}
