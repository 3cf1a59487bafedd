"""Recalls are listed by agent, session, run and trace, and short-term memory is looked through on demand."""

from playwright.sync_api import Browser

from tests.console.stage import Stage, visiting


def test_recalls_are_filtered_by_session_run_and_trace(stage: Stage, browser: Browser) -> None:
    stage.call("remember", agent_id="a", type="semantic", content="Ana lives in Graz")
    asked = {"agent_id": "a", "query": "Where does Ana live?"}
    stage.call("recall", **asked, session_id="chat-1", run_id="run-1", trace_id="trace-1")
    stage.call("recall", **asked, session_id="chat-1", run_id="run-2")
    stage.call("recall", **asked)
    with visiting(browser) as visit:
        visit.open(stage.link)
        page = visit.open(f"{stage.url}/recalls")
        assert page.locator("tbody tr").count() == 3
        for field, value, count in (("Session", "chat-1", 2), ("Run", "run-2", 1), ("Run", "run-3", 0)):
            page = visit.open(f"{stage.url}/recalls")
            page.get_by_label(field).fill(value)
            page.get_by_role("button", name="Filter").click()
            page.wait_for_load_state()
            assert page.locator("tbody tr").count() == count, (field, value)
        page = visit.open(f"{stage.url}/recalls?trace_id=trace-1")
        [row] = page.locator("tbody tr").all()
        row.get_by_role("link").first.click()
        page.get_by_role("heading", name="Why was this recalled?").wait_for()
        page.get_by_role("link", name="run-1").click()
        page.get_by_role("heading", name="Recalls", exact=True).wait_for()
        assert page.locator("tbody tr").count() == 1
        assert not visit.complaints


def test_a_button_promotes_short_term_memories_once(stage: Stage, browser: Browser) -> None:
    for text in ("the parser is slow", "the slow parser again", "why is the parser slow"):
        stage.call("remember", agent_id="a", type="episodic", content=text)
    with visiting(browser) as visit:
        visit.open(stage.link)
        page = visit.open(f"{stage.url}/dreams?agent=a")
        page.get_by_role("button", name="Promote now").click()
        page.get_by_text("3 short-term memories:").wait_for()
        assert not visit.complaints
    kept = stage.call("list", agent_id="a")["items"]
    assert any(item["type"] == "semantic" and item.get("derived_from") for item in kept)
