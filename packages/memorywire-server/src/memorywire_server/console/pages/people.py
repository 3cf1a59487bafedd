"""People: profiles by slot, with other data, export and erase; and sessions."""

from collections.abc import Mapping
from typing import Any

from starlette.responses import Response

from memorywire.journal.operators import Right
from memorywire.model.errors import InvalidRequest
from memorywire.model.record import Json
from memorywire.model.text import counted
from memorywire_server.console.page import Form, Page, PageGroup, Section, View, show_text, whole
from memorywire_server.console.sessions import Note
from memorywire_server.http import audit

_SLOTS = 25
_VALUES = 8
_PAST = 6
_NEWEST = 6
_TURNS = 200


async def profile(page: Page) -> Response:
    """Show the live slots of a user; without a user, those of memories without a user."""
    if page.agent is None:
        fix = "open the memories of an agent, then its profile"
        raise InvalidRequest("choose the agent of these memories", field="agent", fix=fix)
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
        **await _load_around(page, page.agent, user),
    )


async def _load_around(page: Page, agent: str, user: str | None) -> dict[str, Any]:
    """Load more data about a person: the newest memories and recalls, and pending changes."""
    if user is None:
        return {"memories": None, "recalls": [], "waiting": None}
    memories = await page.call("list", agent_id=agent, user_id=user, limit=_NEWEST, order="newest")
    recalls = await page.call("recalls", agent_id=agent, user_id=user, limit=_NEWEST)
    waiting = None
    if page.may(Right.REVIEW):
        waiting = await page.call("proposals", agent_id=agent, user_id=user, by_risk=True, limit=_NEWEST)
    return {"memories": memories, "recalls": recalls["items"], "waiting": waiting}


async def people(page: Page) -> Response:
    """Show the people with the most memories of an agent."""
    agents = (await page.call("agents"))["items"]
    agent = page.choose(agents)
    counts = {} if agent is None else (await page.call("facets", agent_id=agent))["fields"]
    found = counts.get("user_id", [])
    return await page.show(
        "people.html",
        agents=agents,
        agent=agent,
        found=found,
        most=max((one["count"] for one in found), default=1),
    )


async def export(page: Page) -> Response:
    """Export all data of a person at this agent as a file."""
    fields = {"agent_id": _require_agent(page), "user_id": page.query.get("user_id", "")}
    return show_text(await audit.export(page.console.service, page.caller, fields), "person.json")


async def erase_preview(page: Page) -> Response:
    """Show what an erase of a person would remove, before it is confirmed."""
    page.caller.require(Right.MANAGE)
    agent, user = _require_agent(page), page.query.get("user_id", "")
    trial = await page.call("erase", agent_id=agent, user_id=user, dry_run=True)
    return await page.show("erase_person.html", agent=agent, user=user, trial=trial)


async def erase(page: Page, form: Form) -> Response:
    """Erase all data of a person at this agent; the operator must type the name of the person."""
    agent, user = form.text("agent"), form.text("user")
    if (form.get("confirm") or "").strip() != user.strip():
        raise InvalidRequest("an erase cannot be undone", field="confirm", fix="type the id of the person")
    receipt = await page.call("erase", agent_id=agent, user_id=user, reason=form.get("reason"))
    text = f"{counted(receipt['erased'], 'memory was', 'memories were')} erased for good."
    if receipt["waiting"]:
        text += f" {counted(receipt['waiting'], 'waits', 'wait')} for a decision in the inbox."
    return page.go(page.link("/people", agent=agent), Note(text=text))


async def session(page: Page) -> Response:
    """Show the memories of a session in order; those derived from a turn are below it."""
    agent, id = _require_agent(page), page.query.get("id")
    if id is None:
        raise InvalidRequest("name the session", field="id")
    answer = await page.call("list", agent_id=agent, filter={"session_id": id}, limit=_TURNS)
    turns = {one["id"]: {**one, "read": []} for one in answer["items"]}
    below = set()
    for one in answer["items"]:
        origin = next((turns[each] for each in one["derived_from"] if each in turns), None)
        if origin is not None:
            origin["read"].append(one)
            below.add(one["id"])
    turns_alone = [one for one in turns.values() if one["id"] not in below]
    return await page.show(
        "session.html", agent=agent, id=id, turns=turns_alone, total=answer["total"], most=_TURNS
    )


def _require_agent(page: Page) -> str:
    if page.agent is None:
        raise InvalidRequest("choose the agent of these memories", field="agent")
    return page.agent


def _find(page: Page, place: int) -> str:
    """Return the URL of a slot, on the page that contains it."""
    return f"{page.link(after=place // _SLOTS * _SLOTS or None)}#slot-{place}"


def _cut(slot: Mapping[str, Json]) -> dict[str, Json]:
    """Limit the values of a slot to what a page can show; the page of a memory shows all versions."""
    values, history = slot["values"], slot["history"]
    return {
        **slot,
        "values": values[:_VALUES],
        "more_values": max(0, len(values) - _VALUES),
        "history": history[:_PAST],
        "more_history": max(0, len(history) - _PAST),
    }


PEOPLE = PageGroup(
    views=(
        View(path="/people", look=people, of_agent=True),
        View(path="/people/export", look=export),
        View(path="/people/erase", look=erase_preview, do=erase),
        View(path="/profile", look=profile, of_agent=True),
        View(path="/session", look=session, of_agent=True),
    ),
    section=Section(path="/people", title="People", right=Right.READ),
)
