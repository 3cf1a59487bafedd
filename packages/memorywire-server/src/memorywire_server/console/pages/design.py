"""A page with every component in every state, for developers; only for the user of this machine."""

from ipaddress import ip_address

from starlette.responses import Response

from memorywire.model.errors import NotFound
from memorywire_server.console.page import Page, PageGroup, View
from memorywire_server.console.render import chart

TONES = ("", "good", "bad", "warn", "info")
COLOURS = ("bg", "canvas", "panel", "raised", "hover", "line", "edge", "text", "soft", "accent")


async def design(page: Page) -> Response:
    client = page.request.client
    if client is None or not _is_loopback(client.host):
        raise NotFound("there is no such page", fix="start at the inbox")
    hours = [f"{hour:02}:00" for hour in range(24)]
    figures = chart(
        "Hour", hours, {"written": [hour % 7 for hour in range(24)], "held": [hour % 3 for hour in range(24)]}
    )
    words = [("=", "Ana prefers "), ("-", "green"), ("+", "black"), ("=", " tea")]
    return await page.show("design.html", tones=TONES, colours=COLOURS, chart=figures, words=words)


def _is_loopback(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False


DESIGN = PageGroup(views=(View(path="/design", look=design),))
