"""Approving an erasure: no single key or click does it, a typed word does, and no undo is offered after."""

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.console.stage import Stage, visiting


@pytest.fixture
def erasing(stage: Stage) -> Stage:
    """A memory that a held request would erase for good, and a harmless proposal."""
    stage.server.client.remember("Ana pays by invoice", tags=["money"])
    stage.call("forget", agent_id="a", filter={"tags": "money"}, hard_delete=True, approval_required=True)
    stage.hold("Ben likes rain")
    return stage


def kept(stage: Stage) -> list[str]:
    return sorted(item["content"] for item in stage.call("list", agent_id="a")["items"])


def offers_no_undo(page: Page) -> None:
    expect(page.locator("#notes")).to_contain_text("Approved")
    expect(page.get_by_role("button", name="Undo")).to_have_count(0)


def test_a_key_asks_for_the_word_and_only_the_word_erases(erasing: Stage, browser: Browser):
    with visiting(browser) as visit:
        page = visit.open(f"{erasing.url}/inbox")
        expect(page.locator("#detail")).to_contain_text("erased for good")
        expect(page.get_by_role("button", name="Approve", exact=True)).to_have_count(0)
        page.keyboard.press("a")
        word = page.locator("#confirm")
        expect(word).to_be_focused()
        page.keyboard.type("yes")
        page.keyboard.press("Enter")
        assert kept(erasing) == ["Ana pays by invoice"]
        word.fill("erase")
        page.keyboard.press("Enter")
        offers_no_undo(page)
        assert kept(erasing) == []
        done = erasing.call("proposals", states=["approved"])["items"]
        page = visit.open(f"{erasing.url}/proposal?id={done[0]['id']}")
        expect(page.get_by_role("button", name="Reopen")).to_have_count(0)
        assert not visit.complaints


def test_ticked_with_others_it_still_asks_for_the_word(erasing: Stage, browser: Browser):
    with visiting(browser) as visit:
        page = visit.open(f"{erasing.url}/inbox")
        for key in ("x", "j", "x"):
            page.keyboard.press(key)
        expect(page.locator("#ticked")).to_have_text("2")
        page.keyboard.press("a")
        expect(page.get_by_label("Type erase to approve erasures")).to_be_focused()
        page.get_by_role("button", name="Approve selected").click()
        expect(page.locator("#notes")).to_contain_text("for good")
        assert kept(erasing) == ["Ana pays by invoice"]
        for box in page.locator('.item input[name="id"]').all():
            box.check()
        page.get_by_label("Type erase to approve erasures").fill("erase")
        page.get_by_role("button", name="Approve selected").click()
        offers_no_undo(page)
        assert kept(erasing) == ["Ben likes rain"]


def test_all_at_once_and_without_scripts_it_asks_for_the_word(erasing: Stage, browser: Browser):
    with visiting(browser, java_script_enabled=False) as visit:
        page = visit.open(f"{erasing.url}/inbox/all")
        page.get_by_role("button", name="Approve 2").click()
        expect(page.locator("#notes")).to_contain_text("for good")
        assert kept(erasing) == ["Ana pays by invoice"]
        page.get_by_label("type erase").fill("erase")
        page.get_by_role("button", name="Approve 2").click()
        offers_no_undo(page)
        assert kept(erasing) == ["Ben likes rain"]


def test_the_erase_of_a_memory_asks_for_the_word(erasing: Stage, browser: Browser):
    with visiting(browser, java_script_enabled=False) as visit:
        [item] = erasing.call("list", agent_id="a")["items"]
        page = visit.open(f"{erasing.url}/record/erase?agent=a&id={item['id']}")
        page.get_by_label("Type erase").evaluate("field => field.removeAttribute('required')")
        page.get_by_role("button", name="Erase for good").click()
        expect(page.locator("#notes")).to_contain_text("cannot be undone")
        assert kept(erasing) == ["Ana pays by invoice"]
