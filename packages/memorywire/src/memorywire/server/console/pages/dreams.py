"""Dreams: the nights that put memory in order, all that each of them did and why, and a way back."""

from collections import Counter
from collections.abc import Mapping
from typing import Any

from starlette.responses import Response

from memorywire.consolidate.runs import shown
from memorywire.consolidate.steps import DREAM
from memorywire.journal.operators import Right
from memorywire.model.errors import InvalidRequest
from memorywire.model.record import Json, Scope
from memorywire.policy.diff import segments, visible
from memorywire.server.console.forms import whole
from memorywire.server.console.page import Page, Room, Section, View
from memorywire.server.console.render import plain
from memorywire.server.http import audit as books
from memorywire.server.http.parameters import parameters_of

_PAGE = 50
_UNDONE = 1_000
_STEPS = 25


async def dreams(page: Page) -> Response:
    found = await _entries(page, operation=DREAM, kind="committed", before=page.query.get("before"))
    undone = await _undone(page)
    rows = [
        {**one, "about": _about(one["details"].get("steps", ())), "undone_by": undone.get(one["subject"])}
        for one in found["entries"]
    ]
    return await page.show("dreams.html", rows=rows, next=found.get("next"), tending=page.shop.tending)


async def run(page: Page) -> Response:
    """All of one run: each step, and each memory as it was before beside what it is after."""
    page.caller.require(Right.READ)
    agent, id = page.query.get("agent"), page.query.get("run")
    if agent is None or id is None:
        raise InvalidRequest("a run is named by its agent and its id", field="run")
    page.caller.require_agent({"agent_id": agent}, optional=False)
    scope = Scope(tenant=page.caller.tenant, agent=agent)
    context = await page.shop.door.as_caller(page.caller).context.serving(scope)
    said = await page.shop.door.finish(shown(scope, id, context))
    first = _first(page)
    last = first + _STEPS
    moves = [{**step, "memories": _moved(step, said)} for step in said["steps"][first:last]]
    following = str(last) if last < len(said["steps"]) else None
    return await page.show("dream.html", agent=agent, run=said, steps=moves, next=following)


async def _entries(page: Page, **asked: str | None) -> dict[str, Json]:
    """A page of the ledger, of the agent that the address names."""
    named = {"limit": str(_PAGE), "agent_id": page.agent, **asked}
    given = [(name, value) for name, value in named.items() if value is not None]
    wanted = parameters_of("/v0/audit", "GET").from_query(given)
    return await books.entries(page.shop.door, page.caller, wanted)


async def _undone(page: Page) -> Mapping[str, str]:
    """Which of the last undos took which change back, unless another took that back in turn."""
    found = await _entries(page, operation="undo", kind="committed", limit=str(_UNDONE))
    by = {one["details"]["undoes"]: one["subject"] for one in found["entries"] if "undoes" in one["details"]}
    return {change: undo for change, undo in by.items() if undo not in by}


def _about(steps: list[dict[str, Json]]) -> str:
    return ", ".join(f"{count} {name}" for name, count in Counter(step["pass"] for step in steps).items())


def _moved(step: dict[str, Json], said: dict[str, Json]) -> list[dict[str, Any]]:
    """Each memory of the step as it was before the run beside what it was after."""
    sides = [{one["id"]: one for one in said[side]} for side in ("ended", "began")]
    ids = [id for id in (*step["ids"], step.get("kept")) if id is not None]
    return [
        {"id": id, "words": segments(*(visible(_text(side.get(id))) for side in sides))}
        for id in ids
        if any(id in side for side in sides)
    ]


def _first(page: Page) -> int:
    """Where the page begins among the steps."""
    return whole(page.query.get("after", "0"), "after", "after is the number of a step")


def _text(version: dict[str, Json] | None) -> str:
    content = None if version is None else version["content"]
    return "" if content is None else plain(content)


ROOM = Room(
    views=(View(path="/dreams", look=dreams, of_agent=True), View(path="/dreams/run", look=run)),
    section=Section(path="/dreams", title="Dreams", right=Right.REVIEW),
)
