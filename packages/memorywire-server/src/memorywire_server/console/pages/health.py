"""Health: stores and their features, pending writes, latencies and growth; also agents, shares and usage."""

from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

from starlette.responses import Response

from memorywire.journal.operators import Right
from memorywire.model.capabilities import DIMENSIONS, Feature, degraded, openwop
from memorywire.model.clock import DAY_MS
from memorywire.model.errors import CapabilityUnsupported
from memorywire.model.record import Scope
from memorywire.pipeline.scan import scan
from memorywire.pipeline.transaction import redeliver, write_off
from memorywire_server.console.page import Form, Page, PageGroup, Section, View
from memorywire_server.console.render import Chart, chart, day
from memorywire_server.console.sessions import Note
from memorywire_server.http import audit

_DAYS = 30
_MOST_DEBTS = 100
_MOST_FOUND = 200
_NAMED = 4
_MOST_ENTRIES = 2_000


async def health(page: Page, state: Any = None) -> Response:
    service = page.console.service
    capabilities = service.container.capabilities
    debts = await audit.owed(service, page.caller)
    agents = (await page.call("agents"))["items"]
    # All operations but the event stream, which stays open.
    latencies = {**page.request.state.metrics.latencies()}
    latencies.pop("events", None)
    growth = await page.console.growth.by_day(page.caller)
    return await page.show(
        "health.html",
        wired=capabilities,
        missing={one.name: sorted(frozenset(Feature) - one.features) for one in capabilities.stores},
        stand=await service.finish(service.journal.read_status()) if page.caller.everywhere else None,
        debts=debts[:_MOST_DEBTS],
        debts_total=len(debts),
        growth=None if growth is None else draw_growth(growth, page.now // DAY_MS, _DAYS),
        latencies=sorted(latencies.items()),
        agents=agents,
        checked=state,
        tending=page.console.tending,
        archive=page.console.archive,
    )


def draw_growth(counts: Sequence[tuple[int, str, int]], today: int, days: int) -> Chart:
    """Draw a column for each of the last days: the most frequent operations, and all others as one."""
    totals: Counter[str] = Counter()
    for _, name, count in counts:
        totals[name] += count
    named = [name for name, _ in totals.most_common(_NAMED)]
    series = {name: [0] * days for name in [*named, *(["other"] if len(totals) > _NAMED else [])]}
    for at, name, count in counts:
        place = at - (today - days + 1)
        if 0 <= place < days:
            series[name if name in named else "other"][place] += count
    labels = [day((today - days + 1 + place) * DAY_MS)[5:] for place in range(days)]
    return chart("Day", labels, series)


async def check(page: Page) -> Response:
    """Check the health of every store, and show the page with the results; slow for a large file."""
    page.caller.require(Right.MANAGE, everywhere=True)
    state = await page.console.service.finish(page.console.service.container.context.store.health())
    return await health(page, state)


async def look_for_secrets(page: Page, form: Form) -> Response:
    """Scan every memory of an agent for secrets; shows the kind and place of each, never the value."""
    page.caller.require(Right.REVIEW)
    agent = form.text("agent")
    page.caller.require_agent({"agent_id": agent}, optional=False)
    scope = Scope(tenant=page.caller.tenant, agent=agent)
    findings = await page.console.service.finish(scan(scope, page.console.service.container.context))
    return await page.show("secrets.html", agent=agent, found=findings, most=_MOST_FOUND)


async def retry(page: Page, form: Form) -> Response:
    page.caller.require(Right.MANAGE, everywhere=True)
    context = page.console.service.as_caller(page.caller).context
    is_delivered = await page.console.service.finish(redeliver(context, all_of_them=True))
    text = "All changes were delivered." if is_delivered else "Some stores still do not accept their changes."
    return page.go(page.link("/health"), Note(text=text, problem=not is_delivered))


async def give_up(page: Page, form: Form) -> Response:
    """Drop a pending write of a store; the ledger records the actor and the reason."""
    page.caller.require(Right.MANAGE, everywhere=True)
    context = page.console.service.as_caller(page.caller).context
    giving = write_off(form.text("change"), form.text("why"), context, store=form.text("store"))
    debt = await page.console.service.finish(giving)
    return page.go(page.link("/health"), Note(text=f"The change will not be delivered to {debt.store}."))


async def count_pending(page: Page) -> int:
    return len(await audit.owed(page.console.service, page.caller))


HEALTH = PageGroup(
    views=(
        View(path="/health", look=health),
        View(path="/health/check", look=check),
        View(path="/health/secrets", do=look_for_secrets),
        View(path="/health/retry", do=retry),
        View(path="/health/give-up", do=give_up),
    ),
    section=Section(path="/health", title="Health", right=Right.REVIEW, gap=True, count=count_pending),
)


async def agents(page: Page) -> Response:
    items = (await page.call("agents"))["items"]
    dimensions = tuple(openwop(page.console.service.container.capabilities)["dimensions"])
    return await page.show(
        "agents.html",
        found=items,
        dimensions=DIMENSIONS,
        provided=dimensions,
        unmet=degraded({"longTerm": True}, dimensions),
        most=max((one["memories"] for one in items), default=0),
    )


async def shares(page: Page) -> Response:
    """Show the memories that an agent shares, and those shared with it."""
    known = (await page.call("agents"))["items"]
    agent = page.choose(known)
    grants = [] if agent is None else (await page.call("shares", agent_id=agent))["items"]
    return await page.show("shares.html", agents=known, agent=agent, grants=grants)


async def revoke_share(page: Page, form: Form) -> Response:
    """Revoke a grant; this is a change, and can be undone."""
    agent = form.text("agent")
    receipt = await page.call("unshare", agent_id=agent, share_id=form.text("share"))
    undo = {"change_id": receipt["change_id"], "agent_id": agent} if "change_id" in receipt else None
    text = "Revoked." if receipt["status"] == "committed" else f"The revocation is {receipt['status']}."
    return page.go(form.get("back") or page.link("/shares", agent=agent), Note(text=text, undo=undo))


async def usage(page: Page) -> Response:
    """Show an agent's memory by user: its size from the store, and its use from the ledger."""
    items = (await page.call("agents"))["items"]
    agent = page.choose(items)
    if agent is None:
        return await page.show("usage.html", agent=None, agents=items, rows=[], drawn=None)
    page.caller.require_agent({"agent_id": agent}, optional=False)
    drawn, is_now = None, True
    with suppress(CapabilityUnsupported):
        drawn, is_now = await page.console.pictures.find(page.caller, agent)
    since = page.now - _DAYS * DAY_MS
    entries: list[dict[str, Any]] = []
    if page.may(Right.REVIEW):
        fields = {"agent_id": agent, "since": since, "limit": _MOST_ENTRIES}
        entries = (await audit.entries(page.console.service, page.caller, fields))["entries"]
    rows = _count_use(() if drawn is None else drawn.sizes, entries)
    return await page.show(
        "usage.html",
        agent=agent,
        agents=items,
        rows=rows[:_MOST_FOUND],
        number=len(rows),
        total=sum(one["bytes"] for one in rows),
        is_now=is_now and drawn is not None,
        is_cut=len(entries) == _MOST_ENTRIES,
        days=_DAYS,
    )


def _count_use(
    sizes: Sequence[tuple[str, int, int]], entries: Sequence[dict[str, Any]]
) -> list[dict[str, Any]]:
    """Count per user: memories, bytes, writes, recalls, and the memories that recalls returned."""
    empty = {"memories": 0, "bytes": 0, "writes": 0, "recalls": 0, "handed": 0}
    rows = {user: {**empty, "memories": count, "bytes": size} for user, count, size in sizes}
    for one in entries:
        row = rows.setdefault(one.get("user_id", ""), dict(empty))
        if one["kind"] == "recalled":
            row["recalls"] += 1
            row["handed"] += len(one.get("details", {}).get("hits", ()))
        elif one["kind"] == "committed":
            row["writes"] += 1
    ordered = sorted(rows.items(), key=lambda pair: (-pair[1]["bytes"], -pair[1]["recalls"], pair[0]))
    return [{"user": user, **row} for user, row in ordered]


AGENTS = PageGroup(
    views=(
        View(path="/agents", look=agents),
        View(path="/agents/usage", look=usage),
        View(path="/shares", look=shares, of_agent=True),
        View(path="/shares/revoke", do=revoke_share),
    ),
    section=Section(path="/agents", title="Agents", right=Right.READ),
)
