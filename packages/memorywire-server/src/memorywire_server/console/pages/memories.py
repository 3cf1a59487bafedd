"""Memories: a list with facets, search, bulk changes and export."""

import csv
import io
import json
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections import Counter
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from typing import Any
from urllib.parse import unquote

from starlette.responses import Response, StreamingResponse

from memorywire.journal.operators import Right
from memorywire.model.clock import DAY_MS
from memorywire.model.errors import InvalidRequest
from memorywire.model.label import Kind
from memorywire.model.record import Json
from memorywire.model.text import as_cell, counted
from memorywire_server.console import bulk
from memorywire_server.console.copies import write_copies
from memorywire_server.console.page import Form, Page, PageGroup, Section, View, own, whole
from memorywire_server.console.render import day_ms
from memorywire_server.console.sessions import Note, build_note

_PAGE = 50
_MOST_ROWS = 500
_CHUNK = 1_000
_MOST_AGENTS = 50
_MOST_WORDS = 8
ALL = "*"
"""The value of `agent` in a URL that means all agents."""

_FACETS = ("type", "user_id", "source", "trust", "standing", "tags")
COLUMNS = {
    "agent_id": "Agent",
    "type": "Type",
    "user_id": "User",
    "source": "Source",
    "trust": "Trust",
    "tags": "Tags",
    "created_at": "Created",
    "updated_at": "Changed",
}
_SHOWN = ("type", "user_id", "source", "created_at")
_FILE_COLUMNS = (
    *("id", "type", "content", "user_id", "source", "trust", "standing", "confidence", "tags"),
    *("created_at", "updated_at", "occurred_at", "expires_at"),
)


async def memories(page: Page) -> Response:
    """Show a page of memories of the agent in the URL (`*` for all), else of the one with the most."""
    agents = (await page.call("agents"))["items"]
    agent = page.choose(agents)
    values: dict[str, Any] = {
        "agents": agents,
        "agent": agent,
        "views": read_views(page),
        "kinds": list(Kind),
        "titles": COLUMNS,
    }
    if agent is None:
        return await page.show(
            "memories.html", found=None, facets=None, columns={}, seen=0, copies=[], **values
        )
    names = _list_names(page, agents)
    filter, words = build_filter(page), page.query.get("q")
    if words and page.query.get("by") == "meaning":
        results = {**await _recall(page, words, names, filter), "total": None, "next": None}
        facets = _count_facets(results["items"])
    else:
        limit = _read_rows(page)
        results = {"recall_id": None, **await _list(page, names, filter, limit)}
        facets = await _load_facets(page, names, filter)
    request = {name: value for name, value in filter.items() if value is not None}
    request = {"agent_id": names[0], **request, "order": "newest", "limit": _PAGE}
    seen = whole(page.query.get("seen", "0"), "seen", "seen is a number of rows") + len(results["items"])
    return await page.show(
        "memories.html",
        found=results,
        facets=facets,
        columns=_choose_columns(page, agent),
        seen=seen,
        copies=[] if agent == ALL else await write_copies(page, "list", request),
        **values,
    )


def _list_names(page: Page, agents: Sequence[Mapping[str, Json]]) -> list[str]:
    if page.agent != ALL:
        return [str(page.agent)]
    largest = sorted(agents, key=lambda one: -one["memories"])[:_MOST_AGENTS]
    return [one["agent_id"] for one in largest]


def _read_rows(page: Page) -> int:
    """Return how many rows to show at once: as many as were loaded when the viewer left the list."""
    rows = whole(page.query.get("rows", str(_PAGE)), "rows", "rows is a number")
    return max(1, min(rows, _MOST_ROWS))


def _choose_columns(page: Page, agent: str) -> dict[str, bool]:
    """Return each column, and whether it is shown."""
    names = page.query["cols"].split(",") if "cols" in page.query else _SHOWN
    return {name: name in names or (name == "agent_id" and agent == ALL) for name in COLUMNS}


def build_filter(page: Page) -> dict[str, Json]:
    """Build the fields and filter of a list request from the URL."""
    query = page.query
    conditions: list[Json] = [
        {name: query[name]} for name in ("source", "trust", "standing", "tags") if name in query
    ]
    if "since" in query:
        conditions.append({"created_at": {"gte": day_ms(query["since"], "since")}})
    if "until" in query:
        conditions.append({"created_at": {"lt": day_ms(query["until"], "until") + DAY_MS}})
    if "q" in query and query.get("by") != "meaning":
        conditions += [contains(word) for word in query["q"].split()[:_MOST_WORDS]]
    return {
        "user_id": query.get("user_id"),
        "types": [query["type"]] if "type" in query else None,
        "filter": {"and": conditions} if conditions else None,
        "include": ["archived"] if query.get("standing") == "archived" else None,
    }


def contains(word: str) -> Json:
    """Build a filter for a word in common spellings; the store's comparison is case-sensitive."""
    spellings = dict.fromkeys((word, word.lower(), word.capitalize(), word.upper()))
    return {"or": [{"content": {"contains": one}} for one in spellings]}


async def _list(
    page: Page, agents: Sequence[str], filter: Mapping[str, Json], limit: int, order: str = "newest"
) -> dict[str, Any]:
    """List a page of these agents' memories, newest first: all agents' ids increase with time."""
    after = page.query.get("after")
    answers = [
        await page.call("list", agent_id=agent, **filter, after=after, limit=limit, order=order)
        for agent in agents
    ]
    items = sorted(
        (one for answer in answers for one in answer["items"]), key=lambda one: one["id"], reverse=True
    )
    has_more = len(items) > limit or any("next" in answer for answer in answers)
    return {
        "items": items[:limit],
        "total": sum(answer["total"] for answer in answers),
        "next": items[:limit][-1]["id"] if has_more and items else None,
    }


async def _load_facets(page: Page, agents: Sequence[str], filter: Mapping[str, Json]) -> dict[str, Any]:
    """Add up the facets of these agents."""
    answers = [await page.call("facets", agent_id=agent, **filter) for agent in agents]
    fields = {}
    for name in _FACETS:
        counts: Counter[str] = Counter()
        for answer in answers:
            counts.update({one["value"]: one["count"] for one in answer["fields"][name]})
        fields[name] = [{"value": value, "count": count} for value, count in counts.most_common(20)]
    return {"looked_at": sum(answer["looked_at"] for answer in answers), "fields": fields}


async def _recall(
    page: Page, words: str, agents: Sequence[str], filter: Mapping[str, Json]
) -> dict[str, Any]:
    """Search by relevance with a recall, which is logged like the recall of an agent."""
    answers = [await page.call("recall", agent_id=one, **filter, query=words, k=_PAGE) for one in agents]
    standing = {"standing": "active"}  # hits have no standing, and a recall finds only active memories
    items = [
        {**standing, "agent_id": agent, **one}
        for agent, answer in zip(agents, answers, strict=True)
        for one in answer["results"]
    ]
    items.sort(key=lambda one: -one["score"])
    return {"items": items[:_PAGE], "recall_id": answers[0]["recall_id"]}


def _count_facets(items: Sequence[Mapping[str, Json]]) -> dict[str, Any]:
    """Count the facets of all memories that a search returned."""
    fields = {}
    for name in _FACETS:
        values = (one.get(name) for one in items)
        each = (value for given in values for value in (given if isinstance(given, list) else [given]))
        counts = Counter(value for value in each if value)
        fields[name] = [{"value": value, "count": count} for value, count in counts.most_common()]
    return {"looked_at": len(items), "fields": fields}


async def change(page: Page, form: Form) -> Response:
    """Apply an action to the selected memories of an agent, in one change; or export them."""
    agent, ids, act = form.text("agent"), list(dict.fromkeys(form.many("id"))), form.text("act")
    if not ids:
        raise InvalidRequest("nothing is selected", field="id", fix="select some memories")
    if act == "export":
        return await _export_selected(page, agent, ids)
    back = form.get("back") or page.link("/memories", agent=agent)
    if act == "forget":
        receipt = await page.call("forget", agent_id=agent, ids=ids, reason=form.get("reason"))
        text = f"{counted(len(ids), 'memory was', 'memories were')} forgotten."
        return page.go(back, build_note(receipt, agent, text))
    operation, alter, words = _plan(act, form)
    receipt = await bulk.change_many(page, agent, ids, operation, alter)
    if not receipt["changed"]:
        return page.go(back, Note(text="Nothing to change: all of them are so already."))
    text = f"{counted(receipt['changed'], 'memory was', 'memories were')} {words}."
    return page.go(back, build_note(receipt, agent, text))


def _plan(act: str, form: Form) -> tuple[str, bulk.Alter, str]:
    """Return the operation of an action, its function, and the verb for the note."""
    match act:
        case "archive":
            return "forget", bulk.archive, "archived"
        case "activate":
            return "remember", bulk.activate, "made active"
        case "tag":
            tag = form.text("tag").strip()
            return "remember", bulk.build_tagger(tag, adds=True), f"tagged {tag}"
        case "untag":
            tag = form.text("tag").strip()
            return "remember", bulk.build_tagger(tag, adds=False), f"rid of the tag {tag}"
        case "pin":
            return "remember", bulk.build_pinner(pins=True), "pinned"
        case "unpin":
            return "remember", bulk.build_pinner(pins=False), "unpinned"
        case "label":
            kind = form.text("kind")
            return "remember", bulk.build_labeller(kind), f"labelled {kind}"
    raise InvalidRequest(f"{act} is not an action", field="act")


_VIEWS = "memorywire_views"
_MOST_VIEWS = 12
_VIEW_CHARS = 400
_VIEW_SECONDS = 400 * 86_400


def read_views(page: Page) -> list[tuple[str, str]]:
    """Return the views saved in this browser, as (name, URL)."""
    try:
        pairs = json.loads(urlsafe_b64decode(unquote(page.request.cookies.get(_VIEWS, ""))))
        return [(str(name)[:60], own(str(address))) for name, address in pairs][:_MOST_VIEWS]
    except (ValueError, TypeError):
        return []


async def keep_view(page: Page, form: Form) -> Response:
    """Save the URL of a view under a name, or delete it, in a cookie."""
    name, address = form.text("name").strip()[:60], own(form.text("back"))
    others = [one for one in read_views(page) if one[0] != name]
    if form.get("act") != "drop":
        if len(address) > _VIEW_CHARS or len(others) >= _MOST_VIEWS:
            raise InvalidRequest(
                f"{_MOST_VIEWS} views of {_VIEW_CHARS} characters can be saved",
                field="name",
                fix="delete one first",
            )
        others.append((name, address))
    response = page.go(address)
    text = urlsafe_b64encode(json.dumps(others).encode()).decode()
    page.console.sessions.cookie(response, _VIEWS, text, tls=page.over_tls, seconds=_VIEW_SECONDS)
    return response


async def export(page: Page) -> Response:
    """Export all memories that the URL selects, as JSON lines or as CSV."""
    agents = (await page.call("agents"))["items"]
    if page.agent is None:
        raise InvalidRequest("name an agent", field="agent")
    kind = page.query.get("format", "jsonl")
    if kind not in _FORMATS:
        raise InvalidRequest("a file is jsonl or csv", field="format")
    filter, words, names = build_filter(page), page.query.get("q"), _list_names(page, agents)
    if words and page.query.get("by") == "meaning":
        pages = _iterate_one((await _recall(page, words, names, filter))["items"])
    else:
        pages = _iterate_pages(page, names, filter)
    return _send(kind, pages)


async def _export_selected(page: Page, agent: str, ids: Sequence[str]) -> Response:
    if len(ids) > bulk.MOST:
        raise InvalidRequest(f"at most {bulk.MOST} memories are selected at once", field="id")
    return _send("jsonl", _iterate_one([await page.call("get", agent_id=agent, id=id) for id in ids]))


def _send(kind: str, pages: AsyncIterator[list[dict[str, Json]]]) -> Response:
    media, lines = _FORMATS[kind]
    headers = {"Content-Disposition": f'attachment; filename="memories.{kind}"'}
    return StreamingResponse(lines(pages), media_type=media, headers=headers)


async def _iterate_one(items: list[dict[str, Json]]) -> AsyncIterator[list[dict[str, Json]]]:
    yield items


async def _iterate_pages(
    page: Page, agents: Sequence[str], filter: Mapping[str, Json]
) -> AsyncIterator[list[dict[str, Json]]]:
    for agent in agents:
        after: Json = None
        while True:
            answer = await page.call("list", agent_id=agent, **filter, limit=_CHUNK, after=after)
            yield answer["items"]
            if "next" not in answer:
                break
            after = answer["next"]


async def _write_json_lines(pages: AsyncIterator[list[dict[str, Json]]]) -> AsyncIterator[bytes]:
    async for items in pages:
        for one in items:
            yield f"{json.dumps(one, ensure_ascii=False)}\n".encode(errors="backslashreplace")


async def _write_table(pages: AsyncIterator[list[dict[str, Json]]]) -> AsyncIterator[bytes]:
    """Write CSV; a cell that a spreadsheet would treat as a formula gets an apostrophe."""
    yield _write_row(_FILE_COLUMNS)
    async for items in pages:
        for one in items:
            cells = [one.get(name, "") for name in _FILE_COLUMNS]
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
        View(path="/memories/change", do=change),
        View(path="/memories/views", do=keep_view),
    ),
    section=Section(path="/memories", title="Memories", right=Right.READ),
)
