"""The explorer of memories: search as one types, bulk changes, saved views, and a list that goes on."""

from typing import Any

import pytest
from playwright.sync_api import Browser, expect

from tests.console.stage import Stage, shows, visiting


def _remember(stage: Stage, content: str, **fields: Any) -> dict[str, Any]:
    return stage.call("remember", **{"agent_id": "a", "type": "semantic", "content": content, **fields})


def _furnish(stage: Stage) -> None:
    _remember(stage, "Ana drinks green tea.", id="tea", source="chat", user_id="ana")
    _remember(stage, "Ben drinks black tea.", id="black", source="agent", user_id="ben")
    _remember(stage, "The boiler was repaired in May.", id="boiler", source="agent")


def test_the_list_and_the_counts_follow_what_is_typed(stage: Stage, browser: Browser) -> None:
    _furnish(stage)
    with visiting(browser) as visit:
        visit.open(stage.link)
        page = visit.open(f"{stage.url}/memories?agent=a")
        page.get_by_role("searchbox").press_sequentially("TEA")
        expect(page.locator("#rows tr")).to_have_count(2)
        shows(page.locator("#total"), "2 memories")
        shows(page.get_by_role("region", name="Source"), "chat 1")
        assert "q=TEA" in page.url
        page.get_by_role("searchbox").press_sequentially(" gre")
        expect(page.locator("#rows tr")).to_have_count(1)
        recalls = stage.call("recalls", agent_id="a")["items"]
        assert recalls == [], "typing is no recall"
        assert visit.complaints == []


def test_all_agents_are_searched_at_once(stage: Stage, browser: Browser) -> None:
    _furnish(stage)
    _remember(stage, "The tea of the office is in the cupboard.", agent_id="office")
    with visiting(browser, java_script_enabled=False) as visit:
        visit.open(stage.link)
        page = visit.open(f"{stage.url}/memories?agent=*&q=tea")
        shows(page.locator("#total"), "3 memories")
        page.get_by_role("link", name="The tea of the office").click()
        shows(page.locator("h1"), "The tea of the office")


_ACTS = [
    ("Archive", {}, lambda one: one["standing"] == "archived"),
    ("Pin", {}, lambda one: one["metadata"]["fact"]["pinned"] is True),
    ("Add tag", {"Tag": "drink"}, lambda one: "drink" in one["tags"]),
    ("Label", {"Kind": "event"}, lambda one: one["metadata"]["fact"]["kind"] == "event"),
]


@pytest.mark.parametrize(("button", "fields", "holds"), _ACTS, ids=[one[0] for one in _ACTS])
def test_several_memories_are_changed_as_one_with_one_undo(
    button: str, fields: dict[str, str], holds: Any, stage: Stage, browser: Browser
) -> None:
    _furnish(stage)
    before = {id: stage.call("get", agent_id="a", id=id) for id in ("tea", "black")}
    with visiting(browser, java_script_enabled=False) as visit:
        visit.open(stage.link)
        page = visit.open(f"{stage.url}/memories?agent=a&q=tea")
        for box in page.locator("#rows").get_by_role("checkbox").all():
            box.check()
        for name, value in fields.items():
            field = page.get_by_label(name, exact=True)
            if name == "Kind":
                field.select_option(value)
            else:
                field.fill(value)
        page.get_by_role("button", name=button, exact=True).click()
        shows(page.locator("#notes"), "2 memories were")
        changed = {id: stage.call("get", agent_id="a", id=id) for id in before}
        assert all(holds(one) for one in changed.values()), changed
        [newest, *_] = stage.call("changes", agent_id="a")["changes"]
        page.get_by_role("button", name="Undo").click()
        shows(page.locator("#notes"), "Undone")
    after = {id: stage.call("get", agent_id="a", id=id) for id in before}
    for id, one in after.items():
        assert {**one, "version": 0, "updated_at": 0} == {**before[id], "version": 0, "updated_at": 0}
    assert stage.call("changes", agent_id="a")["changes"][0]["undoes"] == newest["id"]


def test_a_bulk_change_that_a_rule_holds_is_not_made(stage: Stage, browser: Browser) -> None:
    _furnish(stage)
    rule = {"name": "careful", "verdict": "hold", "operation": ["remember"], "source": ["agent"]}
    stage.call("set_rules", rules=[rule])
    with visiting(browser, java_script_enabled=False) as visit:
        visit.open(stage.link)
        page = visit.open(f"{stage.url}/memories?agent=a")
        for box in page.locator("#rows").get_by_role("checkbox").all():
            box.check()
        page.get_by_role("button", name="Pin", exact=True).click()
        shows(page.locator("#notes"), "careful blocks")
    assert "fact" not in stage.call("get", agent_id="a", id="boiler")["metadata"]


def test_a_view_is_kept_as_a_link_and_columns_are_chosen(stage: Stage, browser: Browser) -> None:
    _furnish(stage)
    with visiting(browser, java_script_enabled=False) as visit:
        visit.open(stage.link)
        page = visit.open(f"{stage.url}/memories?agent=a&source=agent&q=tea")
        page.get_by_text("Columns", exact=True).click()
        page.get_by_role("link", name="Trust").click()
        expect(page.get_by_role("columnheader", name="Trust")).to_be_visible()
        page.get_by_text("Save view").click()
        page.get_by_label("Name").fill("Tea of agents")
        page.get_by_role("button", name="Save", exact=True).click()
        page = visit.open(f"{stage.url}/memories?agent=a")
        page.get_by_role("link", name="Tea of agents").click()
        shows(page.locator("#total"), "1 memories")
        expect(page.get_by_role("columnheader", name="Trust")).to_be_visible()


def test_the_list_goes_on_and_keeps_its_place(stage: Stage, browser: Browser) -> None:
    for number in range(120):
        _remember(stage, f"Note {number:03} of the shop.")
    with visiting(browser) as visit:
        visit.open(stage.link)
        page = visit.open(f"{stage.url}/memories?agent=a")
        expect(page.locator("#rows [data-row]")).to_have_count(50)
        page.locator(".onward").scroll_into_view_if_needed()
        expect(page.locator("#rows [data-row]")).to_have_count(100)
        page.locator(".onward").scroll_into_view_if_needed()
        expect(page.locator("#rows [data-row]")).to_have_count(120)
        page.get_by_role("link", name="Note 030").click()
        shows(page.locator("h1"), "Note 030")
        page.go_back()
        expect(page.get_by_role("link", name="Note 030")).to_be_in_viewport()
        assert visit.complaints == []


def test_rows_are_walked_selected_and_opened_by_keys(stage: Stage, browser: Browser) -> None:
    _furnish(stage)
    with visiting(browser) as visit:
        visit.open(stage.link)
        page = visit.open(f"{stage.url}/memories?agent=a")
        page.keyboard.press("/")
        page.keyboard.type("tea")
        expect(page.locator("#rows tr")).to_have_count(2)
        page.keyboard.press("ArrowDown")
        page.keyboard.press("x")
        page.keyboard.press("j")
        page.keyboard.press("x")
        shows(page.locator("#ticked"), "2")
        page.keyboard.press("k")
        page.keyboard.press("Enter")
        shows(page.locator("h1"), "tea.")
