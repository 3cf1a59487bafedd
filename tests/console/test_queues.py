"""Queues of the inbox: who has a proposal, until when it is put off, and what reviewers say about it."""

from playwright.sync_api import Browser, expect

from tests.console.stage import Stage, visiting


def test_reviewers_take_comment_on_and_snooze_by_keys_and_each_queue_shows_its_own(
    stage: Stage, browser: Browser
):
    for content in ("Ana likes rain", "Ben likes snow", "Cleo likes fog"):
        stage.hold(content)
    seen = {one["id"]: one["seen"] for one in _examine(stage)}
    with visiting(browser) as visit:
        page = visit.open(f"{stage.url}/inbox")
        page.keyboard.press("i")
        expect(page.locator("#notes")).to_contain_text("Assigned to local.")
        page.keyboard.press("c")
        page.keyboard.type("who said so?")
        page.keyboard.press("Control+Enter")
        expect(page.locator("#detail .talk")).to_contain_text("who said so?")
        page.keyboard.press("j")
        expect(page.locator("#detail")).to_contain_text("Ben likes snow")
        page.keyboard.press("s")
        page.keyboard.press("Control+Enter")
        expect(page.locator("#notes")).to_contain_text("Snoozed for 4 hours.")
        expect(page.locator(".item")).to_have_count(2)
        expect(page.locator("#sections .count")).to_have_text("2")
        for queue, content in (("Mine", "Cleo"), ("Unassigned", "Ana"), ("Snoozed", "Ben")):
            page.get_by_label("Queues").get_by_role("link", name=queue).click()
            expect(page.locator(".item")).to_have_count(1)
            expect(page.locator(".item")).to_contain_text(content)
        assert not visit.complaints
    assert {one["id"]: one["seen"] for one in _examine(stage)} == seen, "what is decided on stays the same"


def test_a_note_about_a_settled_proposal_or_a_comment_that_is_too_long_changes_nothing(
    stage: Stage, browser: Browser
):
    id = stage.hold("Ana likes rain")
    with visiting(browser, java_script_enabled=False) as visit:
        page = visit.open(f"{stage.url}/inbox")
        page.get_by_text("More…").click()
        page.locator("#comment").evaluate("one => one.removeAttribute('maxlength')")
        page.get_by_label("Comment").fill("x" * 2_001)
        page.get_by_role("button", name="Comment", exact=True).click()
        expect(page.locator("#notes")).to_contain_text("at most 2000 characters")
        stage.call("decide", proposal_ids=[id], verb="reject")
        page.get_by_role("button", name="Take", exact=True).click()
        expect(page.locator("#notes")).to_contain_text(f"proposal {id} is rejected")


def test_comments_leave_with_the_memory_that_they_are_about(stage: Stage, browser: Browser):
    id = stage.hold("Ana likes rain")
    with visiting(browser, java_script_enabled=False) as visit:
        page = visit.open(f"{stage.url}/inbox")
        page.get_by_text("More…").click()
        page.get_by_label("Comment").fill("Ana told me about the rain")
        page.get_by_role("button", name="Comment", exact=True).click()
        stage.call("decide", proposal_ids=[id], verb="approve")
        address = f"{stage.url}/proposal?id={id}"
        assert "Ana told me" in visit.open(address).content()
        memory = stage.call("list", agent_id="a")["items"][0]["id"]
        stage.call("forget", agent_id="a", ids=[memory], hard_delete=True)
        assert "Ana told me" not in visit.open(address).content()


def _examine(stage: Stage) -> list[dict[str, str]]:
    waiting = stage.call("proposals")["items"]
    return [
        {"id": one["id"], "seen": stage.call("proposal", proposal_id=one["id"])["seen"]} for one in waiting
    ]


def test_several_are_taken_at_once_and_the_count_beside_the_inbox_is_of_all_agents(
    stage: Stage, browser: Browser
):
    for content in ("Ana likes rain", "Ben likes snow"):
        stage.hold(content)
    stage.hold("Cleo likes fog", agent="b")
    with visiting(browser) as visit:
        page = visit.open(f"{stage.url}/inbox?agent=a")
        expect(page.locator("#sections .count")).to_have_text("3")
        for key in ("x", "j", "x"):
            page.keyboard.press(key)
        expect(page.locator("#ticked")).to_have_text("2")
        page.get_by_role("button", name="Take selected").click()
        expect(page.locator("#notes")).to_contain_text("Assigned to local.")
        page.get_by_label("Queues").get_by_role("link", name="Mine").click()
        expect(page.locator(".item")).to_have_count(2)
        assert not visit.complaints
