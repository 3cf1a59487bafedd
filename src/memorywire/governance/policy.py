"""Policy: what is judged, by which rules, and what comes of it. Values in, values out."""

import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field, replace
from enum import StrEnum
from functools import cache, lru_cache
from itertools import combinations
from typing import TypeVar

from memorywire.governance.budgets import Budget, budget_from, budget_to
from memorywire.governance.cases import Case, matches, speaks_of
from memorywire.governance.patterns import fits, names
from memorywire.governance.profiles import Profile, profile_text
from memorywire.governance.rules import (
    APPROVAL,
    DEFAULT,
    INTENT,
    SECRETS,
    Condition,
    Operation,
    Rule,
    Verdict,
    condition_from,
    condition_to,
    count,
    flag,
    implies,
    mapping,
    one_of,
    rule_from,
    rule_to,
    texts,
    unknown_key,
)
from memorywire.model.errors import InvalidRequest
from memorywire.model.record import Json, Scope, Trust
from memorywire.model.values import dataclass

__all__ = [
    "Backtest",
    "Case",
    "Judgement",
    "Policy",
    "SecretAction",
    "backtest",
    "judge",
    "matches",
    "policy_from_toml",
    "policy_to_dict",
    "secret_action",
    "trust_of",
    "with_rules",
]


E = TypeVar("E", bound=StrEnum)
V = TypeVar("V")

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


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    """Ordered rules and what surrounds them.

    `trust` maps patterns of sources to levels, `secrets` patterns of scopes to actions: the first that
    fits decides. `budgets` maps patterns of `agent:NAME` and `caller:NAME` to what they may recall: all
    that fit apply. `learned` says whether learned rules take part. A proposal waits for `pending_days`.
    """

    profile: str
    rules: tuple[Rule, ...] = ()
    default: Verdict = Verdict.ALLOW
    trust: tuple[tuple[str, Trust], ...] = ()
    default_trust: Trust = Trust.STANDARD
    secrets: tuple[tuple[str, SecretAction], ...] = ()
    pending_days: int = 30
    learned: bool = True
    budgets: tuple[tuple[str, Budget], ...] = ()
    asked: frozenset[str] = field(init=False, repr=False, compare=False)
    about: Mapping[str, tuple[Rule, ...]] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        """Gather what every request asks for: the conditions that any rule depends on, and by operation the
        rules that can speak of it."""
        rules = [rule for rule in self.rules if rule.enabled]
        whens = [rule.when for rule in rules]
        whens += [when.unless for when in whens if when.unless is not None]
        about = {one.value: tuple(r for r in rules if speaks_of(r, one.value)) for one in Operation}
        object.__setattr__(self, "asked", frozenset(name for when in whens for name in when.given))
        object.__setattr__(self, "about", about)

    @property
    def speaks_of_recalls(self) -> bool:
        """Whether any rule names them."""
        return bool(self.about[Operation.RECALL])


@dataclass(frozen=True, slots=True, kw_only=True)
class Judgement:
    """The verdict, the rule that gave it (a learned one?), and why, in a sentence that repeats no content."""

    verdict: Verdict
    rule: str
    reason: str
    learned: bool = False

    @property
    def refusal(self) -> str:
        """What whoever is refused is told."""
        return f"policy refuses this: {self.reason} (rule {self.rule})"


@dataclass(frozen=True, slots=True, kw_only=True)
class Backtest:
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
    """How far a source is believed: the first pattern that fits, else the default."""
    return _granted(source, policy.trust) or policy.default_trust


@lru_cache(maxsize=1024)
def _granted(source: str | None, levels: tuple[tuple[str, Trust], ...]) -> Trust | None:
    return next((level for pattern, level in levels if fits((pattern,), source)), None)


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
    """A learned rule is bound to the limits of learning here too, whatever became of its conditions."""
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
    """The rule a request brings along; without conditions it always applies."""
    if case.privacy_intent is None:
        return None
    verdict = one_of(Verdict, case.privacy_intent.get("verdict", Verdict.HOLD), f"{INTENT}.verdict")
    asked = {key: value for key, value in case.privacy_intent.items() if key != "verdict"}
    rule = Rule(name=INTENT, verdict=verdict, when=condition_from(asked, INTENT))
    if not matches(rule, case):
        return None
    return Judgement(verdict=verdict, rule=INTENT, reason="the request's privacy_intent asks for it")


def _told(when: Condition) -> str:
    """The names alone: what an operator looks for in contents is not the caller's business."""
    return f"it meets {', '.join(condition_to(when))}"


def _in_scope(pattern: str, scope: Scope) -> bool:
    """Part by part, so that no name with a slash in it can pass for another scope."""
    parts = pattern.split("/")
    tenant, agent, user = parts if len(parts) == 3 else ("*", pattern, "*")
    wanted = ((tenant, scope.tenant), (agent, scope.agent), (user, scope.user))
    return all(names((part,), name) for part, name in wanted)


def policy_from_toml(document: str | Mapping[str, Json]) -> Policy:
    """The policy a TOML text, or the same as a mapping, describes.

    It builds on a shipped profile, `balanced` unless it names another: its rules come first.
    """
    return _built(_parsed(document) if isinstance(document, str) else document)


def policy_to_dict(policy: Policy) -> dict[str, Json]:
    """All of the policy, as `policy_from_toml` reads it back whatever the shipped profiles say by then."""
    return {
        "profile": policy.profile,
        "complete": True,
        "default": str(policy.default),
        "default_trust": str(policy.default_trust),
        "pending_days": policy.pending_days,
        "learned": policy.learned,
        "rule": [rule_to(rule) for rule in policy.rules],
        "trust": {pattern: str(level) for pattern, level in policy.trust},
        "secrets": {pattern: str(action) for pattern, action in policy.secrets},
        "budget": {pattern: budget_to(budget) for pattern, budget in policy.budgets},
    }


def with_rules(base: Policy, given: Json) -> Policy:
    """The policy with rules of one's own before those it has, checked like those of a file."""
    own = _rules(given)
    _refuse_shadowed(own)
    rules = own + base.rules
    _refuse_namesakes(rules)
    return replace(base, rules=rules)


@cache
def _shipped(profile: Profile) -> Policy:
    return replace(_built(_parsed(profile_text(profile))), profile=str(profile))


def _parsed(text: str) -> Mapping[str, Json]:
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise InvalidRequest(f"the policy is not TOML: {error}", field="policy") from error


def _built(table: Mapping[str, Json]) -> Policy:
    for key in table:
        if key not in _KEYS:
            raise unknown_key(key, _KEYS, key)
    profile = one_of(Profile, table.get("profile", Profile.BALANCED), "profile")
    complete = flag(table.get("complete", False), "complete")
    base = Policy(profile=str(profile)) if complete else _shipped(profile)
    own = _rules(table.get("rule", []))
    _refuse_shadowed(own)
    rules = own + _without(base.rules, table.get("disable"))
    _refuse_namesakes(rules)
    return Policy(
        profile=base.profile,
        rules=rules,
        default=one_of(Verdict, table.get("default", base.default), "default"),
        trust=_first(_levels(table.get("trust", {}), Trust, "trust"), base.trust),
        default_trust=one_of(Trust, table.get("default_trust", base.default_trust), "default_trust"),
        secrets=_first(_scopes(table.get("secrets", {})), base.secrets),
        pending_days=count(table.get("pending_days", base.pending_days), "pending_days"),
        learned=flag(table.get("learned", base.learned), "learned"),
        budgets=_first(_budgets(table.get("budget", {})), base.budgets),
    )


_KEYS = (
    *("profile", "complete", "disable", "default", "default_trust", "pending_days", "learned"),
    *("rule", "trust", "secrets", "budget"),
)


def _rules(tables: Json) -> tuple[Rule, ...]:
    if not isinstance(tables, list | tuple):
        raise InvalidRequest("rule is not a list of rules", field="rule", fix="write [[rule]] above each")
    return tuple(rule_from(table) for table in tables)


def _without(rules: Sequence[Rule], disabled: Json) -> tuple[Rule, ...]:
    """The rules of the profile, those that are disabled by name switched off."""
    names = () if disabled is None else texts(disabled, "disable")
    for name in names:
        if name not in {rule.name for rule in rules}:
            raise unknown_key(name, [rule.name for rule in rules], f"disable.{name}")
    return tuple(replace(rule, enabled=rule.enabled and rule.name not in names) for rule in rules)


def _refuse_namesakes(rules: Sequence[Rule]) -> None:
    seen: set[str] = set()
    for rule in rules:
        if rule.name in seen:
            raise InvalidRequest(
                f"two rules are called {rule.name}",
                field=f"rule.{rule.name}",
                fix="rename one; a rule of the profile is switched off by disable = [...]",
            )
        seen.add(rule.name)


def _refuse_shadowed(rules: Sequence[Rule]) -> None:
    """No rule may stand behind one that already matches all it could match."""
    for earlier, later in combinations((rule for rule in rules if rule.enabled), 2):
        # An allow speaks of whole changes, a hold of any memory in one: only the same kind surely covers it.
        partial = earlier.verdict is Verdict.ALLOW is not later.verdict
        if partial and earlier.when.about_records:
            continue
        if not earlier.learned and implies(later.when, earlier.when):
            raise InvalidRequest(
                f"rule {later.name} can never match: {earlier.name}, which stands before it, matches first",
                field=f"rule.{later.name}",
                fix="move it up, or drop it",
            )


def _levels(table: Json, kinds: type[E], place: str) -> dict[str, E]:
    words = mapping(table, place)
    return {pattern: one_of(kinds, word, f"{place}.{pattern}") for pattern, word in words.items()}


def _scopes(table: Json) -> dict[str, SecretAction]:
    found = _levels(table, SecretAction, "secrets")
    for pattern in found:
        if pattern.count("/") not in (0, 2):
            raise InvalidRequest(
                f"secrets.{pattern} is not a scope", field="secrets", fix="write agent, or tenant/agent/user"
            )
    return found


def _budgets(table: Json) -> dict[str, Budget]:
    limits = mapping(table, "budget")
    for pattern in limits:
        if not pattern.startswith(("agent:", "caller:")):
            raise InvalidRequest(
                f"budget.{pattern} is nobody's", field="budget", fix='write "agent:NAME" or "caller:NAME"'
            )
    return {pattern: budget_from(limit, f"budget.{pattern}") for pattern, limit in limits.items()}


def _first(own: dict[str, V], base: Iterable[tuple[str, V]]) -> tuple[tuple[str, V], ...]:
    """One's own patterns before those of the profile."""
    return tuple((own | {pattern: word for pattern, word in base if pattern not in own}).items())
