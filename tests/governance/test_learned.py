"""What people decided alike becomes a suggestion; what must stay with people never does."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from memorywire.model.record import MemoryType, Scope, Trust
from memorywire.policy.documents import policy_from_toml
from memorywire.policy.judge import Case, judge
from memorywire.policy.learned import Decided, features, suggest
from memorywire.policy.rules import Verdict, rule_from, rule_to
from tests.governance.samples import a_case, a_memory, untrusted

STRICT = policy_from_toml({"profile": "strict"})
NOTES = a_case(a_memory(source="notes", tags=("work",)))


def _decided(case: Case, times: int = 1, *, approved: bool = True, mark: str = "", **given) -> list[Decided]:
    shown = features(case)
    return [
        Decided(id=f"{mark}{i}", features=shown, approved=approved, by="operator:ana", at=i, **given)
        for i in range(times)
    ]


def test_five_equal_decisions_suggest_a_rule_with_its_evidence():
    assert suggest(_decided(NOTES, 4)) == []
    (only,) = suggest(_decided(NOTES, 5))
    assert only.evidence == ("0", "1", "2", "3", "4")
    assert (only.rule.verdict, only.rule.learned) == (Verdict.ALLOW, True)
    assert rule_to(only.rule) | {"name": "", "note": ""} == {
        "name": "",
        "note": "",
        "verdict": "allow",
        "learned": True,
        "tenant": ["default"],
        "agent": ["assistant"],
        "operation": ["remember"],
        "type": ["semantic"],
        "source": ["notes"],
        "tags": ["work"],
        "trust": ["standard", "trusted"],
        "destructive": False,
        "contains_secret": False,
        "looks_like_instruction": False,
    }
    assert rule_from(rule_to(only.rule)) == only.rule


def test_an_activated_suggestion_lets_the_same_pass_and_nothing_else():
    (only,) = suggest(_decided(NOTES, 5))
    active = replace(STRICT, rules=(only.rule, *STRICT.rules))
    assert judge(NOTES, STRICT).verdict is Verdict.HOLD
    assert judge(NOTES, active).rule == only.rule.name
    others = [
        a_case(a_memory(source="notes")),
        a_case(a_memory(source="mail", tags=("work",))),
        replace(NOTES, scope=Scope(agent="other")),
        replace(NOTES, scope=Scope(agent="Assistant")),
        replace(NOTES, instructions=(("role", "content"),)),
        a_case(a_memory(source="notes", tags=("work",), trust=Trust.UNTRUSTED)),
    ]
    assert {judge(case, active).verdict for case in others} == {Verdict.HOLD}


def test_one_decision_against_is_enough_to_suggest_nothing():
    decisions = _decided(NOTES, 20)
    assert suggest(decisions)
    assert suggest(decisions + _decided(NOTES, approved=False, mark="no")) == []


def test_a_decision_against_something_narrower_leaves_only_what_it_does_not_touch():
    work, home = (a_case(a_memory(source="notes", tags=(tag,))) for tag in ("work", "home"))
    mixed = _decided(work, 5, mark="w") + _decided(home, 5, mark="h")
    assert [rule_to(one.rule).get("tags") for one in suggest(mixed)] == [None]
    torn = mixed + _decided(home, approved=False, mark="no")
    assert [rule_to(one.rule).get("tags") for one in suggest(torn)] == [["work"]]


def test_what_people_always_reject_is_suggested_for_refusal():
    spam = a_case(untrusted(source="web:spam"))
    (only,) = suggest(_decided(spam, 5, approved=False))
    assert only.rule.verdict is Verdict.REFUSE
    assert rule_to(only.rule)["source"] == ["web:spam"]
    assert judge(spam, replace(STRICT, rules=(only.rule,))).verdict is Verdict.REFUSE


def test_rejections_with_neither_source_nor_tag_in_common_suggest_nothing():
    assert suggest(_decided(a_case(a_memory()), 9, approved=False)) == []
    scattered = [
        one
        for i in range(9)
        for one in _decided(a_case(a_memory(source=f"s{i}")), approved=False, mark=f"{i}-")
    ]
    assert suggest(scattered) == []


NEVER = {
    "untrusted": a_case(untrusted(source="notes")),
    "procedural": a_case(a_memory(source="notes", type=MemoryType.PROCEDURAL)),
    "supersedes": a_case(a_memory(source="notes"), ended=1),
    "a new version": a_case(a_memory(source="notes", version=2)),
    "forget": a_case(operation="forget", ended=1, ending=(a_memory(source="notes"),)),
    "merge": a_case(a_memory(source="notes"), operation="merge", ended=1),
    "an instruction": a_case(a_memory(source="notes"), instructions=(("role", "content"),)),
    "a secret": a_case(a_memory(source="notes"), secrets=(("token", "content"),)),
}


@pytest.mark.parametrize("name", NEVER)
def test_approving_it_for_ever_suggests_no_rule_for(name: str):
    assert suggest(_decided(NEVER[name], 50)) == []
    assert suggest(_decided(a_case(a_memory(source="notes")), 50))


def test_one_that_may_never_be_automatic_spoils_the_whole_pattern():
    plain = a_case(a_memory(source="notes"))
    assert suggest(_decided(plain, 50) + _decided(NEVER["untrusted"], mark="u")) == []


def test_decisions_taken_by_rules_teach_nothing():
    assert suggest(_decided(NOTES, 50, automatic=True)) == []
    assert suggest(_decided(NOTES, 5) + _decided(NOTES, 50, approved=False, automatic=True, mark="r"))


def test_a_star_in_a_name_never_becomes_a_wildcard():
    starred = a_case(a_memory(source="no*"))
    assert suggest(_decided(starred, 9)) == []
    assert suggest(_decided(a_case(a_memory(source="notes", tags=("a*",))), 9))[0].rule.when.tags == ()


def test_decisions_of_one_agent_suggest_nothing_for_another():
    ours, theirs = (replace(NOTES, scope=Scope(agent=agent)) for agent in ("a", "b"))
    assert suggest(_decided(ours, 3, mark="a") + _decided(theirs, 3, mark="b")) == []


def test_no_source_is_a_source_of_its_own():
    (only,) = suggest(_decided(a_case(a_memory()), 5))
    active = replace(STRICT, rules=(only.rule, *STRICT.rules))
    assert judge(a_case(a_memory()), active).verdict is Verdict.ALLOW
    assert judge(a_case(a_memory(source="anywhere")), active).verdict is Verdict.HOLD


CASES = st.builds(
    lambda operation, record, ended: a_case(record, operation=operation, ended=ended),
    operation=st.sampled_from(["remember", "remember", "merge", "forget"]),
    record=st.builds(
        a_memory,
        source=st.sampled_from(["notes", "web", None]),
        type=st.sampled_from(MemoryType),
        trust=st.sampled_from(Trust),
        tags=st.sets(st.sampled_from(["x", "y"])).map(tuple),
        version=st.integers(1, 2),
    ),
    ended=st.integers(0, 1),
)


@given(st.lists(st.tuples(CASES, st.booleans()), max_size=12), st.randoms(use_true_random=False))
def test_no_suggestion_contradicts_a_decision_or_lets_pass_what_only_people_may(
    past: list[tuple[Case, bool]], order: random.Random
):
    decisions = [
        Decided(id=str(i), features=features(case), approved=approved, by="operator:ana", at=i)
        for i, (case, approved) in enumerate(past)
    ]
    found = suggest(decisions, threshold=2)
    for one in found:
        active = replace(STRICT, rules=(one.rule,), default=Verdict.HOLD)
        for case, approved in past:
            verdict = judge(case, active).verdict
            assert verdict is not (Verdict.REFUSE if approved else Verdict.ALLOW)
            assert verdict is not Verdict.ALLOW or case.may_be_automatic
    shuffled = list(decisions)
    order.shuffle(shuffled)
    assert suggest(shuffled, threshold=2) == found
