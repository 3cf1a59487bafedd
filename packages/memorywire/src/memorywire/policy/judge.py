"""Policy evaluation: cases, rules and judgements. Pure functions on values, without I/O."""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from enum import StrEnum
from functools import cached_property, lru_cache
from operator import attrgetter
from typing import Any, NamedTuple

from msgspec import Struct
from msgspec.structs import replace

from memorywire.model.record import Json, MemoryType, Record, Scope, Trust
from memorywire.model.requests import Owners
from memorywire.policy.patterns import fits, fold_case, kind_of, kinds_in, names, refuse_lookalike
from memorywire.policy.rules import (
    APPROVAL,
    DEFAULT,
    INTENT,
    SECRETS,
    Budget,
    Condition,
    Operation,
    Rule,
    Verdict,
    condition_from,
    condition_to,
    verdict_on_request,
)


class Case(Struct, frozen=True, kw_only=True, gc=False):
    """The input of a judgement: the caller, the operation, and its effects.

    `records` would be put, `ending` would be ended or erased, as far as they were read. `secrets` are
    (kind, place), `instructions` are (sign, place), `similar` are ids of live memories. `rejected`: a person
    rejected the same words before. `undoes_person`: an agent would undo a change that a person made.
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
    owners: Owners | None = None

    @property
    def destructive(self) -> bool:
        """Whether the request would end or erase memories."""
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

    Conditions on memories test the written memories or, if there are none, the ended ones. A hold or refusal
    needs one memory that meets them; an allow needs all to meet them. Only a rule that names recall applies
    to recalls.
    """
    if not speaks_of(rule, case.operation):
        return False
    if not rule.when.about_records:
        return _meets(rule.when, case, None)
    memories = case.records or case.ending
    if len(memories) == 1:
        return _meets(rule.when, case, memories[0])
    results = (_meets(rule.when, case, record) for record in memories)
    return bool(memories) and (all(results) if rule.verdict is Verdict.ALLOW else any(results))


def speaks_of(rule: Rule, operation: str) -> bool:
    """Whether a rule can apply to this operation."""
    named = rule.when.operation
    return operation in named or not (named or operation == Operation.RECALL)


def _meets(when: Condition, case: Case, record: Record | None) -> bool:
    for name, expected_value in when.given.items():
        if name in RECORD_CHECKS:
            is_met = record is not None and RECORD_CHECKS[name].passes(expected_value, record)
        elif name == "unless":
            is_met = not _meets(expected_value, case, record)
        else:
            is_met = CASE_CHECKS[name].passes(expected_value, case)
        if not is_met:
            return False
    return True


def _contains_one_of(value: Sequence[str], content: Json) -> bool:
    words = fold_case(content if isinstance(content, str) else json.dumps(content, ensure_ascii=False))
    return any(fold_case(part) in words for part in value)


class Check(NamedTuple):
    """A condition of rules: the fields of a case or a record that it reads, and the test of their values.

    `test` gets the rule's value and the values of `fields`, nothing else. So a condition cannot read a field
    that it does not declare, and the cache of judgements, which is keyed by the declared fields, cannot
    confuse two cases that a rule distinguishes.
    """

    fields: tuple[str, ...]
    test: Callable[..., bool]

    def passes(self, value: Any, subject: object) -> bool:
        return self.test(value, *[getattr(subject, name) for name in self.fields])


RECORD_CHECKS: Mapping[str, Check] = {
    "type": Check(("type",), lambda value, type: type in value),
    "trust": Check(("trust",), lambda value, trust: trust in value),
    "source": Check(("source",), fits),
    "tags": Check(("tags",), lambda value, tags: any(fits(value, tag) for tag in tags)),
    "confidence_below": Check(("confidence",), lambda value, confidence: bool(confidence < value)),
    "content_contains": Check(("content",), _contains_one_of),
}

CASE_CHECKS: Mapping[str, Check] = {
    "everything": Check((), lambda value: True),
    "operation": Check(("operation",), lambda value, operation: operation in value),
    "tenant": Check(("scope",), lambda value, scope: names(value, scope.tenant)),
    "agent": Check(("scope",), lambda value, scope: names(value, scope.agent)),
    "user": Check(("scope",), lambda value, scope: names(value, scope.user)),
    "caller": Check(("caller",), names),
    "scope": Check(("owners",), lambda value, owners: owners in value),
    "affects_at_least": Check(("affects",), lambda value, affects: bool(affects >= value)),
    "contains_secret": Check(("secrets",), lambda value, secrets: value is bool(secrets)),
    "looks_like_instruction": Check(("instructions",), lambda value, signs: value is bool(signs)),
    "similar_to_existing": Check(("similar",), lambda value, similar: value is bool(similar)),
    "rejected_before": Check(("rejected",), lambda value, rejected: value is rejected),
    "undoes_person": Check(("undoes_person",), lambda value, undoes_person: value is undoes_person),
    "destructive": Check(("destructive",), lambda value, destructive: value is destructive),
    "erases": Check(("erased",), lambda value, erased: value is (erased > 0)),
    "by_filter": Check(("by_filter",), lambda value, by_filter: value is by_filter),
}


SOURCE_SHARE = 0.4
"""The default for the maximum share of an answer that one untrusted source may fill."""

_NAMED = 5  # findings named in a reason; the receipt has all of them
_CONTENT = "content"
_MEMO_SIZE = 1_024  # cached cases; there are rarely more than some dozens of kinds


class SecretAction(StrEnum):
    """What is done about a secret in a request, from the mildest to the strictest."""

    REDACT = "redact"
    HOLD = "hold"
    REFUSE = "refuse"


_SECRET_VERDICTS = {
    SecretAction.REDACT: Verdict.ALLOW,
    SecretAction.HOLD: Verdict.HOLD,
    SecretAction.REFUSE: Verdict.REFUSE,
}


class Policy(Struct, frozen=True, kw_only=True, dict=True):
    """Ordered rules and their settings.

    `trust` maps source patterns to levels, `secrets` scope patterns to actions: the first match decides.
    `sources` are the kinds of sources (the part before the colon) with standard trust if no pattern matches.
    A source of any other kind has the `default_trust`. `budgets` maps patterns of `agent:NAME` and
    `caller:NAME` to recall limits: all matching ones apply. `learned` enables learned rules. A proposal
    expires after `pending_days`. Bundles signed with one of the `bundle_keys` are trusted like own ones. At
    most `source_share` of the hits of a recall come from one untrusted source. With `four_eyes` the proposer
    cannot approve the proposal.
    """

    profile: str
    rules: tuple[Rule, ...] = ()
    default: Verdict = Verdict.ALLOW
    trust: tuple[tuple[str, Trust], ...] = ()
    sources: tuple[str, ...] = ()
    default_trust: Trust = Trust.STANDARD
    secrets: tuple[tuple[str, SecretAction], ...] = ()
    pending_days: int = 30
    learned: bool = True
    four_eyes: bool = False
    budgets: tuple[tuple[str, Budget], ...] = ()
    bundle_keys: tuple[str, ...] = ()
    source_share: float = SOURCE_SHARE

    @cached_property
    def asked(self) -> frozenset[str]:
        """The names of the conditions that the enabled rules use."""
        whens = [rule.when for rule in self.rules if rule.enabled and rule.verdict is not Verdict.REDACT]
        whens += [when.unless for when in whens if when.unless is not None]
        return frozenset(name for when in whens for name in when.given)

    @cached_property
    def about(self) -> Mapping[str, tuple[Rule, ...]]:
        """The enabled rules that can apply to each operation."""
        rules = [rule for rule in self.rules if rule.enabled and rule.verdict is not Verdict.REDACT]
        return {one.value: tuple(r for r in rules if speaks_of(r, one.value)) for one in Operation}

    @cached_property
    def redactions(self) -> tuple[Rule, ...]:
        """The enabled rules that redact memories for callers."""
        return tuple(rule for rule in self.rules if rule.enabled and rule.verdict is Verdict.REDACT)

    @cached_property
    def kinds(self) -> frozenset[str]:
        """The kinds of sources that `sources` and the patterns of `trust` name."""
        return kinds_in((*self.sources, *(pattern for pattern, _ in self.trust)))

    @cached_property
    def memo(self) -> "VerdictMemo":
        """The cache of judgements."""
        return VerdictMemo(self.asked, any(rule.learned for rule in self.rules if rule.enabled))


class Judgement(Struct, frozen=True, kw_only=True):
    """A verdict, the deciding rule, whether that was learned, and a reason without any content.

    A held request needs the approval of `reviewers` different people.
    """

    verdict: Verdict
    rule: str
    reason: str
    learned: bool = False
    reviewers: int = 1

    @property
    def refusal(self) -> str:
        """The message for a refused caller."""
        return f"policy refuses this: {self.reason} (rule {self.rule})"


class Backtest(Struct, frozen=True, kw_only=True):
    """The effect of a rule on past cases: which it matches, and which verdicts it changes."""

    rule: str
    verdict: Verdict
    total: int
    matched: tuple[str, ...]
    changed: tuple[tuple[str, Verdict, Verdict], ...]

    def __str__(self) -> str:
        verb = {Verdict.ALLOW: "allowed", Verdict.HOLD: "held", Verdict.REFUSE: "refused"}[self.verdict]
        sentence = f"{self.rule} would have {verb} {len(self.matched)} of {self.total}"
        return f"{sentence}, {len(self.changed)} of them against what happened"


class VerdictMemo:
    """Cache of a policy's judgements, by the values of the fields that its conditions read.

    A case is keyed by the fields that the conditions in force declare (see `Check`); two cases with equal
    fields get the same judgement. Contents are never part of a key, because they differ between memories: a
    policy with conditions on content is not cached.
    """

    def __init__(self, conditions: Iterable[str], has_learned_rules: bool) -> None:
        checks = [
            (name in RECORD_CHECKS, {**RECORD_CHECKS, **CASE_CHECKS}[name])
            for name in conditions
            if name != "unless"
        ]
        of_records = {field for is_record, check in checks if is_record for field in check.fields}
        of_cases = {field for is_record, check in checks if not is_record for field in check.fields}
        if has_learned_rules:
            of_cases.add("may_be_automatic")  # a learned rule may allow only such cases
        self._can_key = _CONTENT not in of_records
        self._case_values = attrgetter("operation", *sorted(of_cases - {"operation"}))
        self._record_values = attrgetter(*sorted(of_records)) if of_records else None
        self._judgements: dict[object, Judgement] = {}

    def find(self, case: Case, policy: Policy) -> Judgement:
        """Return the judgement on this case, from the cache if possible."""
        if not self._can_key or case.secrets or case.approval_required or case.privacy_intent is not None:
            return _judge(case, policy)
        key: object = self._case_values(case)
        if self._record_values is not None:
            key = (key, *map(self._record_values, case.records or case.ending))
        try:
            judgement = self._judgements.get(key)
        except TypeError:  # an unhashable value: the case cannot be cached
            return _judge(case, policy)
        if judgement is None:
            if len(self._judgements) >= _MEMO_SIZE:
                self._judgements.clear()
            judgement = self._judgements[key] = _judge(case, policy)
        return judgement


def judge(case: Case, policy: Policy) -> Judgement:
    """Judge a case by the first enabled rule that matches, else by the default, which allows recalls.

    Demands of the request itself and the action on secrets can only make the verdict stricter.
    """
    return policy.memo.find(case, policy)


def _judge(case: Case, policy: Policy) -> Judgement:
    demands = [_judge_by_rules(case, policy)]
    if case.approval_required:
        reason = "the request asks for approval"
        demands.insert(0, Judgement(verdict=Verdict.HOLD, rule=APPROVAL, reason=reason))
    if case.secrets:
        places = ", ".join(f"{kind} in {place}" for kind, place in case.secrets[:_NAMED])
        verdict = _SECRET_VERDICTS[secret_action(case.scope, policy)]
        demands.append(Judgement(verdict=verdict, rule=SECRETS, reason=f"it holds a secret: {places}"))
    if case.privacy_intent is not None:  # the request brings its own rule
        verdict = verdict_on_request(case.privacy_intent.get("verdict", Verdict.HOLD), f"{INTENT}.verdict")
        intent = {key: value for key, value in case.privacy_intent.items() if key != "verdict"}
        if matches(Rule(name=INTENT, verdict=verdict, when=condition_from(intent, INTENT)), case):
            reason = "the request's privacy_intent asks for it"
            demands.append(Judgement(verdict=verdict, rule=INTENT, reason=reason))
    # If the request or a secret demands a review, the number of reviewers that a rule requires still applies.
    reviewers = max(one.reviewers for one in demands)
    return replace(max(demands, key=lambda one: one.verdict.tightness), reviewers=reviewers)


def _judge_by_rules(case: Case, policy: Policy) -> Judgement:
    for rule in policy.about.get(case.operation, policy.rules):
        if _takes_part(rule, case, policy):
            # Only the names of the conditions: callers need not know the values an operator looks for.
            reason = rule.note or f"it meets {', '.join(condition_to(rule.when))}"
            verdict, who = rule.verdict, rule.reviewers
            return Judgement(
                verdict=verdict, rule=rule.name, reason=reason, learned=rule.learned, reviewers=who
            )
    verdict = Verdict.ALLOW if case.operation == Operation.RECALL else policy.default
    return Judgement(verdict=verdict, rule=DEFAULT, reason=f"no rule of {policy.profile} matches")


def find_redaction(record: Record, case: Case, policy: Policy) -> Rule | None:
    """Return the first rule that redacts this memory for the caller of the case; None if there is none."""
    about = replace(case, records=(record,))
    return next((rule for rule in policy.redactions if matches(rule, about)), None)


def _takes_part(rule: Rule, case: Case, policy: Policy) -> bool:
    """Whether the rule decides this case; a learned rule allows only what `may_be_automatic`."""
    if not rule.enabled or not matches(rule, case):
        return False
    is_in_limits = policy.learned and (rule.verdict is not Verdict.ALLOW or case.may_be_automatic)
    return is_in_limits or not rule.learned


def trust_of(source: str | None, policy: Policy) -> Trust:
    """Return the trust of a source: by the first matching pattern, else by its kind, else the default.

    Raises InvalidRequest for a source whose kind imitates another kind with look-alike letters.
    """
    if source is not None and not source.isascii():
        refuse_lookalike(source, policy.kinds)
    return _grants(source, policy.trust, policy.sources) or policy.default_trust


@lru_cache(maxsize=1024)
def _grants(
    source: str | None, levels: tuple[tuple[str, Trust], ...], kinds: tuple[str, ...]
) -> Trust | None:
    level = next((level for pattern, level in levels if fits((pattern,), source)), None)
    if level is None and fits(kinds, kind_of(source or "").strip()):
        return Trust.STANDARD
    return level


def secret_action(scope: Scope, policy: Policy) -> SecretAction:
    """Return the action on secrets in this scope: of the first matching pattern, else redaction."""
    owner = (scope.tenant, scope.agent, scope.user)
    for pattern, action in policy.secrets:
        # Compared part by part, so that a slash in a name cannot imitate another scope.
        parts = pattern.split("/") if pattern.count("/") == 2 else ("*", pattern, "*")
        if all(names((part,), name) for part, name in zip(parts, owner, strict=True)):
            return action
    return SecretAction.REDACT


def backtest(
    rule: Rule, cases: Iterable[tuple[str, Case, Verdict]], policy: Policy | None = None
) -> Backtest:
    """Evaluate the rule, as if it were the first one, on past cases given as (id, case, actual verdict)."""
    trial = replace(policy or Policy(profile=DEFAULT), rules=(replace(rule, enabled=True),), learned=True)
    total = 0
    matching_ids: list[str] = []
    changes: list[tuple[str, Verdict, Verdict]] = []
    for id, case, was in cases:
        total += 1
        if not _takes_part(trial.rules[0], case, trial):
            continue
        matching_ids.append(id)
        would = judge(case, trial).verdict
        if would is not was:
            changes.append((id, was, would))
    return Backtest(
        rule=rule.name, verdict=rule.verdict, total=total, matched=tuple(matching_ids), changed=tuple(changes)
    )
