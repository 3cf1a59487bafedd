"""What a person does next: choose an agent, correct what is wrong, take a view along, copy a call."""

import json
import shlex
from urllib.parse import quote

from playwright.sync_api import Browser, expect

from memorywire.model.clock import DAY_MS, system_clock
from memorywire_server.commands.demo import Calendar
from tests.console.stage import PHONE, Stage, shows, staged, visiting


def _remember(stage: Stage, content: str, **fields: object) -> dict[str, object]:
    return stage.call("remember", **{"agent_id": "a", "type": "semantic", "content": content, **fields})


def test_who_looks_after_several_agents_chooses_one_of_theirs(stage: Stage, browser: Browser) -> None:
    for agent in ("shop-ana", "shop-ben", "office"):
        stage.hold(f"News of {agent}.", agent=agent)
    reviewer = stage.server.operator("rita", "reviewer", agents=("shop-*",))
    with visiting(browser) as visit:
        page = visit.sign_in(stage, reviewer.token)
        assert page.locator(".choices a").all_inner_texts() == ["shop-ana", "shop-ben"]
        assert page.get_by_role("link", name="Inbox").inner_text().split() == ["Inbox", "2"]
        page.get_by_role("link", name="shop-ben").click()
        shows(page.locator(".items"), "News of shop-ben.")
        page.get_by_role("button", name="Approve", exact=True).click()
        page.get_by_text("No pending proposals match").wait_for()
        page = visit.open(f"{stage.url}/activity")
        assert page.locator(".choices a").count() == 2
        page = visit.open(f"{stage.url}/inbox?agent=office")
        assert "your token does not cover this agent" in page.locator("main").inner_text()


def test_who_looks_after_one_agent_need_not_choose(stage: Stage, browser: Browser) -> None:
    for agent in ("shop-ana", "office"):
        stage.hold(f"News of {agent}.", agent=agent)
    by_pattern = stage.server.operator("rita", "reviewer", agents=("shop-*",))
    by_name = stage.server.operator("olga", "reviewer", agents=("office",))
    for client, news in ((by_pattern, "News of shop-ana."), (by_name, "News of office.")):
        with visiting(browser) as visit:
            page = visit.sign_in(stage, client.token)
            assert news in page.locator(".items").inner_text()
            assert page.locator(".item").count() == 1


def test_what_was_outdated_leads_to_the_memory_where_it_is_corrected(stage: Stage, browser: Browser) -> None:
    _remember(stage, "Ana lives in Graz.", id="home", tags=["home"])
    recall = stage.call("recall", agent_id="a", query="where does Ana live?")["recall_id"]
    with visiting(browser, java_script_enabled=False) as visit:
        page = visit.open(f"{stage.url}/workbench?recall={recall}")
        page.get_by_role("button", name="It was useful").click()
        expect(page.get_by_role("link", name="Open the memory")).to_have_count(0)
        page.get_by_role("button", name="It was outdated").click()
        page.get_by_role("link", name="Open the memory").click()
        page.get_by_text("Correct…").click()
        page.get_by_label("Corrected content").fill("Ana lives in Linz.")
        page.get_by_role("button", name="Save correction").click()
        shows(page.locator("#notes"), "Corrected")
    kept = stage.call("get", agent_id="a", id="home")
    assert (kept["content"], kept["version"], kept["tags"]) == ("Ana lives in Linz.", 2, ["home"])


def test_a_correction_of_what_was_changed_meanwhile_is_not_made(stage: Stage, browser: Browser) -> None:
    _remember(stage, "Ana lives in Graz.", id="home")
    with visiting(browser) as visit:
        page = visit.open(f"{stage.url}/record?agent=a&id=home")
        _remember(stage, "Ana lives in Wels.", id="home", if_version=1)
        page.get_by_text("Correct…").click()
        page.get_by_label("Corrected content").fill("Ana lives in Linz.")
        page.get_by_role("button", name="Save correction").click()
        page.get_by_text("it has changed since you opened it").wait_for()
    assert stage.call("get", agent_id="a", id="home")["content"] == "Ana lives in Wels."


def test_a_search_is_taken_along_as_it_is_shown(stage: Stage, browser: Browser) -> None:
    _remember(stage, "Ana lives in Linz.", id="home")
    _remember(stage, "The boiler was repaired in May.", id="boiler")
    with visiting(browser) as visit:
        page = visit.open(f"{stage.url}/memories?agent=a&by=meaning&q=where+does+Ana+live")
        with page.expect_download() as lines:
            page.get_by_role("link", name="Export JSONL").click()
        assert [json.loads(line)["id"] for line in lines.value.path().read_text().splitlines()] == ["home"]
        page = visit.open(f"{stage.url}/memories?agent=a")
        with page.expect_download() as lines:
            page.get_by_role("link", name="Export JSONL").click()
        assert len(lines.value.path().read_text().splitlines()) == 2


def test_the_command_and_the_call_that_are_copied_are_ours(stage: Stage, browser: Browser) -> None:
    _remember(stage, "Ana lives in Linz.", id="home", source="user")
    asked = f"agent=a&q=where+does+Ana+live&k=3&type=semantic&filter={quote(json.dumps({'source': 'user'}))}"
    with visiting(browser, permissions=["clipboard-read", "clipboard-write"]) as visit:
        page = visit.open(f"{stage.url}/workbench?{asked}")
        page.get_by_role("button", name="Copy as CLI").click()
        page.get_by_text("Copied").wait_for()
        words = shlex.split(page.evaluate("navigator.clipboard.readText()"))
        assert words[:3] == ["memorywire", "recall", "where does Ana live"]
        options = dict(zip(words[3:-1:2], words[4::2], strict=True))
        assert options == {"--agent": "a", "-k": "3", "--type": "semantic", "--filter": '{"source": "user"}'}
        curl = page.locator("[data-copy='Copy as curl']").inner_text()
        assert f"{stage.server.client.url}/v0/recall" in curl
        assert "Authorization" not in curl
        assert visit.complaints == []


def test_a_copied_call_names_the_tenant_it_was_made_for(stage: Stage, browser: Browser) -> None:
    olga = stage.server.operator("olga", "admin", tenants=["acme"])
    olga.remember("Ana lives in Linz.")
    with visiting(browser) as visit:
        visit.sign_in(stage, olga.token)
        page = visit.open(f"{stage.url}/workbench?agent=a&q=where+does+Ana+live")
        for service, said in (
            ("curl", "-H 'Memorywire-Tenant: acme'"),
            ("CLI", "--tenant acme"),
            ("Python", "tenant='acme'"),
        ):
            assert said in page.locator(f"[data-copy='Copy as {service}']").inner_text()


def test_where_a_token_is_needed_the_copied_call_has_one(stage: Stage, browser: Browser) -> None:
    _remember(stage, "Ana lives in Linz.", id="home", source="user")
    olga = stage.server.operator("olga")
    with visiting(browser) as visit:
        visit.sign_in(stage, olga.token)
        page = visit.open(f"{stage.url}/workbench?agent=a&q=where+does+Ana+live")
        assert "Bearer $MEMORYWIRE_TOKEN" in page.locator("[data-copy='Copy as curl']").inner_text()


def test_the_life_that_is_over_is_drawn_as_a_bar(browser: Browser) -> None:
    calendar = Calendar(system_clock)
    with staged(clock=calendar) as stage, visiting(browser) as visit:
        _remember(
            stage, "The code of the gate is on the board.", id="gate", expires_at=system_clock() + 4 * DAY_MS
        )
        _remember(stage, "Ana lives in Linz.", id="home")
        calendar.back_ms = -3 * DAY_MS
        page = visit.open(f"{stage.url}/record?agent=a&id=gate")
        assert page.get_by_label("75 percent of its life is over").is_visible()
        page = visit.open(f"{stage.url}/record?agent=a&id=home")
        assert "Expires" not in page.locator("dl.facts").inner_text()


def test_growth_is_counted_once_a_minute_and_not_for_who_sees_some_agents(browser: Browser) -> None:
    calendar = Calendar(system_clock)
    with staged(clock=calendar) as stage, visiting(browser) as visit:
        _remember(stage, "Ana lives in Linz.")
        page = visit.open(f"{stage.url}/health")
        assert "1 in all" in page.locator("figcaption").inner_text()
        _remember(stage, "Ben lives in Graz.")
        assert "1 in all" in visit.open(f"{stage.url}/health").locator("figcaption").inner_text()
        calendar.back_ms = -60_000
        assert "2 in all" in visit.open(f"{stage.url}/health").locator("figcaption").inner_text()
        visit.sign_in(stage, stage.server.operator("rita", "reviewer", agents=("a",)).token)
        page = visit.open(f"{stage.url}/health")
        assert page.get_by_role("heading", name="Stores", exact=True).is_visible()
        assert page.locator("figcaption").count() == 0


def test_no_column_of_a_table_is_torn_to_letters_on_a_phone(stage: Stage, browser: Browser) -> None:
    _remember(stage, "Ana lives in Linz.", agent_id="support")
    with visiting(browser, viewport=PHONE) as visit:
        page = visit.open(f"{stage.url}/activity")
        high = [head.bounding_box()["height"] for head in page.locator("thead th").all()]
        assert max(high) < 40


def test_what_is_chosen_on_a_phone_is_what_the_phone_shows(stage: Stage, browser: Browser) -> None:
    for number in range(20):
        stage.hold(f"News number {number}.")
    with visiting(browser, viewport=PHONE) as visit:
        page = visit.open(f"{stage.url}/inbox")
        page.locator(".item", has_text="News number 10.").locator(".open").click()
        page.locator("#detail .said", has_text="News number 10.").wait_for()
        expect(page.locator("#detail h2").first).to_be_in_viewport()
    with visiting(browser) as visit:
        page = visit.open(f"{stage.url}/inbox")
        page.locator(".item", has_text="News number 17.").locator(".open").click()
        page.locator("#detail .said", has_text="News number 17.").wait_for()
        assert page.evaluate("scrollY") == 0  # beside the list nothing has to move


def test_what_would_only_take_away_says_how_much(stage: Stage, browser: Browser) -> None:
    for name in ("tea", "rice"):
        _remember(stage, f"Ana likes {name}.", source="chat")
    stage.call("forget", agent_id="a", filter={"source": "chat"}, approval_required=True)
    with visiting(browser) as visit:
        said = visit.open(f"{stage.url}/inbox").locator(".item .first").all_inner_texts()
        assert ["2 memories: the request asks for approval" in one for one in said] == [True]
