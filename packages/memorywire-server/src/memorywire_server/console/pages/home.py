"""Home: the activity of the last day, pending items, and the state of the stores; figures are links."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from starlette.responses import Response

from memorywire.journal.operators import Right
from memorywire.model.clock import DAY_MS
from memorywire.model.consolidation import DREAM
from memorywire.model.record import Json
from memorywire_server.console.copies import list_first_steps
from memorywire_server.console.page import Page, PageGroup, Section, View
from memorywire_server.console.render import Chart, chart
from memorywire_server.console.words import describe_entry
from memorywire_server.http import audit

_HOUR_MS = DAY_MS // 24
_MOST_ENTRIES = 1_000
_CHUNK = 250
_SHOWN = 6
_KINDS = ("written", "held", "recalled", "other")
VERDICTS = ("match", "weak", "no_match")


async def home(page: Page) -> Response:
    agents = (await page.call("agents"))["items"]
    if not agents:
        return await page.show(
            "welcome.html", ways=await list_first_steps(page, "first", "Ana prefers green tea.")
        )
    if page.limited:
        page.choose(agents)
    agents = [one for one in agents if page.agent in (None, one["agent_id"])]
    recalls = await page.call("recalls", agent_id=page.agent, limit=_SHOWN)
    values: dict[str, Any] = {"day": None, "proposals": [], "stand": None, "debts": [], "run": None}
    if page.may(Right.REVIEW):
        values = await _load_oversight(page)
    return await page.show(
        "home.html",
        agents=sorted(agents, key=lambda one: -one["memories"])[:_SHOWN],
        total=sum(one["memories"] for one in agents),
        number_of_agents=len(agents),
        waiting=sum(one["waiting"] for one in agents),
        recalls=recalls["items"],
        tending=page.console.tending,
        **values,
    )


async def _load_oversight(page: Page) -> dict[str, Any]:
    """Load what only reviewers see: the day by hour, pending proposals, and the state of the stores."""
    service, caller = page.console.service, page.caller
    scope = {} if page.agent is None else {"agent_id": page.agent}
    since = page.now - page.now % _HOUR_MS - 23 * _HOUR_MS
    entries = await _load_newest(page, scope)
    runs = await audit.entries(
        service, caller, {**scope, "operation": DREAM, "kind": "committed", "limit": 1}
    )
    proposals = await page.call("proposals", agent_id=page.agent, by_risk=True, limit=_SHOWN)
    return {
        "day": _summarise_day([one for one in entries if one["at"] >= since], since),
        "proposals": proposals["items"],
        "changes": [{**one, "said": describe_entry(one)} for one in entries[:_SHOWN]],
        "stand": await service.finish(service.journal.read_status()) if caller.everywhere else None,
        "debts": await audit.owed(service, caller),
        "run": next(iter(runs["entries"]), None),
    }


async def _load_newest(page: Page, scope: Mapping[str, Json]) -> list[dict[str, Json]]:
    """Load ledger entries, newest first, until they cover a day."""
    entries: list[dict[str, Json]] = []
    rest: dict[str, Json] = {}
    while len(entries) < _MOST_ENTRIES:
        fields = {**scope, **rest, "limit": _CHUNK}
        answer = await audit.entries(page.console.service, page.caller, fields)
        entries += answer["entries"]
        if "next" not in answer or (entries and entries[-1]["at"] < page.now - DAY_MS):
            break
        rest = {"before": answer["next"]}
    return entries


def _summarise_day(entries: Sequence[Mapping[str, Json]], since: int) -> dict[str, Any]:
    kinds = [_classify(one) for one in entries]
    verdicts = Counter(one["details"]["verdict"] for one in entries if "verdict" in one.get("details", {}))
    return {
        "counts": Counter(kinds),
        "verdicts": [(name, verdicts[name]) for name in VERDICTS],
        "judged": sum(verdicts.values()),
        "is_cut": len(entries) >= _MOST_ENTRIES,
        "chart": _draw_hours(entries, kinds, since),
    }


def _classify(entry: Mapping[str, Json]) -> str:
    if entry["kind"] == "staged":
        return "held"
    if entry["kind"] == "recalled":
        return "recalled"
    return "written" if (entry["operation"], entry["kind"]) == ("remember", "committed") else "other"


def _draw_hours(entries: Sequence[Mapping[str, Json]], kinds: Sequence[str], since: int) -> Chart:
    hours = {name: [0] * 24 for name in _KINDS}
    for entry, kind in zip(entries, kinds, strict=True):
        hours[kind][min(23, (entry["at"] - since) // _HOUR_MS)] += 1
    first = since // _HOUR_MS
    return chart("Hour (UTC)", [f"{(first + hour) % 24:02}:00" for hour in range(24)], hours)


HOME = PageGroup(
    views=(View(path="/home", look=home),),
    section=Section(path="/home", title="Home", right=Right.READ),
)
