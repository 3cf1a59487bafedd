"""The profile of a person: what is known by slot, with its memories, conflicts and history."""

from collections.abc import Mapping

from starlette.responses import Response

from memorywire.model.errors import InvalidRequest
from memorywire.model.record import Json
from memorywire_server.console.page import Page, PageGroup, View, whole

_SLOTS = 25
_VALUES = 8
_PAST = 6


async def profile(page: Page) -> Response:
    """The live slots of a user; without a user, those of the memories that belong to none."""
    if page.agent is None:
        fix = "open the memories of an agent, then its profile"
        raise InvalidRequest("name the agent whose memories these are", field="agent", fix=fix)
    user = page.query.get("user_id")
    answer = await page.call("profile", agent_id=page.agent, user_id=user)
    slots = [{**_cut(slot), "place": place} for place, slot in enumerate(answer["slots"])]
    first = whole(page.query.get("after", "0"), "after", "after is the number of a slot")
    rest = first + _SLOTS
    return await page.show(
        "profile.html",
        agent=page.agent,
        user=user,
        slots=slots[first:rest],
        total=len(slots),
        conflicts=[(slot["slot"], _find(page, slot["place"])) for slot in slots if slot["conflict"]],
        unsorted=answer["unsorted"],
        next=rest if rest < len(slots) else None,
    )


def _find(page: Page, place: int) -> str:
    """The address of a slot, on whichever page it is."""
    return f"{page.link(after=place // _SLOTS * _SLOTS or None)}#slot-{place}"


def _cut(slot: Mapping[str, Json]) -> dict[str, Json]:
    """The slot with as many values as a page can show; the page of a memory has all of its versions."""
    values, history = slot["values"], slot["history"]
    return {
        **slot,
        "values": values[:_VALUES],
        "more_values": max(0, len(values) - _VALUES),
        "history": history[:_PAST],
        "more_history": max(0, len(history) - _PAST),
    }


PROFILE = PageGroup(views=(View(path="/profile", look=profile, of_agent=True),))
