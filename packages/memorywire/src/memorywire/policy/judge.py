"""Policy: what is judged, by which rules, and what comes of it. Values in, values out."""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from enum import StrEnum
from functools import cached_property, lru_cache
from typing import Any, TypeAlias, TypeVar

from msgspec import Struct
from msgspec.structs import replace

from memorywire.model.record import Json, MemoryType, Record, Scope, Trust
from memorywire.policy.injection import unsuspicious
from memorywire.policy.patterns import fits, folded, kind_of, kinds_in, names, refuse_lookalike
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
    one_of,
)


class Case(Struct, frozen=True, kw_only=True):
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


SOURCE_SHARE = 0.4
"""The share of an answer that one untrusted source may fill, unless the policy says otherwise."""

_NAMED = 5  # findings a reason names; all of them are in the receipt


class SecretAction(StrEnum):
    """What is done about a secret in a request, from the mildest on."""

    REDACT = "redact"
    HOLD = "hold"
    REFUSE = "refuse"


_SECRET_VERDICTS = {
    SecretAction.REDACT: Verdict.ALLOW,
    SecretAction.HOLD: Verdict.HOLD,
    SecretAction.REFUSE: Verdict.REFUSE,
}


class Policy(Struct, frozen=True, kw_only=True, dict=True):
    """Ordered rules and what surrounds them.

    `trust` maps patterns of sources to levels, `secrets` patterns of scopes to actions: the first that
    fits decides. `sources` are the kinds of sources that are believed where no pattern fits: the kind is
    what stands before the colon. A source of any other kind has the `default_trust`. `budgets` maps
    patterns of `agent:NAME` and `caller:NAME` to what they may recall: all that fit apply. `learned` says
    whether learned rules take part. A proposal waits for `pending_days`. Bundles that one of the
    `bundle_keys` signed are believed like one's own. At most `source_share` of the hits of a recall come
    from one untrusted source. With `four_eyes` a proposal is approved by somebody else than its proposer.
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
        """The names of the conditions that any enabled rule depends on."""
        whens = [rule.when for rule in self.rules if rule.enabled]
        whens += [when.unless for when in whens if when.unless is not None]
        return frozenset(name for when in whens for name in when.given)

    @cached_property
    def about(self) -> Mapping[str, tuple[Rule, ...]]:
        """By operation, the enabled rules that can speak of it."""
        rules = [rule for rule in self.rules if rule.enabled]
        return {one.value: tuple(r for r in rules if speaks_of(r, one.value)) for one in Operation}

    @cached_property
    def kinds(self) -> frozenset[str]:
        """The kinds of sources that `sources` and the patterns of `trust` name."""
        return kinds_in((*self.sources, *(pattern for pattern, _ in self.trust)))

    @property
    def speaks_of_recalls(self) -> bool:
        """Whether any rule names them."""
        return bool(self.about[Operation.RECALL])


class Judgement(Struct, frozen=True, kw_only=True):
    """A verdict, the rule that gave it, whether that was learned, and a reason that repeats no content."""

    verdict: Verdict
    rule: str
    reason: str
    learned: bool = False

    @property
    def refusal(self) -> str:
        """What a refused caller is told."""
        return f"policy refuses this: {self.reason} (rule {self.rule})"


class Backtest(Struct, frozen=True, kw_only=True):
    """What a rule would have done to past cases: which it matches, and whose verdict it changes."""

    rule: str
    verdict: Verdict
    total: int
    matched: tuple[str, ...]
    changed: tuple[tuple[str, Verdict, Verdict], ...]

    def __str__(self) -> str:
        done = {Verdict.ALLOW: "allowed", Verdict.HOLD: "held", Verdict.REFUSE: "refused"}[self.verdict]
        matched = f"{self.rule} would have {done} {len(self.matched)} of {self.total}"
        return f"{matched}, {len(self.changed)} of them against what happened"


def judge(case: Case, policy: Policy) -> Judgement:
    """The first enabled rule that matches decides, else the default, which lets recalls pass.

    What the request itself demands and what is done about secrets can only tighten that.
    """
    asked = (_approval(case), _by_rules(case, policy), _by_secrets(case, policy), _by_intent(case))
    demands = [one for one in asked if one is not None]
    return demands[0] if len(demands) == 1 else max(demands, key=lambda one: one.verdict.tightness)


def trust_of(source: str | None, policy: Policy) -> Trust:
    """How far a source is believed: the first pattern that fits, else by its kind, else the default.

    Raises InvalidRequest for a source that only looks like one of another kind.
    """
    if source is not None and not source.isascii():
        refuse_lookalike(source, policy.kinds)
    return _granted(source, policy.trust, policy.sources) or policy.default_trust


@lru_cache(maxsize=1024)
def _granted(
    source: str | None, levels: tuple[tuple[str, Trust], ...], kinds: tuple[str, ...]
) -> Trust | None:
    level = next((level for pattern, level in levels if fits((pattern,), source)), None)
    if level is None and fits(kinds, kind_of(source or "").strip()):
        return Trust.STANDARD
    return level


def secret_action(scope: Scope, policy: Policy) -> SecretAction:
    """What is done about secrets in this scope: the first pattern that fits, else they are redacted."""
    fitting = (action for pattern, action in policy.secrets if _in_scope(pattern, scope))
    return next(fitting, SecretAction.REDACT)


def backtest(
    rule: Rule, cases: Iterable[tuple[str, Case, Verdict]], policy: Policy | None = None
) -> Backtest:
    """What the rule would have done, had it been the first one, to cases given as (id, case, what it was)."""
    trial = replace(policy or Policy(profile=DEFAULT), rules=(replace(rule, enabled=True),), learned=True)
    total = 0
    matched: list[str] = []
    changed: list[tuple[str, Verdict, Verdict]] = []
    for id, case, was in cases:
        total += 1
        if not _takes_part(trial.rules[0], case, trial):
            continue
        matched.append(id)
        would = judge(case, trial).verdict
        if would is not was:
            changed.append((id, was, would))
    return Backtest(
        rule=rule.name, verdict=rule.verdict, total=total, matched=tuple(matched), changed=tuple(changed)
    )


def _approval(case: Case) -> Judgement | None:
    if not case.approval_required:
        return None
    return Judgement(verdict=Verdict.HOLD, rule=APPROVAL, reason="the request asks for approval")


def _by_rules(case: Case, policy: Policy) -> Judgement:
    for rule in policy.about.get(case.operation, policy.rules):
        if _takes_part(rule, case, policy):
            why = rule.note or _told(rule.when)
            return Judgement(verdict=rule.verdict, rule=rule.name, reason=why, learned=rule.learned)
    reading = case.operation == Operation.RECALL
    verdict = Verdict.ALLOW if reading else policy.default
    return Judgement(verdict=verdict, rule=DEFAULT, reason=f"no rule of {policy.profile} matches")


def _takes_part(rule: Rule, case: Case, policy: Policy) -> bool:
    """Whether the rule may decide this case; a learned rule stays within the limits of learning."""
    if not rule.enabled or not matches(rule, case):
        return False
    if not rule.learned:
        return True
    return policy.learned and (rule.verdict is not Verdict.ALLOW or case.may_be_automatic)


def _by_secrets(case: Case, policy: Policy) -> Judgement | None:
    if not case.secrets:
        return None
    places = ", ".join(f"{kind} in {place}" for kind, place in case.secrets[:_NAMED])
    verdict = _SECRET_VERDICTS[secret_action(case.scope, policy)]
    return Judgement(verdict=verdict, rule=SECRETS, reason=f"it holds a secret: {places}")


def _by_intent(case: Case) -> Judgement | None:
    """The judgement of the rule that the request itself brings as `privacy_intent`, if it matches."""
    if case.privacy_intent is None:
        return None
    verdict = one_of(Verdict, case.privacy_intent.get("verdict", Verdict.HOLD), f"{INTENT}.verdict")
    asked = {key: value for key, value in case.privacy_intent.items() if key != "verdict"}
    rule = Rule(name=INTENT, verdict=verdict, when=condition_from(asked, INTENT))
    if not matches(rule, case):
        return None
    return Judgement(verdict=verdict, rule=INTENT, reason="the request's privacy_intent asks for it")


def _told(when: Condition) -> str:
    """The names of the conditions alone: callers need not know what an operator looks for."""
    return f"it meets {', '.join(condition_to(when))}"


def _in_scope(pattern: str, scope: Scope) -> bool:
    """Whether a scope fits a pattern, compared part by part, so that no slash in a name can deceive."""
    parts = pattern.split("/")
    tenant, agent, user = parts if len(parts) == 3 else ("*", pattern, "*")
    wanted = ((tenant, scope.tenant), (agent, scope.agent), (user, scope.user))
    return all(names((part,), name) for part, name in wanted)


T = TypeVar("T")

_PARTS = 16
_SILENT = frozenset({int, float, bool, type(None)})  # what says nothing
_BY_CONTENT = ("content_contains", "similar_to_existing")
_Likeness: TypeAlias = tuple[object, ...]


def cleared(items: Sequence[T], innocent: Callable[[Sequence[T]], bool]) -> list[bool]:
    """Which items are innocent, found in few readings: all at once, else part by part.

    What is innocent among others must be innocent alone. False means only that it could not be shown.
    """
    if innocent(items):
        return [True] * len(items)
    if len(items) <= 1:
        return [False] * len(items)
    step = max(1, len(items) // _PARTS)
    parts = (items[at : at + step] for at in range(0, len(items), step))
    return [clear for part in parts for clear in cleared(part, innocent)]


def signless(records: Sequence[Record]) -> bool:
    """Whether one reading of all these memories shows that `screen` finds no sign in any of them."""
    said: list[str] = []
    names: set[str] = set()
    for record in records:
        _hear(record.content, said)
        for place, value in (("source", record.source), ("metadata", record.metadata), ("tags", record.tags)):
            if value:
                _tell(place, value, said, names)
    return unsuspicious(dict.fromkeys(said), names)  # what many say is read once


def _hear(value: Json, said: list[str]) -> None:
    """Collect every text of a content, and the names of its fields, which are words of it, too."""
    if isinstance(value, str):
        said.append(value)
    elif type(value) is dict or isinstance(value, Mapping):  # the second takes long to ask
        said += value
        for inner in value.values():
            if type(inner) is str:
                said.append(inner)
            elif type(inner) not in _SILENT:
                _hear(inner, said)
    elif isinstance(value, list | tuple):
        for inner in value:
            _hear(inner, said)


def _tell(place: str, value: Json, said: list[str], names: set[str]) -> None:
    """Collect every text, and the name of the place where each stands."""
    if isinstance(value, str):
        said.append(value)
        names.add(place)
    elif type(value) is dict or isinstance(value, Mapping):
        for key, inner in value.items():
            if type(inner) not in _SILENT:
                _tell(f"{place}.{key}", inner, said, names)
    elif isinstance(value, list | tuple):
        for at, inner in enumerate(value):
            _tell(f"{place}[{at}]", inner, said, names)


class Bench:
    """Judges new memories by a policy, once for each kind that its rules can tell apart."""

    def __init__(self, policy: Policy, caller: str) -> None:
        self._policy = policy
        self._caller = caller
        self._learned = frozenset(rule.name for rule in policy.rules if rule.learned)
        self._known: dict[_Likeness, Judgement] = {}
        self._last: tuple[_Likeness | None, Judgement | None] = (None, None)

    @property
    def can_tell(self) -> bool:
        """Whether the rules ask only for what all memories of one kind have in common."""
        return self._policy.asked.isdisjoint(_BY_CONTENT)

    def judge(self, operation: str, scope: Scope, record: Record) -> Judgement:
        """What `judge` would say of a change that only puts this record, and in which nothing was found."""
        alike = (
            *(operation, scope, record.type, record.trust, record.source, record.tags, record.confidence),
            record.version == 1,
        )
        before, known = self._last
        if known is None or alike != before:  # mostly they are the same values, which is told at once
            known = self._known.get(alike)
            if known is None:
                case = Case(operation=operation, scope=scope, caller=self._caller, records=(record,))
                known = self._known[alike] = judge(case, self._policy)
            self._last = (alike, known)
        return known

    def is_learned(self, judgement: Judgement) -> bool:
        """Whether a rule gave it that was suggested from people's decisions."""
        return judgement.rule in self._learned
