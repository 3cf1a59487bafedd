"""Operations: webhooks that fail, backups, the activity while it happens, and who uses how much."""

from pathlib import Path

from playwright.sync_api import Browser, expect

from tests.console.stage import Stage, staged, visiting
from tests.console.world import failing_webhook
from tests.http.test_webhooks import listening


def test_a_webhook_is_added_with_a_secret_shown_once_and_what_it_never_took_is_sent_again(
    stage: Stage, browser: Browser
):
    stage.server.client.remember("Ana likes rain", "a")
    with listening() as listener, visiting(browser, java_script_enabled=False) as visit:
        failing_webhook(stage, listener.url)
        page = visit.open(f"{stage.url}/operations")
        expect(page.locator("main")).to_contain_text("Connection refused")
        page.get_by_role("link", name="1 given up").click()
        page.get_by_role("button", name="Send event 1 again").click()
        expect(page.locator("#notes")).to_contain_text("Event 1 was accepted.")
        expect(page.locator("main")).to_contain_text("every event was accepted")
        assert listener.subjects()
        page = visit.open(f"{stage.url}/operations")
        page.get_by_text("Add a webhook").click()
        page.get_by_label("Address").evaluate("one => one.type = 'text'")
        page.get_by_label("Address").fill("ftp://nowhere.example")
        page.get_by_role("button", name="Add", exact=True).click()
        expect(page.get_by_role("alert")).to_contain_text("this is not an http or https URL")
        page.get_by_label("Address").fill("https://hook.example/in")
        page.get_by_role("button", name="Add", exact=True).click()
        expect(page.locator("#secret pre")).to_contain_text("whsec_")
        assert "whsec_" not in visit.open(f"{stage.url}/operations").content()
        page.get_by_role("button", name="Remove https://hook.example/in").click()
        expect(page.locator("main")).not_to_contain_text("hook.example")


def test_a_backup_is_made_verified_and_restored_beside_the_store(tmp_path: Path, browser: Browser):
    with staged(f"sqlite://{tmp_path}/memory.db") as stage:
        stage.server.client.remember("Ana likes rain", "a")
        with visiting(browser, java_script_enabled=False) as visit:
            page = visit.open(f"{stage.url}/operations")
            page.get_by_role("button", name="Back up now").click()
            expect(page.locator("#notes")).to_contain_text("was made")
            [backup] = (tmp_path / "backups").glob("*.db")
            page.get_by_role("button", name=f"Verify {backup.name}").click()
            expect(page.locator("#notes")).to_contain_text("is whole")
            page.get_by_label(f"New file for {backup.name}").fill("../outside.db")
            page.get_by_role("button", name=f"Restore {backup.name}").click()
            expect(page.locator("#notes")).to_contain_text("this is no name of a file")
            page.get_by_label(f"New file for {backup.name}").fill("monday.db")
            page.get_by_role("button", name=f"Restore {backup.name}").click()
            expect(page.locator("#notes")).to_contain_text("restored/monday.db")
            page.get_by_label(f"New file for {backup.name}").fill("monday.db")
            page.get_by_role("button", name=f"Restore {backup.name}").click()
            expect(page.locator("#notes")).to_contain_text("exists")
            backup.write_bytes(backup.read_bytes()[:5_000])
            page.get_by_role("button", name=f"Verify {backup.name}").click()
            expect(page.locator("#notes")).to_contain_text("damaged")
    assert not (tmp_path / "outside.db").exists()
    with staged(f"sqlite://{tmp_path}/restored/monday.db") as restored:
        assert [one["content"] for one in restored.call("list", agent_id="a")["items"]] == ["Ana likes rain"]


def test_the_activity_follows_what_happens_until_it_is_paused(stage: Stage, browser: Browser):
    stage.server.client.remember("Ana likes rain", "a")
    with visiting(browser) as visit:
        page = visit.open(f"{stage.url}/activity")
        expect(page.locator("#entries tbody tr")).to_have_count(1)
        stage.server.client.remember("Ben likes snow", "a")
        expect(page.locator("#entries tbody tr")).to_have_count(2)
        page.get_by_role("button", name="Pause").click()
        stage.server.client.remember("Cleo likes fog", "a")
        expect(page.locator("#live-state")).to_have_text("Paused: 1 new.")
        expect(page.locator("#entries tbody tr")).to_have_count(2)
        page.get_by_role("button", name="Go on").click()
        expect(page.locator("#entries tbody tr")).to_have_count(3)
        assert not visit.complaints


def test_a_reviewer_sees_no_operations(stage: Stage, browser: Browser):
    stage.server.operator("olga", "admin")
    reviewer = stage.server.operator("ravi", "reviewer")
    with visiting(browser) as visit:
        page = visit.sign_in(stage, reviewer.token)
        expect(page.locator("#sections")).not_to_contain_text("Operations")
        page = visit.open(f"{stage.url}/operations")
        expect(page.locator("main")).to_contain_text("this needs the right to manage")


def test_use_is_counted_by_user(stage: Stage, browser: Browser):
    for user, content in (("ana", "Ana likes rain a lot"), ("ben", "Ben naps")):
        stage.server.client.remember(content, "a", user_id=user)
    stage.call("recall", agent_id="a", user_id="ben", query="who naps?")
    with visiting(browser, java_script_enabled=False) as visit:
        page = visit.open(f"{stage.url}/agents/usage?agent=a")
        rows = [row.split("\t") for row in page.locator("tbody tr").all_inner_texts()]
    assert [[one.strip() for one in row if one.strip()] for row in rows] == [
        ["ana", "1", "20 bytes", "1", "0", "0"],
        ["ben", "1", "8 bytes", "1", "1", "1"],
    ]
