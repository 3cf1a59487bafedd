"""The inbox: what waits for a person, the worst first, and everything needed to decide it."""

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress

from starlette.responses import Response

from memorywire.journal.operators import Right
from memorywire.model.errors import NotFound
from memorywire.model.record import Json
from memorywire.server.console.page import Page, Room, Section, View
from memorywire.server.console.render import plain

FILTERS = {"agent": "agent_id", "rule": "held_by", "q": "text", "batch": "batch"}
"""The fields of an address that narrow the inbox, and what the wire calls them."""

MOST = 1_000
"""So many can be decided at once."""

_PAGE = 50
_LOOK = 100
_SAMPLE = 12


async def waiting(page: Page) -> int:
    """How many proposals wait, of those that are the visitor's to see, whatever the page narrows."""
    if page.limited:
        return sum(one["waiting"] for one in (await page.call("agents"))["items"])
    total: int = (await page.call("proposals", limit=1))["total"]
    return total


async def inbox(page: Page) -> Response:
    """A page of the queue, and the proposal under the cursor."""
    place = await page.shop.door.feed.now()
    found = await matching(page, page.query, limit=_PAGE)
    items = found["items"]
    shown = await _under_cursor(page, items)
    at = None if shown is None else shown["proposal"]["id"]
    return await page.show(
        "inbox.html",
        found=found,
        filters=filters(page.query),
        at=at,
        shown=shown,
        next=_behind(at, items),
        may_decide=page.may(Right.REVIEW),
        stream=page.link("/events", after=place),
    )


async def _under_cursor(page: Page, items: list[dict[str, Json]]) -> dict[str, Json] | None:
    """The proposal that the address names, even if it was decided meanwhile.

    Showing another in its place would let somebody decide the wrong one. Without a name, or with an unknown
    one, it is the first.
    """
    named = page.query.get("at")
    if named is not None:
        with suppress(NotFound):
            return await examined(page, named)
    return await examined(page, items[0]["id"]) if items else None


async def proposal(page: Page) -> Response:
    """One proposal, waiting or decided: where the link of a receipt leads."""
    shown = await examined(page, page.query.get("id", ""))
    return await page.show("proposal.html", shown=shown, may_decide=page.may(Right.REVIEW), next=None)


async def raw(page: Page) -> Response:
    """Everything a proposal says, as text that no browser takes for anything else."""
    answer = await page.call("proposal", agent_id=page.agent, proposal_id=page.query.get("id", ""))
    return Response(plain(answer).encode(errors="backslashreplace"), media_type="text/plain; charset=utf-8")


async def everything(page: Page) -> Response:
    """What a filter matches, counted and sampled, before all of it is decided at once."""
    place = await page.shop.door.feed.now()
    found = await matching(page, page.query, limit=_LOOK)
    stale = await matching(page, page.query, limit=1, states=["stale"])
    return await page.show(
        "everything.html",
        found=found,
        filters=filters(page.query),
        sample=found["items"][:_SAMPLE],
        agents=await _agents(page, found),
        stale=stale["total"],
        most=MOST,
        place=place,
    )


async def _agents(page: Page, found: Mapping[str, Json]) -> list[str]:
    """Whose proposals match: all of them if they are one agent's, else some."""
    agents = list(dict.fromkeys(item["agent_id"] for item in found["items"]))
    if len(agents) == 1 and len(found["items"]) < found["total"]:
        alone = await matching(page, {**page.query, "agent": agents[0]}, limit=1)
        return agents if alone["total"] == found["total"] else [*agents, ""]
    return agents


async def suggestions(page: Page) -> Response:
    """Rules that the decisions of people suggest, with those decisions."""
    page.caller.require(Right.MANAGE)
    book = await page.call("rules")
    return await page.show("suggestions.html", suggestions=book["suggestions"])


def filters(fields: Mapping[str, str]) -> dict[str, str]:
    return {name: fields[name] for name in FILTERS if fields.get(name)}


async def matching(
    page: Page, fields: Mapping[str, str], *, limit: int, states: Sequence[str] = ()
) -> dict[str, Json]:
    """Proposals that a filter matches."""
    asked = {name: fields.get(field) for field, name in FILTERS.items()}
    agent = asked.pop("agent_id") or page.agent
    return await page.call(
        "proposals",
        **asked,
        agent_id=agent,
        states=list(states),
        after=fields.get("after"),
        by_risk=True,
        limit=limit,
    )


async def examined(page: Page, id: str) -> dict[str, Json]:
    """A proposal with what a template wants to know of it."""
    if not id:
        raise NotFound("no proposal was named", field="id")
    answer = await page.call("proposal", agent_id=page.agent, proposal_id=id)
    said = [change["fields"] for change in (*answer["diff"]["added"], *answer["diff"]["removed"])]
    request = answer.get("request", {})
    return {
        **answer,
        "request": request,
        "source": request.get("source") or _first(said, "source"),
        "trust": _first(said, "trust"),
        "raw": page.link("/proposal/raw", id=id, agent=page.agent),
    }


def _first(said: Iterable[Mapping[str, Json]], name: str) -> Json:
    return next((fields[name] for fields in said if name in fields), None)


def _behind(at: str | None, items: list[dict[str, Json]]) -> str | None:
    """The proposal to show after this one is decided: the next, or the one before the last."""
    ids = [item["id"] for item in items]
    if at not in ids or len(ids) < 2:
        return None
    place = ids.index(at)
    return str(ids[place + 1] if place + 1 < len(ids) else ids[place - 1])


ROOM = Room(
    views=(
        View(path="/inbox", look=inbox, of_agent=True),
        View(path="/inbox/all", look=everything, of_agent=True),
        View(path="/proposal", look=proposal, of_agent=True),
        View(path="/proposal/raw", look=raw),
        View(path="/suggestions", look=suggestions),
    ),
    section=Section(path="/inbox", title="Inbox", right=Right.REVIEW, count=waiting),
)
