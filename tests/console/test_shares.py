"""What agents lend to each other is listed, revoked by a button, and given again by an undo."""

from playwright.sync_api import Browser

from tests.console.stage import PHONE, Stage, shows, visiting


def test_a_grant_is_seen_by_both_agents_and_revoked_by_the_lender(stage: Stage, browser: Browser) -> None:
    for agent, content in (("a", "The deploy key rotates on Mondays"), ("b", "Support answers fast")):
        stage.call("remember", agent_id=agent, type="semantic", content=content, tags=["runbook"])
    stage.call("share", agent_id="a", borrower="b", tags=["runbook"])
    asked = {"agent_id": "b", "query": "When does the deploy key rotate?"}
    assert [hit["lender"] for hit in stage.call("recall", **asked)["results"]] == ["a"]
    with visiting(browser, java_script_enabled=False, viewport=PHONE) as visit:
        visit.open(f"{stage.url}/shares?agent=b")
        shows(visit.page.locator("tbody tr"), "runbook")
        assert visit.page.get_by_role("button", name="Revoke").count() == 0  # the borrower cannot
        visit.open(f"{stage.url}/agents").get_by_role("link", name="Shares of a").click()
        visit.page.get_by_role("button", name="Revoke the share to b").click()
        shows(visit.page.locator("#notes"), "Revoked.")
        shows(visit.page.locator(".empty"), "Nothing is lent.")
        assert not stage.call("recall", **asked)["results"]
        visit.page.get_by_role("button", name="Undo").click()
        shows(visit.page.locator("#notes"), "Undone.")
        assert stage.call("recall", **asked)["results"]
        page = visit.open(f"{stage.url}/activity")
        shows(page.locator("main"), "unshare")
        assert not visit.complaints
