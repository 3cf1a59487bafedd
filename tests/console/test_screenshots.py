"""The pages look as the pictures in docs/images say; `make screenshots` makes these again."""

from collections.abc import Iterator

import pytest
from PIL import Image
from playwright.sync_api import Browser

from tests.console.shots import KINDS, MOST_DIFFERING, PAGES, count_differing, path_of, shoot
from tests.console.world import World, demo_world

pytestmark = pytest.mark.long


@pytest.fixture(scope="module")
def world() -> Iterator[World]:
    with demo_world() as shown:
        yield shown


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", PAGES)
def test_a_page_looks_like_its_picture(world: World, browser: Browser, name: str, kind: str):
    kept = Image.open(path_of(name, kind)).convert("RGB")
    assert count_differing(shoot(world, browser, name, kind), kept) <= MOST_DIFFERING


@pytest.mark.parametrize(
    "style", ["main { background: #888; }", ".side { display: none; }", "main { padding-top: 6rem; }"]
)
def test_a_page_that_is_drawn_otherwise_is_noticed(world: World, browser: Browser, style: str):
    kept = Image.open(path_of("inbox", "")).convert("RGB")
    assert count_differing(shoot(world, browser, "inbox", "", style), kept) > MOST_DIFFERING
