"""The profile of a person, and the label of a memory that an operator corrects."""

import re
from typing import Any

import pytest
from playwright.sync_api import Browser, expect

from tests.console.stage import Stage, shows, staged, visiting

FUTURE = 4_102_444_800_000


def _remember(stage: Stage, content: str, **fields: object) -> dict[str, Any]:
    return stage.call(
        "remember", **{"agent_id": "a", "user_id": "ana", "type": "semantic", "content": content, **fields}
    )


def _furnished(stage: Stage) -> None:
    _remember(stage, "Ana lives in Graz.", id="home", source="user")
    _remember(stage, "Ana lives in Linz.", id="home", source="user", if_version=1)
    _remember(stage, "Ana lives in Wels.", id="other", source="agent")
    _remember(stage, "Ana is allergic to peanuts.", id="nuts", pinned=True)
    _remember(stage, "The parcel came on Monday.", id="parcel")
    _remember(stage, "Ben lives in Rome.", id="his", user_id="ben")


def _label(stage: Stage, id: str) -> dict[str, Any]:
    label: dict[str, Any] = stage.call("get", agent_id="a", id=id)["metadata"].get("fact", {})
    return label


def test_a_profile_has_live_values_conflicts_and_history(browser: Browser) -> None:
    with staged() as stage, visiting(browser, java_script_enabled=False) as visit:
        _furnished(stage)
        page = visit.open(f"{stage.url}/memories?agent=a")
        page.get_by_role("link", name="Profile of ana").first.click()
        shows(page.locator("h1"), "Profile of ana")
        home = page.get_by_role("region", name="identity: home of Ana")
        expect(home.locator(".memories li")).to_have_count(2)
        shows(home, "conflict")
        shows(home, "from agent")
        shows(page.locator("#conflicts"), "home")
        home.get_by_text("Earlier values (1)").click()
        shows(home.locator(".timeline"), "Ana lives in Graz.")
        shows(home.locator(".timeline"), "replaced")
        nuts = page.get_by_role("region", name="constraint: allergy of Ana")
        shows(nuts, "pinned")
        expect(nuts.get_by_text("conflict")).to_have_count(0)
        shows(page.locator("main"), "1 memory without a slot")
        assert "Rome" not in page.content()
        nuts.get_by_role("link", name="Ana is allergic to peanuts.").click()
        shows(page.locator("#label"), "allergy: peanuts")
        page.get_by_role("link", name="ana", exact=True).click()
        shows(page.locator("h1"), "Profile of ana")
        assert visit.complaints == []


def test_the_profile_of_an_agent_has_only_memories_of_no_user(browser: Browser) -> None:
    with staged() as stage, visiting(browser) as visit:
        _furnished(stage)
        stage.call(
            "remember", agent_id="a", type="semantic", content="We deploy on Tuesdays.", kind="procedure"
        )
        stage.call(
            "remember", agent_id="a", type="semantic", content="Use Postgres 16.", kind="decision", slot="db"
        )
        page = visit.open(f"{stage.url}/profile?agent=a")
        shows(page.locator("main"), "Use Postgres 16.")
        assert "Ana" not in page.locator("main").inner_text()
        page = visit.open(f"{stage.url}/profile?agent=a&user_id=nobody")
        shows(page.locator("main"), "No memory fills a slot yet.")


def test_a_large_profile_has_pages(browser: Browser) -> None:
    with staged() as stage, visiting(browser, java_script_enabled=False) as visit:
        for number in range(30):
            _remember(stage, f"Note {number} of the shop.", kind="configuration", slot=f"s{number:02}")
        page = visit.open(f"{stage.url}/profile?agent=a&user_id=ana")
        expect(page.locator("section.panel[id]")).to_have_count(25)
        page.get_by_role("link", name="Next page").click()
        expect(page.locator("section.panel[id]")).to_have_count(5)
        shows(page.locator("main"), "Note 29 of the shop.")


def test_a_label_is_corrected_by_a_change_that_can_be_undone(browser: Browser) -> None:
    with staged() as stage, visiting(browser, java_script_enabled=False) as visit:
        _remember(stage, "Ana orders plants.", id="order")
        more = {"expires_at": FUTURE, "tags": ["t"], "derived_from": ["order"]}
        _remember(stage, "Ana is vegan.", id="food", source="user", **more)
        before = stage.call("get", agent_id="a", id="food")
        page = visit.open(f"{stage.url}/record?agent=a&id=food")
        shows(page.locator("#label"), "read from the text")
        page.get_by_text("Label…").click()
        page.get_by_label("Kind").select_option("preference")
        page.get_by_label("Slot").fill("taste")
        page.get_by_label("Value").fill("plants")
        page.get_by_label("Polarity").select_option("negative")
        page.get_by_label("Valid until").fill("2030-01-31")
        page.get_by_role("button", name="Save label").click()
        shows(page.locator("#notes"), "The label was changed.")
        shows(page.locator("#label"), "taste: plants")
        shows(page.locator("#label"), "valid until 2030-01-31 23:59:59")
        after = stage.call("get", agent_id="a", id="food")
        assert after["metadata"]["fact"] == {
            "kind": "preference",
            "subject": before["metadata"]["fact"]["subject"],
            "slot": "taste",
            "value": "plants",
            "negative": True,
            "valid_until": 1_896_134_399_999,
            "given": True,
        }
        same = ("content", "source", "trust", "user_id", "created_at", "confidence", *more)
        assert {name: after[name] for name in same} == {name: before[name] for name in same}
        assert after["version"] == before["version"] + 1
        page.get_by_role("button", name="Undo").click()
        shows(page.locator("#label"), "read from the text")
        assert _label(stage, "food") == before["metadata"]["fact"]


def test_a_label_can_be_taken_away_and_left_to_the_reader_again(browser: Browser) -> None:
    with staged() as stage, visiting(browser, java_script_enabled=False) as visit:
        _remember(stage, "Ana is vegan.", id="food", pinned=True)
        first = _label(stage, "food")
        assert first["pinned"]
        page = visit.open(f"{stage.url}/record?agent=a&id=food")
        for choice, expected in (("none", {"given": True, "pinned": True}), ("read", first)):
            page.get_by_text("Label…").click()
            page.get_by_label("Kind").select_option(choice)
            page.get_by_role("button", name="Save label").click()
            shows(page.locator("#notes"), "The label was changed.")
            assert _label(stage, "food") == expected
        recalled = stage.call("recall", agent_id="a", query="what does Ana eat?", min_relevance="off")
        assert [hit["id"] for hit in recalled["results"]] == ["food"]


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"kind": "nonsense"}, "nonsense is not a kind"),
        ({"kind": "plan", "slot": "Not A Slot"}, "a slot is a name in small letters"),
        ({"kind": "plan", "until": "soon"}, "until is a day"),
        ({"kind": "plan", "version": "7"}, "it has changed since you opened it"),
        ({}, "kind is missing"),
    ],
)
def test_a_label_that_is_none_is_refused(fields: dict[str, str], words: str, browser: Browser) -> None:
    with staged() as stage, visiting(browser) as visit:
        _remember(stage, "Ana is vegan.", id="food")
        first = _label(stage, "food")
        page = visit.open(f"{stage.url}/record?agent=a&id=food")
        token = page.locator("#relabel input[name=form_token]").get_attribute("value")
        form = {"agent": "a", "id": "food", "version": "1", "form_token": token, "back": "/console/memories"}
        answer = page.evaluate(
            """async (fields) => {
              const body = new URLSearchParams(fields);
              return (await fetch("/console/record/label", {method: "POST", body})).text();
            }""",
            {**form, **fields},
        )
        assert words in re.sub("<[^>]*>", "", answer)
        assert _label(stage, "food") == first


def test_only_those_who_may_write_correct_a_label(browser: Browser) -> None:
    with staged() as stage:
        _remember(stage, "Ana is vegan.", id="food")
        for role in ("reader", "writer"):
            with visiting(browser) as visit:
                visit.sign_in(stage, stage.server.operator(role, role).token)
                page = visit.open(f"{stage.url}/record?agent=a&id=food")
                shows(page.locator("#label"), "diet")
                assert page.locator("#relabel").count() == (role == "writer")
                shows(visit.open(f"{stage.url}/profile?agent=a&user_id=ana").locator("main"), "vegan")


def test_a_label_waits_where_a_rule_holds_changes(browser: Browser, tmp_path: Any) -> None:
    policy = tmp_path / "policy.toml"
    policy.write_text(
        'profile = "open"\n[[rule]]\nname = "labels"\nverdict = "hold"\ncontent_contains = ["vegan"]\n'
    )
    with staged(policy=str(policy)) as stage, visiting(browser, java_script_enabled=False) as visit:
        receipt = _remember(stage, "Ana is vegan.", id="food")
        stage.call("decide", proposal_ids=[receipt["proposal_id"]], verb="approve")
        first = _label(stage, "food")
        page = visit.open(f"{stage.url}/record?agent=a&id=food")
        page.get_by_text("Label…").click()
        page.get_by_label("Kind").select_option("plan")
        page.get_by_role("button", name="Save label").click()
        shows(page.locator("#notes"), "needs a decision by a person")
        assert _label(stage, "food") == first
