"""The nights are on a page: what each did, memory by memory, and a way back."""

from playwright.sync_api import Browser

from memorywire.model.consolidation import ConsolidationSettings
from memorywire.model.record import Scope
from memorywire_consolidate.run import ConsolidationRun, dream
from tests.console.stage import Stage, staged, visiting


def _slept(stage: Stage) -> None:
    for text in ("Ben lives in Rome", "Ben really lives in Rome", "Ben moved to Oslo"):
        stage.call("remember", agent_id="a", type="semantic", content=text)
    stage.server.run(dream(Scope(agent="a"), stage.server.container.context, ConsolidationRun()))


def test_a_run_is_listed_read_whole_and_taken_back(stage: Stage, browser: Browser) -> None:
    _slept(stage)
    with visiting(browser) as visit:
        visit.open(stage.link)
        page = visit.open(f"{stage.url}/dreams")
        [row] = page.locator("tbody tr").all()
        assert "1 near, 1 conflict" in row.inner_text()
        row.get_by_role("link").click()
        shown = page.locator("main").inner_text()
        for words in ("Ben lives in Rome", "Ben really lives in Rome", "contradicts what was said later"):
            assert words in shown
        page.get_by_role("button", name="Undo this run").click()
        page.get_by_text("Undone by").wait_for()
        assert page.get_by_role("button", name="Undo this run").count() == 0
        assert "undone" in visit.open(f"{stage.url}/dreams").locator("tbody").inner_text()
        assert not visit.complaints
    kept = {item["content"] for item in stage.call("list", agent_id="a")["items"]}
    assert kept == {"Ben lives in Rome", "Ben really lives in Rome", "Ben moved to Oslo"}


def test_nobody_reads_a_run_of_an_agent_that_is_not_theirs(stage: Stage, browser: Browser) -> None:
    _slept(stage)
    [run] = stage.server.client.get("/v0/audit?operation=dream").json["entries"]
    address = f"{stage.url}/dreams/run?agent=a&run={run['subject']}"
    theirs, stranger = (
        stage.server.operator(name, "reviewer", agents=(agent,))
        for name, agent in (("rita", "a"), ("sam", "b"))
    )
    for client, sees in ((theirs, True), (stranger, False)):
        with visiting(browser) as visit:
            visit.sign_in(stage, client.token)
            assert ("Ben lives in Rome" in visit.open(address).locator("main").inner_text()) is sees


def test_health_says_what_is_done_in_the_background(browser: Browser) -> None:
    with staged(tending=ConsolidationSettings(promote=60.0, night=180)) as stage, visiting(browser) as visit:
        visit.open(stage.link)
        said = visit.open(f"{stage.url}/health").locator("main").inner_text()
        assert "every 60 s" in said
        assert "each day at 03:00 UTC" in said
        assert "no model is configured" in said
    with staged(tending=ConsolidationSettings(promote=None)) as stage, visiting(browser) as visit:
        visit.open(stage.link)
        facts = visit.open(f"{stage.url}/health").locator("dl.facts").first.inner_text()
        assert facts.count("off") == 3
