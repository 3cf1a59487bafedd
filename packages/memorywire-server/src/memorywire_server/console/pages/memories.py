"""Memories: found by words or narrowed by facets, all of it in the address; and taken along as a file."""

import csv
import io
import json
from collections import Counter
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from typing import Any

from starlette.responses import Response, StreamingResponse

from memorywire.journal.operators import Right
from memorywire.model.clock import DAY_MS
from memorywire.model.errors import InvalidRequest
from memorywire.model.record import Json
from memorywire.model.text import as_cell, counted
from memorywire_server.console.page import Form, Page, PageGroup, Section, View
from memorywire_server.console.render import day_ms
from memorywire_server.console.sessions import build_note

_PAGE = 50
_CHUNK = 1_000
_COLUMNS = (
    *("id", "type", "content", "user_id", "source", "trust", "standing", "confidence", "tags"),
    *("created_at", "updated_at", "occurred_at", "expires_at"),
)


async def memories(page: Page) -> Response:
    """A page of an agent's memories: the one that is named, or the one with the most."""
    agents = (await page.call("agents"))["items"]
    agent = page.choose(agents)
    if agent is None:
        return await page.show("memories.html", agents=agents, agent=None, found=None, facets=None)
    filter = build_filter(page, agent)
    words = page.query.get("q")
    if words:
        results = {**await _recall(page, words, filter), "total": None, "next": None}
    else:
        after = page.query.get("after")
        answer = await page.call("list", **filter, after=after, limit=_PAGE, order="newest")
        results = {"next": None, **answer, "recall_id": None}
    facets = _count_facets(results["items"]) if words else await page.call("facets", **filter)
    return await page.show("memories.html", agents=agents, agent=agent, found=results, facets=facets)


async def export(page: Page) -> Response:
    """The memories that the address selects, all of them, as lines of JSON or as a table."""
    if page.agent is None:
        raise InvalidRequest("name an agent", field="agent")
    kind = page.query.get("format", "jsonl")
    if kind not in _FORMATS:
        raise InvalidRequest("a file is jsonl or csv", field="format")
    media, lines = _FORMATS[kind]
    filter, words = build_filter(page, page.agent), page.query.get("q")
    first = await (_recall(page, words, filter) if words else page.call("list", **filter, limit=_CHUNK))
    headers = {"Content-Disposition": f'attachment; filename="memories.{kind}"'}
    return StreamingResponse(lines(_iterate_pages(page, first)), media_type=media, headers=headers)


def build_filter(page: Page, agent: str) -> dict[str, Json]:
    """What the address asks of a list: facets as the wire's own fields and filter."""
    query = page.query
    conditions: list[Json] = [
        {name: query[name]} for name in ("source", "trust", "standing", "tags") if name in query
    ]
    if "since" in query:
        conditions.append({"created_at": {"gte": day_ms(query["since"], "since")}})
    if "until" in query:
        conditions.append({"created_at": {"lt": day_ms(query["until"], "until") + DAY_MS}})
    return {
        "agent_id": agent,
        "user_id": query.get("user_id"),
        "types": [query["type"]] if "type" in query else None,
        "filter": {"and": conditions} if conditions else None,
        "include": ["archived"] if query.get("standing") == "archived" else None,
    }


async def _recall(page: Page, words: str, filter: Mapping[str, Json]) -> dict[str, Any]:
    """Memories by relevance, through a recall, so that looking leaves the same trace as an agent's."""
    answer = await page.call("recall", **filter, query=words, k=_PAGE)
    standing = {"standing": "active"}  # a hit does not say, and only what is recallable is found
    return {"items": [standing | one for one in answer["results"]], "recall_id": answer["recall_id"]}


def _count_facets(items: Sequence[Mapping[str, Json]]) -> dict[str, Any]:
    """The facets of what a search found, all of it counted."""
    fields = {}
    for name in ("type", "user_id", "source", "trust", "standing", "tags"):
        values = (one.get(name) for one in items)
        each = (value for given in values for value in (given if isinstance(given, list) else [given]))
        counts = Counter(value for value in each if value)
        fields[name] = [{"value": value, "count": count} for value, count in counts.most_common()]
    return {"looked_at": len(items), "fields": fields}


async def forget(page: Page, form: Form) -> Response:
    """Forget the selected memories of an agent as one change, which one undo takes back."""
    agent, ids = form.text("agent"), list(dict.fromkeys(form.many("id")))
    if not ids:
        raise InvalidRequest("nothing is selected", field="id", fix="select some memories")
    receipt = await page.call("forget", agent_id=agent, ids=ids, reason=form.get("reason"))
    text = f"{counted(len(ids), 'memory was', 'memories were')} forgotten."
    return page.go(form.get("back") or page.link("/memories", agent=agent), build_note(receipt, agent, text))


async def _iterate_pages(page: Page, first: dict[str, Json]) -> AsyncIterator[list[dict[str, Json]]]:
    answer = first
    while True:
        yield answer["items"]
        if "next" not in answer:
            return
        filter = build_filter(page, page.agent or "")
        answer = await page.call("list", **filter, limit=_CHUNK, after=answer["next"])


async def _write_json_lines(pages: AsyncIterator[list[dict[str, Json]]]) -> AsyncIterator[bytes]:
    async for items in pages:
        for one in items:
            yield f"{json.dumps(one, ensure_ascii=False)}\n".encode(errors="backslashreplace")


async def _write_table(pages: AsyncIterator[list[dict[str, Json]]]) -> AsyncIterator[bytes]:
    """Rows of text; a cell that a spreadsheet would take for a formula gets an apostrophe."""
    yield _write_row(_COLUMNS)
    async for items in pages:
        for one in items:
            cells = [one.get(name, "") for name in _COLUMNS]
            texts = [
                cell if isinstance(cell, str) else json.dumps(cell, ensure_ascii=False) for cell in cells
            ]
            yield _write_row(map(as_cell, texts))


def _write_row(cells: Iterable[str]) -> bytes:
    line = io.StringIO()
    csv.writer(line).writerow(cells)
    return line.getvalue().encode(errors="backslashreplace")


_FORMATS = {
    "jsonl": ("application/x-ndjson", _write_json_lines),
    "csv": ("text/csv; charset=utf-8", _write_table),
}


MEMORIES = PageGroup(
    views=(
        View(path="/memories", look=memories),
        View(path="/memories/export", look=export),
        View(path="/memories/forget", do=forget),
    ),
    section=Section(path="/memories", title="Memories", right=Right.READ),
)
