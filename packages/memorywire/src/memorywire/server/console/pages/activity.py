"""Activity: the ledger as people read it; what an entry changed, its proof, and a way back."""

from collections import Counter
from collections.abc import Mapping
from typing import Any

from starlette.responses import Response

from memorywire.consolidate.runs import load_run
from memorywire.consolidate.steps import DREAM
from memorywire.journal.operators import Right
from memorywire.model.errors import InvalidRequest, MemorywireError
from memorywire.model.record import Json, Scope
from memorywire.policy.diff import segments, visible
from memorywire.server.console.page import Form, Page, PageGroup, Section, View, whole
from memorywire.server.console.render import day_ms, plain
from memorywire.server.console.sessions import Note
from memorywire.server.http import audit as books
from memorywire.server.http.requests import parameters_of

_PAGE = 50
_SHOWN_MEMORIES = 10
_FIELDS = ("operation", "kind", "actor", "memory")
_TEXT = "text/plain; charset=utf-8"
OPERATIONS = (
    *("remember", "recall", "forget", "merge", "expire", "undo", "dream", "feedback", "rules", "operator"),
)


async def activity(page: Page) -> Response:
    return await _shown(page, _asked(page))


async def verify(page: Page) -> Response:
    """The same page, with the answer above it: whether the whole ledger holds."""
    verdict = await books.verdict(page.console.service, page.caller)
    return await _shown(page, [("limit", str(_PAGE))], verdict)


async def entry(page: Page) -> Response:
    said = await books.entry(page.console.service, page.caller, _sequence(page))
    moves = [await _moved(page, said["agent_id"], *touched) for touched in _touched(said)[:_SHOWN_MEMORIES]]
    return await page.show("entry.html", entry=said, moves=moves, more=len(_touched(said)) - len(moves))


async def undo(page: Page, form: Form) -> Response:
    """Take back a change; that is a change too, and can be taken back."""
    done = await page.call("undo", agent_id=form.text("agent"), change_id=form.text("change"))
    again = {"change_id": done["change_id"], "agent_id": form.text("agent")} if "change_id" in done else None
    text = "Taken back." if done["status"] == "committed" else f"The undo is {done['status']}."
    return page.go(form.get("back") or page.link("/activity"), Note(text=text, undo=again))


async def checkpoint(page: Page) -> Response:
    signed = await books.signed(page.console.service, page.caller)
    return _file(f"{signed['checkpoint']}\n{signed['key']}\n", "checkpoint.txt")


async def proof(page: Page) -> Response:
    sequence = _sequence(page)
    return _file(await books.proof(page.console.service, page.caller, sequence), f"entry-{sequence}.jsonl")


async def _shown(
    page: Page, asked: list[tuple[str, str]], verdict: dict[str, Json] | None = None
) -> Response:
    wanted = parameters_of("/v0/audit", "GET").from_query(asked)
    found = await books.entries(page.console.service, page.caller, wanted)
    rows = [{**one, "about": _about(one), "subject": one.get("subject")} for one in found["entries"]]
    return await page.show(
        "activity.html", rows=rows, next=found.get("next"), operations=OPERATIONS, verdict=verdict
    )


def _about(said: dict[str, Json]) -> str:
    """What an entry is about, in a few words."""
    details = said.get("details", {})
    if said["operation"] == "operator":
        return str(said.get("subject", ""))
    if "edition" in details:
        return f"edition {details['edition']}: {', '.join(details.get('rules', ())) or 'no rules'}"
    counted = {
        "handed out": details.get("hits"),
        "written": said.get("commitments"),
        "ended": details.get("ended"),
        "erased": details.get("erased"),
    }
    counts = [f"{len(found)} {what}" for what, found in counted.items() if isinstance(found, list)]
    return ", ".join(counts) or str(details.get("rule", ""))


def _file(text: str, name: str) -> Response:
    return Response(text, media_type=_TEXT, headers={"Content-Disposition": f'attachment; filename="{name}"'})


def _asked(page: Page) -> list[tuple[str, str]]:
    """The fields of the page as the ledger's own door takes them; dates as people write them."""
    asked = [(name, page.query[name]) for name in _FIELDS if name in page.query]
    for name, later in (("since", 0), ("until", 1)):
        if name in page.query:
            asked.append((name, str(day_ms(page.query[name], name) + later * (24 * 3_600_000 - 1))))
    if page.agent is not None:
        asked.append(("agent_id", page.agent))
    if "before" in page.query:
        asked.append(("before", page.query["before"]))
    return [*asked, ("limit", str(_PAGE))]


def _sequence(page: Page) -> int:
    return whole(page.query.get("seq", ""), "seq", "seq is the number of an entry")


def _touched(said: dict[str, Json]) -> list[tuple[str, int, str | None]]:
    """The versions an entry began and ended, as (memory, version, reason of the end)."""
    ended = {(id, version): reason for id, version, reason in said.get("details", {}).get("ended", ())}
    begun = [(one["id"], one["version"]) for one in said.get("commitments", ())]
    replaced = {(id, version - 1) for id, version in begun}
    alone = [key for key in ended if key not in replaced]
    return [(*key, None) for key in begun] + [(*key, ended[key]) for key in alone]


async def _moved(page: Page, agent: str, id: str, version: int, reason: str | None) -> dict[str, Any]:
    """What a version said, beside what the one before it said; after an end, nothing."""
    texts = await _texts(page, agent, id)
    after = None if reason is not None else texts.get(version)
    before = texts.get(version if reason is not None else version - 1)
    words = segments(visible(before or ""), visible(after or ""))
    return {"id": id, "version": version, "reason": reason, "known": bool(before or after), "words": words}


async def _texts(page: Page, agent: str, id: str) -> dict[int, str]:
    try:
        versions = (await page.call("history", agent_id=agent, id=id))["versions"]
    except MemorywireError:
        return {}  # erased, or of a store that keeps no history: the entry stands without it
    return {one["number"]: one["record"]["content"] for one in versions if "record" in one}


ACTIVITY = PageGroup(
    views=(
        View(path="/activity", look=activity, of_agent=True),
        View(path="/activity/verify", look=verify),
        View(path="/activity/entry", look=entry),
        View(path="/activity/undo", do=undo),
        View(path="/activity/checkpoint", look=checkpoint),
        View(path="/activity/proof", look=proof),
    ),
    section=Section(path="/activity", title="Activity", right=Right.REVIEW),
)


_UNDONE = 1_000
_STEPS = 25


async def dreams(page: Page) -> Response:
    found = await _entries(page, operation=DREAM, kind="committed", before=page.query.get("before"))
    undone = await _undone(page)
    rows = [
        {
            **one,
            "about": _describe_steps(one["details"].get("steps", ())),
            "undone_by": undone.get(one["subject"]),
        }
        for one in found["entries"]
    ]
    return await page.show("dreams.html", rows=rows, next=found.get("next"), tending=page.console.tending)


async def run(page: Page) -> Response:
    """All of one run: each step, and each memory as it was before beside what it is after."""
    page.caller.require(Right.READ)
    agent, id = page.query.get("agent"), page.query.get("run")
    if agent is None or id is None:
        raise InvalidRequest("a run is named by its agent and its id", field="run")
    page.caller.require_agent({"agent_id": agent}, optional=False)
    scope = Scope(tenant=page.caller.tenant, agent=agent)
    context = await page.console.service.as_caller(page.caller).context.serving(scope)
    said = await page.console.service.finish(load_run(scope, id, context))
    first = _first(page)
    last = first + _STEPS
    moves = [{**step, "memories": _compare_versions(step, said)} for step in said["steps"][first:last]]
    following = str(last) if last < len(said["steps"]) else None
    return await page.show("dream.html", agent=agent, run=said, steps=moves, next=following)


async def _entries(page: Page, **asked: str | None) -> dict[str, Json]:
    """A page of the ledger, of the agent that the address names."""
    named = {"limit": str(_PAGE), "agent_id": page.agent, **asked}
    given = [(name, value) for name, value in named.items() if value is not None]
    wanted = parameters_of("/v0/audit", "GET").from_query(given)
    return await books.entries(page.console.service, page.caller, wanted)


async def _undone(page: Page) -> Mapping[str, str]:
    """Which of the last undos took which change back, unless another took that back in turn."""
    found = await _entries(page, operation="undo", kind="committed", limit=str(_UNDONE))
    by = {one["details"]["undoes"]: one["subject"] for one in found["entries"] if "undoes" in one["details"]}
    return {change: undo for change, undo in by.items() if undo not in by}


def _describe_steps(steps: list[dict[str, Json]]) -> str:
    return ", ".join(f"{count} {name}" for name, count in Counter(step["pass"] for step in steps).items())


def _compare_versions(step: dict[str, Json], said: dict[str, Json]) -> list[dict[str, Any]]:
    """Each memory of the step as it was before the run beside what it was after."""
    sides = [{one["id"]: one for one in said[side]} for side in ("ended", "began")]
    ids = [id for id in (*step["ids"], step.get("kept")) if id is not None]
    return [
        {"id": id, "words": segments(*(visible(_text(side.get(id))) for side in sides))}
        for id in ids
        if any(id in side for side in sides)
    ]


def _first(page: Page) -> int:
    """Where the page begins among the steps."""
    return whole(page.query.get("after", "0"), "after", "after is the number of a step")


def _text(version: dict[str, Json] | None) -> str:
    content = None if version is None else version["content"]
    return "" if content is None else plain(content)


DREAMS = PageGroup(
    views=(View(path="/dreams", look=dreams, of_agent=True), View(path="/dreams/run", look=run)),
    section=Section(path="/dreams", title="Dreams", right=Right.REVIEW),
)
