"""Writes docs/images from the demo: the main pages as a browser draws them, small enough for a README."""

from io import BytesIO
from pathlib import Path

from PIL import Image

from tests.console.stage import browsing, visiting
from tests.console.world import demo_world

FOLDER = Path(__file__).parents[1] / "docs" / "images"
COLOURS = 128
MOST_BYTES = 150_000
SHOTS = {
    "home": ("/home", "light"),
    "home-dark": ("/home", "dark"),
    "memories": ("/memories?agent={agent}", "light"),
    "person": ("/profile?agent={agent}&user_id={user}", "light"),
    "inbox": ("/inbox?agent={agent}&rule=profile-changes&at={proposal}", "light"),
    "inbox-dark": ("/inbox", "dark"),
    "playground": ("/workbench?agent={agent}&q=what+does+Ana+like+to+drink%3F", "light"),
    "record": ("/record?agent={agent}&id={memory}", "light"),
    "activity": ("/activity", "light"),
}


def main() -> None:
    FOLDER.mkdir(exist_ok=True)
    with demo_world() as world, browsing() as browser:
        for name, (page, scheme) in SHOTS.items():
            with visiting(browser, color_scheme=scheme, viewport={"width": 1280, "height": 800}) as visit:
                opened = visit.open(world.addresses(page)[0])
                size = _keep(opened.screenshot(animations="disabled"), FOLDER / f"{name}.png")
            print(f"{name}.png  {size / 1000:.0f} KB")


def _keep(shot: bytes, path: Path) -> int:
    """A page has few colours, so a palette loses nothing that anybody sees."""
    drawn = Image.open(BytesIO(shot)).convert("RGB")
    drawn.quantize(COLOURS, dither=Image.Dither.NONE).save(path, optimize=True)
    size = path.stat().st_size
    if size > MOST_BYTES:
        raise SystemExit(f"{path.name} has {size} bytes; {MOST_BYTES} are enough")
    return size


if __name__ == "__main__":
    main()
