"""Rules and policies as documents: the same words in TOML and JSON, and a clear problem for a bad one."""

import json
import tomllib

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from memorywire.model.errors import InvalidRequest
from memorywire.model.record import MemoryType, Trust
from memorywire.policy.documents import Profile, policy_from_toml, policy_to_dict, profile_text
from memorywire.policy.judge import judge, matches
from memorywire.policy.rules import RESERVED, Budget, Condition, Verdict, implies, rule_from, rule_to
from tests.governance.samples import a_case, a_memory, untrusted

WHOLE = {
    "name": "all of it",
    "verdict": "refuse",
    "enabled": False,
    "note": "every word a rule knows",
    "operation": ["forget"],
    "type": ["semantic", "procedural"],
    "source": ["web*", ""],
    "trust": ["untrusted"],
    "tags": ["a"],
    "tenant": ["t"],
    "agent": ["x*"],
    "user": [""],
    "caller": ["role:agent", "operator:ana"],
    "content_contains": ["x"],
    "confidence_below": 0.5,
    "contains_secret": True,
    "similar_to_existing": False,
    "looks_like_instruction": False,
    "destructive": True,
    "erases": True,
    "by_filter": True,
    "affects_at_least": 10,
    "rejected_before": False,
    "undoes_person": False,
    "not": {"tags": ["safe"], "caller": ["operator:*"]},
}

FILE = """
profile = "balanced"
disable = ["destructive-filter"]
pending_days = 7
four_eyes = true

[[rule]]
name = "ask about salaries"
verdict = "hold"
content_contains = ["salary"]

[trust]
"web:intranet*" = "trusted"

[secrets]
"billing" = "refuse"

[budget."agent:*"]
per_minute = 100
per_day = 5000
"""


def test_a_rule_says_the_same_in_toml_and_in_json():
    rule = rule_from(WHOLE)
    assert rule_from(json.loads(json.dumps(rule_to(rule)))) == rule
    lines = "\n".join(f"{json.dumps(key)} = {_toml(value)}" for key, value in WHOLE.items())
    assert rule_from(tomllib.loads(lines)) == rule
    assert rule_to(rule) == WHOLE | {"user": [""]}


def _toml(value: object) -> str:
    if isinstance(value, dict):
        return "{" + ", ".join(f"{key} = {json.dumps(inner)}" for key, inner in value.items()) + "}"
    return json.dumps(value)


@pytest.mark.parametrize("profile", Profile)
def test_a_shipped_profile_keeps_its_name_and_survives_being_written_down(profile: Profile):
    policy = policy_from_toml({"profile": str(profile)})
    assert policy.profile == profile
    assert policy_from_toml(json.loads(json.dumps(policy_to_dict(policy)))) == policy
    assert "default_trust" in policy_to_dict(policy)
    assert profile_text(profile).startswith("# ")


def test_a_file_builds_on_a_profile_and_its_rules_come_first():
    policy = policy_from_toml(FILE)
    assert policy.rules[0].name == "ask about salaries"
    assert [rule.name for rule in policy.rules if not rule.enabled] == ["destructive-filter"]
    assert (policy.pending_days, policy.four_eyes) == (7, True)
    assert policy.trust[0] == ("web:intranet*", Trust.TRUSTED)
    assert policy.budgets == (("agent:*", Budget(per_minute=100, per_day=5000)),)
    assert policy.trust[1:] == policy_from_toml("").trust
    assert policy_from_toml(policy_to_dict(policy)) == policy


def test_without_a_word_the_profile_is_balanced():
    assert policy_from_toml("") == policy_from_toml({"profile": "balanced"})
    assert policy_from_toml("").default is Verdict.ALLOW


BAD_RULES = {
    "no name": ({"verdict": "hold", "type": ["semantic"]}, "rule.name"),
    "blank name": ({"name": " ", "verdict": "hold", "type": ["semantic"]}, "rule.name"),
    "no verdict": ({"name": "r", "type": ["semantic"]}, "rule.r"),
    "unknown verdict": ({"name": "r", "verdict": "deny", "type": ["semantic"]}, "rule.r.verdict"),
    "unknown key": ({"name": "r", "verdict": "hold", "sauce": ["web"]}, "rule.r.sauce"),
    "unknown operation": ({"name": "r", "verdict": "hold", "operation": ["delete"]}, "rule.r.operation"),
    "unknown type": ({"name": "r", "verdict": "hold", "type": ["facts"]}, "rule.r.type"),
    "unknown trust": ({"name": "r", "verdict": "hold", "trust": ["low"]}, "rule.r.trust"),
    "empty list": ({"name": "r", "verdict": "hold", "source": []}, "rule.r.source"),
    "text for a list": ({"name": "r", "verdict": "hold", "source": "web"}, "rule.r.source"),
    "blank word": (
        {"name": "r", "verdict": "hold", "content_contains": ["\u200b"]},
        "rule.r.content_contains",
    ),
    "too long a list": ({"name": "r", "verdict": "hold", "tags": ["x"] * 300}, "rule.r.tags"),
    "text for a flag": ({"name": "r", "verdict": "hold", "by_filter": "yes"}, "rule.r.by_filter"),
    "below nothing": ({"name": "r", "verdict": "hold", "confidence_below": 0}, "rule.r.confidence_below"),
    "affects nothing": ({"name": "r", "verdict": "hold", "affects_at_least": 0}, "rule.r.affects_at_least"),
    "no condition": ({"name": "r", "verdict": "hold"}, "rule.r"),
    "no condition to allow": ({"name": "r", "verdict": "allow"}, "rule.r"),
    "only stars": ({"name": "r", "verdict": "hold", "source": ["*"], "user": ["**"]}, "rule.r"),
    "every type": ({"name": "r", "verdict": "hold", "type": [str(one) for one in MemoryType]}, "rule.r"),
    "everything is false": ({"name": "r", "verdict": "hold", "everything": False}, "rule.r.everything"),
    "everything and more": (
        {"name": "r", "verdict": "hold", "everything": True, "type": ["semantic"]},
        "rule.r.everything",
    ),
    "recall of a type": (
        {"name": "r", "verdict": "hold", "operation": ["recall"], "type": ["semantic"]},
        "rule.r",
    ),
    "remember by filter": (
        {"name": "r", "verdict": "hold", "operation": ["remember"], "by_filter": True},
        "rule.r",
    ),
    "erases without destroying": (
        {"name": "r", "verdict": "hold", "erases": True, "destructive": False},
        "rule.r.destructive",
    ),
    "what it rules out": (
        {"name": "r", "verdict": "hold", "type": ["semantic"], "not": {"type": ["semantic", "episodic"]}},
        "rule.r.not",
    ),
    "a source it rules out": (
        {"name": "r", "verdict": "hold", "source": ["web:a*"], "not": {"source": ["WEB*"]}},
        "rule.r.not",
    ),
    "an empty not": ({"name": "r", "verdict": "hold", "type": ["semantic"], "not": {}}, "rule.r.not"),
    "not within not": (
        {"name": "r", "verdict": "hold", "type": ["semantic"], "not": {"not": {"tags": ["a"]}}},
        "rule.r.not",
    ),
    "not a table": (["hold"], "rule"),
}


@pytest.mark.parametrize("name", BAD_RULES)
def test_a_bad_rule_is_a_problem_that_names_the_place(name: str):
    data, field = BAD_RULES[name]
    with pytest.raises(InvalidRequest) as caught:
        rule_from(data)
    assert caught.value.field == field


@pytest.mark.parametrize("name", sorted(RESERVED))
def test_no_rule_may_bear_a_name_that_judgements_use(name: str):
    with pytest.raises(InvalidRequest, match=name):
        rule_from({"name": name, "verdict": "hold", "type": ["semantic"]})


def test_a_misspelt_key_is_told_the_right_one():
    with pytest.raises(InvalidRequest) as caught:
        rule_from({"name": "r", "verdict": "hold", "contains_secrets": True})
    assert caught.value.fix == "did you mean contains_secret?"


HOLD = {"name": "a", "verdict": "hold", "type": ["semantic"]}

BAD_POLICIES = {
    "not TOML": ("profile = ", "policy"),
    "unknown profile": ({"profile": "lax"}, "profile"),
    "unknown key": ({"rules": []}, "rules"),
    "unknown default": ({"default": "maybe"}, "default"),
    "unknown trust": ({"trust": {"web*": "low"}}, "trust.web*"),
    "trust is no table": ({"trust": ["web*"]}, "trust"),
    "unknown action": ({"secrets": {"*": "drop"}}, "secrets.*"),
    "half a scope": ({"secrets": {"a/b": "hold"}}, "secrets"),
    "no days": ({"pending_days": 0}, "pending_days"),
    "days as truth": ({"pending_days": True}, "pending_days"),
    "an unknown budget": ({"budget": {"agent:*": {"per_hour": 1}}}, "budget.agent:*.per_hour"),
    "a budget of no limits": ({"budget": {"agent:*": {}}}, "budget.agent:*"),
    "a negative budget": ({"budget": {"agent:*": {"per_day": -1}}}, "per_day"),
    "a budget for nobody": ({"budget": {"assistant": {"per_day": 1}}}, "budget"),
    "rule is a table": ({"rule": HOLD}, "rule"),
    "two of a name": ({"rule": [HOLD, HOLD | {"type": ["emotional"]}]}, "rule.a"),
    "a name of the profile": ({"rule": [HOLD | {"name": "instruction"}]}, "rule.instruction"),
    "disables nothing": ({"disable": ["instructions"]}, "disable.instructions"),
    "stands behind its like": ({"rule": [HOLD, HOLD | {"name": "b", "tags": ["x"]}]}, "rule.b"),
    "stands behind everything": (
        {"rule": [{"name": "all", "verdict": "hold", "everything": True}, HOLD]},
        "rule.a",
    ),
}


@pytest.mark.parametrize("name", BAD_POLICIES)
def test_a_bad_policy_is_a_problem_that_names_the_place(name: str):
    document, field = BAD_POLICIES[name]
    with pytest.raises(InvalidRequest) as caught:
        policy_from_toml(document)
    assert caught.value.field == field


@pytest.mark.parametrize(
    "rules",
    [
        [HOLD | {"tags": ["x"]}, HOLD | {"name": "b"}],
        [HOLD | {"verdict": "allow"}, HOLD | {"name": "b"}],
        [HOLD | {"enabled": False}, HOLD | {"name": "b"}],
        [HOLD | {"learned": True}, HOLD | {"name": "b"}],
        [HOLD | {"agent": ["Ana"]}, HOLD | {"name": "b", "agent": ["ana"]}],
        [
            {"name": "all", "verdict": "hold", "everything": True},
            {"name": "reads", "verdict": "hold", "operation": ["recall"]},
        ],
    ],
    ids=[
        "narrow first",
        "an allow is for whole batches",
        "switched off",
        "may be switched off",
        "somebody else",
        "everything is not recall",
    ],
)
def test_a_rule_that_can_still_match_may_stand_behind_another(rules: list):
    assert len(policy_from_toml({"profile": "open", "rule": rules}).rules) == 2


WORDS = st.lists(st.sampled_from(["a", "a*", "*b", "ab", "A:b"]), min_size=1, max_size=2).map(tuple)
CONDITIONS = st.builds(
    Condition,
    source=st.just(()) | WORDS,
    tags=st.just(()) | WORDS,
    agent=st.just(()) | WORDS,
    content_contains=st.just(()) | WORDS,
    type=st.just(()) | st.just((MemoryType.SEMANTIC,)) | st.just(tuple(MemoryType)),
    confidence_below=st.none() | st.sampled_from([0.3, 0.6]),
    affects_at_least=st.none() | st.sampled_from([1, 2]),
    destructive=st.none() | st.booleans(),
)
CASES = st.builds(
    lambda content, source, tags, agent, confidence, ended: a_case(
        a_memory(content, source=source, tags=tuple(tags), confidence=confidence),
        scope=replace(a_memory().scope, agent=agent),
        ended=ended,
    ),
    content=st.sampled_from(["a b", "ab", "x"]),
    source=st.sampled_from(["a", "ab", "a:b", "b", None]),
    tags=st.lists(st.sampled_from(["a", "ab", "b"]), max_size=2),
    agent=st.sampled_from(["a", "ab", "A:b"]),
    confidence=st.sampled_from([0.1, 0.5, 1.0]),
    ended=st.integers(0, 2),
)


@given(inner=CONDITIONS, outer=CONDITIONS, case=CASES)
def test_what_is_implied_holds_for_every_case(inner, outer, case):
    rule = rule_from({"name": "r", "verdict": "hold", "everything": True})
    if implies(inner, outer) and matches(replace(rule, when=inner), case):
        assert matches(replace(rule, when=outer), case)


def test_every_profile_still_judges_after_a_round_trip_through_json():
    policy = policy_from_toml(json.loads(json.dumps(policy_to_dict(policy_from_toml(FILE)))))
    assert judge(a_case(a_memory("My SALARY is secret")), policy).rule == "ask about salaries"
    assert judge(a_case(untrusted()), policy).rule == "untrusted-source"
