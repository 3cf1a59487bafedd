"""People, sessions, the life of a memory, several at once, and the palette."""

import gzip

from playwright.sync_api import Browser, expect

from tests.console.stage import PHONE, Stage, shows, visiting


def _remember(stage: Stage, content: str, **fields: object) -> str:
    payload = {"agent_id": "a", "type": "semantic", "content": content, **fields}
    return str(stage.call("remember", **payload)["id"])


def test_a_person_is_found_exported_and_erased_only_by_name(stage: Stage, browser: Browser) -> None:
    _remember(stage, "Ana lives in Graz.", user_id="ana")
    _remember(stage, "Ben lives in Rome.", user_id="ben")
    with visiting(browser, java_script_enabled=False, viewport=PHONE) as visit:
        visit.open(f"{stage.url}/people").get_by_role("link", name="ana", exact=True).click()
        shows(visit.page.locator("h1"), "Profile of ana")
        with visit.page.expect_download() as file:
            visit.page.get_by_role("link", name="Export").click()
        assert "Graz" in file.value.path().read_text()
        visit.page.get_by_role("link", name="Erase").click()
        shows(visit.page.locator("#cascade"), "1 memory of agent a would be erased")
        visit.page.get_by_label("Type the id of the person").fill("erase")
        visit.page.get_by_role("button", name="Erase for good").click()
        shows(visit.page.locator("#notes"), "type the id of the person")
        visit.page.get_by_label("Type the id of the person").fill("ana")
        visit.page.get_by_role("button", name="Erase for good").click()
        shows(visit.page.locator("#notes"), "1 memory was erased for good.")
        assert visit.page.get_by_role("button", name="Undo").count() == 0
    assert [one["content"] for one in stage.call("list", agent_id="a")["items"]] == ["Ben lives in Rome."]


def test_a_memory_tells_what_happened_to_it_and_why(stage: Stage, browser: Browser) -> None:
    id = _remember(stage, "Ana lives in Graz.", source="user")
    _remember(stage, "Ana lives in Linz.", id=id, if_version=1)
    stage.call("recall", agent_id="a", query="where does Ana live?")
    stage.hold("Ana lives in Wels.", id=id, if_version=2)
    with visiting(browser, java_script_enabled=False) as visit:
        page = visit.open(f"{stage.url}/record?agent=a&id={id}")
        shows(page.locator("h1"), "Ana lives in Linz.")
        told = page.locator(".timeline > li").all_inner_texts()
        starts = ("a remember of it was held", "recalled", "Version 2 changed", "Version 1 written")
        assert all(text.startswith(start) for text, start in zip(told, starts, strict=True)), told
        assert "where does Ana live?" in told[1]
        assert "Graz" in page.locator(".timeline del").inner_text()


def test_a_session_shows_what_was_read_from_each_turn_below_it(stage: Stage, browser: Browser) -> None:
    turn = _remember(stage, "I moved to Linz last week.", session_id="chat 7", type="episodic")
    _remember(stage, "Ana lives in Linz.", session_id="chat 7", derived_from=[turn])
    with visiting(browser, java_script_enabled=False) as visit:
        page = visit.open(f"{stage.url}/record?agent=a&id={turn}")
        page.get_by_role("link", name="chat 7").click()
        shows(page.locator(".timeline .list"), "Ana lives in Linz.")
        assert page.locator(".timeline > li").count() == 1


def test_several_memories_are_forgotten_as_one_change_with_one_undo(stage: Stage, browser: Browser) -> None:
    for place in ("Graz", "Linz", "Wels"):
        _remember(stage, f"The shop in {place} is open.")
    with visiting(browser, java_script_enabled=False) as visit:
        page = visit.open(f"{stage.url}/memories")
        for place in ("Graz", "Linz"):
            page.locator("#rows tr", has_text=place).get_by_role("checkbox").check()
        page.get_by_role("button", name="Forget", exact=True).click()
        shows(page.locator("#notes"), "2 memories were forgotten.")
        assert page.locator("#rows tr").count() == 1
        page.get_by_role("button", name="Undo").click()
        expect(page.locator("#rows tr")).to_have_count(3)


def test_facets_of_a_search_count_what_it_found(stage: Stage, browser: Browser) -> None:
    _remember(stage, "Ana drinks green tea.", tags=["taste"])
    _remember(stage, "The quarterly revenue of the shipyard fell.", tags=["money"])
    with visiting(browser, java_script_enabled=False) as visit:
        page = visit.open(f"{stage.url}/memories?agent=a&by=meaning&q=what+does+Ana+drink")
        assert page.get_by_role("region", name="Tag").inner_text().split() == ["Tag", "taste", "1"]


def test_the_palette_opens_what_its_letters_name(stage: Stage, browser: Browser) -> None:
    _remember(stage, "Ana lives in Graz.", user_id="ana")
    with visiting(browser) as visit:
        page = visit.open(f"{stage.url}/home")
        page.keyboard.press("Control+k")
        page.keyboard.type("ana")
        expect(page.locator("#hits a", has_text="Memories that answer: ana")).to_be_visible()
        page.keyboard.press("ArrowDown")
        page.keyboard.press("Enter")
        shows(page.locator("h1"), "Profile of ana")
        assert not visit.complaints


def test_times_are_local_and_say_utc_on_hover(stage: Stage, browser: Browser) -> None:
    _remember(stage, "Ana lives in Graz.")
    with visiting(browser, timezone_id="Asia/Tokyo") as visit:
        time = visit.open(f"{stage.url}/activity").locator("time").first
        told, title = time.inner_text(), time.get_attribute("title") or ""
        assert title.endswith(" UTC")
        assert abs(int(told[11:13]) - int(title[11:13])) % 24 in (9, 15)


def test_scripts_travel_packed_and_are_at_most_60_kilobytes(stage: Stage) -> None:
    client, size = stage.server.client, 0
    for name in ("htmx.min.js", "console.js"):
        reply = client.send("GET", f"/console/static/{name}", headers={"Accept-Encoding": "gzip"})
        assert gzip.decompress(reply.body) == client.send("GET", f"/console/static/{name}").body
        size += len(reply.body)
    assert size < 60_000


def test_the_components_are_shown_on_this_machine(stage: Stage) -> None:
    assert stage.server.client.get("/console/design").status == 200
