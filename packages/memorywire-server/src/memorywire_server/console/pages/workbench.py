"""Workbench: runs a recall as an agent would, with one or two settings; shows logged recalls."""

import json
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from types import MappingProxyType
from typing import Any

from msgspec import Struct
from starlette.responses import Response

from memorywire.journal.operators import Right
from memorywire.model.answers import ContextBlock, Hit, Recalled, WordMatch
from memorywire.model.clock import DAY_MS
from memorywire.model.codec import load
from memorywire.model.errors import InvalidRequest, NotFound
from memorywire.model.oversight import Helped, Reasons
from memorywire.model.record import Json
from memorywire.model.requests import Fusion
from memorywire.search.render import render
from memorywire.search.token_budget import cost
from memorywire.wire.codec import encode
from memorywire_server.console.copies import write_copies
from memorywire_server.console.page import Form, Page, PageGroup, Section, View, whole
from memorywire_server.console.render import day_ms
from memorywire_server.console.sessions import Note

_RANK = "rank in "
_REDACTED = "[REDACTED:"
_NUMBERS = {"k": (1, 50), "hops": (0, 3), "max_tokens": (1, 100_000)}
_FEWEST_TOKENS = 16
AFTER = "b_"
"""The prefix of the second setting's fields."""

_TITLES = {
    "k": "Limit",
    "fusion": "Fusion",
    "floor": "Floor",
    "hops": "Hops",
    "recency": "Recency",
    "max_tokens": "Tokens",
}
TASK = "task"


class Line(Struct, frozen=True, kw_only=True):
    """A memory in a ranking, with its score and the reasons."""

    id: str
    content: Json
    score: float
    reason: str | None = None
    section: str | None = None
    rule: str | None = None
    signals: Sequence[tuple[str, float, float]] = ()
    words: Sequence[WordMatch] = ()
    ranks: Mapping[str, int] = MappingProxyType({})
    hit: Mapping[str, Json] = MappingProxyType({})

    @property
    def missing(self) -> Sequence[str]:
        """The words of the query that matched nothing, without those of low weight."""
        most = max((one.weight for one in self.words), default=0.0)
        missing = [one for one in self.words if not one.answered]
        return [*dict.fromkeys(one.word for one in missing if not one.weight or one.weight >= most / 2)]


class Ranking(Struct, frozen=True, kw_only=True):
    """The answer for one setting: its hits, those cut off, and the block that a model would get."""

    title: str
    recall_id: str
    verdict: str
    lines: Sequence[Line]
    block: str
    tokens: int
    cut: Sequence[Line] = ()
    floor: float | None = None
    latency_ms: int | None = None
    stores: Sequence[str] = ()
    budget: int | None = None
    left_out: int = 0

    @property
    def best(self) -> float:
        """The highest score, which is the full length of a bar."""
        return max((one.score for one in (*self.lines, *self.cut)), default=0.0) or 1.0

    @property
    def redacted(self) -> int:
        """The number of memories that the policy redacted."""
        return sum(one.rule is not None for one in (*self.lines, *self.cut))


async def workbench(page: Page) -> Response:
    """Show the form; with a query also the answer, and with a recall what it returned then."""
    agents = (await page.call("agents"))["items"]
    if "recall" in page.query:
        return await _show_recall(page, page.query["recall"])
    is_asked = "q" in page.query and page.agent is not None
    page.choose(agents)
    settings = read_settings(page.query)
    result: dict[str, Any] | None = None
    if is_asked:
        rankings = [await _ask(page, one) for one in settings]
        operation, payload = build_payload(page, settings[-1])
        result = {
            "rankings": compare_rankings(rankings),
            "copies": await write_copies(page, operation, payload),
        }
    return await page.show(
        "workbench.html", agents=agents, fusions=list(Fusion), titles=_TITLES, after=AFTER, shown=result
    )


def read_settings(query: Mapping[str, str]) -> list[dict[str, str]]:
    """Read the setting from the URL and, if any field of the second one differs, that one too."""
    before = {name: query[name] for name in _TITLES if name in query}
    changed = {name: query[f"{AFTER}{name}"] for name in _TITLES if f"{AFTER}{name}" in query}
    for one in (before, changed):
        for name in _NUMBERS:
            _read_number(one.get(name), name)
    after = before | changed
    return [before] if after == before else [before, after]


async def _ask(page: Page, setting: Mapping[str, str]) -> Ranking:
    """Run the query of the URL with a setting."""
    operation, payload = build_payload(page, setting)
    title = (
        ", ".join(f"{_TITLES[name].lower()} {value}" for name, value in setting.items()) or "as an agent asks"
    )
    if operation == "context":
        return build_context_ranking(await page.ask(ContextBlock, operation, **payload), title)
    answer = await page.ask(Recalled, operation, **payload)
    cut = [await _describe_miss(page, encode(one)) for one in answer.near_misses or ()]
    return build_ranking(answer, cut, title, payload.get("max_tokens"))


def build_payload(page: Page, setting: Mapping[str, str]) -> tuple[str, dict[str, Json]]:
    """Build the operation and the request from the URL and a setting."""
    query = page.query
    owner: dict[str, Json] = {"agent_id": page.agent}
    owner |= {"user_id": query["user_id"]} if "user_id" in query else {}
    if query.get("as") == TASK:
        tokens = _read_number(setting.get("max_tokens"), "max_tokens")
        budget = {} if tokens is None else {"budget": max(_FEWEST_TOKENS, tokens)}
        return "context", {**owner, "prompt": query["q"], **budget}
    return "recall", {**owner, "query": query["q"], **build_options(query, setting), "explain": True}


def build_options(query: Mapping[str, str], setting: Mapping[str, str]) -> dict[str, Json]:
    try:
        filter = json.loads(query["filter"]) if "filter" in query else None
    except ValueError as error:
        raise InvalidRequest(
            f"the filter is not JSON: {error}", field="filter", fix='for example {"source": "user"}'
        ) from error
    floor = setting.get("floor", "auto")
    fields: dict[str, Json] = {
        "types": [query["type"]] if "type" in query else None,
        "fusion": setting.get("fusion"),
        "filter": filter,
        "as_of": _read_moment(query["as_of"]) if "as_of" in query else None,
        "min_relevance": None
        if floor == "auto"
        else floor
        if floor == "off"
        else _read_share(floor, "floor"),
        "rank": {"recency": _read_share(setting["recency"], "recency")} if "recency" in setting else None,
        **{name: _read_number(setting.get(name), name) for name in _NUMBERS},
    }
    return {name: value for name, value in fields.items() if value is not None}


def _read_moment(text: str) -> int:
    """Parse a time in milliseconds, or a day, as its end."""
    if text.isdecimal():
        return whole(text, "as_of", "as_of is a day, or a moment in milliseconds")
    return day_ms(text, "as_of") + DAY_MS - 1


def _read_share(text: str, name: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0 <= value <= 1:
        raise InvalidRequest(f"{name} must be a number from 0 to 1", field=name)
    return value


def _read_number(text: str | None, name: str) -> int | None:
    if text is None:
        return None
    least, most = _NUMBERS[name]
    if not (text.isascii() and text.isdecimal() and len(text) < 9 and least <= int(text) <= most):
        raise InvalidRequest(f"{name} is a number from {least} to {most}", field=name)
    return int(text)


async def _describe_miss(page: Page, near: dict[str, Json], agent: str | None = None) -> dict[str, Json]:
    """Add the content to a near miss, if the memory still exists."""
    with suppress(NotFound):
        answer = await page.call("get", agent_id=agent or page.agent, id=near["id"])
        return near | {"content": answer["content"]}
    return near | {"content": near["id"]}


def build_ranking(
    answer: Recalled, cut: Sequence[Mapping[str, Json]], title: str, max_tokens: Json = None
) -> Ranking:
    """Build a ranking of hits and near misses; bars are relative to the highest value of the signal."""
    signals = [*((hit.signals or {}) for hit in answer.hits), *(one["signals"] for one in cut)]
    greatest: dict[str, float] = {}
    for name, value in (pair for each in signals for pair in each.items()):
        greatest[name] = max(greatest.get(name, 0.0), value)
    lines = [
        Line(
            id=hit.id,
            content=hit.content,
            score=hit.score,
            rule=_find_rule(hit.content),
            signals=_build_bars(hit.signals or {}, greatest),
            words=hit.words or (),
            ranks=_read_ranks(hit.signals or {}),
            hit=encode(hit),
        )
        for hit in answer.hits
    ]
    misses = [
        Line(
            id=one["id"],
            content=one["content"],
            score=one["score"],
            reason=one["reason"],
            rule=_find_rule(one["content"]),
            signals=_build_bars(one["signals"], greatest),
            words=load(tuple[WordMatch, ...], one.get("words", ())),
        )
        for one in cut
    ]
    block = render(answer.hits, max_tokens=max_tokens)
    return Ranking(
        title=title,
        recall_id=answer.recall_id,
        verdict=answer.verdict.value,
        lines=lines,
        cut=misses,
        floor=answer.floor,
        latency_ms=answer.latency_ms,
        stores=answer.stores_queried,
        block=block,
        tokens=cost(block),
    )


def build_context_ranking(answer: ContextBlock, title: str) -> Ranking:
    """Build a ranking from a context block, with the reason for each line."""
    lines = [
        Line(
            id=one.id,
            content=one.content,
            score=one.score,
            reason=one.reason,
            section=one.section.value,
            rule=_find_rule(one.content),
        )
        for one in answer.lines
    ]
    return Ranking(
        title=title,
        recall_id=answer.recall_id,
        verdict=answer.verdict.value,
        lines=lines,
        block=answer.text,
        tokens=answer.tokens,
        budget=answer.budget,
        left_out=answer.left_out,
    )


def _build_bars(
    signals: Mapping[str, float], greatest: Mapping[str, float]
) -> tuple[tuple[str, float, float], ...]:
    return tuple(
        (name, value, value / greatest[name] if greatest[name] > 0 else 0.0)
        for name, value in sorted(signals.items())
        if not name.startswith(_RANK)
    )


def _read_ranks(signals: Mapping[str, float]) -> dict[str, int]:
    return {name.removeprefix(_RANK): int(rank) for name, rank in signals.items() if name.startswith(_RANK)}


def _find_rule(content: Json) -> str | None:
    """Return the name of the rule that redacted the content; None if it is not redacted."""
    if isinstance(content, str) and content.startswith(_REDACTED):
        return content.removeprefix(_REDACTED).removesuffix("]")
    return None


def compare_rankings(rankings: Sequence[Ranking]) -> list[tuple[Ranking, list[tuple[Line, str]]]]:
    """Return each ranking with the moves of its lines; a single ranking has none."""
    if len(rankings) < 2:
        return [(one, [(line, "") for line in one.lines]) for one in rankings]
    before, after = rankings
    old, new = _list_places(before.lines), _list_places(after.lines)
    return [
        (before, [(line, "" if line.id in new else "gone") for line in before.lines]),
        (after, [(line, _describe_shift(old.get(line.id), new[line.id])) for line in after.lines]),
    ]


def _list_places(lines: Iterable[Line]) -> dict[str, int]:
    return {one.id: place for place, one in enumerate(lines, 1)}


def _describe_shift(old: int | None, new: int) -> str:
    if old is None:
        return "new"
    return "" if old == new else f"{'up' if old > new else 'down'} {abs(old - new)}"


async def _show_recall(page: Page, recall_id: str) -> Response:
    """Show a recall as it was answered; with `again`, next to the answer as of then or of now."""
    reasons = await page.ask(Reasons, "why", recall_id=recall_id)
    document = encode(reasons)
    records = [(one.memory, one.score) for one in reasons.results if one.memory is not None]
    hits = [Hit(record=record, score=score, stores=()) for record, score in records]
    block = render(hits, max_tokens=None)
    again, rankings = page.query.get("again"), None
    if again is not None and reasons.query is not None:
        rankings = compare_rankings(
            [build_then(reasons), await ask_again(page, reasons, as_of_then=again == "then")]
        )
    return await page.show(
        "recall.html",
        reasons=document,
        most=max((one.score for one in reasons.results), default=1.0) or 1.0,
        words=list(Helped),
        doubted={one.memory_id: one.helped for one in reasons.feedback if one.helped is not Helped.USEFUL},
        block=block,
        tokens=cost(block),
        rankings=rankings,
        again=again,
    )


def build_then(reasons: Reasons) -> Ranking:
    """Build a ranking from the logged answer of a recall."""
    lines = [
        Line(
            id=one.id,
            content="(erased)" if one.memory is None else one.memory.content,
            score=one.score,
            rule=None if one.memory is None else _find_rule(one.memory.content),
        )
        for one in reasons.results
    ]
    hits = [Hit(record=one.memory, score=one.score, stores=()) for one in reasons.results if one.memory]
    block = render(hits, max_tokens=None)
    return Ranking(
        title="as it was answered",
        recall_id=reasons.recall_id,
        verdict=reasons.verdict,
        lines=lines,
        block=block,
        tokens=cost(block),
    )


async def ask_again(
    page: Page, reasons: Reasons, *, as_of_then: bool, options: Mapping[str, Json] = MappingProxyType({})
) -> Ranking:
    """Ask the question of a recall again, on the memories of then or of now."""
    answer = await page.ask(
        Recalled,
        "recall",
        agent_id=reasons.scope.agent,
        query=reasons.query,
        explain=True,
        **{"k": max(_LEAST_HITS, len(reasons.results)), **options},
        **({} if reasons.scope.user is None else {"user_id": reasons.scope.user}),
        **({"as_of": reasons.at} if as_of_then else {}),
    )
    cut = [await _describe_miss(page, encode(one), reasons.scope.agent) for one in answer.near_misses or ()]
    return build_ranking(answer, cut, "asked again, as of then" if as_of_then else "asked again, now")


async def feedback(page: Page, form: Form) -> Response:
    """Record whether a memory of a recall helped."""
    opinion = form.text("helped")
    recall, memory = form.text("recall"), form.text("memory")
    await page.call("feedback", recall_id=recall, memory_id=memory, helped=opinion)
    text = f"Written down: {opinion}."
    return page.go(form.get("back") or page.link("/workbench", recall=recall), Note(text=text))


async def recalls(page: Page) -> Response:
    """List the newest recalls of an agent, a session, a run or a trace."""
    names = ("agent_id", "user_id", "session_id", "run_id", "trace_id", "before")
    query = {"agent_id" if name == "agent" else name: value for name, value in page.query.items() if value}
    filters = {name: query[name] for name in names if name in query}
    items = (await page.call("recalls", **filters, limit=_RECALLS))["items"]
    following = items[-1]["recall_id"] if len(items) == _RECALLS else None
    return await page.show("recalls.html", rows=items, next=following)


async def forward(page: Page) -> Response:
    """Redirect from the page's former path."""
    return page.go(page.link("/workbench", **page.query))


_RECALLS = 50
_LEAST_HITS = 5

WORKBENCH = PageGroup(
    views=(
        View(path="/workbench", look=workbench),
        View(path="/workbench/feedback", do=feedback),
        View(path="/playground", look=forward),
        View(path="/recalls", look=recalls),
    ),
    section=Section(path="/workbench", title="Workbench", right=Right.READ),
)
