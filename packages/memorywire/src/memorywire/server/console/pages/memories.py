"""Memories: found by words or narrowed by facets, all of it in the address; and taken along as a file."""

import csv
import io
import json
from collections.abc import AsyncIterator, Mapping
from typing import Any

from starlette.responses import Response, StreamingResponse

from memorywire.journal.operators import Right
from memorywire.model.clock import DAY_MS
from memorywire.model.errors import InvalidRequest
from memorywire.model.record import Json
from memorywire.model.text import as_cell
from memorywire.server.console.page import Page, PageGroup, Section, View
from memorywire.server.console.render import day_ms

_PAGE = 50
_CHUNK = 1_000
_COLUMNS = ("id", "type", "content", "user_id", "source", "trust", "standing", "confidence", "tags")
_TIMES = ("created_at", "updated_at", "occurred_at", "expires_at")


async def memories(page: Page) -> Response:
    """A page of an agent's memories; without an agent, the agents to choose from."""
    agents = (await page.call("agents"))["items"]
    agent = page.agent or (agents[0]["agent_id"] if len(agents) == 1 else None)
    if agent is None:
        return await page.show("memories.html", agents=agents, agent=None, found=None, facets=None)
    asked = narrowed(page, agent)
    words = page.query.get("q")
    found = await _searched(page, words, asked) if words else await _listed(page, asked)
    facets = await page.call("facets", **{name: asked.get(name) for name in _FACETED})
    return await page.show("memories.html", agents=agents, agent=agent, found=found, facets=facets)


async def export(page: Page) -> Response:
    """The memories that the address selects, all of them, as lines of JSON or as a table."""
    if page.agent is None:
        raise InvalidRequest("name an agent", field="agent")
    kind = page.query.get("format", "jsonl")
    if kind not in _FORMATS:
        raise InvalidRequest("a file is jsonl or csv", field="format")
    media, lines = _FORMATS[kind]
    asked, words = narrowed(page, page.agent), page.query.get("q")
    first = await (_found(page, words, asked) if words else page.call("list", **asked, limit=_CHUNK))
    headers = {"Content-Disposition": f'attachment; filename="memories.{kind}"'}
    return StreamingResponse(lines(_pages(page, first)), media_type=media, headers=headers)


def narrowed(page: Page, agent: str) -> dict[str, Json]:
    """What the address asks of a list: facets as the wire's own fields and filter."""
    query = page.query
    conditions: list[Json] = [
        {name: query[name]} for name in ("source", "trust", "standing", "tags") if name in query
    ]
    conditions += [{"created_at": {"gte": day_ms(query["since"], "since")}}] if "since" in query else []
    conditions += (
        [{"created_at": {"lt": day_ms(query["until"], "until") + DAY_MS}}] if "until" in query else []
    )
    return {
        "agent_id": agent,
        "user_id": query.get("user_id"),
        "types": [query["type"]] if "type" in query else None,
        "filter": {"and": conditions} if conditions else None,
        "include": ["archived"] if query.get("standing") == "archived" else None,
    }


_FACETED = ("agent_id", "user_id", "types", "filter", "include")


async def _listed(page: Page, asked: Mapping[str, Json]) -> dict[str, Any]:
    found = await page.call("list", **asked, after=page.query.get("after"), limit=_PAGE, order="newest")
    return {"items": found["items"], "total": found["total"], "next": found.get("next"), "recall_id": None}


async def _searched(page: Page, words: str, asked: Mapping[str, Json]) -> dict[str, Any]:
    found = await _found(page, words, asked)
    return {**found, "total": None, "next": None}


async def _found(page: Page, words: str, asked: Mapping[str, Json]) -> dict[str, Any]:
    """Memories by relevance, through a recall, so that looking leaves the same trace as an agent's."""
    found = await page.call("recall", **asked, query=words, k=_PAGE)
    standing = {"standing": "active"}  # a hit does not say, and only what is recallable is found
    return {"items": [standing | one for one in found["results"]], "recall_id": found["recall_id"]}


async def _pages(page: Page, first: dict[str, Json]) -> AsyncIterator[list[dict[str, Json]]]:
    found = first
    while True:
        yield found["items"]
        if "next" not in found:
            return
        asked = narrowed(page, page.agent or "")
        found = await page.call("list", **asked, limit=_CHUNK, after=found["next"])


async def _json_lines(pages: AsyncIterator[list[dict[str, Json]]]) -> AsyncIterator[bytes]:
    async for items in pages:
        for one in items:
            yield f"{json.dumps(one, ensure_ascii=False)}\n".encode(errors="backslashreplace")


async def _table(pages: AsyncIterator[list[dict[str, Json]]]) -> AsyncIterator[bytes]:
    yield _row([*_COLUMNS, *_TIMES])
    async for items in pages:
        for one in items:
            yield _row([_cell(one.get(name)) for name in (*_COLUMNS, *_TIMES)])


def _row(cells: list[str]) -> bytes:
    line = io.StringIO()
    csv.writer(line).writerow(cells)
    return line.getvalue().encode(errors="backslashreplace")


def _cell(value: Json) -> str:
    """A value as text; one that a spreadsheet would take for a formula gets an apostrophe."""
    text = "" if value is None else value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return as_cell(text)


_FORMATS = {
    "jsonl": ("application/x-ndjson", _json_lines),
    "csv": ("text/csv; charset=utf-8", _table),
}


MEMORIES = PageGroup(
    views=(View(path="/memories", look=memories), View(path="/memories/export", look=export)),
    section=Section(path="/memories", title="Memories", right=Right.READ),
)
