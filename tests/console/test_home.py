"""Home: what memory did today, and how an empty installation gets its first memory."""

import os
import subprocess
import sys

from playwright.sync_api import Browser

from tests.console.stage import Stage, shows, visiting


def test_an_empty_installation_notices_the_first_memory_that_its_own_words_send(
    stage: Stage, browser: Browser
) -> None:
    with visiting(browser) as visit:
        page = visit.open(f"{stage.url}/home")
        curl, python = (
            page.locator(f"[data-copy='Copy: {name}']").text_content() for name in ("curl", "Python")
        )
        assert curl
        assert f"{stage.server.client.url}/v0/remember" in curl
        assert python
        code = python.removeprefix("Copy")
        subprocess.run([sys.executable, "-c", code], check=True, env={**os.environ, "NO_PROXY": "*"})
        shows(page.locator(".stats"), "of 1 agent")
        assert not visit.complaints


def test_a_figure_of_home_leads_to_what_it_counts(stage: Stage, browser: Browser) -> None:
    for n in range(3):
        stage.server.client.remember(f"Parcel {n} left hall {n}.", "a")
    stage.hold("Ana drinks green tea.")
    stage.call("recall", agent_id="a", query="which parcel left hall 2?")
    with visiting(browser, java_script_enabled=False) as visit:
        page = visit.open(f"{stage.url}/home")
        figures = {name: page.get_by_role("link", name=name) for name in ("Written 3", "Recalls 1")}
        assert all(one.is_visible() for one in figures.values())
        figures["Written 3"].click()
        assert page.locator("tbody tr").count() == 4
        page.go_back()
        page.get_by_role("link", name="Waiting for you 1").click()
        shows(page.locator("#detail"), "green tea")


def test_who_may_not_review_sees_what_the_role_may_see(stage: Stage, browser: Browser) -> None:
    stage.server.client.remember("Ana drinks tea.", "a")
    reader = stage.server.operator("rita", "reader")
    with visiting(browser) as visit:
        page = visit.sign_in(stage, reader.token)
        shows(page.locator(".stats"), "of 1 agent")
        assert page.get_by_role("heading", name="Latest").count() == 0
