"""What holds for every page: anybody can use it, on anything, and it is small."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal

import axe_playwright_python
import pytest
from playwright.sync_api import Browser

from tests.console.pages import PAGES
from tests.console.stage import DESKTOP, MOST_BYTES, PHONE, Watched, visiting, wide
from tests.console.world import World, demo_world

WIDTHS = (390, 768, 1440)
SCHEMES: tuple[Literal["light", "dark"], ...] = ("light", "dark")
MOST_SHIFT = 0.02

_SHIFT = """() => new Promise((done) => {
  let sum = 0;
  const add = (list) => list.getEntries().forEach((one) => { if (!one.hadRecentInput) sum += one.value; });
  new PerformanceObserver(add).observe({type: "layout-shift", buffered: true});
  setTimeout(() => done(sum), 50);
})"""
"""How much the page moved while it was loaded."""

_SMALL = """() => {
  const boxes = ["hidden", "checkbox", "radio"].map((kind) => `:not([type=${kind}])`).join("");
  const acts = `a[href], button, input${boxes}, select, summary`;
  const told = [];
  for (const one of document.querySelectorAll(acts)) {
    const box = one.getBoundingClientRect();
    const isSeen = box.width > 1 && box.height > 1 && getComputedStyle(one).visibility !== "hidden";
    const isInText = one.closest("p, dd, svg, .skip, .quiet, h1, h2, .diff");
    if (isSeen && !isInText && box.height < 43.5) told.push([one.outerHTML.slice(0, 120), box.height]);
  }
  return told;
}"""
"""What a finger would have to press and is lower than 44 px, apart from links within sentences."""

pytestmark = pytest.mark.long

_AXE = Path(axe_playwright_python.__file__).with_name("axe.min.js").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def world() -> Iterator[World]:
    with demo_world() as shown:
        yield shown


# One visit goes through all pages, as a person does: to open a browser takes longer than to look at a page.
@pytest.fixture(scope="module")
def desktop(browser: Browser) -> Iterator[Watched]:
    with visiting(browser, reduced_motion="reduce") as visit:
        yield visit


@pytest.fixture(scope="module")
def phone(browser: Browser) -> Iterator[Watched]:
    with visiting(browser, viewport=PHONE) as visit:
        yield visit


@pytest.fixture(scope="module")
def scriptless(browser: Browser) -> Iterator[Watched]:
    with visiting(browser, java_script_enabled=False) as visit:
        yield visit


@pytest.mark.parametrize("page", PAGES)
def test_axe_finds_nothing(world: World, desktop: Watched, page: str):
    opened = desktop.open(world.addresses(page)[0])
    opened.evaluate(_AXE)
    for width in WIDTHS:
        opened.set_viewport_size({"width": width, "height": 900})
        for scheme in SCHEMES:
            opened.emulate_media(color_scheme=scheme)
            _judge(opened.evaluate("axe.run()"))
    opened.set_viewport_size(DESKTOP)


def test_axe_finds_nothing_in_the_dialogs(world: World, desktop: Watched):
    for key, dialog in (("Control+k", "#palette"), ("?", "#help")):
        opened = desktop.open(f"{world.stage.url}/inbox")
        opened.keyboard.press(key)
        opened.locator(dialog).wait_for()
        opened.evaluate(_AXE)
        for width in WIDTHS:
            opened.set_viewport_size({"width": width, "height": 900})
            for scheme in SCHEMES:
                opened.emulate_media(color_scheme=scheme)
                _judge(opened.evaluate("axe.run()"))
        opened.set_viewport_size(DESKTOP)


def _judge(found: dict[str, Any]) -> None:
    told = [
        (one["id"], node["html"][:160], node["failureSummary"])
        for one in found["violations"]
        for node in one["nodes"]
    ]
    assert found["passes"]
    assert not told


@pytest.mark.parametrize("page", PAGES)
def test_a_page_fits_a_phone_weighs_little_and_breaks_no_rule(world: World, phone: Watched, page: str):
    phone.complaints.clear()
    opened, weight = phone.weighed(world.addresses(page)[0])
    assert wide(opened) <= PHONE["width"]
    assert 0 < weight < MOST_BYTES
    assert opened.evaluate(_SHIFT) < MOST_SHIFT
    assert not opened.evaluate(_SMALL)
    assert not phone.complaints


@pytest.mark.parametrize("page", PAGES)
def test_all_words_grow_with_the_size_of_text_that_a_reader_chose(world: World, desktop: Watched, page: str):
    opened = desktop.open(world.addresses(page)[0])
    size = "parseFloat(getComputedStyle(document.querySelector('main')).fontSize)"
    before = opened.evaluate(size)
    opened.evaluate("document.documentElement.style.fontSize = '200%'")
    assert opened.evaluate(size) == 2 * before
    assert wide(opened) <= DESKTOP["width"]


@pytest.mark.parametrize("page", PAGES)
def test_a_page_says_the_same_without_scripts(world: World, desktop: Watched, scriptless: Watched, page: str):
    address = world.addresses(page)[0]
    titles = [visit.open(address).locator("h1").inner_text() for visit in (desktop, scriptless)]
    assert titles[0] == titles[1]
    assert scriptless.page.get_by_role("main").inner_text().strip()
