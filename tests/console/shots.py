"""The pictures of the console in docs/images, and how far a page may differ from its picture."""

from io import BytesIO
from pathlib import Path

from PIL import Image, ImageChops, ImageStat
from playwright.sync_api import Browser

from tests.console.stage import PHONE, visiting
from tests.console.world import World
from tests.gates.source import ROOT

FOLDER = ROOT / "docs" / "images"
PAGES = {
    "home": "/home",
    "inbox": "/inbox?agent={agent}&rule=profile-changes&at={proposal}",
    "person": "/profile?agent={agent}&user_id={user}",
    "explorer": "/memories?agent={agent}",
    "record": "/record?agent={agent}&id={memory}",
    "map": "/map?agent={agent}",
    "workbench": "/workbench?agent={agent}&q=what+does+Ana+like+to+drink%3F&b_k=2",
    "policy": "/policy",
}
_DESKTOP = {"width": 1280, "height": 800}
KINDS = {
    "": {"viewport": _DESKTOP, "color_scheme": "light"},
    "-dark": {"viewport": _DESKTOP, "color_scheme": "dark"},
    "-phone": {"viewport": PHONE, "color_scheme": "light"},
}
"""The ending of a picture's name, and the browser that it was made in."""

_BLOCK = 16
_FAR = 24
"""A block of so many pixels differs when its mean grey does by this much of 255."""

MOST_DIFFERING = 0.04
"""The share of blocks that may differ: times of day, counts and other antialiasing change a few."""


def shoot(world: World, browser: Browser, name: str, kind: str, style: str = "") -> Image.Image:
    """A page of the demo as a browser draws it, with a style of its own if a test gives one."""
    with visiting(browser, reduced_motion="reduce", bypass_csp=bool(style), **KINDS[kind]) as visit:
        opened = visit.open(world.addresses(PAGES[name])[0])
        if style:
            opened.add_style_tag(content=style)
        if name == "map":
            opened.wait_for_timeout(500)  # the canvas is drawn once its points have come
        return Image.open(BytesIO(opened.screenshot(animations="disabled"))).convert("RGB")


def count_differing(one: Image.Image, other: Image.Image) -> float:
    """The share of blocks that differ; 1 for pictures of different sizes."""
    if one.size != other.size:
        return 1.0
    small = [
        image.convert("L").resize((image.width // _BLOCK, image.height // _BLOCK), Image.Resampling.BOX)
        for image in (one, other)
    ]
    far = ImageChops.difference(*small).point(lambda value: 255 if value > _FAR else 0)
    return float(ImageStat.Stat(far).mean[0]) / 255


def path_of(name: str, kind: str) -> Path:
    return FOLDER / f"{name}{kind}.png"
