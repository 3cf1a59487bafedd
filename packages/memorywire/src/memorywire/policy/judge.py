"""Policy: what is judged, by which rules, and what comes of it. Values in, values out."""

from collections.abc import Iterable, Mapping
from dataclasses import field, replace
from enum import StrEnum
from functools import lru_cache

from memorywire.model.record import Scope, Trust
from memorywire.model.values import dataclass
from memorywire.policy.budgets import Budget
from memorywire.policy.cases import Case, matches, speaks_of
from memorywire.policy.patterns import fits, names
from memorywire.policy.rules import (
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
    one_of,
)
from memorywire.policy.sources import kind_of, kinds_in, refuse_lookalike

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


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
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
    asked: frozenset[str] = field(init=False, repr=False, compare=False)
    about: Mapping[str, tuple[Rule, ...]] = field(init=False, repr=False, compare=False)
    kinds: frozenset[str] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        """Gather what every request asks for: the conditions that any rule depends on, and by operation the
        rules that can speak of it."""
        rules = [rule for rule in self.rules if rule.enabled]
        whens = [rule.when for rule in rules]
        whens += [when.unless for when in whens if when.unless is not None]
        about = {one.value: tuple(r for r in rules if speaks_of(r, one.value)) for one in Operation}
        object.__setattr__(self, "asked", frozenset(name for when in whens for name in when.given))
        object.__setattr__(self, "about", about)
        named = (*self.sources, *(pattern for pattern, _ in self.trust))
        object.__setattr__(self, "kinds", kinds_in(named))

    @property
    def speaks_of_recalls(self) -> bool:
        """Whether any rule names them."""
        return bool(self.about[Operation.RECALL])


@dataclass(frozen=True, slots=True, kw_only=True)
class Judgement:
    """A verdict, the rule that gave it, whether that was learned, and a reason that repeats no content."""

    verdict: Verdict
    rule: str
    reason: str
    learned: bool = False

    @property
    def refusal(self) -> str:
        """What a refused caller is told."""
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
