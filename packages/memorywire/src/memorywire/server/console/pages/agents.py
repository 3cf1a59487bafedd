"""Agents: who has a memory here, and what it is provided with of all that could be asked for."""

from starlette.responses import Response

from memorywire.journal.operators import Right
from memorywire.model.projections import DIMENSIONS, degraded, openwop
from memorywire.server.console.page import Page, Room, Section, View

_LASTING = {"longTerm": True}


async def agents(page: Page) -> Response:
    found = (await page.call("agents"))["items"]
    provided = tuple(openwop(page.shop.door.container.capabilities)["dimensions"])
    return await page.show(
        "agents.html",
        found=found,
        dimensions=DIMENSIONS,
        provided=provided,
        unmet=degraded(_LASTING, provided),
        most=max((one["memories"] for one in found), default=0),
    )


ROOM = Room(
    views=(View(path="/agents", look=agents),),
    section=Section(path="/agents", title="Agents", right=Right.READ),
)
