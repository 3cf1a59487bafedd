"""The policy as forms and as text: one is the other, a draft is tried before it is in force."""

import pytest
from playwright.sync_api import Browser, expect

from memorywire.model.errors import InvalidRequest
from memorywire.model.record import Json
from memorywire.policy.rules import rule_from, rule_to
from memorywire_server.console.page import Form
from memorywire_server.console.rule_form import can_fill, read_rule
from memorywire_server.console.rule_text import compare_lines, read_rules, write_rules
from tests.console.stage import Stage, shows, visiting

_RULES: list[dict[str, Json]] = [
    {"name": "all", "verdict": "hold", "everything": True, "enabled": False, "note": 'says "why" \\ [x]'},
    {
        **{"name": "much", "verdict": "hold", "reviewers": 2, "learned": True},
        **{"operation": ["remember", "merge"], "type": ["semantic"], "trust": ["untrusted"]},
        **{"source": ["", "web:*"], "tags": ["a, b", "\x7f\u202e<b>"], "content_contains": ["pay", "Gehalt"]},
        **{"confidence_below": 0.5, "affects_at_least": 3, "contains_secret": False, "destructive": True},
        "not": {"tags": ["reviewed"], "caller": ["operator:*"]},
    },
    {"name": "read", "verdict": "redact", "operation": ["recall"], "scope": ["all"], "agent": ["a"]},
]


def test_rules_are_the_same_as_text_and_as_a_form() -> None:
    assert [rule_to(rule_from(rule)) for rule in _RULES] == _RULES
    assert read_rules(write_rules(_RULES)) == _RULES
    assert [can_fill(rule) for rule in _RULES] == [True, True, True]


def test_a_rule_that_a_form_cannot_say_is_told_apart() -> None:
    two_lines = {"name": "x", "verdict": "hold", "tags": ["one\ntwo"]}
    assert not can_fill(two_lines)
    assert read_rules(write_rules([two_lines])) == [two_lines]


@pytest.mark.parametrize(
    ("text", "field"),
    [
        ("[[rule]]\nname = ", "rule"),
        ('[[rule]]\nname = "x"\nsorce = []', "rule.x.sorce"),
        ("four_eyes = 1", "four_eyes"),
    ],
)
def test_a_text_that_is_no_list_of_rules_names_what_is_wrong(text: str, field: str) -> None:
    with pytest.raises(InvalidRequest) as refused:
        read_rules(text)
    assert refused.value.field == field


def test_a_number_of_a_form_that_is_none_is_named() -> None:
    fields = {"name": ("x",), "verdict": ("hold",), "confidence_below": ("half",)}
    with pytest.raises(InvalidRequest, match="confidence_below"):
        rule_from(read_rule(Form(fields)))


def test_lines_that_differ_are_told_with_their_neighbours() -> None:
    before, after = write_rules(_RULES), write_rules(_RULES[1:])
    shown = compare_lines(before, after)
    assert [line for sign, line in shown if sign == "-"][:2] == ["[[rule]]", 'name = "all"']
    assert not [line for sign, line in shown if sign == "+"]
    assert compare_lines(after, after) == []


def _busy(stage: Stage) -> None:
    stage.call("remember", agent_id="a", type="semantic", content="Ana lives in Graz.", id="home")
    stage.call(
        "remember", agent_id="a", type="semantic", content="Ana lives in Linz.", id="home", if_version=1
    )


def test_a_rule_is_added_tried_moved_switched_off_and_removed(stage: Stage, browser: Browser) -> None:
    _busy(stage)
    with visiting(browser, java_script_enabled=False) as visit:
        page = visit.open(f"{stage.url}/policy")
        page.get_by_role("link", name="Add a rule").click()
        page.get_by_label("Name", exact=True).fill("linz")
        page.get_by_label("Contains one of").fill("linz")
        page.get_by_role("button", name="Back-test").click()
        shows(page.locator("#trial"), "1 of the last 2 changes")
        page.get_by_role("button", name="Save and activate").click()
        shows(page.get_by_role("region", name="Your rules"), "linz")
        held = stage.call("remember", agent_id="a", type="semantic", content="Ben lives in Linz.")
        assert (held["status"], held["rule"]) == ("staged", "linz")
        page.get_by_role("button", name="Disable linz").click()
        page.get_by_role("button", name="Remove linz").click()
        expect(page.get_by_text("No custom rules yet")).to_be_visible()
        page.get_by_role("button", name="Undo").click()
        shows(page.get_by_role("region", name="Your rules"), "linz")
        assert [one.get("enabled") for one in stage.call("rules")["given"]] == [False]


def test_a_draft_is_tried_as_it_is_typed_and_stays_when_it_is_wrong(stage: Stage, browser: Browser) -> None:
    _busy(stage)
    with visiting(browser) as visit:
        page = visit.open(f"{stage.url}/policy/text")
        draft = '[[rule]]\nname = "linz"\nverdict = "refuse"\ncontent_contains = ["linz"]\n'
        page.get_by_label("Rules (TOML)").fill(draft)
        shows(page.locator("#trial"), "1 of the last 2 changes")
        shows(page.locator("#trial ins").nth(1), 'name = "linz"')
        page.get_by_label("Rules (TOML)").fill(f"{draft}sorce = []")
        shows(page.locator("#trial"), "sorce")
        assert visit.complaints == []
        page.get_by_role("button", name="Put in force").click()
        shows(page.get_by_role("alert"), "sorce")
        assert page.get_by_label("Rules (TOML)").input_value() == f"{draft}sorce = []"
        page.get_by_label("Rules (TOML)").fill(draft)
        page.get_by_role("button", name="Put in force").click()
        shows(page.locator("#notes"), "1 rule is in force")
        assert stage.call("rules")["given"] == read_rules(draft)


def test_a_text_without_rules_needs_a_typed_word(stage: Stage, browser: Browser) -> None:
    stage.call("set_rules", rules=[_RULES[0]])
    with visiting(browser, java_script_enabled=False) as visit:
        page = visit.open(f"{stage.url}/policy/text")
        page.get_by_label("Rules (TOML)").fill("")
        page.get_by_role("button", name="Put in force").click()
        shows(page.get_by_role("alert"), "remove all")
        assert stage.call("rules")["edition"] == 1
        page.get_by_label("Type the word none").fill("none")
        page.get_by_role("button", name="Put in force").click()
        shows(page.locator("#notes"), "0 rules are in force")
        assert stage.call("rules")["given"] == []


def test_a_rule_that_cannot_be_meant_is_refused_with_a_reason(stage: Stage, browser: Browser) -> None:
    with visiting(browser) as visit:
        page = visit.open(f"{stage.url}/policy/rule")
        page.get_by_label("Name", exact=True).fill("x")
        page.get_by_label("Everything").check()
        page.get_by_role("button", name="Save and activate").click()
        shows(page.get_by_role("alert"), "says everything and something besides")
        assert page.get_by_label("Name", exact=True).input_value() == "x"
        assert stage.call("rules")["given"] == []
