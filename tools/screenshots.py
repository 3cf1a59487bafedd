"""Writes docs/images from the demo: the main pages as a browser draws them, small enough for a README."""

from PIL import Image

from tests.console.shots import FOLDER, KINDS, PAGES, path_of, shoot
from tests.console.stage import browsing
from tests.console.world import demo_world

COLOURS = 128
MOST_BYTES = 100_000


def main() -> None:
    FOLDER.mkdir(exist_ok=True)
    with demo_world() as world, browsing() as browser:
        for name in PAGES:
            for kind in KINDS:
                path = path_of(name, kind)
                # A page has few colours, so a palette loses nothing that anybody sees.
                drawn = shoot(world, browser, name, kind).quantize(COLOURS, dither=Image.Dither.NONE)
                drawn.save(path, optimize=True)
                size = path.stat().st_size
                print(f"{path.name}  {size / 1000:.0f} KB", flush=True)
                if size > MOST_BYTES:
                    raise SystemExit(f"{path.name} has {size} bytes; {MOST_BYTES} are enough")


if __name__ == "__main__":
    main()
