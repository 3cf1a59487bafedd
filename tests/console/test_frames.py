"""What holds for every page: anybody can use it, on anything, and it is small."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import axe_playwright_python
import pytest
from playwright.sync_api import Browser

from tests.console.pages import PAGES
from tests.console.stage import MOST_BYTES, PHONE, visiting, wide
from tests.console.world import World, demo_world

_AXE = Path(axe_playwright_python.__file__).with_name("axe.min.js").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def world() -> Iterator[World]:
    with demo_world() as shown:
        yield shown


@pytest.mark.parametrize("page", PAGES)
def test_axe_finds_nothing(world: World, browser: Browser, page: str):
    with visiting(browser, color_scheme="light", reduced_motion="reduce") as visit:
        opened = visit.open(world.addresses(page)[0])
        opened.evaluate(_AXE)
        _judge(opened.evaluate("axe.run()"))
        opened.emulate_media(color_scheme="dark")
        _judge(opened.evaluate("axe.run({runOnly: ['color-contrast']})"))


def _judge(found: dict[str, Any]) -> None:
    told = [
        (one["id"], node["html"][:160], node["failureSummary"])
        for one in found["violations"]
        for node in one["nodes"]
    ]
    assert found["passes"]
    assert not told


@pytest.mark.parametrize("page", PAGES)
def test_a_page_fits_a_phone_weighs_little_and_breaks_no_rule(world: World, browser: Browser, page: str):
    with visiting(browser, viewport=PHONE) as visit:
        opened, weight = visit.weighed(world.addresses(page)[0])
        assert wide(opened) <= PHONE["width"]
        assert 0 < weight < MOST_BYTES
        assert not visit.complaints


@pytest.mark.parametrize("page", PAGES)
def test_a_page_says_the_same_without_scripts(world: World, browser: Browser, page: str):
    with visiting(browser) as with_scripts, visiting(browser, java_script_enabled=False) as without:
        address = world.addresses(page)[0]
        titles = [visit.open(address).locator("h1").inner_text() for visit in (with_scripts, without)]
        assert titles[0] == titles[1]
        assert without.page.get_by_role("main").inner_text().strip()
