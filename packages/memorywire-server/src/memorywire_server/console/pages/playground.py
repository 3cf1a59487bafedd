"""Playground: ask as an agent would, and see every reason; or look at a recall that was, frozen in time."""

import json
import shlex
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

from starlette.responses import Response

from memorywire.journal.operators import Right
from memorywire.model.answers import Hit, Recalled
from memorywire.model.clock import DAY_MS
from memorywire.model.errors import InvalidRequest, NotFound, Unauthenticated
from memorywire.model.oversight import Helped, Reasons
from memorywire.model.record import DEFAULT_TENANT, Json
from memorywire.model.requests import Fusion
from memorywire.search.render import render
from memorywire.search.token_budget import cost
from memorywire.wire.codec import encode
from memorywire_server.console.page import Form, Page, PageGroup, Section, View
from memorywire_server.console.render import day_ms, plain
from memorywire_server.console.sessions import Note

_RANK = "rank in "
_NUMBERS = {"k": (1, 50), "hops": (0, 3), "max_tokens": (1, 100_000)}
_OPTIONS = {
    "user_id": "--user",
    "k": "-k",
    "types": "--type",
    "filter": "--filter",
    "as_of": "--as-of",
    "min_relevance": "--min-relevance",
    "hops": "--hops",
    "fusion": "--fusion",
    "max_tokens": "--max-tokens",
}
"""What the command line calls the fields of a recall."""


async def playground(page: Page) -> Response:
    """A form; behind a question its answer, and behind a recall what it handed out then."""
    agents = (await page.call("agents"))["items"]
    if "recall" in page.query:
        reasons = await _load_reasons(page, page.query["recall"])
        return await page.show("recall.html", agents=agents, **reasons)
    is_asked = "q" in page.query and page.agent is not None
    page.choose(agents)
    numbers = {name: _read_number(page.query.get(name), name) for name in _NUMBERS}
    result = None
    if is_asked:
        payload = _build_payload(page, numbers)
        answer = await page.ask(Recalled, "recall", **payload)
        result = {
            "answer": encode(answer),
            "rows": _build_rows(answer),
            "misses": [await _describe_miss(page, encode(one)) for one in answer.near_misses or ()],
            "copies": await _write_copies(page, payload),
            **_build_block(answer.hits, payload.get("max_tokens")),
        }
    return await page.show("playground.html", agents=agents, fusions=list(Fusion), shown=result)


async def feedback(page: Page, form: Form) -> Response:
    """Say whether a memory helped; what was wrong or outdated can be looked at, and ended, from here."""
    opinion = form.text("helped")
    recall, memory = form.text("recall"), form.text("memory")
    await page.call("feedback", recall_id=recall, memory_id=memory, helped=opinion)
    text = f"Written down: {opinion}."
    return page.go(form.get("back") or page.link("/playground", recall=recall), Note(text=text))


async def _describe_miss(page: Page, near: dict[str, Json]) -> dict[str, Json]:
    """A near miss with what it says, unless it is gone by now."""
    with suppress(NotFound):
        return near | {"content": (await page.call("get", agent_id=page.agent, id=near["id"]))["content"]}
    return near | {"content": near["id"]}


async def _load_reasons(page: Page, recall_id: str) -> dict[str, Any]:
    reasons = await page.ask(Reasons, "why", recall_id=recall_id)
    records = [(one.memory, one.score) for one in reasons.results if one.memory is not None]
    hits = [Hit(record=record, score=score, stores=()) for record, score in records]
    return {
        "reasons": encode(reasons),
        "most": max((one.score for one in reasons.results), default=1.0) or 1.0,
        "words": list(Helped),
        "doubted": {one.memory_id: one.helped for one in reasons.feedback if one.helped is not Helped.USEFUL},
        **_build_block(hits, None),
    }


def _build_block(hits: Sequence[Hit], max_tokens: int | None) -> dict[str, Any]:
    """What a model would be given, to the letter, and what that costs."""
    block = render(hits, max_tokens=max_tokens)
    return {"block": block, "tokens": cost(block)}


def _build_rows(answer: Recalled) -> list[dict[str, Any]]:
    """Hits with a bar for each signal, relative to the greatest value that any hit has."""
    greatest: dict[str, float] = {}
    for hit in answer.hits:
        for name, value in (hit.signals or {}).items():
            greatest[name] = max(greatest.get(name, 0.0), value)
    best = max((hit.score for hit in answer.hits), default=0.0)
    rows = []
    for hit in answer.hits:
        signals = hit.signals or {}
        ranks = {
            name.removeprefix(_RANK): int(rank) for name, rank in signals.items() if name.startswith(_RANK)
        }
        bars = [
            (name, value, value / greatest[name] if greatest[name] > 0 else 0.0)
            for name, value in sorted(signals.items())
            if not name.startswith(_RANK)
        ]
        share = hit.score / best if best else 0.0
        rows.append({"hit": encode(hit), "share": share, "ranks": ranks, "signals": bars})
    return rows


def _build_payload(page: Page, numbers: Mapping[str, int | None]) -> dict[str, Json]:
    query = page.query
    try:
        filter = json.loads(query["filter"]) if "filter" in query else None
    except ValueError as error:
        raise InvalidRequest(
            f"the filter is no JSON: {error}", field="filter", fix='for example {"source": "user"}'
        ) from error
    fields: dict[str, Json] = {
        "agent_id": page.agent,
        "user_id": query.get("user_id"),
        "query": query["q"],
        "types": [query["type"]] if "type" in query else None,
        "fusion": query.get("fusion"),
        "filter": filter,
        "as_of": day_ms(query["as_of"], "as_of") + DAY_MS - 1 if "as_of" in query else None,
        "min_relevance": "off" if query.get("floor") == "off" else None,
        **numbers,
    }
    return {name: value for name, value in fields.items() if value is not None} | {"explain": True}


def _read_number(text: str | None, name: str) -> int | None:
    if text is None:
        return None
    least, most = _NUMBERS[name]
    if not (text.isascii() and text.isdecimal() and len(text) < 9 and least <= int(text) <= most):
        raise InvalidRequest(f"{name} is a number from {least} to {most}", field=name)
    return int(text)


async def _write_copies(page: Page, payload: Mapping[str, Json]) -> list[tuple[str, str]]:
    """Return the same query for Python, HTTP, MCP and the CLI, with the tenant if it is not the default."""
    agent, query, user = payload["agent_id"], payload["query"], payload.get("user_id")
    tenant = None if page.caller.tenant == DEFAULT_TENANT else page.caller.tenant
    rest = {name: value for name, value in payload.items() if name not in ("agent_id", "user_id", "query")}

    owner = {"agent_id": agent, "user_id": user, "tenant": tenant}
    arguments = ", ".join(f"{name}={value!r}" for name, value in owner.items() if value is not None)
    scope = {"scope": "all" if user is None else "user"}  # what the wire means without one
    options = "".join(f", {name}={value!r}" for name, value in (scope | rest).items())
    python = f"async with Memory({arguments}) as memory:\n    found = await memory.recall({query!r}{options})"

    curl = f"curl -s {shlex.quote(f'{page.request.url.scheme}://{page.request.url.netloc}/v0/recall')}"
    curl += " -H 'Content-Type: application/json'"
    try:
        await page.console.authenticator.admit(None)
    except Unauthenticated:
        curl += ' -H "Authorization: Bearer $MEMORYWIRE_TOKEN"'
    if tenant is not None:
        curl += f" -H {shlex.quote(f'Memorywire-Tenant: {tenant}')}"
    curl += f" -d {shlex.quote(json.dumps(payload, ensure_ascii=False))}"

    tool = {"name": "recall", "arguments": {"query": query, **rest}}
    words = ["memorywire", "recall", str(query), "--agent", str(agent)]
    for name, option in _OPTIONS.items():
        if name in payload:
            value = payload[name][0] if name == "types" else payload[name]
            text = json.dumps(value, ensure_ascii=False) if isinstance(value, dict) else str(value)
            words += [option, text]
    words += [] if tenant is None else ["--tenant", tenant]
    return [
        ("Python", python),
        ("curl", curl),
        ("MCP", plain({"method": "tools/call", "params": tool})),
        ("CLI", shlex.join([*words, "--explain"])),
    ]


async def recalls(page: Page) -> Response:
    """The newest recalls of an agent, a session, a run or a trace."""
    names = ("agent_id", "user_id", "session_id", "run_id", "trace_id", "before")
    query = {"agent_id" if name == "agent" else name: value for name, value in page.query.items() if value}
    wanted = {name: query[name] for name in names if name in query}
    found = await page.call("recalls", **wanted, limit=_RECALLS)
    items = found["items"]
    following = items[-1]["recall_id"] if len(items) == _RECALLS else None
    return await page.show("recalls.html", rows=items, next=following)


_RECALLS = 50

PLAYGROUND = PageGroup(
    views=(
        View(path="/playground", look=playground),
        View(path="/playground/feedback", do=feedback),
        View(path="/recalls", look=recalls),
    ),
    section=Section(path="/playground", title="Playground", right=Right.READ),
)
