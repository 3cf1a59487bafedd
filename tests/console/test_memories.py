"""Memories, the page of one memory, and the workbench, as a person uses them."""

import json

import pytest
from playwright.sync_api import Browser, expect

from memorywire.model.requests import Fusion
from tests.console.stage import DESKTOP, Stage, shows, staged, visiting, wide

MACHINE = {
    "name": "refund",
    "initial": "asked",
    "states": ["asked", "checked", "paid"],
    "transitions": [
        {"trigger": "check", "source": "asked", "dest": "checked"},
        {"trigger": "pay", "source": "checked", "dest": "paid"},
    ],
}


def _remember(stage: Stage, content: object, **fields: object) -> dict[str, object]:
    return stage.call("remember", **{"agent_id": "a", "type": "semantic", "content": content, **fields})


def _furnished(stage: Stage) -> None:
    _remember(stage, "Ana lives in Graz.", id="home", source="user", tags=["home"])
    _remember(stage, "Ana lives in Linz.", id="home", source="user", tags=["home"], if_version=1)
    _remember(stage, "Ana drinks green tea.", id="tea", source="agent", type="episodic")


def test_a_long_name_of_an_agent_neither_widens_a_page_nor_breaks_its_buttons(browser: Browser) -> None:
    with staged() as stage, visiting(browser) as visit:
        _remember(stage, "Ana lives in Graz.", agent_id="agent-" + "q" * 200)
        for address in ("/memories", "/workbench", "/activity"):
            assert wide(visit.open(f"{stage.url}{address}")) <= DESKTOP["width"], address
        undo, heading = (visit.page.locator(where).bounding_box() for where in ("td button", "th >> nth=0"))
        assert undo["height"] < 2 * heading["height"]


def test_memories_are_narrowed_by_facets_that_stay_in_the_address(browser: Browser) -> None:
    with staged() as stage, visiting(browser, java_script_enabled=False) as visit:
        _furnished(stage)
        page = visit.open(f"{stage.url}/memories?agent=a")
        assert page.locator("#rows tr").count() == 2
        page.get_by_role("region", name="Source").get_by_role("link", name="agent").click()
        page.wait_for_url("**source=agent**")
        expect(page.locator("#rows tr")).to_have_count(1)
        assert page.locator("#rows tr").all_inner_texts()[0].strip().startswith("Ana drinks green tea.")


def test_words_find_what_is_relevant_and_nothing_else(browser: Browser) -> None:
    with staged() as stage, visiting(browser) as visit:
        _furnished(stage)
        page = visit.open(f"{stage.url}/memories?agent=a&by=meaning&q=where+does+Ana+live")
        assert "Linz" in page.locator(".memories").inner_text()
        page = visit.open(f"{stage.url}/memories?agent=a&by=meaning&q=quarterly+revenue+of+the+shipyard")
        assert "no memory is relevant enough" in page.locator("main").inner_text()


def test_the_view_is_taken_along_as_lines_and_as_a_table(browser: Browser) -> None:
    with staged() as stage, visiting(browser) as visit:
        _furnished(stage)
        _remember(stage, "=SUM(A1)", id="formula", source="user")
        page = visit.open(f"{stage.url}/memories?agent=a&source=user")
        with page.expect_download() as lines:
            page.get_by_role("link", name="Export JSONL").click()
        kept = [json.loads(line) for line in lines.value.path().read_text().splitlines()]
        assert {one["id"] for one in kept} == {"home", "formula"}
        with page.expect_download() as table:
            page.get_by_role("link", name="Export CSV").click()
        assert ",'=SUM(A1)," in table.value.path().read_text()


def test_a_memory_shows_its_versions_and_an_older_one_is_restored(browser: Browser) -> None:
    with staged() as stage, visiting(browser, java_script_enabled=False) as visit:
        _furnished(stage)
        page = visit.open(f"{stage.url}/record?agent=a&id=home")
        assert page.locator("#compared del").inner_text().endswith("Graz")
        page.get_by_role("button", name="Restore version 1 as a new version").click()
        assert stage.call("get", agent_id="a", id="home")["content"] == "Ana lives in Graz."
        expect(page.locator(".timeline li")).to_have_count(3)
        page.get_by_role("button", name="Undo").click()
        assert stage.call("get", agent_id="a", id="home")["content"] == "Ana lives in Linz."


def test_a_memory_is_forgotten_and_brought_back(browser: Browser) -> None:
    with staged() as stage, visiting(browser, java_script_enabled=False) as visit:
        _furnished(stage)
        page = visit.open(f"{stage.url}/record?agent=a&id=tea")
        page.get_by_role("button", name="Forget").click()
        shows(page.locator("main"), "forgotten")
        page.get_by_role("button", name="Restore memory").click()
        assert stage.call("get", agent_id="a", id="tea")["content"] == "Ana drinks green tea."


def test_an_erase_is_previewed_must_be_meant_and_leaves_no_word(browser: Browser) -> None:
    with staged() as stage, visiting(browser, java_script_enabled=False) as visit:
        _furnished(stage)
        page = visit.open(f"{stage.url}/record?agent=a&id=home")
        page.get_by_role("link", name="Erase").click()
        shows(page.locator("#cascade"), "2 versions")
        page.get_by_label("Type erase").fill("erase")
        page.get_by_role("button", name="Erase for good").click()
        page = visit.open(f"{stage.url}/record?agent=a&id=home")
        assert "erased" in page.locator("main").inner_text()
        assert "Linz" not in page.content()


def test_a_procedure_is_drawn_with_the_state_it_is_in(browser: Browser) -> None:
    with staged() as stage, visiting(browser) as visit:
        _remember(stage, MACHINE, id="refund", type="procedural", source="user")
        page = visit.open(f"{stage.url}/record?agent=a&id=refund")
        picture = page.locator("img.diagram")
        assert picture.get_attribute("alt") == "refund: 3 states, now asked"
        assert picture.evaluate("image => image.complete && image.naturalWidth > 100")
        assert visit.complaints == []


def test_the_workbench_shows_signals_near_misses_and_the_block(browser: Browser) -> None:
    with staged() as stage, visiting(browser) as visit:
        _furnished(stage)
        page = visit.open(f"{stage.url}/workbench?agent=a")
        page.get_by_label("Question").fill("where does Ana live?")
        page.get_by_text("Settings", exact=True).first.click()
        page.get_by_label("Limit", exact=True).fill("1")
        page.get_by_role("button", name="Recall").click()
        shows(page.locator(".hits"), "Linz")
        page.locator(".hits").get_by_text("Why").first.click()
        shows(page.locator(".signals").first, "vector")
        shows(page.locator(".word-matches").first, "live")
        expect(page.locator(".misses > li")).to_have_count(1)
        shows(page.locator("#block"), "<memory id=")
        shows(page.locator("main"), "memory.recall('where does Ana live?'")
        assert visit.complaints == []


def test_the_workbench_offers_every_fusion_there_is(browser: Browser) -> None:
    with staged() as stage, visiting(browser) as visit:
        _furnished(stage)
        page = visit.open(f"{stage.url}/workbench?agent=a")
        page.get_by_text("Settings", exact=True).first.click()
        offered = page.get_by_label("Fusion", exact=True)
        assert set(offered.locator("option").all_inner_texts()) == set(Fusion)
        offered.select_option("legs")
        page.get_by_label("Question").fill("where does Ana live?")
        page.get_by_role("button", name="Recall").click()
        shows(page.locator(".hits"), "Linz")
        page.locator(".hits").get_by_text("Why").first.click()
        shows(page.locator(".hits"), "by vector · rank 1 by text")
        assert page.get_by_label("Fusion", exact=True).input_value() == "legs"
        expect(page.get_by_label("Fusion", exact=True)).to_be_visible()
        shows(page.locator("[data-copy='Copy as CLI']"), "--fusion legs")
        assert visit.complaints == []


def test_why_a_memory_was_recalled_is_frozen_in_time_and_takes_feedback(browser: Browser) -> None:
    with staged() as stage, visiting(browser, java_script_enabled=False) as visit:
        _furnished(stage)
        recall = stage.call("recall", agent_id="a", query="where does Ana live?", k=1)["recall_id"]
        _remember(stage, "Ana lives in Wels.", id="home", if_version=2)
        page = visit.open(f"{stage.url}/record?agent=a&id=home")
        page.get_by_role("region", name="Recalls").get_by_role("link").click()
        shows(page.locator(".hits"), "Ana lives in Linz.")
        shows(page.locator(".hits"), "changed since")
        page.get_by_role("button", name="It was outdated").click()
        expect(page.locator(".hits .chip").get_by_text("outdated", exact=True)).to_be_visible()
        assert stage.call("why", recall_id=recall)["feedback"][0]["helped"] == "outdated"


def test_somebody_who_may_only_read_sees_no_way_to_change_anything(browser: Browser) -> None:
    with staged() as stage:
        _furnished(stage)
        for role in ("reader", "writer"):
            with visiting(browser) as visit:
                visit.sign_in(stage, stage.server.operator(role, role).token)
                page = visit.open(f"{stage.url}/record?agent=a&id=home")
                for name in ("Forget", "Restore"):
                    assert (page.get_by_role("button", name=name).count() > 0) is (role == "writer")


def test_two_settings_are_compared_side_by_side(browser: Browser) -> None:
    with staged() as stage, visiting(browser) as visit:
        _furnished(stage)
        page = visit.open(f"{stage.url}/workbench?agent=a&q=where+does+Ana+live%3F&b_k=1")
        before, after = (
            page.get_by_role("region", name="as an agent asks"),
            page.get_by_role("region", name="limit 1"),
        )
        shows(before.locator(".hits"), "Linz")
        assert before.locator(".floor").count() == after.locator(".floor").count()
        page = visit.open(f"{stage.url}/workbench?agent=a&q=where+does+Ana+live%3F&k=1&b_floor=off&b_k=2")
        assert page.locator("section.side-by").count() == 2
        shows(page.locator(".hits li.new"), "green tea")
        page = visit.open(f"{stage.url}/workbench?agent=a&q=Plan+a+visit+to+Ana&as=task&max_tokens=40")
        shows(page.locator("main"), "of 40 tokens")
        shows(page.locator("[data-copy='Copy as TypeScript']"), 'memory.context("Plan a visit to Ana"')
        assert visit.complaints == []


def test_a_kept_set_of_questions_tells_which_answers_changed(browser: Browser) -> None:
    with staged() as stage, visiting(browser, java_script_enabled=False) as visit:
        _furnished(stage)
        page = visit.open(f"{stage.url}/workbench/questions?agent=a")
        page.get_by_label("Questions, one on a line").fill("where does Ana live?\nwhat does Ana drink?")
        page.get_by_role("button", name="Ask and keep the answers").click()
        shows(page.locator("h1"), "0 of 2 questions")
        kept = page.url
        stage.call("forget", agent_id="a", ids=["tea"])
        page = visit.open(kept)
        shows(page.locator("h1"), "1 of 2 questions")
        shows(page.get_by_role("region", name="Questions").locator("tr", has_text="drink"), "lost")


def test_a_recall_is_asked_again_as_of_then_and_now(browser: Browser) -> None:
    with staged() as stage, visiting(browser, java_script_enabled=False) as visit:
        _furnished(stage)
        recall = stage.call("recall", agent_id="a", query="where does Ana live?", k=1)["recall_id"]
        stage.call("forget", agent_id="a", ids=["home"])
        page = visit.open(f"{stage.url}/workbench?recall={recall}")
        page.get_by_role("link", name="Ask again as of then").click()
        shows(page.get_by_role("region", name="asked again, as of then").locator(".hits"), "Linz")
        page.get_by_role("link", name="Ask again now").click()
        page.get_by_role("region", name="asked again, now").wait_for()
        assert "Linz" not in page.get_by_role("region", name="asked again, now").inner_text()


@pytest.mark.parametrize("asked", ["k=abc", "k=0", "agent=a&q=tea&max_tokens=x"])
def test_the_workbench_tells_what_is_no_number(asked: str, browser: Browser) -> None:
    with staged() as stage, visiting(browser) as visit:
        _furnished(stage)
        page = visit.open(f"{stage.url}/workbench?{asked}")
        assert " is a number from 1 to " in page.locator("main").inner_text()
