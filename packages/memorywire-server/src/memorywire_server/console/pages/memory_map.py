"""The map of an agent's memories, with selection by region or by polygon; and the graph of names."""

from collections.abc import Mapping, Sequence
from typing import Any

from starlette.responses import Response

from memorywire.journal.operators import Right
from memorywire.model.errors import InvalidRequest, NotFound
from memorywire.model.label import Kind
from memorywire.model.record import Json
from memorywire_server.console.bulk import MOST as SELECTED_MOST
from memorywire_server.console.page import Page, PageGroup, Section, View, whole
from memorywire_server.console.pictures import Drawn, colour_ages
from memorywire_server.console.projection import SIDE, Colouring, Picture, pack_view
from memorywire_server.console.render import gist

COLOURINGS = {"type": "Type", "age": "Age", "source": "Source", "user": "User"}
POINTS_MOST = 10_000
"""With more points than this, the map shows their density."""

CELLS = 160
_SHAPE_MOST = 64
_ROWS = 50
_SCALE = 10_000  # shapes in URLs have whole coordinates up to this


async def memory_map(page: Page) -> Response:
    """Show the map, its regions as a table, and the memories that the URL selects."""
    agents = (await page.call("agents"))["items"]
    agent = page.choose(agents)
    values: dict[str, Any] = {"agents": agents, "agent": agent, "colourings": COLOURINGS, "kinds": list(Kind)}
    drawn, is_fresh = (None, True) if agent is None else await _load(page, agent)
    if drawn is None or not drawn.picture.ids:
        return await page.show(
            "map.html", drawn=None, is_fresh=is_fresh or drawn is not None, chosen=None, by="type", **values
        )
    by = _read_colouring(page)
    return await page.show(
        "map.html",
        drawn=drawn,
        is_fresh=is_fresh,
        by=by,
        legend=list(zip(*_list_legend(page, drawn.picture, by), strict=True)),
        view=page.link("/map/view", agent=agent, by=by),
        chosen=await _load_chosen(page, drawn.picture),
        **values,
    )


async def _load(page: Page, agent: str) -> tuple[Drawn | None, bool]:
    page.caller.require(Right.READ)
    page.caller.require_agent({"agent_id": agent}, optional=False)
    return await page.console.pictures.find(page.caller, agent)


async def _require(page: Page) -> Drawn:
    agent = page.agent
    if agent is None:
        raise InvalidRequest("choose the agent of these memories", field="agent")
    drawn, _ = await _load(page, agent)
    if drawn is None:
        raise NotFound("this map is still being drawn", fix="ask again in a moment")
    return drawn


def _read_colouring(page: Page) -> str:
    by = page.query.get("by", "type")
    if by not in COLOURINGS:
        raise InvalidRequest(f"by must be one of: {', '.join(COLOURINGS)}", field="by")
    return by


def _find_colouring(page: Page, picture: Picture, by: str) -> Colouring:
    return colour_ages(picture.created, page.now) if by == "age" else picture.colours[by]


def _list_legend(page: Page, picture: Picture, by: str) -> tuple[Sequence[str], Sequence[int]]:
    colouring = _find_colouring(page, picture, by)
    return colouring.names, colouring.counts


async def _load_chosen(page: Page, picture: Picture) -> dict[str, Any] | None:
    """Load the memories in the region or the polygon of the URL, newest first."""
    if "region" in page.query:
        number = whole(page.query["region"], "region", "region is a number")
        places = [at for at, region in enumerate(picture.regions_of.tolist()) if region == number]
    elif "shape" in page.query:
        places = picture.find_inside(read_shape(page.query["shape"])).tolist()
    else:
        return None
    ids = [picture.ids[at] for at in reversed(places)]
    rows = await _load_rows(page, ids[:_ROWS])
    return {"total": len(ids), "rows": rows, "rest": ids[_ROWS:SELECTED_MOST], "most": SELECTED_MOST}


async def _load_rows(page: Page, ids: Sequence[str]) -> list[dict[str, Json]]:
    if not ids:
        return []
    answer = await page.call("list", agent_id=page.agent, filter={"id": {"in": list(ids)}}, limit=len(ids))
    rows: list[dict[str, Json]] = sorted(answer["items"], key=lambda one: one["id"], reverse=True)
    return rows


def read_shape(text: str) -> list[tuple[float, float]]:
    """Parse a polygon in a URL: `x,y;x,y;...`, with coordinates from 0 to 10,000."""
    corners = [corner.split(",") for corner in text.split(";")]
    if not 3 <= len(corners) <= _SHAPE_MOST or any(len(corner) != 2 for corner in corners):
        raise InvalidRequest(f"shape must have 3 to {_SHAPE_MOST} corners x,y;x,y", field="shape")
    numbers = [[whole(one, "shape", "a corner is two whole numbers") for one in corner] for corner in corners]
    return [(x / _SCALE, y / _SCALE) for x, y in numbers]


async def view(page: Page) -> Response:
    """Respond with a part of the map in a binary format."""
    drawn = await _require(page)
    colouring = _find_colouring(page, drawn.picture, _read_colouring(page))
    body = pack_view(drawn.picture, colouring, _read_box(page.query), most=POINTS_MOST, cells=CELLS)
    headers = {"X-Edition": drawn.edition, "Cache-Control": "no-store"}
    return Response(body, media_type="application/octet-stream", headers=headers)


def _read_box(query: Mapping[str, str]) -> tuple[float, float, float, float]:
    texts = query.get("box", f"0,0,{SIDE},{SIDE}").split(",")
    if len(texts) != 4:
        raise InvalidRequest("box must be x1,y1,x2,y2", field="box")
    x1, y1, x2, y2 = (min(whole(one, "box", "box is four whole numbers"), SIDE) / SIDE for one in texts)
    if x1 >= x2 or y1 >= y2:
        raise InvalidRequest("box must be x1,y1,x2,y2 with the smaller values first", field="box")
    return x1, y1, x2, y2


async def point(page: Page) -> Response:
    """Show the memory of a point."""
    drawn = await _require(page)
    at = whole(page.query.get("at", ""), "at", "at is the number of a point")
    if page.query.get("edition") != drawn.edition or at >= len(drawn.picture.ids):
        raise NotFound("the map has changed", field="at", fix="load it again")
    rows = await _load_rows(page, [drawn.picture.ids[at]])
    if not rows:
        raise NotFound("this memory no longer exists", field="at", fix="load the map again")
    return await page.show("point.html", one=rows[0], text=gist(rows[0]["content"])[:240])


async def graph(page: Page) -> Response:
    """Show the graph of names; for a selected name, its neighbours and memories."""
    agents = (await page.call("agents"))["items"]
    agent = page.choose(agents)
    drawn, is_fresh = (None, True) if agent is None else await _load(page, agent)
    values: dict[str, Any] = {
        "agents": agents,
        "agent": agent,
        "is_fresh": is_fresh,
        "rows": [],
        "around": [],
    }
    if drawn is None or not drawn.graph.entities:
        return await page.show("graph.html", graph=None, drawn=drawn, at=None, **values)
    shown = drawn.graph
    at = next((place for place, one in enumerate(shown.entities) if one.name == page.query.get("name")), None)
    if at is not None:
        words = {"content": {"contains": shown.entities[at].name}}
        values["rows"] = (await page.call("list", agent_id=agent, filter=words, limit=_ROWS, order="newest"))[
            "items"
        ]
        values["around"] = shown.neighbours(at)
    together = {place: shown.neighbours(place)[:4] for place in range(len(shown.entities))}
    return await page.show("graph.html", graph=shown, drawn=drawn, at=at, together=together, **values)


MAP = PageGroup(
    views=(
        View(path="/map", look=memory_map, of_agent=True),
        View(path="/map/view", look=view),
        View(path="/map/point", look=point),
        View(path="/map/names", look=graph, of_agent=True),
    ),
    section=Section(path="/map", title="Map", right=Right.READ),
)
