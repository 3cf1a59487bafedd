"""Playground: ask as an agent would, and see every reason; or look at a recall that was, frozen in time."""

import json
import shlex
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

from starlette.responses import Response

from memorywire.journal.operators import Right
from memorywire.model.answers import Hit, Recalled
from memorywire.model.errors import InvalidRequest, NotFound, Unauthenticated
from memorywire.model.oversight import Helped, Reasons
from memorywire.model.record import DEFAULT_TENANT, Json
from memorywire.model.requests import Fusion
from memorywire.search.render import render
from memorywire.search.token_budget import cost
from memorywire.server.console.page import Form, Page, PageGroup, Section, View
from memorywire.server.console.render import day_ms, plain
from memorywire.server.console.sessions import Note
from memorywire.wire.codec import encode

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

_DAY_END = 24 * 3_600_000 - 1


async def playground(page: Page) -> Response:
    """A form; behind a question its answer, and behind a recall what it handed out then."""
    agents = (await page.call("agents"))["items"]
    if "recall" in page.query:
        return await page.show(
            "recall.html", agents=agents, **await _load_reasons(page, page.query["recall"])
        )
    numbers = {name: _number(page.query.get(name), name) for name in _NUMBERS}
    result = await _run_recall(page, numbers) if page.query.get("q") and page.agent else None
    return await page.show("playground.html", agents=agents, fusions=list(Fusion), shown=result)


async def feedback(page: Page, form: Form) -> Response:
    """Say whether a memory helped; what was wrong or outdated can be looked at, and ended, from here."""
    opinion = form.text("helped")
    recall, memory = form.text("recall"), form.text("memory")
    await page.call("feedback", recall_id=recall, memory_id=memory, helped=opinion)
    text = f"Written down: {opinion}."
    return page.go(form.get("back") or page.link("/playground", recall=recall), Note(text=text))


async def _run_recall(page: Page, numbers: Mapping[str, int | None]) -> dict[str, Any]:
    payload = _build_payload(page, numbers)
    answer = await page.ask(Recalled, "recall", **payload)
    return {
        "answer": encode(answer),
        "rows": _build_rows(answer),
        "misses": [await _describe_miss(page, encode(one)) for one in answer.near_misses or ()],
        "copies": _copies(payload, await _write_curl(page, payload), page.caller.tenant),
        **_block(answer.hits, payload.get("max_tokens")),
    }


async def _describe_miss(page: Page, near: dict[str, Json]) -> dict[str, Json]:
    """A near miss with what it says, unless it is gone by now."""
    with suppress(NotFound):
        return near | {"content": (await page.call("get", agent_id=page.agent, id=near["id"]))["content"]}
    return near | {"content": near["id"]}


async def _load_reasons(page: Page, recall_id: str) -> dict[str, Any]:
    reasons = await page.ask(Reasons, "why", recall_id=recall_id)
    rows = [
        Hit(record=one.memory, score=one.score, stores=())
        for one in reasons.results
        if one.memory is not None
    ]
    most = max((one.score for one in reasons.results), default=1.0)
    doubts = {say.memory_id: say.helped for say in reasons.feedback if say.helped is not Helped.USEFUL}
    return {
        "reasons": encode(reasons),
        "most": most or 1.0,
        "words": list(Helped),
        "doubted": doubts,
        **_block(rows, None),
    }


def _block(hits: Sequence[Hit], max_tokens: int | None) -> dict[str, Any]:
    """What a model would be given, to the letter, and what that costs."""
    block = render(hits, max_tokens=max_tokens)
    return {"block": block, "tokens": cost(block)}


def _build_rows(answer: Recalled) -> list[dict[str, Any]]:
    """Hits with a bar for each signal, relative to the greatest value that any hit has."""
    signals = [
        {name: value for name, value in (hit.signals or {}).items() if not name.startswith(_RANK)}
        for hit in answer.hits
    ]
    greatest = {name: max(one.get(name, 0.0) for one in signals) for one in signals for name in one}
    best = max((hit.score for hit in answer.hits), default=0.0)
    return [
        {
            "hit": encode(hit),
            "share": hit.score / best if best else 0.0,
            "ranks": {
                name.removeprefix(_RANK): int(value)
                for name, value in (hit.signals or {}).items()
                if name.startswith(_RANK)
            },
            "signals": [
                (name, value, value / greatest[name] if greatest[name] > 0 else 0.0)
                for name, value in sorted(each.items())
            ],
        }
        for hit, each in zip(answer.hits, signals, strict=True)
    ]


def _build_payload(page: Page, numbers: Mapping[str, int | None]) -> dict[str, Json]:
    query = page.query
    fields: dict[str, Json] = {
        "agent_id": page.agent,
        "user_id": query.get("user_id"),
        "query": query["q"],
        "types": [query["type"]] if "type" in query else None,
        "fusion": query.get("fusion"),
        "filter": _filter(query.get("filter")),
        "as_of": day_ms(query["as_of"], "as_of") + _DAY_END if "as_of" in query else None,
        "min_relevance": "off" if query.get("floor") == "off" else None,
        **numbers,
    }
    return {name: value for name, value in fields.items() if value is not None} | {"explain": True}


def _number(text: str | None, name: str) -> int | None:
    if text is None:
        return None
    least, most = _NUMBERS[name]
    if not (text.isascii() and text.isdecimal() and len(text) < 9 and least <= int(text) <= most):
        raise InvalidRequest(f"{name} is a number from {least} to {most}", field=name)
    return int(text)


def _filter(text: str | None) -> Json:
    if text is None:
        return None
    try:
        return json.loads(text)
    except ValueError as error:
        raise InvalidRequest(
            f"the filter is no JSON: {error}", field="filter", fix='for example {"source": "user"}'
        ) from error


def _copies(payload: Mapping[str, Json], curl: str, tenant: str) -> list[tuple[str, str]]:
    """Return the same query for the CLI, Python and HTTP, with the tenant if it is not the default."""
    rest = {name: value for name, value in payload.items() if name not in ("agent_id", "user_id", "query")}
    scope = {"scope": "user" if "user_id" in payload else "all"}  # what the wire means without one
    arguments = "".join(f", {name}={value!r}" for name, value in (scope | rest).items())
    user = f", user_id={payload['user_id']!r}" if "user_id" in payload else ""
    whose = "" if tenant == DEFAULT_TENANT else f", tenant={tenant!r}"
    python = (
        f"async with Memory(agent_id={payload['agent_id']!r}{user}{whose}) as memory:\n"
        f"    found = await memory.recall({payload['query']!r}{arguments})"
    )
    tool = {"name": "recall", "arguments": {"query": payload["query"], **rest}}
    return [
        ("Python", python),
        ("curl", curl),
        ("MCP", plain({"method": "tools/call", "params": tool})),
        ("CLI", _command(payload, tenant)),
    ]


async def _write_curl(page: Page, payload: Mapping[str, Json]) -> str:
    """Write the query as a curl command, with a token if the server requires one."""
    try:
        await page.console.authenticator.admit(None)
        headers = ""
    except Unauthenticated:
        headers = ' -H "Authorization: Bearer $MEMORYWIRE_TOKEN"'
    if page.caller.tenant != DEFAULT_TENANT:
        headers += f" -H {shlex.quote(f'Memorywire-Tenant: {page.caller.tenant}')}"
    address = f"{page.request.url.scheme}://{page.request.url.netloc}/v0/recall"
    body = shlex.quote(json.dumps(payload, ensure_ascii=False))
    return f"curl -s {shlex.quote(address)} -H 'Content-Type: application/json'{headers} -d {body}"


def _command(payload: Mapping[str, Json], tenant: str) -> str:
    words = ["memorywire", "recall", str(payload["query"]), "--agent", str(payload["agent_id"])]
    for name, option in _OPTIONS.items():
        words += [option, _word(payload[name])] if name in payload else []
    words += [] if tenant == DEFAULT_TENANT else ["--tenant", tenant]
    return shlex.join([*words, "--explain"])


def _word(value: Json) -> str:
    """As the command line takes it: the one type by its name, a filter as JSON."""
    if isinstance(value, list):
        return str(value[0])
    return json.dumps(value, ensure_ascii=False) if isinstance(value, dict) else str(value)


PLAYGROUND = PageGroup(
    views=(View(path="/playground", look=playground), View(path="/playground/feedback", do=feedback)),
    section=Section(path="/playground", title="Playground", right=Right.READ),
)
