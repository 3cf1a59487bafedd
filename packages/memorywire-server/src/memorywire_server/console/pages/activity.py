"""Activity: the ledger with readable entries, their changes, proofs and undo; and consolidation runs."""

from collections import Counter
from typing import Any

from starlette.responses import Response

from memorywire.app.consolidators import find_consolidator
from memorywire.journal.operators import Right
from memorywire.model.clock import DAY_MS
from memorywire.model.consolidation import DEFAULT_CONSOLIDATOR, DREAM
from memorywire.model.errors import InvalidRequest, MemorywireError
from memorywire.model.record import Json, Scope
from memorywire.model.text import counted
from memorywire.policy.diff import segments, visible
from memorywire_server.console.page import Form, Page, PageGroup, Section, View, show_text, whole
from memorywire_server.console.render import day_ms, plain
from memorywire_server.console.sessions import Note
from memorywire_server.http import audit
from memorywire_server.http.dream import dream, promote
from memorywire_server.http.requests import parameters_of

_PAGE = 50
_SHOWN_MEMORIES = 10
OPERATIONS = "remember recall forget merge expire undo share unshare dream feedback rules operator".split()


async def activity(page: Page) -> Response:
    """Show a page of the ledger, with the filters of the URL; dates are days."""
    filters = {name: page.query.get(name) for name in ("operation", "kind", "actor", "memory", "before")}
    for name, end_of_day in (("since", 0), ("until", DAY_MS - 1)):
        if name in page.query:
            filters[name] = str(day_ms(page.query[name], name) + end_of_day)
    return await _show_activity(page, await _load_entries(page, **filters))


async def verify(page: Page) -> Response:
    """Show the newest page, with the result of a verification of the whole ledger above it."""
    verdict = await audit.verdict(page.console.service, page.caller)
    return await _show_activity(page, await _load_entries(page, agent_id=None), verdict)


async def entry(page: Page) -> Response:
    record = await audit.entry(page.console.service, page.caller, _read_sequence(page))
    versions = _list_versions(record)
    moves = [
        await _compare_version(page, record["agent_id"], *version) for version in versions[:_SHOWN_MEMORIES]
    ]
    return await page.show("entry.html", entry=record, moves=moves, more=len(versions) - len(moves))


async def undo(page: Page, form: Form) -> Response:
    """Undo a change; the undo is also a change, and can be undone."""
    agent = form.text("agent")
    receipt = await page.call("undo", agent_id=agent, change_id=form.text("change"))
    again = {"change_id": receipt["change_id"], "agent_id": agent} if "change_id" in receipt else None
    text = "Undone." if receipt["status"] == "committed" else f"The undo is {receipt['status']}."
    return page.go(form.get("back") or page.link("/activity"), Note(text=text, undo=again))


async def checkpoint(page: Page) -> Response:
    answer = await audit.signed(page.console.service, page.caller)
    return show_text(f"{answer['checkpoint']}\n{answer['key']}\n", "checkpoint.txt")


async def proof(page: Page) -> Response:
    sequence = _read_sequence(page)
    lines = await audit.proof(page.console.service, page.caller, sequence)
    return show_text(lines, f"entry-{sequence}.jsonl")


async def _show_activity(
    page: Page, answer: dict[str, Json], verdict: dict[str, Json] | None = None
) -> Response:
    is_newest = verdict is None and "before" not in page.query
    stream = page.link("/events", after=await page.console.service.feed.now()) if is_newest else None
    rows = [{**one, "about": _summarise(one), "subject": one.get("subject")} for one in answer["entries"]]
    return await page.show(
        "activity.html",
        rows=rows,
        next=answer.get("next"),
        operations=OPERATIONS,
        verdict=verdict,
        stream=stream,
    )


def _summarise(entry: dict[str, Json]) -> str:
    """Summarise what an entry affects, in a few words."""
    details = entry.get("details", {})
    if entry["operation"] == "operator":
        return str(entry.get("subject", ""))
    if "edition" in details:
        return f"edition {details['edition']}: {', '.join(details.get('rules', ())) or 'no rules'}"
    lists = {
        "handed out": details.get("hits"),
        "written": entry.get("commitments"),
        "ended": details.get("ended"),
        "erased": details.get("erased"),
    }
    counts = [f"{len(ids)} {what}" for what, ids in lists.items() if isinstance(ids, list)]
    return ", ".join(counts) or str(details.get("rule", ""))


def _read_sequence(page: Page) -> int:
    return whole(page.query.get("seq", ""), "seq", "seq is the number of an entry")


def _list_versions(entry: dict[str, Json]) -> list[tuple[str, int, str | None]]:
    """List the versions that an entry began and ended, as (memory, version, reason of the end)."""
    ends = {(id, version): reason for id, version, reason in entry.get("details", {}).get("ended", ())}
    starts = [(one["id"], one["version"]) for one in entry.get("commitments", ())]
    former = {(id, version - 1) for id, version in starts}
    alone = [key for key in ends if key not in former]
    return [(*key, None) for key in starts] + [(*key, ends[key]) for key in alone]


async def _compare_version(
    page: Page, agent: str, id: str, version: int, reason: str | None
) -> dict[str, Any]:
    """Compare the text of a version with that of the version before; for an end, with an empty text."""
    try:
        versions = (await page.call("history", agent_id=agent, id=id))["versions"]
    except MemorywireError:
        versions = []  # erased, or no history in the store: show the entry without a comparison
    texts = {one["number"]: one["record"]["content"] for one in versions if "record" in one}
    after = None if reason is not None else texts.get(version)
    before = texts.get(version if reason is not None else version - 1)
    words = segments(visible(before or ""), visible(after or ""))
    return {"id": id, "version": version, "reason": reason, "known": bool(before or after), "words": words}


ACTIVITY = PageGroup(
    views=(
        View(path="/activity", look=activity, of_agent=True),
        View(path="/activity/verify", look=verify),
        View(path="/activity/entry", look=entry),
        View(path="/activity/undo", do=undo),
        View(path="/activity/checkpoint", look=checkpoint),
        View(path="/activity/proof", look=proof),
    ),
    section=Section(path="/activity", title="Activity", right=Right.REVIEW, gap=True),
)


_UNDONE = 1_000
_STEPS = 25


async def dreams(page: Page) -> Response:
    """Show the consolidation runs, and the undo of each, unless that undo was itself undone."""
    answer = await _load_entries(page, operation=DREAM, kind="committed", before=page.query.get("before"))
    undos = await _load_entries(page, operation="undo", kind="committed", limit=str(_UNDONE))
    by_change = {
        one["details"]["undoes"]: one["subject"] for one in undos["entries"] if "undoes" in one["details"]
    }
    undone = {change: undo for change, undo in by_change.items() if undo not in by_change}
    rows = []
    for one in answer["entries"]:
        passes = Counter(step["pass"] for step in one["details"].get("steps", ()))
        about = ", ".join(f"{count} {name}" for name, count in passes.items())
        rows.append({**one, "about": about, "undone_by": undone.get(one["subject"])})
    return await page.show("dreams.html", rows=rows, next=answer.get("next"), tending=page.console.tending)


async def dream_now(page: Page, form: Form) -> Response:
    """Run one consolidation of an agent."""
    agent = form.text("agent")
    document = await dream(page.console.service, page.caller, {"agent_id": agent})
    done = counted(len(document["steps"]), "step was made", "steps were made")
    waiting = counted(len(document["proposed"]), "proposal waits", "proposals wait")
    return page.go(page.link("/dreams", agent=agent), Note(text=f"{done}; {waiting} for a person."))


async def promote_now(page: Page, form: Form) -> Response:
    """Run one promotion over an agent's short-term memories."""
    agent = form.text("agent")
    document = await promote(page.console.service, page.caller, {"agent_id": agent})
    done = f"{len(document['promoted'])} promoted, {len(document['archived'])} archived"
    waiting = f"{len(document['staged'])} for a person"
    looked = counted(document["memories"], "short-term memory", "short-term memories")
    return page.go(page.link("/dreams", agent=agent), Note(text=f"{looked}: {done}, {waiting}."))


async def run(page: Page) -> Response:
    """Show one run: each step, with the texts of its memories before and after."""
    page.caller.require(Right.READ)
    agent, id = page.query.get("agent"), page.query.get("run")
    if agent is None or id is None:
        raise InvalidRequest("a run needs an agent and an id", field="run")
    page.caller.require_agent({"agent_id": agent}, optional=False)
    scope = Scope(tenant=page.caller.tenant, agent=agent)
    context = await page.console.service.as_caller(page.caller).context.serving(scope)
    tending = page.console.tending
    name = DEFAULT_CONSOLIDATOR if tending is None else tending.settings.consolidator
    loading = find_consolidator(name).load_run(scope, id, context)
    document = await page.console.service.finish(loading)
    first = whole(page.query.get("after", "0"), "after", "after is the number of a step")
    last = first + _STEPS
    steps = [
        {**step, "memories": _compare_versions(step, document)} for step in document["steps"][first:last]
    ]
    following = str(last) if last < len(document["steps"]) else None
    return await page.show("dream.html", agent=agent, run=document, steps=steps, next=following)


async def _load_entries(page: Page, **filters: str | None) -> dict[str, Json]:
    """Load a page of the ledger, of the agent in the URL."""
    fields = {"limit": str(_PAGE), "agent_id": page.agent, **filters}
    pairs = [(name, value) for name, value in fields.items() if value is not None]
    parameters = parameters_of("/v0/audit", "GET").from_query(pairs)
    return await audit.entries(page.console.service, page.caller, parameters)


def _compare_versions(step: dict[str, Json], document: dict[str, Json]) -> list[dict[str, Any]]:
    """Compare the text of each memory of a step before and after the run."""
    sides = [
        {one["id"]: plain(one["content"]) for one in document[side] if one["content"] is not None}
        for side in ("ended", "began")
    ]
    known = {one["id"] for side in ("ended", "began") for one in document[side]}
    return [
        {
            "id": id,
            "is_kept": id == step.get("kept"),
            "words": segments(*(visible(side.get(id, "")) for side in sides)),
        }
        for id in (*step["ids"], step.get("kept"))
        if id in known
    ]


DREAMS = PageGroup(
    views=(
        View(path="/dreams", look=dreams, of_agent=True),
        View(path="/dreams/run", look=run),
        View(path="/dreams/now", do=dream_now),
        View(path="/dreams/promote", do=promote_now),
    ),
    section=Section(path="/dreams", title="Consolidation", right=Right.REVIEW),
)
