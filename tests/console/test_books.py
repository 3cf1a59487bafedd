"""Activity, policy, health, agents and operators, as a person uses them."""

import re

from playwright.sync_api import Browser, expect

from memorywire.journal.acts import Act
from memorywire.model.change import Change
from memorywire.model.proposal import OutboxEntry
from memorywire.model.record import Scope
from tests.console.stage import Stage, shows, staged, visiting


def _busy(stage: Stage) -> None:
    first = stage.call("remember", agent_id="a", type="semantic", content="Ana lives in Graz.", id="home")
    assert first["status"] == "committed"
    stage.call(
        "remember", agent_id="a", type="semantic", content="Ana lives in Linz.", id="home", if_version=1
    )
    stage.call("recall", agent_id="a", query="where does Ana live?")


def test_the_ledger_is_read_narrowed_and_an_entry_shows_before_and_after(browser: Browser) -> None:
    with staged() as stage, visiting(browser) as visit:
        _busy(stage)
        page = visit.open(f"{stage.url}/activity")
        assert page.locator("tbody tr").count() == 3
        page.locator("select[name=operation]").select_option("recall")
        page.get_by_role("button", name="Filter").click()
        expect(page.locator("tbody tr")).to_have_count(1)
        page = visit.open(f"{stage.url}/activity/entry?seq=2")
        assert page.locator("del").inner_text().endswith("Graz")
        assert page.locator("ins").inner_text().endswith("Linz")
        assert visit.complaints == []


def test_a_change_is_undone_from_the_ledger(browser: Browser) -> None:
    with staged() as stage, visiting(browser, java_script_enabled=False) as visit:
        _busy(stage)
        page = visit.open(f"{stage.url}/activity")
        page.get_by_role("button", name="Undo entry 2").click()
        shows(page.locator("#notes"), "Undone")
        assert stage.call("get", agent_id="a", id="home")["content"] == "Ana lives in Graz."


def test_an_earlier_edition_of_the_rules_is_put_in_force_again(browser: Browser) -> None:
    rule = {"name": "salaries", "verdict": "hold", "content_contains": ["salary"]}
    with staged() as stage, visiting(browser, java_script_enabled=False) as visit:
        for rules in ([rule], []):
            stage.call("set_rules", rules=rules)
        page = visit.open(f"{stage.url}/policy")
        page.get_by_text("Edition 1,").click()
        page.get_by_role("button", name="Restore the rules of edition 1").click()
        shows(page.locator("#notes"), "edition 1 are restored")
        assert stage.call("rules")["given"] == [rule]
        told = visit.open(f"{stage.url}/activity").locator("tbody tr").all_inner_texts()
        assert ["edition 3: salaries" in told[0], "edition 2: no rules" in told[1]] == [True, True]


def test_verifying_says_that_all_holds_and_a_checkpoint_and_a_proof_are_files(
    browser: Browser, tmp_path
) -> None:
    with staged(f"sqlite:///{tmp_path}/m.db") as stage, visiting(browser) as visit:
        _busy(stage)
        page = visit.open(f"{stage.url}/activity")
        page.get_by_role("link", name="Verify").click()
        shows(page.locator("#verdict"), "All 3 entries are in place")
        with page.expect_download() as signed:
            page.get_by_role("link", name="Download checkpoint").click()
        assert signed.value.path().read_text().startswith("memorywire")
        page = visit.open(f"{stage.url}/activity/entry?seq=1")
        with page.expect_download() as proof:
            page.get_by_role("link", name="Inclusion proof").click()
        assert '"proof"' in proof.value.path().read_text()


def test_a_ledger_that_was_tampered_with_shows_the_first_broken_entry(browser: Browser, tmp_path) -> None:
    import apsw

    with staged(f"sqlite:///{tmp_path}/m.db") as stage, visiting(browser) as visit:
        _busy(stage)
        db = apsw.Connection(f"{tmp_path}/m.db")
        db.execute("DROP TRIGGER ledger_stays")
        changed = "UPDATE ledger SET body = replace(body, ?, ?) WHERE seq = 2"
        db.execute(changed, ("committed", "refused"))
        page = visit.open(f"{stage.url}/activity/verify")
        assert "entry 2" in page.locator("#verdict").inner_text()
        db.execute(changed, ("refused", "committed"))
        page = visit.open(f"{stage.url}/activity/verify")
        assert "All 3 entries" in page.locator("#verdict").inner_text()
        db.close()


def test_health_shows_stores_growth_latency_and_looks_for_secrets(browser: Browser) -> None:
    with staged() as stage, visiting(browser) as visit:
        _busy(stage)
        page = visit.open(f"{stage.url}/health")
        assert "sqlite" in page.get_by_role("region", name="Stores").inner_text()
        assert "recall" in page.get_by_role("region", name="Latency").inner_text()
        assert page.locator(".chart .column").count() == 30
        page.get_by_role("link", name="Check stores").click()
        shows(page.locator("#check"), "healthy")
        page.get_by_role("button", name="Scan for secrets").click()
        shows(page.locator("main"), "memories scanned")
        assert visit.complaints == []


def test_a_change_that_two_stores_are_owed_is_written_off_for_the_one_beside_it(browser: Browser) -> None:
    with staged() as stage, visiting(browser, java_script_enabled=False) as visit:
        change = Change(id="missed", scope=Scope(agent="a"), operation="remember", at=1)
        owed = tuple(OutboxEntry(store=store, change=change, at=1) for store in ("left", "right"))
        journal = stage.server.container.journal
        stage.server.run(journal.write(Act(outbox=owed)))
        page = visit.open(f"{stage.url}/health")
        page.get_by_label("Why").last.fill("it was sold")
        page.get_by_role("button", name="Discard").last.click()
        shows(page.locator("#notes"), "The change will not be delivered to right")
        assert [debt.store for debt in stage.server.run(journal.list_outbox())] == ["left"]


def test_agents_are_listed_with_what_they_have_and_lack(browser: Browser) -> None:
    with staged() as stage, visiting(browser) as visit:
        _busy(stage)
        stage.hold("Ben called.", agent="b")
        page = visit.open(f"{stage.url}/agents")
        assert page.locator("tbody tr").count() == 2
        assert "long-term" in page.locator("tbody tr").first.inner_text()  # a store in memory does not last


def test_an_operator_who_cannot_be_named_stays_on_the_page_with_what_is_wrong(browser: Browser) -> None:
    with staged() as stage, visiting(browser, java_script_enabled=False) as visit:
        visit.page.goto(stage.link)
        page = visit.open(f"{stage.url}/operators")
        typed = {"Name": "ana banana", "Tenants": "acme beta", "Agents": "shop-*", "Days": "30"}
        for label, text in typed.items():
            page.get_by_label(label).and_(page.locator("input:visible")).fill(text)
        page.get_by_label("Role").select_option("reviewer")
        page.get_by_role("button", name="Add", exact=True).click()
        shows(page.get_by_role("alert"), "without spaces")
        for label, text in typed.items():
            assert page.get_by_label(label).and_(page.locator("input:visible")).input_value() == text
        assert page.get_by_label("Role").input_value() == "reviewer"
        page.get_by_label("Name", exact=True).fill("ana")
        page.get_by_role("button", name="Add", exact=True).click()
        shows(page.locator("tbody"), "acme beta")


def test_an_operator_is_named_and_the_token_is_shown_once(browser: Browser) -> None:
    with staged() as stage, visiting(browser) as visit:
        visit.sign_in(stage, stage.server.operator("root", tenants=["*"]).token)
        page = visit.open(f"{stage.url}/operators")
        page.get_by_label("Name", exact=True).fill("ana")
        page.get_by_label("Role").select_option("reviewer")
        page.get_by_role("button", name="Add", exact=True).click()
        token = re.search(r"mw_\S+", page.locator("#token").inner_text())
        assert token is not None
        page = visit.open(f"{stage.url}/operators")
        assert token.group() not in page.content()
        with visiting(browser) as other:
            seen = other.sign_in(stage, token.group())
            assert seen.get_by_role("link", name="Operators").count() == 0
            assert other.open(f"{stage.url}/operators").locator("h1").inner_text() != "Operators"
        page.get_by_role("button", name="Revoke ana").click()
        shows(page.locator("tbody"), "revoked")
        told = visit.open(f"{stage.url}/activity").locator("tbody tr").all_inner_texts()
        assert [row.split()[-2:] for row in told] == [["*", "ana"], ["*", "ana"], ["*", "root"]]
