"""What the shipped profiles let pass, hold and refuse, and what a request can do about it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from memorywire.model.record import MemoryType, Scope, Trust
from memorywire.policy.documents import policy_from_toml
from memorywire.policy.judge import (
    Case,
    Policy,
    SecretAction,
    backtest,
    judge,
    matches,
    secret_action,
    trust_of,
)
from memorywire.policy.rules import Verdict, rule_from
from tests.governance.samples import ANA, a_case, a_memory, untrusted

OPEN, BALANCED, STRICT = (policy_from_toml({"profile": name}) for name in ("open", "balanced", "strict"))
BARE = Policy(profile="open")

HELD_WHEN_BALANCED = {
    "untrusted-source": a_case(untrusted()),
    "untrusted-procedure": a_case(untrusted(type=MemoryType.PROCEDURAL)),
    "instruction": a_case(a_memory(), instructions=(("persistence", "content"),)),
    "destructive-filter": a_case(operation="expire", caller="agent:ana", ended=1, by_filter=True),
    "erasure": a_case(operation="forget", caller="agent:ana", erased=1, ending=(a_memory(),)),
}
PLEASANT = {
    "a remember without a source": a_case(a_memory()),
    "a remember from the user's notes": a_case(a_memory(source="notes")),
    "a procedure of one's own": a_case(a_memory(type=MemoryType.PROCEDURAL)),
    "a remember that supersedes": a_case(a_memory(), ended=1, ending=(untrusted(id="old"),)),
    "a forget by id": a_case(operation="forget", ended=1, ending=(a_memory(),)),
    "a hard delete by a program": a_case(operation="forget", caller="local", erased=1, ending=(untrusted(),)),
    "a hard delete by an operator": a_case(operation="forget", caller="operator:olga", erased=1),
    "a forget by an agent": a_case(operation="forget", caller="agent:ana", ended=1, ending=(a_memory(),)),
    "a merge": a_case(a_memory(), operation="merge", ended=2),
    "an undo": a_case(untrusted(), operation="undo"),
    "a filter that matches nothing": a_case(operation="forget", by_filter=True),
    "an archive by policy": a_case(untrusted(), operation="expire", by_filter=True),
    "a person's own filter": a_case(operation="forget", caller="person:local", ended=3, by_filter=True),
    "an expire by a program": a_case(operation="expire", caller="local", ended=3, by_filter=True),
    "a recall": a_case(operation="recall"),
}


def _rule(**given):
    return rule_from({"name": "r", "verdict": "hold", **given})


@pytest.mark.parametrize("rule", HELD_WHEN_BALANCED)
def test_balanced_holds_what_could_poison_or_empty_memory_and_names_the_rule(rule: str):
    judgement = judge(HELD_WHEN_BALANCED[rule], BALANCED)
    assert (judgement.verdict, judgement.rule) == (Verdict.HOLD, rule)
    assert judgement.reason


@pytest.mark.parametrize("rule", HELD_WHEN_BALANCED)
def test_the_same_passes_when_that_rule_is_switched_off_or_the_profile_is_open(rule: str):
    off = ["untrusted-source", rule] if rule == "untrusted-procedure" else [rule]
    lax = policy_from_toml({"profile": "balanced", "disable": off})
    assert judge(HELD_WHEN_BALANCED[rule], lax).verdict is Verdict.ALLOW
    assert judge(HELD_WHEN_BALANCED[rule], OPEN).verdict is Verdict.ALLOW


@pytest.mark.parametrize("name", PLEASANT)
def test_balanced_lets_ordinary_work_pass(name: str):
    assert judge(PLEASANT[name], BALANCED).verdict is Verdict.ALLOW


def test_an_instruction_from_a_trusted_source_passes_in_balanced_and_waits_in_strict():
    case = a_case(a_memory(trust=Trust.TRUSTED), instructions=(("persistence", "content"),))
    assert judge(case, BALANCED).verdict is Verdict.ALLOW
    assert judge(case, STRICT).rule == "instruction"


def test_strict_holds_every_change_except_memories_from_trusted_sources():
    changes = {name: case for name, case in PLEASANT.items() if name != "a recall"}
    assert {judge(case, STRICT).verdict for case in changes.values()} == {Verdict.HOLD}
    assert judge(a_case(a_memory(trust=Trust.TRUSTED)), STRICT).verdict is Verdict.ALLOW
    assert judge(PLEASANT["a recall"], STRICT).verdict is Verdict.ALLOW


def test_secrets_are_redacted_unless_the_scope_says_otherwise():
    case = a_case(a_memory(), secrets=(("aws-access-key", "metadata.key"),))
    assert judge(case, BALANCED).verdict is Verdict.ALLOW
    assert judge(case, STRICT).verdict is Verdict.REFUSE
    careful = policy_from_toml({"secrets": {"default/assistant/ana": "hold"}})
    judgement = judge(case, careful)
    assert (judgement.verdict, judgement.rule) == (Verdict.HOLD, "secrets")
    assert "aws-access-key in metadata.key" in judgement.reason
    assert judge(replace(case, scope=Scope(agent="assistant")), careful).verdict is Verdict.ALLOW


def test_a_scope_pattern_is_compared_part_by_part():
    policy = policy_from_toml({"secrets": {"*/sandbox/*": "redact", "bill*": "hold", "*": "refuse"}})
    assert secret_action(Scope(agent="sandbox"), policy) is SecretAction.REDACT
    assert secret_action(Scope(agent="billing", user="x"), policy) is SecretAction.HOLD
    assert secret_action(Scope(agent="x", user="a/sandbox/b"), policy) is SecretAction.REFUSE
    assert secret_action(Scope(agent="Sandbox"), policy) is SecretAction.REFUSE


@pytest.mark.parametrize("policy", [OPEN, BALANCED, STRICT], ids=lambda policy: policy.profile)
def test_a_request_that_asks_for_approval_is_held_by_every_profile(policy: Policy):
    asked = judge(a_case(a_memory(trust=Trust.TRUSTED), approval_required=True), policy)
    assert (asked.verdict, asked.rule) == (Verdict.HOLD, "approval_required")
    assert judge(a_case(a_memory(trust=Trust.TRUSTED)), policy).verdict is Verdict.ALLOW


def test_a_refusal_stands_whatever_the_request_asks_for():
    policy = policy_from_toml({"rule": [{"name": "no-web", "verdict": "refuse", "source": ["web*"]}]})
    judgement = judge(a_case(untrusted(), approval_required=True, privacy_intent={}), policy)
    assert (judgement.verdict, judgement.rule) == (Verdict.REFUSE, "no-web")


@pytest.mark.parametrize(
    ("intent", "verdict"),
    [
        ({}, Verdict.HOLD),
        ({"verdict": "refuse"}, Verdict.REFUSE),
        ({"type": ["semantic"], "source": ["crm*"]}, Verdict.HOLD),
        ({"content_contains": ["GREEN"]}, Verdict.HOLD),
        ({"content_contains": ["coffee"]}, Verdict.ALLOW),
        ({"contains_secret": True}, Verdict.ALLOW),
        ({"looks_like_instruction": True, "verdict": "refuse"}, Verdict.ALLOW),
    ],
)
def test_a_privacy_intent_applies_when_its_conditions_hold(intent: dict, verdict: Verdict):
    case = a_case(a_memory(source="crm:7"))
    assert judge(case, BALANCED).verdict is Verdict.ALLOW
    assert judge(replace(case, privacy_intent=intent), BALANCED).verdict is verdict


INTENTS = st.fixed_dictionaries(
    {},
    optional={
        "verdict": st.sampled_from(["allow", "hold", "refuse"]),
        "source": st.lists(st.sampled_from(["*", "web*", "crm"]), min_size=1),
        "type": st.lists(st.sampled_from(["semantic", "procedural"]), min_size=1),
        "content_contains": st.lists(st.sampled_from(["tea", "x"]), min_size=1),
        "contains_secret": st.just(True),
    },
)


@given(
    policy=st.sampled_from([OPEN, BALANCED, STRICT]),
    case=st.sampled_from([*HELD_WHEN_BALANCED.values(), *PLEASANT.values()]),
    secret=st.booleans(),
    approval=st.booleans(),
    intent=INTENTS,
)
def test_what_a_request_brings_along_only_ever_tightens(policy, case, secret, approval, intent):
    case = replace(case, secrets=(("token", "content"),) if secret else ())
    demanding = replace(case, approval_required=approval, privacy_intent=intent)
    assert judge(demanding, policy).verdict.tightness >= judge(case, policy).verdict.tightness


@pytest.mark.parametrize(
    ("source", "trust"),
    [
        (None, Trust.STANDARD),
        ("", Trust.STANDARD),
        ("notes", Trust.STANDARD),
        ("web", Trust.UNTRUSTED),
        ("WEB:evil", Trust.UNTRUSTED),
        ("https://example.org/", Trust.UNTRUSTED),
        ("email:bob", Trust.UNTRUSTED),
        ("tool:search", Trust.UNTRUSTED),
        ("import:mem0", Trust.UNTRUSTED),
    ],
)
def test_sources_from_outside_are_untrusted_however_they_are_spelt(source: str | None, trust: Trust):
    assert trust_of(source, BALANCED) is trust


def test_ones_own_trust_comes_before_that_of_the_profile():
    policy = policy_from_toml({"trust": {"web:intranet*": "trusted"}, "default_trust": "untrusted"})
    assert trust_of("web:intranet/wiki", policy) is Trust.TRUSTED
    assert trust_of("web:elsewhere", policy) is Trust.UNTRUSTED
    assert trust_of("notes", policy) is Trust.UNTRUSTED


CASE = a_case(
    a_memory("Buy  the\nBLUE car", source="crm:7", tags=("deal", "Q3"), confidence=0.4),
    ended=1,
    similar=("m0",),
)


@pytest.mark.parametrize(
    ("condition", "wrong"),
    [
        ({"operation": ["remember", "merge"]}, {"operation": ["merge"]}),
        ({"type": ["semantic"]}, {"type": ["emotional"]}),
        ({"source": ["x", "CRM:*"]}, {"source": ["crm"]}),
        ({"trust": ["standard"]}, {"trust": ["trusted"]}),
        ({"tags": ["q*"]}, {"tags": ["q"]}),
        ({"tenant": ["default"]}, {"tenant": ["other"]}),
        ({"agent": ["assist*"]}, {"agent": ["Assist*"]}),
        ({"user": ["ana"]}, {"user": [""]}),
        ({"caller": ["role:*"]}, {"caller": ["operator:*"]}),
        ({"confidence_below": 0.5}, {"confidence_below": 0.4}),
        ({"content_contains": ["the blue"]}, {"content_contains": ["red"]}),
        ({"similar_to_existing": True}, {"similar_to_existing": False}),
        ({"contains_secret": False}, {"contains_secret": True}),
        ({"looks_like_instruction": False}, {"looks_like_instruction": True}),
        ({"destructive": True}, {"destructive": False}),
        ({"erases": False}, {"erases": True, "operation": ["forget", "remember"]}),
        ({"by_filter": False}, {"by_filter": True}),
        ({"affects_at_least": 2}, {"affects_at_least": 3}),
        (
            {"type": ["semantic"], "not": {"tags": ["safe"]}},
            {"type": ["semantic"], "not": {"tags": ["deal"]}},
        ),
        ({"everything": True}, {"type": ["semantic"], "source": ["web*"]}),
    ],
    ids=lambda one: "+".join(one),
)
def test_a_condition_matches_what_it_says_and_nothing_else(condition: dict, wrong: dict):
    assert matches(_rule(**condition), CASE)
    assert not matches(_rule(**wrong), CASE)


def test_structured_content_is_searched_like_text():
    case = a_case(a_memory({"name": "Déploy", "steps": ["go"]}, type=MemoryType.PROCEDURAL))
    assert matches(_rule(content_contains=["déploy"]), case)
    assert not matches(_rule(content_contains=["deploy it"]), case)


def test_conditions_on_memories_must_be_met_by_one_memory_together():
    split = a_case(a_memory(source="crm"), a_memory(tags=("deal",)))
    whole = a_case(a_memory(), a_memory(source="crm", tags=("deal",)))
    rule = _rule(source=["crm"], tags=["deal"])
    assert not matches(rule, split)
    assert matches(rule, whole)


def test_one_memory_is_enough_to_hold_a_batch_and_not_enough_to_allow_it():
    mixed = a_case(a_memory(source="crm"), untrusted())
    allow = _rule(verdict="allow", source=["crm"])
    assert matches(_rule(source=["crm"]), mixed)
    assert not matches(allow, mixed)
    assert matches(allow, a_case(a_memory(source="crm"), a_memory(source="crm")))
    assert not matches(allow, a_case(operation="forget", ended=1))


def test_a_rule_on_memories_sees_what_a_forget_takes_away():
    rule = _rule(operation=["forget"], type=["procedural"])
    assert matches(rule, a_case(operation="forget", ended=1, ending=(a_memory(type=MemoryType.PROCEDURAL),)))
    assert not matches(rule, a_case(operation="forget", ended=1, ending=(a_memory(),)))


def test_only_a_rule_that_names_recall_speaks_of_recall():
    recall = a_case(operation="recall")
    assert not matches(_rule(everything=True), recall)
    assert matches(_rule(operation=["recall"], agent=["assistant"]), recall)
    cautious = policy_from_toml({"default": "hold"})
    assert judge(recall, cautious).verdict is Verdict.ALLOW
    assert judge(a_case(a_memory()), cautious).verdict is Verdict.HOLD


def test_a_policy_knows_what_its_rules_ask_and_which_can_speak_of_an_operation():
    rules = [
        {"name": "off", "verdict": "hold", "similar_to_existing": True, "enabled": False},
        {"name": "named", "verdict": "hold", "operation": ["recall", "merge"], "not": {"caller": ["me"]}},
        {"name": "any", "verdict": "hold", "tags": ["x"]},
    ]
    policy = policy_from_toml({"profile": "open", "rule": rules})
    told = {operation: [rule.name for rule in about] for operation, about in policy.about.items()}
    assert told["recall"] == ["named"]
    assert told["merge"] == ["named", "any"]
    assert told["remember"] == told["undo"] == ["any"]
    assert policy.asked == {"operation", "unless", "caller", "tags"}
    assert policy.about["recall"]
    assert not replace(policy, rules=()).about["recall"]


def test_the_first_enabled_rule_that_matches_decides():
    rules = [
        {"name": "off", "verdict": "refuse", "source": ["crm*"], "enabled": False},
        {"name": "first", "verdict": "allow", "source": ["crm*"]},
        {"name": "second", "verdict": "refuse", "type": ["semantic"]},
    ]
    policy = policy_from_toml({"rule": rules})
    assert judge(a_case(a_memory(source="crm:1")), policy).rule == "first"
    assert judge(a_case(a_memory(source="notes")), policy).rule == "second"


def test_a_reason_repeats_no_content_and_no_words_an_operator_looks_for():
    policy = policy_from_toml({"rule": [{"name": "r", "verdict": "hold", "content_contains": ["tea"]}]})
    judgement = judge(a_case(a_memory()), policy)
    assert judgement.rule == "r"
    assert "tea" not in judgement.reason


def test_learned_rules_take_part_only_when_the_policy_says_so():
    learned = {"name": "l", "verdict": "refuse", "source": ["crm"], "learned": True}
    case = a_case(a_memory(source="crm"))
    assert judge(case, policy_from_toml({"rule": [learned]})).verdict is Verdict.REFUSE
    assert judge(case, policy_from_toml({"rule": [learned], "learned": False})).verdict is Verdict.ALLOW


@pytest.mark.parametrize(
    "case",
    [
        a_case(untrusted()),
        a_case(a_memory(), untrusted()),
        a_case(a_memory(type=MemoryType.PROCEDURAL)),
        a_case(a_memory(version=2)),
        a_case(a_memory(), ended=1),
        a_case(operation="forget", ended=1, ending=(a_memory(),)),
        a_case(a_memory(), operation="merge"),
        a_case(a_memory(), instructions=(("role", "content"),)),
        a_case(a_memory(), secrets=(("token", "content"),)),
    ],
    ids=[
        "untrusted",
        "a batch",
        "procedure",
        "a new version",
        "supersedes",
        "forget",
        "merge",
        "instruction",
        "secret",
    ],
)
def test_no_learned_rule_lets_pass_what_may_never_be_automatic(case: Case):
    learned = rule_from({"name": "l", "verdict": "allow", "everything": True, "learned": True})
    policy = replace(BARE, rules=(learned,), default=Verdict.HOLD)
    assert judge(case, policy).verdict is Verdict.HOLD
    assert judge(a_case(a_memory()), policy).verdict is Verdict.ALLOW
    assert judge(case, replace(policy, rules=(replace(learned, learned=False),))).verdict is Verdict.ALLOW


def test_a_back_test_counts_what_a_rule_would_have_done():
    past = [
        ("1", a_case(a_memory(source="crm:1")), Verdict.ALLOW),
        ("2", a_case(a_memory(source="crm:2")), Verdict.HOLD),
        ("3", a_case(a_memory(source="notes")), Verdict.ALLOW),
    ]
    found = backtest(_rule(source=["crm:*"], enabled=False), past)
    assert (found.total, found.matched) == (3, ("1", "2"))
    assert found.changed == (("1", Verdict.ALLOW, Verdict.HOLD),)
    assert str(found) == "r would have held 2 of 3, 1 of them against what happened"


def test_a_back_test_knows_that_a_rule_cannot_loosen_what_a_request_demands():
    asked = a_case(a_memory(source="crm:1"), approval_required=True)
    leaked = a_case(a_memory(source="crm:1"), secrets=(("token", "content"),))
    past = [
        ("1", asked, Verdict.HOLD),
        ("2", leaked, Verdict.REFUSE),
        ("3", a_case(a_memory(source="crm:1")), Verdict.HOLD),
    ]
    found = backtest(_rule(verdict="allow", source=["crm:*"]), past, STRICT)
    assert found.changed == (("3", Verdict.HOLD, Verdict.ALLOW),)


def test_a_case_says_whether_it_destroys_and_how_much_it_touches():
    assert (CASE.destructive, CASE.affects) == (True, 2)
    assert not a_case(a_memory(), scope=ANA).destructive
